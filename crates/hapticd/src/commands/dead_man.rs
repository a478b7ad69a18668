//! `hapticd dead-man`: the process that `run` starts for a device without a watchdog. Not for direct use.

use crate::cli::DeadManArguments;
use crate::failure::Failure;
use haptic_backends::serial::dead_man;
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use std::fs::File;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// Runs the command. Heartbeats arrive on standard input; standard output is the port of the device.
///
/// # Errors
/// If the stop frame is not a hexadecimal string, or the device is gone.
pub fn dead_man(arguments: &DeadManArguments) -> Result<(), Failure> {
    let stop_frame = decode_hex(&arguments.stop_frame)?;
    outlive_the_daemon()?;
    let timeout = Duration::from_millis(arguments.timeout_ms);
    // Rust's standard output is line-buffered; the port must receive its bytes at once.
    let port = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let run = move |_granted: &_| dead_man::run_dead_man(std::io::stdin(), port, &stop_frame, timeout);
    let result = spawn(request(), run)?.join().map_err(|panic| Failure::Runtime(panic.to_string()))?;
    Ok(result?)
}

/// Leaves the session of the daemon and ignores the signals that end a daemon: this process ends when the pipe is
/// closed. `pkill -USR1 hapticd`, an emergency stop of every daemon, must not end it either.
fn outlive_the_daemon() -> std::io::Result<()> {
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2] {
        signal_hook::flag::register(signal, Arc::default())?;
    }
    // A process that leads its group already has a group of its own, and cannot start a session.
    let _ = rustix::process::setsid();
    Ok(())
}

/// Requests real-time priority, because whatever stalls the daemon must not stall this process as well.
fn request() -> ThreadRequest {
    let name = "dead-man".to_owned();
    ThreadRequest { name, priority: 70, cpu: CpuChoice::Any, lock_memory: false, ..ThreadRequest::default() }
}

fn decode_hex(digits: &str) -> Result<Vec<u8>, Failure> {
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let bytes: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    bytes.ok_or_else(|| Failure::BadInput(format!("{digits} is not a hexadecimal string")))
}
