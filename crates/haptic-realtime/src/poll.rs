//! Waits for input with a timeout.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

/// Waits until `fd` can be read without blocking; returns false after a timeout. A hang-up counts as readable, because
/// a read then returns immediately.
///
/// # Errors
/// If the system call fails.
pub fn readable(fd: impl AsFd, within: Duration) -> io::Result<bool> {
    input_events(fd, within).map(|events| !events.is_empty())
}

/// Waits like [`readable`] and returns the events: input, hang-up or an error; empty after a timeout. A signal does not
/// shorten the wait.
///
/// # Errors
/// If the system call fails.
pub fn input_events(fd: impl AsFd, within: Duration) -> io::Result<PollFlags> {
    let start = Instant::now();
    let mut left = within;
    loop {
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::new(&fd, PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(_) => return Ok(fds[0].revents()),
            Err(rustix::io::Errno::INTR) => left = within.saturating_sub(start.elapsed()),
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    #[test]
    fn bytes_and_a_hang_up_are_readable_and_silence_is_not() {
        let (near, mut far) = UnixStream::pair().unwrap();
        let within = Duration::from_millis(1);
        assert!(!readable(&near, within).unwrap());
        far.write_all(b"x").unwrap();
        assert!(readable(&near, Duration::from_secs(3600)).unwrap());
        drop(far);
        assert!(input_events(&near, within).unwrap().contains(PollFlags::HUP));
    }
}
