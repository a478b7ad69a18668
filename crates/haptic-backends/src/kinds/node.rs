//! Functions shared by the backends for devices with a device node.

use super::OpenContext;
use crate::hid::hidraw::Selection;
use crate::hid::joystick::JoystickSettings;
use haptic_device::DeviceConfig;
use std::path::PathBuf;

/// Difference between the priorities of the loop and of a device's threads.
const BELOW_THE_LOOP: u8 = 10;

pub(super) fn priority(context: &OpenContext) -> u8 {
    context.loop_priority.saturating_sub(BELOW_THE_LOOP).max(1)
}

pub(super) fn selection(config: &DeviceConfig) -> Selection {
    let address = &config.address;
    Selection {
        path: address.path.clone().map(PathBuf::from),
        vendor_id: address.vendor_id,
        product_id: address.product_id,
        serial_number: address.serial_number.clone(),
    }
}

pub(super) fn joystick_settings(config: &DeviceConfig) -> JoystickSettings {
    let calibration = &config.calibration;
    JoystickSettings {
        axes: config.axes,
        travel_m: calibration.travel_m,
        lever_m: config.lever_m,
        centre_counts: calibration.centre_counts,
        full_scale_n: config.model.max_force_n,
    }
}
