//! Connections of an emulated device to a kernel.

pub mod function_fs;
pub mod serial;
pub mod uhid;

use haptic_realtime::poll::readable;
use std::fs::File;
use std::io;
use std::time::Duration;

/// Returns the time of the monotonic clock, µs.
pub fn now_us() -> u64 {
    haptic_realtime::clock::monotonic_ns() / 1000
}

/// Waits until the file is readable or the monotonic clock reaches `until_us`. Returns whether the file is readable.
pub(crate) fn wait(file: &File, until_us: u64) -> io::Result<bool> {
    readable(file, Duration::from_micros(until_us.saturating_sub(now_us())))
}
