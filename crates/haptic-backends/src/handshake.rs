//! Runs a handshake on an open link.

use crate::protocol::{Handshake, HandshakeError, OpenSession, Step};
use haptic_device::MonotonicNs;
use haptic_realtime::clock::monotonic_ns;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Maximum wait for bytes before `stop` is checked again.
const CHECK_EVERY: Duration = Duration::from_millis(20);

/// A link whose calls may block.
pub trait Link {
    /// Sends all bytes.
    ///
    /// # Errors
    /// If the device is gone.
    fn send(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Waits at most `within` for bytes, reads them into `buffer` and returns the number read; zero if none arrived.
    ///
    /// # Errors
    /// If the device is gone.
    fn receive(&mut self, buffer: &mut [u8], within: Duration) -> io::Result<usize>;
}

/// Runs a handshake until it succeeds or fails, or until `stop` is set.
///
/// # Errors
/// The outer error is a link error, or `Interrupted` if `stop` is set. The inner error is a handshake error.
pub fn run_handshake(
    link: &mut dyn Link,
    handshake: &mut dyn Handshake,
    stop: &AtomicBool,
) -> io::Result<Result<Box<OpenSession>, HandshakeError>> {
    let mut buffer = [0; 256];
    while !stop.load(Ordering::Relaxed) {
        match handshake.step(now()) {
            Step::Send(bytes) => link.send(bytes.bytes())?,
            Step::Wait { until } => {
                let wait = Duration::from_nanos(until.since(now())).min(CHECK_EVERY);
                let count = link.receive(&mut buffer, wait)?;
                handshake.receive(&buffer[..count], now());
            }
            Step::Done(session) => return Ok(Ok(session)),
            Step::Failed(cause) => return Ok(Err(cause)),
        }
    }
    Err(io::ErrorKind::Interrupted.into())
}

/// Returns the time on the monotonic clock. Protocols do not call this; they take the time as an argument.
pub fn now() -> MonotonicNs {
    MonotonicNs(monotonic_ns())
}
