//! `hapticd dead-man`: the process that `run` starts for a device without a watchdog. Not for direct use.

use crate::cli::DeadManArguments;
use crate::failure::Failure;
use haptic_backends::serial::dead_man;
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
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
    // `pkill -USR1 hapticd`, an emergency stop of every daemon, must not end this process.
    signal_hook::flag::register(signal_hook::consts::SIGUSR1, Arc::default())?;
    let timeout = Duration::from_millis(arguments.timeout_ms);
    // Rust's standard output is line-buffered; the port must receive its bytes at once.
    let port = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let run = move |_granted: &_| dead_man::run_dead_man(std::io::stdin(), port, &stop_frame, timeout);
    let result = spawn(request(), run)?.join().map_err(|panic| Failure::Runtime(panic.to_string()))?;
    Ok(result?)
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
