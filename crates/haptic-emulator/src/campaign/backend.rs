//! The backends of the campaign, each with an emulated board and the files of a run.

use super::hand::{Behaviour, HandMotion};
use super::subject::{Director, Subject};
use crate::direction::SharedDirector;
use crate::emulators::{BoardOptions, EMULATORS, Emulator};
use crate::gadget::Gadget;
use crate::handle::EmulatedHandle;
use crate::serial::OdriveFirmware;
use crate::style::{OPEN_FFBOARD, Style};
use crate::transport::uhid::Identity;
use haptic_backends::serial::HaplyVariant;
use haptic_device::config::ReversedAxes;
use haptic_device::simulated::{DeviceModel, HandModel, ModelError};
use haptic_wire::VERSION;
use nalgebra::Vector2;

/// USB vendor and product ids of the native board.
const NATIVE_IDS: (u16, u16) = (0x1209, 0x4850);
/// Force of the USB devices at full effort, N.
const FULL_SCALE_N: f64 = 4.0;
/// Radius of the motor's knob on the ODrive, m.
const LEVER_M: f64 = 0.05;
/// Height of the tool's centre when it touches the floor, world frame, m.
const TOUCH_M: f64 = 0.01;

/// Height at which the hand waits for the session, world frame, m.
const ABOVE_M: f64 = 0.03;

/// A floor and a weightless disc: pressing is the only way to feel anything. The floor is a large disc, because a guest
/// takes too long for the worst tick of other shapes.
pub const SCENE: &str = r#"[world]
gravity_m_per_s2 = [0.0, 0.0]

[[body]]
name = "floor"
fixed = true
position_m = [0.0, -0.2]
shape = { disc_radius_m = 0.2 }
friction = 0.0

[[body]]
name = "tool"
position_m = [0.0, 0.03]
shape = { disc_radius_m = 0.01 }
mass_kg = 0.004
friction = 0.0

[tool]
body = "tool"
weightless = true
"#;

/// Where a board is emulated.
#[derive(Clone, Copy, Debug)]
enum Place {
    /// Behind a pseudo-terminal.
    Serial(&'static Emulator),
    /// Behind the kernel's HID drivers: a board with the native protocol.
    NativeHid,
    /// Behind the kernel's HID drivers: a joystick.
    Joystick(Style),
}

/// The device of a trial.
pub enum Device {
    /// Behind a pseudo-terminal.
    Serial(Box<Subject>),
    /// Behind the kernel's HID drivers.
    Usb(Box<Gadget>, Identity),
}

/// A backend of the campaign.
#[derive(Clone, Copy, Debug)]
pub struct Backend {
    place: Place,
    /// Kind of the device file.
    kind: &'static str,
    /// Further keys of the device file.
    keys: &'static str,
    /// Mapping from the device frame to the world frame.
    mapping: &'static str,
    /// The axis of the device frame that is vertical in the world.
    vertical: usize,
    /// Where the origin of the world is in the device frame, m.
    origin_m: [f64; 2],
    /// Largest force, N.
    pub max_force_n: f64,
    /// Force of a hand that presses, N.
    pub press_n: f64,
    /// Time after which the firmware ends the force of a silent host, ms; `None` for a board without a watchdog.
    pub watchdog_ms: Option<u32>,
    /// Whether a dead-man process protects the device.
    pub has_dead_man: bool,
    /// Whether a damaged message is recognised.
    pub has_checks: bool,
}

/// All backends, in the order of the tables.
pub static BACKENDS: [Backend; 6] = [
    Backend {
        place: Place::Serial(&EMULATORS[0]),
        kind: "serial",
        keys: "axes = 1",
        mapping: "axis = [0.0, 1.0]\nrail = true",
        vertical: 0,
        origin_m: [0.0, 0.0],
        max_force_n: 4.0,
        press_n: 2.5,
        watchdog_ms: Some(20),
        has_dead_man: false,
        has_checks: true,
    },
    Backend {
        place: Place::Serial(&EMULATORS[1]),
        kind: "serial",
        keys: "axes = 2",
        mapping: "",
        vertical: 1,
        origin_m: [0.0, 0.0],
        max_force_n: 4.0,
        press_n: 2.5,
        watchdog_ms: Some(20),
        has_dead_man: false,
        has_checks: true,
    },
    Backend {
        place: Place::Serial(&EMULATORS[2]),
        kind: "haply-2diy",
        keys: "variant = \"v3\"",
        mapping: "offset_m = [-0.019, -0.075]",
        vertical: 1,
        origin_m: [0.019, 0.075],
        max_force_n: 2.0,
        press_n: 1.5,
        watchdog_ms: None,
        has_dead_man: true,
        has_checks: false,
    },
    Backend {
        place: Place::Serial(&EMULATORS[3]),
        kind: "odrive",
        keys: "axes = 1\nlever_m = 0.05",
        mapping: "axis = [0.0, 1.0]\nrail = true",
        vertical: 0,
        origin_m: [0.0, 0.0],
        max_force_n: 4.0,
        press_n: 2.5,
        watchdog_ms: Some(50),
        has_dead_man: false,
        has_checks: true,
    },
    Backend {
        place: Place::NativeHid,
        kind: "hid-native",
        keys: "axes = 2\nvendor_id = 0x1209\nproduct_id = 0x4850",
        mapping: "",
        vertical: 1,
        origin_m: [0.0, 0.0],
        max_force_n: 4.0,
        press_n: 2.5,
        watchdog_ms: Some(20),
        has_dead_man: false,
        has_checks: true,
    },
    Backend {
        place: Place::Joystick(OPEN_FFBOARD),
        kind: "hid-pid",
        keys: "axes = 2\nvendor_id = 0x1209\nproduct_id = 0xFFB0\ntravel_m = 0.1",
        mapping: "",
        vertical: 1,
        origin_m: [0.0, 0.0],
        max_force_n: 4.0,
        press_n: 2.5,
        watchdog_ms: Some(150),
        has_dead_man: false,
        has_checks: false,
    },
];

/// Stiffness of the coupling, N/m.
const STIFFNESS_N_PER_M: f64 = 300.0;
/// Stiffness of the hand, N/m.
const HAND_N_PER_M: f64 = 300.0;

impl Backend {
    /// The backend with this name.
    pub fn by_name(name: &str) -> Option<&'static Self> {
        BACKENDS.iter().find(|backend| backend.name() == name)
    }

