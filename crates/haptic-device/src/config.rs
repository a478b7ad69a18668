//! Checked contents of a device file, as used by backends and models.

use crate::kind::{KindSpec, SIMULATED};
use crate::pantograph::Pantograph;
use crate::simulated::{DeviceModel, HandModel};
use nalgebra::Vector2;

/// Checked contents of a device file.
#[derive(Clone, Debug, PartialEq)]
pub struct DeviceConfig {
    /// Kind of the device.
    pub kind: &'static KindSpec,
    /// Number of axes, 1 or 2.
    pub axes: usize,
    /// Whether the file gives the number of axes. If not, a board may report a different number.
    pub axes_are_given: bool,
    /// Address of the device on this machine.
    pub address: Address,
    /// Variant of the device, one of [`KindSpec::variants`]; `None` if the kind has no variants.
    pub variant: Option<&'static str>,
    /// Displacement of the handle per radian of a rotary axis, m.
    pub lever_m: f64,
    /// Watchdog time, s: the device switches its force off if no command arrives for this long.
    pub watchdog_s: f64,
    /// Joystick calibration: travel and centre, which a joystick does not report.
    pub calibration: Calibration,
    /// Axes whose motor or encoder is reversed.
    pub reversed: ReversedAxes,
    /// Settings of the arms of a linkage, which replace those of its variant.
    pub arms: ArmSettings,
    /// Whether the signs of motors and encoders are checked before the first force.
    pub sign_check: bool,
    /// Model of the device's dynamics.
    pub model: DeviceModel,
    /// Whether the damping in [`Self::model`] is a conservative guess, because the file does not specify it.
    pub damping_is_assumed: bool,
    /// Whether the delay is assumed to be a full service period, because the file of a hardware device does not specify
    /// it.
    pub delay_is_assumed: bool,
    /// Simulated hand holding the device, if any.
    pub hand: Option<HandModel>,
    /// Warnings about the file: keys without effect, unusual values.
    pub warnings: Vec<String>,
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
            reversed: ReversedAxes::default(),
            arms: ArmSettings::default(),
            sign_check: true,
            model: DeviceModel::default(),
            damping_is_assumed: false,
            delay_is_assumed: false,
            hand: None,
            warnings: Vec::new(),
        }
    }
}

impl DeviceConfig {
    /// Returns the linkage between motors and handle; `None` if each motor drives an axis of the device frame.
    pub fn linkage(&self) -> Option<Pantograph> {
        self.kind.linkage.zip(self.variant).and_then(|(linkage, variant)| linkage(variant))
    }

    /// Largest force of the device, N. The weaker axis limits the whole vector.
    pub fn max_force_n(&self) -> f64 {
        self.model.vector_limit_n(self.axes)
    }
}

/// Address of a device: its port or device node, or the identity that it reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Path of the serial port.
    pub port: Option<String>,
    /// Baud rate of the serial port, bits per second.
    pub baud: u32,
    /// Path of the device node.
    pub path: Option<String>,
    /// USB vendor id.
    pub vendor_id: Option<u16>,
    /// USB product id.
    pub product_id: Option<u16>,
    /// Serial number.
    pub serial_number: Option<String>,
}

impl Address {
    /// Default baud rate of serial ports, bits per second.
    pub const DEFAULT_BAUD: u32 = 1_000_000;
}

impl Default for Address {
    fn default() -> Self {
        Self {
            port: None,
            baud: Self::DEFAULT_BAUD,
            path: None,
            vendor_id: None,
            product_id: None,
            serial_number: None,
        }
    }
}

/// Properties that a joystick does not report.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// Travel of each axis at the handle, from end to end, m.
    pub travel_m: Option<[f64; 2]>,
    /// Count of each axis at the centre.
    pub centre_counts: Option<[f64; 2]>,
}

/// Axes of the device frame along which the motor or the encoder of a device acts the wrong way round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReversedAxes {
    /// Whether the motor of each axis pushes against the commanded direction.
    pub force: [bool; 2],
    /// Whether the encoder of each axis counts against its direction.
    pub position: [bool; 2],
}

impl ReversedAxes {
    /// Returns 1 or −1 for the forces along each axis.
    pub fn force_signs(&self) -> Vector2<f64> {
        signs(self.force)
    }

    /// Returns 1 or −1 for the positions along each axis.
    pub fn position_signs(&self) -> Vector2<f64> {
        signs(self.position)
    }
}

fn signs(reversed: [bool; 2]) -> Vector2<f64> {
    Vector2::from(reversed.map(|is_reversed| if is_reversed { -1.0 } else { 1.0 }))
}

/// Direction of rotation of a motor or an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rotation {
    /// Clockwise.
    Clockwise,
    /// Anticlockwise.
    Anticlockwise,
}

impl Rotation {
    /// Both directions with their names in device files.
    pub const NAMED: [(&'static str, Self); 2] =
        [(Self::Clockwise.name(), Self::Clockwise), (Self::Anticlockwise.name(), Self::Anticlockwise)];
    /// Names of the directions in device files.
    pub const NAMES: [&'static str; 2] = [Self::Clockwise.name(), Self::Anticlockwise.name()];

    /// Name in device files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clockwise => "cw",
            Self::Anticlockwise => "ccw",
        }
    }

    /// The other direction.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Clockwise => Self::Anticlockwise,
            Self::Anticlockwise => Self::Clockwise,
        }
    }
}

/// Settings of the two arms of a linkage; `None` for those of its variant.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ArmSettings {
    /// Directions of the motors.
    pub motor_directions: Option<[Rotation; 2]>,
    /// Directions of the encoders.
    pub encoder_directions: Option<[Rotation; 2]>,
    /// Angles of the arms at their home stops, rad.
    pub home_rad: Option<[f64; 2]>,
    /// Counts of the encoders per turn of the arms.
    pub counts_per_turn: Option<[f64; 2]>,
}
