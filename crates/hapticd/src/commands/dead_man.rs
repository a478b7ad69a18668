//! `hapticd stand-guard`: the process that `run` leaves beside a device without a watchdog. Not for people.

use crate::cli::StandGuardArguments;
use crate::failure::Failure;
use haptic_backends::serial::dead_man;
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use std::fs::File;
use std::os::fd::AsFd;
use std::time::Duration;

/// Runs the command: signs of life on standard input, the device on standard output.
///
/// # Errors
/// When the device is gone.
pub fn stand_guard(arguments: &StandGuardArguments) -> Result<(), Failure> {
    let words = words(&arguments.words)?;
    let patience = Duration::from_millis(arguments.patience_ms);
    // Rust's own standard output holds lines back; the port must have its bytes at once.
    let port = File::from(std::io::stdout().as_fd().try_clone_to_owned()?);
    let guard = move |_granted: &_| dead_man::run_dead_man(std::io::stdin(), port, &words, patience);
    let said = spawn(request(), guard)?.join().map_err(Failure::Runtime)?;
    Ok(said?)
}

/// A machine that is so busy that the daemon stands still must not hold this up as well.
fn request() -> ThreadRequest {
    let name = "guardian".to_owned();
    ThreadRequest { name, priority: 70, cpu: CpuChoice::Any, lock_memory: false, ..ThreadRequest::default() }
}

fn words(digits: &str) -> Result<Vec<u8>, Failure> {
    let byte = |pair: &[u8]| std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok());
    let words: Option<Vec<u8>> = digits.as_bytes().chunks(2).map(byte).collect();
    words.ok_or_else(|| Failure::BadInput(format!("{digits} are no hexadecimal digits")))
}
