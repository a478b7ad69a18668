//! `hapticd run`: the tick on the wall clock.

use super::print_json;
use crate::admission;
use crate::cli::{InputArguments, RunArguments};
use crate::daemon::signals::Signals;
use crate::daemon::{self, Options};
use crate::failure::Failure;
use crate::figures::ticks_in;
use crate::files::device;
use crate::files::profile::Reference;
use crate::files::source::Source;
use crate::hardware;
use crate::hardware::discovery::{Found, found};
use crate::setup::Setup;
use crate::status::{Status, conclude};
use crate::verdict::verdict;
use crate::viewer;
use haptic_loop::black_box::state_folder;

/// The word for `--device` that takes whatever is plugged in.
const WHATEVER_IS_THERE: &str = "auto";

/// Runs the command.
///
/// # Errors
/// When the input is wrong, the device may not be driven, or the loop fails.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let mut setup = open_setup(arguments)?;
    let objection = admit(&setup, arguments.i_know)?;
    let device = hardware::open(&setup)?;
    setup.learn_from(device.as_ref());
    let signals = Signals::watched()?;
    let listener = viewer::listen(arguments, setup.profile.view_listen);
    let (scene, name) = (&setup.profile.scene.name, &device.identity().name);
    tracing::info!("feel the scene {scene} through a {name}, at 1 kHz; Ctrl-C ends it");
    tell_of_slow_service(&setup);
    if let Some(text) = objection {
        tracing::warn!("{text}");
    }
    let options = Options {
        input: arguments.input.clone(),
        periods: arguments.seconds.map(ticks_in),
        allow_no_rt: arguments.allow_no_rt,
        i_know: arguments.i_know,
        black_box_folder: state_folder(),
        listener,
        recording: arguments.recording.clone(),
    };
    let status = Status::of_terminal(&setup.scene);
    let summary = daemon::run(setup, device, options, &signals, status)?;
    conclude(&verdict(&summary));
    if arguments.json { print_json(&summary) } else { Ok(()) }
}

/// Opens what the flags name; `--device auto` takes the only device that is plugged in.
fn open_setup(arguments: &RunArguments) -> Result<Setup, Failure> {
    if arguments.input.device.as_deref() != Some(WHATEVER_IS_THERE) {
        return Ok(Setup::open(&arguments.input, None)?);
    }
    let found = the_only_one(found())?;
    // Everything else is opened as for a model; the device takes its place.
    let stand_in = InputArguments { device: Some("simulated-2dof".to_owned()), ..arguments.input.clone() };
    let mut setup = Setup::open(&stand_in, None)?;
    let text = format!("kind = \"{}\"\nport = \"{}\"\n", found.backend, found.port);
    setup.sources.device = Source { name: WHATEVER_IS_THERE.to_owned(), text, folder: None };
    setup.device = device::load(&setup.sources.device)?;
    setup.profile.device = Reference::from_flag(WHATEVER_IS_THERE);
    setup.profile.bareness.refuse_on_hardware(true)?;
    Ok(setup)
}

fn the_only_one(mut found: Vec<Found>) -> Result<Found, Failure> {
    match (found.pop(), found.is_empty()) {
        (Some(only), true) => Ok(only),
        (Some(last), false) => {
            found.push(last);
            let list: Vec<_> = found.iter().map(|found| format!("{} ({})", found.port, found.name)).collect();
            let advice = "unplug the others, or write a device file with the port or serial_number of one";
            Err(Failure::BadInput(format!("--device auto: several devices are there: {}; {advice}", list.join(", "))))
        }
        (None, _) => {
            let advice = "plug one in, or feel without one: --device simulated-2dof";
            Err(Failure::WhileRunning(format!("--device auto: no device was found; {advice}")))
        }
    }
}

fn admit(setup: &Setup, i_know: bool) -> Result<Option<String>, Failure> {
    if !setup.is_simulated() {
        setup.profile.bareness.refuse_on_hardware(i_know)?;
    }
    admission::admit(&setup.profile.scene.name, &setup.scene, setup.is_simulated())
}

/// A link that cannot carry what the profile asks for is served less often, and the user must know.
fn tell_of_slow_service(setup: &Setup) {
    let (asked, served) = (setup.profile.realtime.rate_hz, setup.service_rate_hz());
    if served < asked {
        let (name, able) = (&setup.profile.device.name, setup.device_rate_hz);
        let advice = "walls must be softer at this rate; a faster line (baud = 1000000) or native USB allows 1000 Hz";
        tracing::warn!(
            "{name}: the device and its line take {able:.0} Hz at most and are served at {served} Hz; {advice}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(port: &str) -> Found {
        let (serial_number, usb, missing) = (String::new(), "2341:0043".to_owned(), Vec::new());
        Found { port: port.to_owned(), serial_number, name: "board".to_owned(), usb, backend: "serial", missing }
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
