//! `hapticd emulate`: a device made of software behind a pseudo-terminal.

use super::print_line;
use crate::cli::EmulateArguments;
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::realtime_setup::signals::Signals;
use haptic_backends::KINDS;
use haptic_config::builtin::DEVICES;
use haptic_config::device;
use haptic_emulator::emulators::BoardOptions;
use haptic_emulator::serial::{Board, LineFaults, ServeOptions, serve};
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use std::sync::Arc;
use std::time::Duration;

/// Runs the command.
///
/// # Errors
/// When the model is wrong or the port cannot be made.
pub fn emulate(arguments: &EmulateArguments) -> Result<(), Failure> {
    let (mut board, life) = (board(arguments)?, life(arguments));
    file_use(arguments)?.writes("--trace", arguments.trace.as_deref()).check()?;
    let (signals, link) = (Signals::register()?, arguments.link.display());
    let stop = Arc::clone(&signals.stop);
    // A reader that went away does not end a device.
    let mut tell = |seconds: f64, text: &str| drop(print_line(&format!("{seconds:.6} {text}")));
    let thread = spawn(request(), move |_granted| serve(board.as_mut(), &life, &stop, &mut tell))?;
    let served = thread.join().map_err(|panic| Failure::Runtime(panic.to_string()))?;
    let obituary = served.map_err(|error| Failure::Runtime(format!("--link {link}: {error}")))?;
    let faults = obituary.faults;
    let (dropped, damaged) = (faults.dropped, faults.damaged);
    print_line(&format!("{} ms lived, {dropped} frames dropped, {damaged} damaged", obituary.ticks))?;
    print_line(&format!("the motors gave the hand {:.6} J at most on balance", obituary.given_most_j))?;
    Ok(())
}

/// Hardware does not wait for other programs, and nor should its stand-in where the system lets it: below every loop, above
/// everything else.
fn request() -> ThreadRequest {
    let name = "emulated".to_owned();
    ThreadRequest { name, priority: 60, cpu: CpuChoice::Any, lock_memory: false, ..ThreadRequest::default() }
}

fn life(arguments: &EmulateArguments) -> ServeOptions {
    let delay_ns = (arguments.delay_ms * 1e6) as u64;
    ServeOptions {
        link: Some(arguments.link.clone()),
        faults: LineFaults { drop: arguments.drop, garbage: arguments.garbage, delay_ns, seed: arguments.seed },
        dies_after: arguments.die_after.map(Duration::from_secs_f64),
        dead_for: Duration::from_secs_f64(arguments.dead_for),
        ends_after: arguments.seconds.map(Duration::from_secs_f64),
        trace: arguments.trace.clone(),
    }
}

/// The board, with model and hand of a simulated device's file.
fn board(arguments: &EmulateArguments) -> Result<Box<dyn Board>, Failure> {
    let emulator = arguments.kind;
    let name = arguments.device.clone().unwrap_or_else(|| format!("simulated-{}dof", emulator.axes));
    let file = device::load(&DEVICES.open(&name, None)?, KINDS)?;
    let options = BoardOptions {
        model: file.model,
        hand: file.hand,
        hand_is_default: arguments.device.is_none(),
        velocity: arguments.velocity,
        protocol_version: arguments.protocol_version,
        variant: arguments.variant,
        lever_m: arguments.lever_m,
    };
    (emulator.build)(&options).map_err(|error| Failure::BadInput(format!("{name}: {error}")))
}

fn file_use(arguments: &EmulateArguments) -> Result<PathConflicts, Failure> {
    let device = arguments.device.as_ref().map(|name| DEVICES.open(name, None)).transpose()?;
    let used = PathConflicts::default().writes("--link", Some(&arguments.link));
    Ok(device.iter().fold(used, |used, device| used.reads_source("--device", device)))
}
