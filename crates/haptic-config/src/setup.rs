//! Setup of a session: profile, scene, device and hand, opened and checked.

use crate::builtin::{DEVICES, PROFILES};
use crate::error::{FileErrors, Problem};
use crate::profile::{Profile, Reference};
use crate::scene::{About, SceneFile};
use crate::source::Source;
use crate::{device, hand, profile, scene};
use haptic_coupling::model::WorstAxisModel;
use haptic_device::kind::{Kinds, SIMULATED};
use haptic_device::{Device, DeviceConfig, PacedDevice, PrescribedDevice, SimulatedDevice};
use haptic_loop::scene_hand::SceneHand;
use haptic_loop::settings::{Settings, worst_axis};
use haptic_loop::sign_check::Motors;
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::tick::TICK_S;
use std::path::Path;

/// Everything needed for a session.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Settings of the profile.
    pub profile: Profile,
    /// Loaded scene.
    pub scene: Scene,
    /// Title and description of the scene.
    pub about: About,
    /// Simulated hand of the scene.
    pub scene_hand: SceneHand,
    /// Whether the path of the scene's hand begins only after its idle time, because a user may guide the hand.
    pub hand_waits: bool,
    /// Contents of the device file.
    pub device: DeviceConfig,
    /// Path of the prescribed hand, if any.
    pub hand: Option<haptic_device::Path>,
    /// Highest service rate of the open device, Hz; infinite before the device is opened.
    pub device_rate_hz: f64,
    /// Texts of the scene, device and hand files.
    pub sources: Sources,
    /// Warnings about unusual values in the profile and the scene.
    pub warnings: Vec<Problem>,
}

/// Texts of the files of a session, except the profile ([`Profile::source`]).
#[derive(Clone, Debug)]
pub struct Sources {
    /// Text of the scene file.
    pub scene: Source,
    /// Text of the device file.
    pub device: Source,
    /// Text of the hand file, if any.
    pub hand: Option<Source>,
}

/// Names of files or built-ins, as given by command-line flags. A scene or device that is `None` comes from the
/// profile.
#[derive(Clone, Copy, Debug)]
pub struct FileNames<'a> {
    /// Name of the profile; `None` for the default profile.
    pub profile: Option<&'a str>,
    /// Name of the scene that replaces the profile's scene.
    pub scene: Option<&'a str>,
    /// Name of the device that replaces the profile's device.
    pub device: Option<&'a str>,
    /// Device kinds supported by the program.
    pub kinds: Kinds,
}

