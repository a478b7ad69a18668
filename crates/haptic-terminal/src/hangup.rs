//! Loss of the controlling terminal: its window was closed, or its connection broke.

use crate::keys::open_controlling_terminal;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;

/// The controlling terminal of this process.
#[derive(Debug)]
pub struct ControllingTerminal(OwnedFd);

impl ControllingTerminal {
    /// Returns the controlling terminal, if there is one and its loss concerns this process: `nohup` makes a process
    /// ignore SIGHUP, because it shall outlive its terminal.
    pub fn of_this_process() -> Option<Self> {
        if ignores_hangup() { None } else { open_controlling_terminal().ok().map(Self) }
    }

    /// Whether the terminal has been closed.
    pub fn is_lost(&self) -> bool {
        let mut polled = [PollFd::new(&self.0, PollFlags::empty())];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        poll(&mut polled, Some(&now)).is_ok() && polled[0].revents().intersects(PollFlags::HUP | PollFlags::ERR)
    }
}

/// Whether this process ignored SIGHUP when it started. Call it before a handler is registered.
pub fn ignores_hangup() -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| has_ignored_hangup(&status))
}

/// SIGHUP is signal 1, the lowest bit of the mask.
fn has_ignored_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mask_of_ignored_signals_tells_whether_sighup_is_among_them() {
        assert!(has_ignored_hangup("Name:\tx\nSigIgn:\t0000000000001001\n"));
        assert!(!has_ignored_hangup("SigIgn:\t0000000000001000\n"));
        assert!(!has_ignored_hangup("SigBlk:\t0000000000000001\n"));
    }
}
