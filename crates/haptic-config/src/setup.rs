//! From flags to what is run: profile, scene, device and hand, opened and checked.

use crate::builtin::{DEVICES, PROFILES, SCENES};
use crate::device::{DeviceFile, DeviceKind, SimulatedHand};
use crate::error::{FileErrors, Problem};
use crate::hand::{FollowedPath, HandPath};
use crate::profile::{Profile, Reference};
use crate::source::Source;
use crate::{device, hand, profile, scene};
use haptic_coupling::model::WorstAxisModel;
use haptic_device::{Device, PacedDevice, PrescribedDevice, SimulatedDevice};
use haptic_loop::settings::{Settings, worst_axis};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_planar::scene::Scene;
use haptic_planar::tick::TICK_S;
use std::path::Path;

/// Everything that a session is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// How things are joined.
    pub profile: Profile,
    /// The world.
    pub scene: Scene,
    /// What the hand holds.
    pub device: DeviceFile,
    /// A prescribed hand, if there is one.
    pub hand: Option<HandPath>,
    /// The open device cannot be served more often than this, Hz.
    pub device_rate_hz: f64,
    /// What scene, device and hand were read from.
    pub sources: Sources,
}

/// What a session was read from, besides the profile.
#[derive(Clone, Debug)]
pub struct Sources {
    /// The scene.
    pub scene: Source,
    /// The device.
    pub device: Source,
    /// The prescribed hand, if there is one.
    pub hand: Option<Source>,
}

/// Files or built-ins by name, as the flags give them; the profile and its own references fill in the rest.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileNames<'a> {
    /// Profile; `None`: the default one.
    pub profile: Option<&'a str>,
    /// Scene in place of the profile's.
    pub scene: Option<&'a str>,
    /// Device in place of the profile's.
    pub device: Option<&'a str>,
}

