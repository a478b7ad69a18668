//! Table of backends, one for each kind of hardware.
//!
//! A new kind needs a submodule with its [`Backend`] and an entry in [`BACKENDS`].

mod evdev;
mod haply;
mod hid_native;
mod hid_pid;
mod line;
mod node;
mod odrive;
mod serial;

use crate::evdev::node::NodeInfo;
use crate::hid::hidraw::HidrawInfo;
use crate::open_error::OpenError;
use haptic_device::config::ReversedAxes;
use haptic_device::kind::{Kinds, SIMULATED};
use haptic_device::{Device, DeviceConfig, KindSpec, ReversedDevice};
use std::fmt;
use std::path::PathBuf;

/// Recognises and opens devices of one kind.
#[derive(Debug)]
pub struct Backend {
    /// Name, description and device-file keys of the kind.
    pub spec: &'static KindSpec,
    /// Opens the configured device. Reversed axes are not its concern.
    open: fn(&DeviceConfig, &OpenContext) -> OpenResult,
    /// Recognises a device before it is opened. `None` if devices of this kind can be recognised only after opening.
    pub recognise: Option<fn(&Candidate<'_>) -> Option<Recognised>>,
}

impl Backend {
    /// Opens the configured device, ready to be read and written.
    ///
    /// # Errors
    /// If the device is missing, busy, not accessible or does not match its configuration.
    pub fn open(&self, config: &DeviceConfig, context: &OpenContext) -> OpenResult {
        let device = (self.open)(config, context)?;
        let is_plain = config.reversed == ReversedAxes::default();
        Ok(if is_plain { device } else { Box::new(ReversedDevice::new(device, config.reversed)) })
    }
}

/// An open device, or the reason it cannot be opened.
pub type OpenResult = Result<Box<dyn Device>, OpenError>;

/// Parameters for opening a device, in addition to its configuration.
#[derive(Clone, Debug)]
pub struct OpenContext {
    /// Priority of the real-time loop. Threads that serve a device have a lower priority, so that they never delay the
    /// loop.
    pub loop_priority: u8,
    /// Speed limit of the handle, m/s. Limits of a device that take effect below it are reported.
    pub max_speed_m_per_s: f64,
    /// Program and arguments that run [`crate::serial::dead_man::run_dead_man`]; `None` to run without a dead-man
    /// process.
    pub dead_man: Option<(PathBuf, Vec<String>)>,
}

/// A connected device, as described by the kernel.
#[derive(Clone, Copy, Debug)]
pub enum Candidate<'a> {
    /// Serial port of a USB device.
    SerialPort {
        /// USB vendor id, four hexadecimal digits.
        vendor: &'a str,
        /// USB product id, four hexadecimal digits.
        product: &'a str,
    },
    /// HID device.
    Hid(&'a HidrawInfo),
    /// Device in the kernel's input layer.
    Input(&'a NodeInfo),
}

/// Properties of a recognised device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognised {
    /// Number of axes, if known.
    pub axes: Option<usize>,
    /// Description of the force feedback; empty if unknown.
    pub capabilities: String,
    /// What is not known before the device is opened, or never.
    pub unknown: Vec<Unknown>,
}

/// Something that is not known about a connected device. Displayed with the way to find out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Whether motors push and encoders count in the assumed direction.
    Sign,
    /// How many of the axes have a motor.
    Motors,
    /// The travel, which neither the device nor its descriptor gives.
    Travel,
    /// The displacement of the handle per turn of the motor, and so the travel.
    Lever,
    /// The travel, which the board states when it is opened.
    TravelUntilOpened,
    /// Whether the force ends if the host dies.
    Watchdog,
    /// As [`Self::Watchdog`]; the watchdog is set and verified when the device is opened.
    WatchdogUntilOpened,
}

impl fmt::Display for Unknown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        const IDENTIFY: &str = "`hapticd identify --device auto --out device.toml`";
        const RUN: &str = "`hapticd run --device auto --seconds 10`";
        const KILLED_RUN: &str = "`timeout --signal=KILL 10 hapticd run --device auto`";
        match self {
            Self::Sign => write!(out, "sign of force and position: {IDENTIFY} measures them"),
            Self::Motors => {
                write!(
                    out,
                    "motors: x and y are described, but one may have none: {IDENTIFY} moves each; then write axes"
                )
            }
            Self::Travel => {
                write!(out, "travel: 0.1 m is assumed: measure it at the handle, write travel_m, then {IDENTIFY}")
            }
            Self::Lever => {
                write!(out, "travel: 0.05 m per radian is assumed: measure the lever, write lever_m, then {IDENTIFY}")
            }
            Self::TravelUntilOpened => write!(out, "travel: the board states it when it is opened: {IDENTIFY}"),
            Self::Watchdog => {
                write!(out, "watchdog: press the handle into a wall in {KILLED_RUN}: the force must end within 0.15 s")
            }
            Self::WatchdogUntilOpened => {
                write!(out, "watchdog: set when the device is opened, which fails without one: {RUN}")
            }
        }
    }
}

/// All backends. If several recognise a device, the last of them drives it.
pub static BACKENDS: [&Backend; 6] =
    [&serial::BACKEND, &haply::BACKEND, &odrive::BACKEND, &hid_pid::BACKEND, &hid_native::BACKEND, &evdev::BACKEND];

/// All device kinds: the simulated kind and the kind of each backend.
pub static KINDS: Kinds = &{
    let mut kinds = [&SIMULATED; BACKENDS.len() + 1];
    let mut index = 0;
    while index < BACKENDS.len() {
        kinds[index + 1] = BACKENDS[index].spec;
        index += 1;
    }
    kinds
};

/// Returns the backend of a kind; `None` for kinds without hardware.
pub fn backend_of(kind: &KindSpec) -> Option<&'static Backend> {
    BACKENDS.iter().copied().find(|backend| backend.spec == kind)
}

/// Returns the kind of the backend that would drive a connected device, and the properties of the device; `None` if no
/// backend recognises it.
pub fn recognise(candidate: &Candidate<'_>) -> Option<(&'static KindSpec, Recognised)> {
    BACKENDS.iter().rev().find_map(|backend| Some((backend.spec, backend.recognise?(candidate)?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_its_own_name_and_is_hardware_if_it_has_a_backend() {
        for (index, kind) in KINDS.iter().enumerate() {
            assert!(!KINDS[..index].contains(kind), "{}", kind.name);
            assert_eq!(kind.is_hardware, backend_of(kind).is_some(), "{}", kind.name);
        }
    }
}
