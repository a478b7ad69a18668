//! Table of the boards that can be emulated on a pseudo-terminal. To add a board, implement [`Board`] and add an entry
//! to [`EMULATORS`].

use crate::handle::EmulatedHandle;
use crate::interval::Interval;
use crate::native::NativeTraits;
use crate::serial::{Board, HaplyBoard, NativeBoard, OdriveBoard, OdriveFirmware};
use haptic_backends::serial::HaplyVariant;
use haptic_device::config::ReversedAxes;
use haptic_device::simulated::{DeviceModel, HandModel, ModelError};
use haptic_wire::VERSION;

/// A board that can be emulated on a pseudo-terminal.
#[derive(Debug)]
pub struct Emulator {
    /// Name on the command line.
    pub name: &'static str,
    /// Description in the command-line help.
    pub about: &'static str,
    /// Number of axes.
    pub axes: u8,
    /// Whether the board has an emergency stop.
    pub has_emergency_stop: bool,
    /// Builds the board.
    pub build: fn(&BoardOptions) -> Result<Box<dyn Board>, ModelError>,
}

/// Options for emulated boards. Each board uses the ones that apply to it.
#[derive(Clone, Debug)]
pub struct BoardOptions {
    /// Dynamics of the handle.
    pub model: DeviceModel,
    /// Hand holding the handle, if any.
    pub hand: Option<HandModel>,
    /// Whether [`Self::hand`] is the default hand. Boards with a different travel then use their own hand instead.
    pub hand_is_default: bool,
    /// Whether the board reports velocities (native boards only).
    pub velocity: bool,
    /// Major protocol version reported by the board (native boards only).
    pub protocol_version: u8,
    /// Planned presses of the emergency stop (native boards only).
    pub emergency_stops: Vec<Interval>,
    /// Variant of the board (Haply 2diy only).
    pub variant: HaplyVariant,
    /// Handle displacement per radian of the motor, m (ODrive only).
    pub lever_m: f64,
    /// Axes, or arms of a Haply 2diy, whose motor or encoder is reversed.
    pub reversed: ReversedAxes,
    /// Firmware of the board (ODrive only).
    pub firmware: &'static OdriveFirmware,
}

/// All boards that can be emulated on a pseudo-terminal.
pub static EMULATORS: [Emulator; 4] = [
    Emulator {
        name: "native-1dof",
        about: "Board with one axis and the native protocol",
        axes: 1,
        has_emergency_stop: true,
        build: |options| native(1, options),
    },
    Emulator {
        name: "native-2dof",
        about: "Board with two axes and the native protocol",
        axes: 2,
        has_emergency_stop: true,
        build: |options| native(2, options),
    },
    Emulator { name: "haply-2diy", about: "Haply 2diy", axes: 2, has_emergency_stop: false, build: haply },
    Emulator {
        name: "odrive",
        about: "ODrive motor controller with one axis",
        axes: 1,
        has_emergency_stop: false,
        build: odrive,
    },
];

fn native(axes: u8, options: &BoardOptions) -> Result<Box<dyn Board>, ModelError> {
    let traits = NativeTraits {
        axes,
        gives_velocity: options.velocity,
        version: if options.protocol_version == VERSION.0 { VERSION } else { (options.protocol_version, 0) },
        ..NativeTraits::default()
    };
    let board = NativeBoard::new(traits, handle(axes, options)?);
    Ok(Box::new(board.with_planned_stops(options.emergency_stops.clone())))
}

fn haply(options: &BoardOptions) -> Result<Box<dyn Board>, ModelError> {
    let hand = options.hand.clone().filter(|_| !options.hand_is_default);
    Ok(Box::new(HaplyBoard::new(options.variant, &options.model, hand)?.reversed(options.reversed)))
}

fn odrive(options: &BoardOptions) -> Result<Box<dyn Board>, ModelError> {
    Ok(Box::new(OdriveBoard::new(options.firmware, options.lever_m, handle(1, options)?)))
}

fn handle(axes: u8, options: &BoardOptions) -> Result<EmulatedHandle, ModelError> {
    Ok(EmulatedHandle::new(axes, &options.model, options.hand.as_ref())?.reversed(options.reversed))
}
