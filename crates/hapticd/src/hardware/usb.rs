//! Devices that speak USB HID, and those that the kernel's input layer drives.

use crate::failure::Failure;
use haptic_backends::evdev::{self, node};
use haptic_backends::hid::force::ForceScale;
use haptic_backends::hid::hidraw::{HidrawPort, Selection};
use haptic_backends::hid::joystick::{self, JoystickSettings};
use haptic_backends::hid::layout::PidLayout;
use haptic_backends::hid::native::{self, NativeSettings};
use haptic_config::setup::Setup;
use haptic_device::Device;
use std::path::PathBuf;

/// Threads that talk to a device run so far below the loop: its device must not hold it up.
const BELOW_THE_LOOP: u8 = 10;

/// Opens a joystick, wheel or board with HID force feedback.
///
/// # Errors
/// What stands in the way, with the remedy.
pub fn open_joystick(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let port = HidrawPort::new(selection(setup), |descriptor| PidLayout::find(descriptor, 1).is_ok());
    opened(setup, joystick::open(Box::new(port), joystick_settings(setup), priority(setup)))
}

/// Opens a board with the native protocol in HID reports.
///
/// # Errors
/// What stands in the way, with the remedy.
pub fn open_native(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let port = HidrawPort::new(selection(setup), native::is_native);
    let settings = NativeSettings {
        axes: Some(setup.device.axes as u8),
        lever_m: setup.device.lever_m,
        max_force_n: super::arming_limit_n(setup),
        watchdog_ms: (setup.device.watchdog_s * 1e3).round() as u16,
        baud: None,
    };
    let nonce = super::serial::first_nonce();
    opened(setup, native::open(Box::new(port), settings, nonce, priority(setup)))
}

/// Opens a device that the kernel drives.
///
/// # Errors
/// What stands in the way, with the remedy.
pub fn open_input_device(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let selection = selection(setup);
    let find = Box::new(move || node::choose(&node::list(), &selection));
    opened(setup, evdev::open(find, joystick_settings(setup), priority(setup)))
}

fn opened<D: Device + 'static>(setup: &Setup, device: Result<D, String>) -> Result<Box<dyn Device>, Failure> {
    match device {
        Ok(device) => Ok(Box::new(device)),
        Err(error) => Err(Failure::Runtime(format!("{}: {error}", setup.profile.device.name))),
    }
}

fn selection(setup: &Setup) -> Selection {
    let identity = &setup.device.identity;
    Selection {
        path: identity.path.clone().map(PathBuf::from),
        vendor_id: identity.vendor_id,
        product_id: identity.product_id,
        serial_number: identity.serial_number.clone(),
    }
}

fn joystick_settings(setup: &Setup) -> JoystickSettings {
    let file = &setup.device;
    JoystickSettings {
        axes: file.axes,
        travel_m: file.calibration.travel_m,
        lever_m: file.lever_m,
        centre_counts: file.calibration.centre_counts,
        force: ForceScale { full_scale_n: file.model.max_force_n, reversed: file.calibration.reverse_force },
    }
}

fn priority(setup: &Setup) -> u8 {
    setup.profile.realtime.priority.saturating_sub(BELOW_THE_LOOP).max(1)
}
