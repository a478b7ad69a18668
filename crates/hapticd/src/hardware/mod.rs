//! From a device file to an open device: one line in [`open`] for each kind.

pub mod auto;
pub mod discovery;
mod serial;
mod usb;

use crate::failure::Failure;
use crate::files::device::DeviceKind;
use crate::setup::Setup;
use haptic_device::Device;

/// Opens the device of a setup, ready to be read and written.
///
/// # Errors
/// A model that cannot be simulated, or hardware that is missing, busy, not permitted or not what the file says.
pub fn open(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    match setup.device.kind {
        DeviceKind::Simulated => setup.simulated_device(),
        DeviceKind::Serial => serial::open_native(setup),
        DeviceKind::Haply2Diy => serial::open_haply(setup),
        DeviceKind::HidPid => usb::open_joystick(setup),
        DeviceKind::HidNative => usb::open_native(setup),
        DeviceKind::Evdev => usb::open_input_device(setup),
        DeviceKind::Odrive => serial::open_odrive(setup),
    }
}
