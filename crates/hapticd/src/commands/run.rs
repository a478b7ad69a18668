//! `hapticd run`: runs the loop in real time.

use super::check::warnings::device_warnings;
use super::print_json;
use crate::admission;
use crate::cli::RunArguments;
use crate::daemon::{self, Options};
use crate::failure::Failure;
use crate::figures::ticks_in;
use crate::file_use::PathConflicts;
use crate::hardware::{self, auto};
use crate::realtime_setup::signals::Signals;
use crate::status::{Status, conclude};
use crate::verdict::verdict;
use crate::viewer;
use haptic_config::setup::Setup;
use haptic_config::stability::Stability;
use haptic_view::Listener;

/// Runs the command.
///
/// # Errors
/// If the input is invalid, driving the device is not permitted, or the loop fails.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    daemon::keep_memory();
    let mut setup = auto::open_setup(&arguments.input)?;
    let record = arguments.recording.record.as_deref();
    PathConflicts::from_setup(&setup, &arguments.input).writes("--record", record).check()?;
    let warning = admit(&setup, arguments.i_know)?;
    let device = hardware::open(&setup)?;
    setup.update_from_device(device.as_ref());
    let signals = Signals::register()?;
    let listener = viewer::listen(arguments, setup.profile.view_listen);
    setup.hand_waits = listener.is_some();
    let (scene, name) = (&setup.profile.scene.name, &device.identity().name);
    tracing::info!("Running scene \"{scene}\" on a {name} at 1 kHz; Ctrl-C ends it, SIGUSR1 is an emergency stop");
    warn_of_slow_service(&setup);
    for unusual in &setup.warnings {
        tracing::warn!("{unusual}");
    }
    for warning in device_warnings(&setup.device) {
        tracing::warn!("{}: {warning}", setup.profile.device.name);
    }
    if let Some(text) = warning {
        tracing::warn!("{text}");
    }
    if let Some(unstable) = Stability::new(&setup).instability(&setup.profile.coupling_at) {
        tracing::warn!("{unstable}");
    }
    let options = Options {
        input: arguments.input.clone(),
        periods: arguments.seconds.map(ticks_in),
        allow_no_rt: arguments.allow_no_rt,
        i_know: arguments.i_know,
        black_box_folder: crate::control::state_folder(),
        listener,
        recording: arguments.recording.clone(),
    };
    let address = options.listener.as_ref().map(Listener::url);
    let status = Status::of_terminal(&setup.scene, address);
    let name = setup.profile.device.name.clone();
    let summary = daemon::run(setup, device, options, &signals, status)?;
    conclude(&verdict(&summary));
    if arguments.json {
        print_json(&summary)?;
    }
    summary.require_right_signs(&name)?;
    summary.recording.map_or(Ok(()), |recording| recording.require_complete())
}

fn admit(setup: &Setup, i_know: bool) -> Result<Option<String>, Failure> {
    if !setup.is_simulated() {
        setup.profile.simulation_only.reject_on_hardware(i_know)?;
    }
    admission::admit(&setup.profile.scene.name, &setup.scene, setup.is_simulated())
}

/// Warns if the device does not support the rate in the profile and is therefore served less often.
fn warn_of_slow_service(setup: &Setup) {
    let (requested, served) = (setup.profile.realtime.rate_hz, setup.service_rate_hz());
    if served < requested {
        let (name, supported) = (&setup.profile.device.name, setup.device_rate_hz);
        let advice = "use a lower stiffness, a faster line (baud = 1000000) or native USB";
        tracing::warn!(
            "{name}: device and line support {supported:.0} Hz at most and are served at {served} Hz; {advice}"
        );
    }
}