impl Setup {
    /// Opens what the flags name, and for the rest what the profile names.
    ///
    /// # Errors
    /// Everything that is wrong in the profile; if it is right, everything that is wrong in scene, device and hand.
    pub fn open<'a>(names: impl Into<FileNames<'a>>, hand_file: Option<&Path>) -> Result<Self, FileErrors> {
        Self::of_profile(open_profile(names)?, hand_file)
    }

    /// Opens what a profile names.
    ///
    /// # Errors
    /// Everything that is wrong in scene, device and hand.
    pub fn of_profile(profile: Profile, hand_file: Option<&Path>) -> Result<Self, FileErrors> {
        let scene = profile.scene.open(&SCENES);
        let device = profile.device.open(&DEVICES);
        let hand = hand_file.map(Source::read).transpose();
        match (scene, device, hand) {
            (Ok(scene), Ok(device), Ok(hand)) => Self::of_sources(profile, Sources { scene, device, hand }),
            // What could be opened is read nevertheless, so that all is told at once.
            (scene, device, hand) => Err(joined([
                scene.and_then(|source| scene::load(&source)).err(),
                device.and_then(|source| device::load(&source)).err(),
                hand.and_then(|source| source.map(|source| hand::load(&source)).transpose()).err(),
            ])),
        }
    }

    /// Reads what was opened.
    ///
    /// # Errors
    /// Everything that is wrong in scene, device and hand.
    pub fn of_sources(profile: Profile, sources: Sources) -> Result<Self, FileErrors> {
        let (scene, device) = (scene::load(&sources.scene), device::load(&sources.device));
        let hand = sources.hand.as_ref().map(hand::load).transpose();
        match (scene, device, hand) {
            (Ok(scene), Ok(device), Ok(hand)) => {
                let device_rate_hz = f64::INFINITY;
                Self { profile, scene, device, hand, device_rate_hz, sources }.protected()
            }
            (scene, device, hand) => Err(joined([scene.err(), device.err(), hand.err()])),
        }
    }

    /// Hardware needs everything that protects the hand; a prescribed hand moves no hardware. Whether going without the
    /// tank is meant, `run` asks.
    fn protected(self) -> Result<Self, FileErrors> {
        if !self.is_simulated() && self.hand.is_none() {
            self.profile.simulation_only.refuse_on_hardware(true)?;
        }
        Ok(self)
    }

    /// The largest force on the device, N: of two limits the smaller holds.
    pub fn max_force_n(&self) -> f64 {
        self.settings().safety.max_force_n.min(self.device.axes_model().max_force_n)
    }

    /// Whether the device is a model and not hardware.
    pub fn is_simulated(&self) -> bool {
        self.device.kind == DeviceKind::Simulated
    }

    /// Whether no motor moves a real hand.
    pub fn moves_no_motor(&self) -> bool {
        self.is_simulated() || self.hand.is_some()
    }

    /// What the loop is told of the profile.
    pub fn settings(&self) -> Settings {
        let moves_no_motor = self.moves_no_motor();
        let Profile { coupling, mapping, safety, .. } = &self.profile;
        Settings { coupling: *coupling, mapping: *mapping, safety: safety.limits(moves_no_motor) }
    }

    /// Every so many ticks the device is served: as the profile wishes, and no more often than the device can. Slower
    /// devices get a whole divisor of 1000 Hz.
    pub fn ticks_per_service(&self) -> u32 {
        let wished = 1000 / self.profile.realtime.rate_hz;
        let is_fit = |ticks: &u32| 1000 % ticks == 0 && 1000.0 / f64::from(*ticks) <= self.device_rate_hz;
        (wished..=1000).find(is_fit).unwrap_or(1000)
    }

    /// What only the open device can tell: how often it can be served, and its axes where the file says none.
    pub fn learn_from(&mut self, device: &dyn Device) {
        self.device_rate_hz = device.limits().rate_hz;
        let axes = device.identity().axes;
        if !self.device.axes_are_given && self.device.axes != usize::from(axes) {
            // A recording keeps the text, and must run again with the same axes.
            self.device.axes = usize::from(axes);
            self.sources.device.text.insert_str(0, &format!("axes = {axes}\n"));
        }
    }

    /// How often the device is served, Hz.
    pub fn service_rate_hz(&self) -> u32 {
        1000 / self.ticks_per_service()
    }

    /// The device as tank and margins see it: its worst axis.
    pub fn device_model(&self) -> WorstAxisModel {
        let period_s = f64::from(self.ticks_per_service()) * TICK_S;
        worst_axis(&self.device.axes_model(), self.device.axes as u8, period_s)
    }

    /// The whole loop at its start, and the world in it; `device` is what the hand holds.
    ///
    /// # Errors
    /// A model or a mapping that cannot be used.
    pub fn into_loop(self, device: Box<dyn Device>) -> Result<HapticLoop, FileErrors> {
        let every = self.ticks_per_service();
        let device: Box<dyn Device> = if every > 1 { Box::new(PacedDevice::new(device, every)) } else { device };
        self.into_loop_of_every_tick(device)
    }

    /// The same with a device that is already served as often as it shall be.
    ///
    /// # Errors
    /// A model or a mapping that cannot be used.
    pub fn into_loop_of_every_tick(self, device: Box<dyn Device>) -> Result<HapticLoop, FileErrors> {
        let (model, settings) = (self.device_model(), self.settings());
        let name = self.profile.device.name;
        HapticLoop::new(device, &model, World::new(self.scene), &settings)
            .map_err(|error| Problem::of_file(&name, error.to_string(), "").into())
    }

    /// The device that needs no hardware: the prescribed hand if there is one, else the model with its own hand.
    ///
    /// # Errors
    /// A model that cannot be simulated.
    pub fn simulated_device(&self) -> Result<Box<dyn Device>, FileErrors> {
        let axes = self.device.axes as u8;
        if let Some(path) = &self.hand {
            return Ok(Box::new(PrescribedDevice::new(axes, FollowedPath::new(path.clone()))));
        }
        let hand = self.device.hand.as_ref().map(SimulatedHand::model);
        match SimulatedDevice::new(axes, &self.device.axes_model(), hand.as_ref()) {
            Ok(device) => Ok(Box::new(device)),
            Err(error) => Err(Problem::of_file(&self.profile.device.name, error.to_string(), "").into()),
        }
    }
}

fn joined<const N: usize>(errors: [Option<FileErrors>; N]) -> FileErrors {
    FileErrors(errors.into_iter().flatten().flat_map(|errors| errors.0).collect())
}

/// Opens the profile that the flags name, with what they put in place of its own words.
///
/// # Errors
/// Everything that is wrong in the profile.
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
