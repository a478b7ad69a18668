//! Monotonic time and sleeping until a deadline.
//!
//! [`crate::schedule`] receives times as arguments and [`crate::runner`] receives a [`Clock`], so tests can use a
//! simulated clock.

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds in a second.
pub const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// A source of monotonic time that supports sleeping.
pub trait Clock {
    /// Nanoseconds since an arbitrary fixed moment; never decreases.
    fn now_ns(&mut self) -> u64;

    /// Sleeps until `deadline_ns`; returns immediately if it has passed.
    fn sleep_until_ns(&mut self, deadline_ns: u64);
}

/// The Linux clock `CLOCK_MONOTONIC`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MonotonicClock;

impl Clock for MonotonicClock {
    /// Real-time: one vDSO call; no system call if the clock source permits it (`hapticd doctor` checks this).
    fn now_ns(&mut self) -> u64 {
        monotonic_ns()
    }

    /// Real-time: the only system call of the loop. The deadline is absolute, so the call is repeated if a signal
    /// interrupts it. Any other error ends the sleep immediately, and the tick starts early.
    fn sleep_until_ns(&mut self, deadline_ns: u64) {
        let deadline = timespec(deadline_ns);
        while clock_nanosleep_absolute(ClockId::Monotonic, &deadline) == Err(Errno::INTR) {}
    }
}

/// Returns the time of `CLOCK_MONOTONIC`, ns. Real-time: one vDSO call.
pub fn monotonic_ns() -> u64 {
    let now = clock_gettime(ClockId::Monotonic);
    (now.tv_sec as u64) * NANOSECONDS_PER_SECOND + now.tv_nsec as u64
}

/// Returns the CPU time of the calling thread, ns. It does not advance while other threads have the core. One system
/// call.
pub fn thread_cpu_ns() -> u64 {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    (now.tv_sec as u64) * NANOSECONDS_PER_SECOND + now.tv_nsec as u64
}

fn timespec(time_ns: u64) -> Timespec {
    Timespec { tv_sec: (time_ns / NANOSECONDS_PER_SECOND) as i64, tv_nsec: (time_ns % NANOSECONDS_PER_SECOND) as _ }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_split_into_whole_seconds_and_the_rest() {
        let split = timespec(3 * NANOSECONDS_PER_SECOND + 7);
        assert_eq!((split.tv_sec, split.tv_nsec), (3, 7));
    }

    #[test]
    fn the_monotonic_clock_never_wakes_before_its_deadline() {
        let mut clock = MonotonicClock;
        let deadline_ns = clock.now_ns() + 200_000;
        clock.sleep_until_ns(deadline_ns);
        assert!(clock.now_ns() >= deadline_ns);
    }

    #[test]
    fn a_thread_uses_no_cpu_time_while_it_sleeps() {
        let (cpu_ns, start_ns) = (thread_cpu_ns(), monotonic_ns());
        MonotonicClock.sleep_until_ns(start_ns + 50_000_000);
        let (used_ns, passed_ns) = (thread_cpu_ns() - cpu_ns, monotonic_ns() - start_ns);
        assert!(passed_ns >= 50_000_000 && used_ns < passed_ns / 2, "{used_ns} of {passed_ns}");
    }

    #[test]
    fn a_deadline_in_the_past_does_not_block() {
        MonotonicClock.sleep_until_ns(1);
    }
}