    /// Name of the emulated board, or kind of the USB device.
    pub fn name(&self) -> &'static str {
        match self.place {
            Place::Serial(emulator) => emulator.name,
            Place::NativeHid | Place::Joystick(_) => self.kind,
        }
    }

    /// Text of the device file, with the port of a serial board.
    pub fn device_file(&self, port: &str) -> String {
        let port = match self.place {
            Place::Serial(_) => format!("port = \"{port}\"\n"),
            Place::NativeHid | Place::Joystick(_) => String::new(),
        };
        let model = self.model();
        let [axis_step_m, _] = model.encoder_step_m;
        format!(
            "kind = \"{}\"\n{port}{}\n\n[model]\nmass_kg = {}\ndamping_n_s_per_m = {}\ncoulomb_n = {}\n\
             encoder_step_m = {axis_step_m}\ndelay_s = {}\nmax_force_n = {:.1}\n",
            self.kind,
            self.keys,
            model.mass_kg[0],
            model.damping_n_s_per_m[0],
            model.coulomb_n[0],
            model.delay_s[0],
            self.max_force_n,
        )
    }

    /// Text of the profile, with its stiffness as a fraction of the usual one.
    pub fn profile(&self, stiffness: f64) -> String {
        format!(
            "scene = \"scene.toml\"\ndevice = \"device.toml\"\n\n[coupling]\nstiffness_n_per_m = {:.1}\n\
             damping_n_s_per_m = 0.24\n\n[mapping]\n{}\n\n[safety]\nmax_force_n = {:.1}\nengage_ramp_s = 0.2\n",
            stiffness * STIFFNESS_N_PER_M,
            self.mapping,
            self.max_force_n,
        )
    }

    /// The motion of the hand.
    pub fn hand_motion(&self, behaviour: Behaviour) -> HandMotion {
        let away = Vector2::ith(self.vertical, 1.0);
        // The springs of hand and coupling are in series.
        let depth_m = self.press_n * (1.0 / STIFFNESS_N_PER_M + 1.0 / HAND_N_PER_M);
        let press_m = Vector2::from(self.origin_m) + away * (TOUCH_M - depth_m);
        HandMotion { start_m: self.start_m(), above_m: self.above_m(), press_m, away, behaviour }
    }

    /// Builds the board under a director, with the handle at the start of the hand's motion.
    ///
    /// # Errors
    /// If the model cannot be simulated.
    pub fn subject(&self, director: Director) -> Result<Device, ModelError> {
        let firmware = match self.place {
            Place::Serial(emulator) => {
                let board = (emulator.build)(&self.options())?;
                return Ok(Device::Serial(Box::new(Subject::new(board, director))));
            }
            Place::NativeHid => None,
            Place::Joystick(style) => Some(style),
        };
        let handle = EmulatedHandle::new(2, &self.model(), Some(&self.hand()))?;
        let gadget = match firmware {
            Some(style) => Gadget::joystick(style, None, FULL_SCALE_N, handle),
            None => Gadget::board(FULL_SCALE_N, handle),
        };
        let ids = firmware.map_or(NATIVE_IDS, |style| (style.vendor, style.product));
        let descriptor = Gadget::descriptor(firmware.as_ref());
        let identity = Identity { name: format!("emulated {}", self.kind), ids, descriptor };
        Ok(Device::Usb(Box::new(gadget.with_director(SharedDirector::new(director))), identity))
    }

    fn hand(&self) -> HandModel {
        let start_m = self.start_m();
        HandModel {
            stiffness_n_per_m: HAND_N_PER_M,
            path: vec![[0.0, start_m.x, start_m.y]],
            looped: false,
            ..HandModel::default()
        }
    }

    fn options(&self) -> BoardOptions {
        BoardOptions {
            model: self.model(),
            hand: Some(self.hand()),
            hand_is_default: false,
            velocity: false,
            protocol_version: VERSION.0,
            emergency_stops: Vec::new(),
            variant: HaplyVariant::V3,
            lever_m: LEVER_M,
            reversed: ReversedAxes::default(),
            firmware: &OdriveFirmware::V0_5,
        }
    }

    fn start_m(&self) -> Vector2<f64> {
        if self.kind == "haply-2diy" {
            let variant = HaplyVariant::V3;
            return variant.linkage.handle_m(variant.home_rad()).unwrap_or_else(|_| Vector2::zeros());
        }
        self.above_m()
    }

    fn above_m(&self) -> Vector2<f64> {
        Vector2::from(self.origin_m) + Vector2::ith(self.vertical, ABOVE_M)
    }

    fn model(&self) -> DeviceModel {
        let encoder_step_m = if self.kind == "haply-2diy" { 9e-5 } else { 1e-5 };
        DeviceModel { encoder_step_m: [encoder_step_m; 2], ..DeviceModel::default() }
    }
}
