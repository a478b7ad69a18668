//! How an emulated device gets into a kernel.

pub mod function_fs;
pub mod serial;
pub mod uhid;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::fs::File;
use std::io;

/// The monotonic clock, µs.
pub fn now_us() -> u64 {
    haptic_realtime::clock::monotonic_ns() / 1000
}

/// Waits until there is something to read, or the instant has come; true if there is.
pub(crate) fn wait(file: &File, until_us: u64) -> io::Result<bool> {
    let left_us = until_us.saturating_sub(now_us());
    let timeout = Timespec { tv_sec: (left_us / 1_000_000) as i64, tv_nsec: (left_us % 1_000_000 * 1000) as i64 };
    match poll(&mut [PollFd::new(file, PollFlags::IN)], Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
