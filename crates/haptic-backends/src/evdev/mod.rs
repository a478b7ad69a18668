//! The `evdev` backend: force-feedback devices with a kernel driver.
//!
//! Forces are coarser than with HID reports: some drivers keep only eight bits of a force, and some apply it on their
//! own timer. All drivers offer the interface used by [`node`]: an input device with axes that accepts constant-force
//! effects.
//!
//! As in the `hid-pid` backend, each axis has its own effect with a fixed direction. Levels are uploaded no faster than
//! drivers forward them, because queued levels only delay the force. Effects have a finite duration, so that the force
//! ends if this process hangs; if the process dies, the kernel stops the effects.

pub mod node;

use crate::hid::joystick::{JOYSTICK_KEYS, JoystickSettings};
use crate::open_error::OpenError;
use crate::scale::{AxisScale, encoder_step_m, limits};
use crate::threaded::{
    Connection, Connector, Received, Receiver, ReportChange, ReportingMode, SendOutcome, ThreadedDevice, Transmitter,
};
use haptic_device::{Identity, KindSpec, MAX_AXES};
use nalgebra::Vector2;
use node::{Axis, Effect, EventFile, NodeInfo};
use std::io;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Maximum number of levels per second and axis that drivers forward without queueing, for devices with one and two
/// axes. Drivers serve their queues once per millisecond.
const LEVELS_PER_S: [u64; MAX_AXES] = [900, 450];
/// Duration of an effect, ms.
const LENGTH_MS: u16 = 100;
/// Interval at which effects are restarted, ns.
const RESTART_NS: u64 = 25_000_000;
/// Effect level at maximum force.
const FULL_LEVEL: f64 = 32767.0;

/// Effect direction of each axis in the kernel's units, 65536 per turn. 0xC000 pushes to the right, and 0x8000 pushes
/// away from the user.
const DIRECTIONS: [u16; MAX_AXES] = [0xC000, 0x8000];

/// Device kind of force-feedback devices with a kernel driver.
pub static EVDEV: KindSpec = KindSpec {
    name: "evdev",
    about: "any device for which the Linux kernel provides force feedback",
    is_hardware: true,
    axes: None,
    keys: JOYSTICK_KEYS,
    variants: &[],
    linkage: None,
};

/// Function that finds the configured device among the connected ones.
pub type Find = Box<dyn FnMut() -> Result<NodeInfo, OpenError> + Send>;

/// Opens a device, uploads its effects with zero force and starts its threads with the given priority.
///
/// # Errors
/// If no device matches, permission is denied, the device has no force feedback or no free effect, or a thread cannot
/// be started.
pub fn open(mut find: Find, settings: JoystickSettings, priority: u8) -> Result<ThreadedDevice, OpenError> {
    let info = find()?;
    let name = info.name.clone();
    let identity = Identity {
        name: name.clone(),
        kind: &EVDEV,
        serial_number: info.serial_number.clone(),
        firmware: String::new(),
        axes: settings.axes as u8,
    };
    let mut connector = EvdevConnector { find, settings };
    let (connection, scales) = connector.arm(&info).map_err(|error| error.of(&name))?;
    let limits = limits(&scales, rate_hz(connector.settings.axes));
    let step_m = encoder_step_m(&scales);
    ThreadedDevice::start(identity, limits, step_m, Arc::default(), connection, Box::new(connector), priority)
        .map_err(|error| OpenError::System(format!("no thread for its events: {error}")).of(&name))
}

struct EvdevConnector {
    find: Find,
    settings: JoystickSettings,
}

impl Connector for EvdevConnector {
    fn connect(&mut self, _stop: &AtomicBool) -> Result<Connection, OpenError> {
        let info = (self.find)()?;
        self.arm(&info).map(|(connection, _)| connection)
    }
}

impl EvdevConnector {
    fn arm(&mut self, info: &NodeInfo) -> Result<(Connection, Vec<AxisScale>), OpenError> {
        let axes = self.settings.axes;
        let open = || EventFile::open(&info.path).map_err(|error| OpenError::node(&info.path, &error));
        let (reading, writing) = (open()?, open()?);
        if !writing.has_constant_force() {
            return Err(OpenError::Unsupported("it has no constant force; its driver offers none".to_owned()));
        }
        let unreadable = |error: io::Error| OpenError::rejected("a request for its axes", &error);
        let described =
            (0..axes).map(|index| reading.axis(index as u16)).collect::<io::Result<Vec<Axis>>>().map_err(unreadable)?;
        if let Some(index) = described.iter().position(|axis| axis.minimum >= axis.maximum) {
            let text = format!("its {} axis has no range; write axes = 1 if it has only one", ["x", "y"][index]);
            return Err(OpenError::Unsupported(text));
        }
        let scales: Vec<AxisScale> =
            described.iter().enumerate().map(|(index, axis)| self.settings.scale(index, range(axis), None)).collect();
        let sending = EvdevSender::arm(writing, &self.settings)?;
        let receiving = EvdevReceiver {
            file: reading,
            scales: scales.clone(),
            values: described.iter().map(|axis| axis.value).collect(),
            is_first: true,
        };
        Ok((Connection { receiving: Box::new(receiving), sending: Box::new(sending) }, scales))
    }
}

