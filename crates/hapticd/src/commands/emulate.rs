//! `hapticd emulate`: emulates a device on a pseudo-terminal.

use super::print_line;
use crate::cli::EmulateArguments;
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::realtime_setup::signals::Signals;
use haptic_backends::KINDS;
use haptic_config::builtin::DEVICES;
use haptic_config::device;
use haptic_device::HandModel;
use haptic_emulator::emulators::BoardOptions;
use haptic_emulator::serial::{Board, LineFaults, ServeOptions, serve};
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Runs the command.
///
/// # Errors
/// If the model is invalid or the port cannot be created.
pub fn emulate(arguments: &EmulateArguments) -> Result<(), Failure> {
    let (mut board, options) = (board(arguments)?, serve_options(arguments));
    file_use(arguments)?.writes("--trace", arguments.trace.as_deref()).check()?;
    check_link(&arguments.link)?;
    if let Some(trace) = &arguments.trace {
        File::create(trace).map_err(|error| Failure::unwritable(trace, &error))?;
    }
    let (signals, link) = (Signals::register_without_stop()?, arguments.link.display());
    let stop = Arc::clone(&signals.stop);
    // The emulation continues when its output is no longer read.
    let mut log = |seconds: f64, text: &str| drop(print_line(&format!("{seconds:.6} {text}")));
    let thread = spawn(request(), move |_granted| serve(board.as_mut(), &options, &stop, &mut log))?;
    let served = thread.join().map_err(|panic| Failure::Runtime(panic.to_string()))?;
    let summary = served.map_err(|error| Failure::Runtime(format!("--link {link}: {error}")))?;
    let faults = summary.faults;
    let (dropped, damaged) = (faults.dropped, faults.damaged);
    print_line(&format!("{} ms emulated, {dropped} frames dropped, {damaged} damaged", summary.ticks))?;
    print_line(&format!("maximum net energy to the hand: {:.6} J", summary.given_most_j))?;
    Ok(())
}

/// Rejects a link that cannot be created because of its path.
fn check_link(link: &Path) -> Result<(), Failure> {
    let folder = link.parent().filter(|folder| !folder.as_os_str().is_empty());
    let problem = match std::fs::symlink_metadata(link) {
        _ if folder.is_some_and(|folder| !folder.is_dir()) => "its folder does not exist",
        Ok(there) if !there.is_symlink() => "exists and is not a link",
        _ => return Ok(()),
    };
    let name = link.file_name().unwrap_or_default().to_string_lossy();
    Err(Failure::BadInput(format!("--link {}: {problem}; give --link /tmp/{name}-port", link.display())))
}

/// Requests a priority below the default of the loop and above all ordinary programs. Hardware does not wait for other
/// programs, so an emulated device should not either.
fn request() -> ThreadRequest {
    let name = "emulated".to_owned();
    ThreadRequest { name, priority: 60, cpu: CpuChoice::Any, lock_memory: false, ..ThreadRequest::default() }
}

fn serve_options(arguments: &EmulateArguments) -> ServeOptions {
    let delay_ns = (arguments.delay_ms * 1e6) as u64;
    ServeOptions {
        link: Some(arguments.link.clone()),
        faults: LineFaults { drop: arguments.drop, garbage: arguments.garbage, delay_ns, seed: arguments.seed },
        planned_faults: arguments.fault.clone(),
        dies_after: arguments.die_after.map(Duration::from_secs_f64),
        unplug: None,
        dead_for: Duration::from_secs_f64(arguments.dead_for),
        ends_after: arguments.seconds.map(Duration::from_secs_f64),
        trace: arguments.trace.clone(),
    }
}

/// Creates the board with the model and hand from a simulated device file.
fn board(arguments: &EmulateArguments) -> Result<Box<dyn Board>, Failure> {
    let emulator = arguments.kind;
    if !arguments.emergency_stop.is_empty() && !emulator.has_emergency_stop {
        let problem = format!("--emergency-stop: the board {} has no emergency stop", emulator.name);
        return Err(Failure::BadInput(format!("{problem}; emulate native-1dof or native-2dof")));
    }
    let name = arguments.device.clone().unwrap_or_else(|| format!("simulated-{}dof", emulator.axes));
    let file = device::load(&DEVICES.open(&name, None)?, KINDS)?;
    let options = BoardOptions {
        model: file.model,
        hand: file.hand.map(|hand| with_path(hand, emulator.axes)),
        hand_is_default: arguments.device.is_none(),
        velocity: arguments.velocity,
        protocol_version: arguments.protocol_version,
        emergency_stops: arguments.emergency_stop.clone(),
        variant: arguments.variant,
        lever_m: arguments.lever_m,
        reversed: arguments.reversed_axes(),
        firmware: arguments.firmware,
    };
    (emulator.build)(&options).map_err(|error| Failure::BadInput(format!("{name}: {error}")))
}

/// Returns the hand of a device file, which presses and releases unless the file gives it a path.
fn with_path(hand: HandModel, axes: u8) -> HandModel {
    if !hand.path.is_empty() {
        return hand;
    }
    let HandModel { mut path, looped, .. } = HandModel::default();
    if axes == 1 {
        path.iter_mut().for_each(|[_, x_m, y_m]| std::mem::swap(x_m, y_m));
    }
    HandModel { path, looped, ..hand }
}

fn file_use(arguments: &EmulateArguments) -> Result<PathConflicts, Failure> {
    let device = arguments.device.as_ref().map(|name| DEVICES.open(name, None)).transpose()?;
    let used = PathConflicts::default().writes("--link", Some(&arguments.link));
    Ok(device.iter().fold(used, |used, device| used.reads_source("--device", device)))
}
