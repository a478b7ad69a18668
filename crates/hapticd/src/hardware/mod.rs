//! From a device file to an open device: one line in [`open`] for each kind.

pub mod auto;
pub mod discovery;
mod serial;
mod usb;

use crate::failure::Failure;
use haptic_config::device::DeviceKind;
use haptic_config::setup::Setup;
use haptic_device::Device;

/// Opens the device of a setup, ready to be read and written.
///
/// # Errors
/// A model that cannot be simulated, or hardware that is missing, busy, not permitted or not what the file says.
pub fn open(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    match setup.device.kind {
        DeviceKind::Simulated => Ok(setup.simulated_device()?),
        DeviceKind::Serial => serial::open_native(setup),
        DeviceKind::Haply2Diy => serial::open_haply(setup),
        DeviceKind::HidPid => usb::open_joystick(setup),
        DeviceKind::HidNative => usb::open_native(setup),
        DeviceKind::Evdev => usb::open_input_device(setup),
        DeviceKind::Odrive => serial::open_odrive(setup),
    }
}

/// The limit that a board is armed with, N: the device's own, which its full scale caps. Not the smaller one of the profile: that is the
/// guard's to hold and changes with the profile while the board stays armed, and the board would clip forces that the guard has booked.
fn arming_limit_n(setup: &Setup) -> f64 {
    setup.device.axes_model().max_force_n
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_config::profile;
    use haptic_config::setup::Sources;
    use haptic_config::source::Source;

    #[test]
    fn a_board_is_armed_for_every_force_that_the_profile_can_be_changed_to() {
        let limit_n = |profile_n: f64| {
            let text = format!("[safety]\nmax_force_n = {profile_n}\n");
            let profile = profile::load(&Source::in_memory("p.toml", &text)).unwrap();
            let simulated = Setup::from_profile(profile.clone(), None).unwrap();
            let file = "kind = \"serial\"\naxes = 2\n[model]\nmax_force_n = [3.0, 2.5]\n";
            let device = Source::in_memory("d.toml", file);
            let setup = Setup::from_sources(profile, Sources { device, ..simulated.sources }).unwrap();
            assert_eq!(setup.max_force_n(), profile_n.min(2.5), "what the guard holds to");
            (arming_limit_n(&setup), serial::native_settings(&setup).max_force_n)
        };
        assert_eq!((limit_n(1.0), limit_n(2.0), limit_n(9.0)), ((2.5, 2.5), (2.5, 2.5), (2.5, 2.5)));
    }
}