impl Setup {
    /// Opens the files with the given names. Names that are not given come from the profile.
    ///
    /// # Errors
    /// If the profile has problems; otherwise, if the scene, device or hand file has problems. The error lists all of
    /// them.
    pub fn open<'a>(names: impl Into<FileNames<'a>>, hand_file: Option<&Path>) -> Result<Self, FileErrors> {
        let names = names.into();
        Self::from_profile(open_profile(names)?, hand_file, names.kinds)
    }

    /// Opens the files named in a profile, and the hand file if one is given.
    ///
    /// # Errors
    /// If the scene, device or hand file has problems; the error lists all of them.
    pub fn from_profile(profile: Profile, hand_file: Option<&Path>, kinds: Kinds) -> Result<Self, FileErrors> {
        let scene = profile.scene.open_scene();
        let device = profile.device.open(&DEVICES);
        let hand = hand_file.map(Source::read).transpose();
        match (scene, device, hand) {
            (Ok(scene), Ok(device), Ok(hand)) => Self::from_sources(profile, Sources { scene, device, hand }, kinds),
            // Files that could be opened are parsed as well, so that all problems are reported at once.
            (scene, device, hand) => Err(joined([
                scene.and_then(|source| scene::load(&source)).err(),
                device.and_then(|source| device::load(&source, kinds)).err(),
                hand.and_then(|source| source.map(|source| hand::load(&source)).transpose()).err(),
            ])),
        }
    }

    /// Creates a setup from a profile and the texts of the other files.
    ///
    /// # Errors
    /// If the text of the scene, device or hand file has problems; the error lists all of them.
    pub fn from_sources(profile: Profile, sources: Sources, kinds: Kinds) -> Result<Self, FileErrors> {
        let file = scene::load_file(&sources.scene).map_err(|errors| profile.scene.named_in(errors));
        let device = device::load(&sources.device, kinds).map_err(|errors| profile.device.named_in(errors));
        let hand = sources.hand.as_ref().map(hand::load).transpose();
        match (file, device, hand) {
            (Ok(SceneFile { scene, about, hand: scene_hand, warnings }), Ok(device), Ok(hand)) => {
                let (device_rate_hz, hand_waits) = (f64::INFINITY, false);
                let warnings = [profile.warnings.clone(), warnings].concat();
                Self { profile, scene, about, scene_hand, hand_waits, device, hand, device_rate_hz, sources, warnings }
                    .checked_for_hardware()
            }
            (file, device, hand) => Err(joined([file.err(), device.err(), hand.err()])),
        }
    }

    /// Rejects settings that are not permitted on hardware, unless a prescribed hand replaces the hardware. The `run`
    /// command separately requires confirmation that passivity is off.
    fn checked_for_hardware(self) -> Result<Self, FileErrors> {
        if !self.is_simulated() && self.hand.is_none() {
            self.profile.simulation_only.reject_on_hardware(true)?;
        }
        Ok(self)
    }

    /// Returns the largest force on the device, N: the lower of the limits of profile and device.
    pub fn max_force_n(&self) -> f64 {
        self.settings().safety.max_force_n.min(self.device.max_force_n())
    }

    /// Whether the device is simulated rather than hardware.
    pub fn is_simulated(&self) -> bool {
        *self.device.kind == SIMULATED
    }

    /// Whether no motor can move a real hand.
    pub fn moves_no_motor(&self) -> bool {
        self.is_simulated() || self.hand.is_some()
    }

    /// Returns the settings of the loop.
    pub fn settings(&self) -> Settings {
        let moves_no_motor = self.moves_no_motor();
        let Profile { coupling, mapping, safety, .. } = &self.profile;
        Settings { coupling: *coupling, mapping: *mapping, safety: safety.limits(moves_no_motor) }
    }

    /// Returns the number of ticks between two services of the device: as set in the profile, or more if the device is
    /// slower. The resulting service rate divides 1000 Hz.
    pub fn ticks_per_service(&self) -> u32 {
        let demanded = 1000 / self.profile.realtime.rate_hz;
        let is_possible = |ticks: &u32| 1000 % ticks == 0 && 1000.0 / f64::from(*ticks) <= self.device_rate_hz;
        (demanded..=1000).find(is_possible).unwrap_or(1000)
    }

    /// Copies the properties that only the open device provides: its highest service rate, and its number of axes if
    /// the device file does not specify it.
    pub fn update_from_device(&mut self, device: &dyn Device) {
        self.device_rate_hz = device.limits().rate_hz;
        let axes = device.identity().axes;
        if !self.device.axes_are_given && self.device.axes != usize::from(axes) {
            // A recording stores the text, and its replay needs the same number of axes.
            self.device.axes = usize::from(axes);
            self.sources.device.text.insert_str(0, &format!("axes = {axes}\n"));
        }
    }

    /// Returns the service rate of the device, Hz.
    pub fn service_rate_hz(&self) -> u32 {
        1000 / self.ticks_per_service()
    }

    /// Returns the worst-axis model of the device, for the tank and the stability margins.
    pub fn device_model(&self) -> WorstAxisModel {
        let period_s = f64::from(self.ticks_per_service()) * TICK_S;
        let model = worst_axis(&self.device.model, self.device.axes as u8, period_s);
        WorstAxisModel { delay_s: if self.device.delay_is_assumed { period_s } else { model.delay_s }, ..model }
    }

    /// Returns the model for the loop. A prescribed hand has neither encoder steps nor a delay nor dry friction.
    fn loop_model(&self) -> WorstAxisModel {
        let model = self.device_model();
        if self.hand.is_none() {
            return model;
        }
        WorstAxisModel { encoder_step_m: 0.0, delay_s: 0.0, coulomb_n: 0.0, ..model }
    }

    /// Creates the loop, pacing the device to the service rate of this setup.
    ///
    /// # Errors
    /// If the model or the mapping is invalid.
    pub fn into_loop(self, device: Box<dyn Device>) -> Result<HapticLoop, FileErrors> {
        let every = self.ticks_per_service();
        let device: Box<dyn Device> = if every > 1 { Box::new(PacedDevice::new(device, every)) } else { device };
        self.into_unpaced_loop(device)
    }

    /// Creates the loop with a device that is already paced.
    ///
    /// # Errors
    /// If the model or the mapping is invalid.
    pub fn into_unpaced_loop(self, device: Box<dyn Device>) -> Result<HapticLoop, FileErrors> {
        let (model, settings, motors) = (self.loop_model(), self.settings(), self.checked_motors());
        let name = self.profile.device.name;
        let hand = if self.hand_waits { self.scene_hand } else { self.scene_hand.at_once() };
        let rendering = HapticLoop::new(device, &model, World::new(self.scene).with_hand(hand), &settings)
            .map_err(|error| Problem::in_file(&name, error.to_string(), ""))?;
        Ok(match motors {
            Some(motors) => rendering.with_sign_check(motors),
            None => rendering,
        })
    }

    /// Returns the motors whose signs are checked before the first force; `None` if the device file forbids it, or if
    /// no motor can move a real hand.
    pub fn checked_motors(&self) -> Option<Motors> {
        let DeviceConfig { axes, sign_check, .. } = self.device;
        let encoder_step_m = self.device_model().encoder_step_m;
        let motors = Motors { count: axes, linkage: self.device.linkage(), encoder_step_m };
        (sign_check && !self.moves_no_motor()).then_some(motors)
    }

    /// Creates a device without hardware: the prescribed hand if there is one, otherwise the device model with its
    /// simulated hand.
    ///
    /// # Errors
    /// If the model is invalid.
    pub fn simulated_device(&self) -> Result<Box<dyn Device>, FileErrors> {
        let axes = self.device.axes as u8;
        if let Some(path) = &self.hand {
            return Ok(Box::new(PrescribedDevice::new(axes, path.clone())));
        }
        match SimulatedDevice::new(axes, &self.device.model, self.device.hand.as_ref()) {
            Ok(device) => Ok(Box::new(device)),
            Err(error) => Err(Problem::in_file(&self.profile.device.name, error.to_string(), "").into()),
        }
    }
}

fn joined<const N: usize>(errors: [Option<FileErrors>; N]) -> FileErrors {
    FileErrors(errors.into_iter().flatten().flat_map(|errors| errors.0).collect())
}

/// Opens the profile in `names`, or the default one, and replaces its scene and device with the ones in `names`.
///
/// # Errors
/// If the profile has problems; the error lists all of them.
pub fn open_profile<'a>(names: impl Into<FileNames<'a>>) -> Result<Profile, FileErrors> {
    let names = names.into();
    let name = names.profile.unwrap_or(PROFILES.entries[0].0);
    let mut profile = profile::load(&PROFILES.open(name, None)?)?;
    override_with(&mut profile.scene, names.scene);
    override_with(&mut profile.device, names.device);
    Ok(profile)
}

fn override_with(reference: &mut Reference, flag: Option<&str>) {
    if let Some(name) = flag {
        *reference = Reference::from_flag(name);
    }
}