fn range(axis: &Axis) -> (f64, f64) {
    (f64::from(axis.minimum), f64::from(axis.maximum))
}

/// Returns the rate at which every axis can receive a new level, Hz; an integer fraction of 1 kHz.
fn rate_hz(axes: usize) -> f64 {
    1000.0 / (1000u64.div_ceil(LEVELS_PER_S[axes - 1])) as f64
}

struct EvdevSender {
    file: EventFile,
    effects: Vec<Effect>,
    /// Level per newton on each axis.
    level_per_n: [f64; MAX_AXES],
    interval_ns: u64,
    free_ns: u64,
    restart_ns: u64,
}

impl EvdevSender {
    /// Creates the sender and uploads one effect with zero force for each axis.
    fn arm(file: EventFile, settings: &JoystickSettings) -> Result<Self, OpenError> {
        let mut effects = Vec::new();
        for direction in &DIRECTIONS[..settings.axes] {
            let mut effect = Effect::constant(*direction, LENGTH_MS);
            file.upload(&mut effect).map_err(|error| OpenError::rejected("a constant force", &error))?;
            effects.push(effect);
        }
        let level_per_n = settings.full_scale_n.map(|newtons| FULL_LEVEL / newtons);
        let interval_ns = 1_000_000_000 / LEVELS_PER_S[settings.axes - 1];
        let _ = file.set_gain(u16::MAX);
        Ok(Self { file, effects, level_per_n, interval_ns, free_ns: 0, restart_ns: 0 })
    }
}

impl Transmitter for EvdevSender {
    fn send(&mut self, force_n: Vector2<f64>, _is_new: bool, now_ns: u64) -> io::Result<SendOutcome> {
        if now_ns >= self.restart_ns {
            self.restart_ns = now_ns + RESTART_NS;
            self.effects.iter().try_for_each(|effect| self.file.play(effect, 1))?;
            return Ok(SendOutcome::Again);
        }
        let level =
            |axis: usize| libm::round((force_n[axis] * self.level_per_n[axis]).clamp(-FULL_LEVEL, FULL_LEVEL)) as i16;
        let is_changed = self.effects.iter().enumerate().any(|(axis, effect)| effect.level() != level(axis));
        if !is_changed {
            return Ok(SendOutcome::Idle { until_ns: self.restart_ns });
        }
        if now_ns < self.free_ns {
            return Ok(SendOutcome::Wait { until_ns: self.free_ns });
        }
        self.free_ns = now_ns + self.interval_ns;
        for (axis, effect) in self.effects.iter_mut().enumerate() {
            if effect.level() != level(axis) {
                effect.set_level(level(axis));
                self.file.upload(effect)?;
            }
        }
        Ok(SendOutcome::Again)
    }

    fn disable(&mut self) {
        for effect in &mut self.effects {
            effect.set_level(0);
            // Closing the file erases the effects in any case.
            let _ = self.file.upload(effect);
            let _ = self.file.play(effect, 0);
        }
    }
}

struct EvdevReceiver {
    file: EventFile,
    scales: Vec<AxisScale>,
    values: Vec<i32>,
    is_first: bool,
}

impl Receiver for EvdevReceiver {
    fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        // The kernel reports only changes, so the first position is the one read when the device was opened.
        let has_changed = std::mem::take(&mut self.is_first) || self.file.read_axes(&mut self.values, wait)?;
        if !has_changed {
            return Ok(Received::Nothing);
        }
        let mut position_m = Vector2::zeros();
        for (axis, (scale, value)) in self.scales.iter().zip(&self.values).enumerate() {
            position_m[axis] = scale.position_m(f64::from(*value));
        }
        Ok(Received::Position(position_m, None, ReportChange::Axes))
    }

    fn reporting_mode(&self) -> ReportingMode {
        ReportingMode::ReportsChanges
    }
}
