//! `--device auto`: selects the only connected device.

use crate::cli::InputArguments;
use crate::failure::Failure;
use haptic_backends::KINDS;
use haptic_backends::discovery::{Found, found};
use haptic_config::device;
use haptic_config::profile::Reference;
use haptic_config::setup::Setup;
use haptic_config::source::Source;

/// Value of `--device` that selects the only connected device.
const AUTO: &str = "auto";

/// Opens the files named by the flags; `--device auto` selects the only connected device.
///
/// # Errors
/// If a file has errors, which the failure lists, or if `auto` finds no device or several.
pub fn open_setup(input: &InputArguments) -> Result<Setup, Failure> {
    if input.device.as_deref() != Some(AUTO) {
        return Ok(Setup::open(input, None)?);
    }
    let found = the_only_one(found())?;
    // The setup is opened with a simulated device, which is then replaced.
    let stand_in = InputArguments { device: Some("simulated-2dof".to_owned()), ..input.clone() };
    let mut setup = Setup::open(&stand_in, None)?;
    let name = AUTO.to_owned();
    setup.sources.device = Source::in_memory(&name, &found.device_file());
    setup.device = device::load(&setup.sources.device, KINDS)?;
    setup.profile.device = Reference::from_flag(AUTO);
    setup.profile.simulation_only.reject_on_hardware(true)?;
    Ok(setup)
}

fn the_only_one(mut found: Vec<Found>) -> Result<Found, Failure> {
    found.retain(Found::can_be_driven);
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            let list: Vec<_> = found.iter().map(|found| format!("{} ({})", found.port, found.name)).collect();
            let advice = "unplug the others, or write a device file with the port, path or serial_number of one";
            Err(Failure::BadInput(format!(
                "--device auto: several devices are connected: {}; {advice}",
                list.join(", ")
            )))
        }
        (None, _) => {
            let advice = "plug one in, or use a simulated one: --device simulated-2dof";
            Err(Failure::Runtime(format!("--device auto: no device found; {advice}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_backends::discovery::NO_BACKEND;

    fn device(port: &str) -> Found {
        let (name, usb) = ("board".to_owned(), "2341:0043".to_owned());
        let (serial_number, capabilities) = (String::new(), String::new());
        let (port, backend, unknown, missing) = (port.to_owned(), "serial", Vec::new(), Vec::new());
        Found { port, serial_number, name, usb, backend, axes: None, capabilities, unknown, missing }
    }

    #[test]
    fn auto_ignores_devices_without_a_backend() {
        let pad = Found { backend: NO_BACKEND, ..device("/dev/hidraw0") };
        assert_eq!(the_only_one(vec![pad.clone(), device("/dev/a")]).unwrap().port, "/dev/a");
        assert_eq!(the_only_one(vec![pad]).unwrap_err().exit_code(), 1);
    }

    #[test]
    fn auto_takes_the_only_device_lists_several_and_misses_none() {
        assert_eq!(the_only_one(vec![device("/dev/a")]).unwrap().port, "/dev/a");
        let several = the_only_one(vec![device("/dev/a"), device("/dev/b")]).unwrap_err();
        assert_eq!(several.exit_code(), 2);
        assert!(several.to_string().contains("/dev/a") && several.to_string().contains("/dev/b"), "{several}");
        assert_eq!(the_only_one(Vec::new()).unwrap_err().exit_code(), 1);
    }
}
