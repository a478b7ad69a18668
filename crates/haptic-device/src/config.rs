//! Checked content of a device file, as backends and models use it.

use crate::kind::{KindSpec, SIMULATED};
use crate::simulated::{DeviceModel, HandModel};

/// Checked content of a device file.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    /// Backend that drives the device.
    pub kind: &'static KindSpec,
    /// 1 or 2.
    pub axes: usize,
    /// Whether the file gives the number of axes. If not, a board may report another one.
    pub axes_are_given: bool,
    /// How the device is found on this machine.
    pub address: Address,
    /// Variant of the kind, one of [`KindSpec::variants`].
    pub variant: Option<&'static str>,
    /// Metres per radian of rotary axes.
    pub lever_m: f64,
    /// Silence of the host after which the device itself cuts its force, s.
    pub watchdog_s: f64,
    /// Conversion from counts to metres and from magnitudes to newtons.
    pub calibration: Calibration,
    /// Dynamics of the device.
    pub model: DeviceModel,
    /// Whether the damping of the model is a cautious guess because the file gives none.
    pub damping_is_assumed: bool,
    /// Simulated hand that holds the device, if any.
    pub hand: Option<HandModel>,
    /// Keys in the file that have no effect, with the reason.
    pub ignored_keys: Vec<String>,
}

impl Default for DeviceConfig {
    fn default() -> Self {
        Self {
            kind: &SIMULATED,
            axes: 2,
            axes_are_given: false,
            address: Address::default(),
            variant: None,
            lever_m: 0.05,
            watchdog_s: 0.02,
            calibration: Calibration::default(),
            model: DeviceModel::default(),
            damping_is_assumed: false,
            hand: None,
            ignored_keys: Vec::new(),
        }
    }
}

impl DeviceConfig {
    /// Largest force on the device, N: the limit of the weaker axis holds for the whole vector.
    pub fn max_force_n(&self) -> f64 {
        self.model.vector_limit_n(self.axes)
    }
}

/// How a device is found: by the port or node where it is plugged in, or by what it reports about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Serial port.
    pub port: Option<String>,
    /// Bits per second of the serial port.
    pub baud: u32,
    /// Device node.
    pub path: Option<String>,
    /// USB vendor.
    pub vendor_id: Option<u16>,
    /// USB product.
    pub product_id: Option<u16>,
    /// Serial number.
    pub serial_number: Option<String>,
}

impl Default for Address {
    fn default() -> Self {
        Self { port: None, baud: 1_000_000, path: None, vendor_id: None, product_id: None, serial_number: None }
    }
}

/// Properties of a joystick that it does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// From one end of each axis to the other, at the handle, m.
    pub travel_m: Option<[f64; 2]>,
    /// Count of each axis in the centre.
    pub centre_counts: Option<[f64; 2]>,
    /// The motor of an axis pushes in the wrong direction.
    pub reverse_force: [bool; 2],
}
