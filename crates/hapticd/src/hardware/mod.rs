//! Opens the device described by a device file.

pub mod auto;

use crate::failure::Failure;
use haptic_backends::kinds::{OpenContext, backend_of};
use haptic_config::setup::Setup;
use haptic_device::Device;
use std::path::PathBuf;

/// Opens the device of a setup, ready to be read and written.
///
/// # Errors
/// If the model cannot be simulated, or if the hardware is missing, busy, not accessible or does not match the device
/// file.
pub fn open(setup: &Setup) -> Result<Box<dyn Device>, Failure> {
    let Some(backend) = backend_of(setup.device.kind) else { return Ok(setup.simulated_device()?) };
    let context = OpenContext {
        loop_priority: setup.profile.realtime.priority,
        max_speed_m_per_s: setup.profile.safety.limits(false).max_speed_m_per_s,
        dead_man: dead_man(),
    };
    backend
        .open(&setup.device, &context)
        .map_err(|error| Failure::Runtime(format!("{}: {error}", setup.profile.device.name)))
}

/// Returns the program and arguments of the dead-man process; `None` if the path of this program is unknown.
fn dead_man() -> Option<(PathBuf, Vec<String>)> {
    Some((std::env::current_exe().ok()?, vec!["dead-man".to_owned()]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_backends::KINDS;
    use haptic_backends::native::NativeSettings;
    use haptic_config::profile;
    use haptic_config::setup::Sources;
    use haptic_config::source::Source;

    #[test]
    fn a_board_is_armed_for_every_force_that_the_profile_can_be_changed_to() {
        let limit_n = |profile_n: f64| {
            let text = format!("[safety]\nmax_force_n = {profile_n}\n");
            let profile = profile::load(&Source::in_memory("p.toml", &text)).unwrap();
            let simulated = Setup::from_profile(profile.clone(), None, KINDS).unwrap();
            let file = "kind = \"serial\"\naxes = 2\n[model]\nmax_force_n = [3.0, 2.5]\n";
            let device = Source::in_memory("d.toml", file);
            let setup = Setup::from_sources(profile, Sources { device, ..simulated.sources }, KINDS).unwrap();
            assert_eq!(setup.max_force_n(), profile_n.min(2.5), "what the guard holds to");
            NativeSettings::from_config(&setup.device).max_force_n
        };
        assert_eq!((limit_n(1.0), limit_n(2.0), limit_n(9.0)), (2.5, 2.5, 2.5));
    }
}
