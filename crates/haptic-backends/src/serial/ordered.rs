//! Matches answers without sequence numbers to commands. Answers arrive in the order of the commands; lost answers have
//! to be inferred.
//!
//! While the link works, every command is answered promptly, so the number of commands in flight repeatedly returns to
//! zero. If it never falls below n during a whole window, n answers have been lost.

use crate::link_monitor::LinkMonitor;
use haptic_device::MonotonicNs;
use std::sync::Arc;

/// Number of answers per window; enough for a stalled line to catch up, few enough to detect a loss quickly.
const WINDOW: u32 = 64;

/// Numbers the commands of a transmit half, so that their send times can be looked up.
pub struct OrderedCommands {
    monitor: Arc<LinkMonitor>,
    next: u8,
}

impl OrderedCommands {
    /// Creates the numbering, which starts at zero.
    pub fn new(monitor: Arc<LinkMonitor>) -> Self {
        Self { monitor, next: 0 }
    }

    /// Records that a command is being sent.
    ///
    /// Real-time: two atomic operations.
    pub fn record_sent(&mut self, now: MonotonicNs) {
        self.monitor.record_sent(self.next, now);
        self.next = self.next.wrapping_add(1);
    }

    /// Records that the last command was not sent after all.
    ///
    /// Real-time: two atomic operations.
    pub fn cancel_last(&mut self) {
        self.next = self.next.wrapping_sub(1);
        self.monitor.record_unsent(self.next);
    }
}

/// Matches the answers of a receive half to commands.
pub struct OrderedAnswers {
    monitor: Arc<LinkMonitor>,
    commands_before: u64,
    answered: u64,
    lost: u64,
    min_in_flight: u64,
    in_window: u32,
}

impl OrderedAnswers {
    /// Creates a matcher that starts at the first command of a session.
    pub fn new(monitor: Arc<LinkMonitor>) -> Self {
        let commands_before = monitor.commands();
        Self { monitor, commands_before, answered: 0, lost: 0, min_in_flight: u64::MAX, in_window: 0 }
    }

    /// Handles an answer. Returns the time at which its command was sent, if known.
    pub fn on_answer(&mut self, now: MonotonicNs) -> Option<MonotonicNs> {
        let number = (self.answered + self.lost) as u8;
        self.answered += 1;
        let commands = self.monitor.commands().saturating_sub(self.commands_before);
        self.min_in_flight = self.min_in_flight.min(commands.saturating_sub(self.answered + self.lost));
        self.in_window += 1;
        if self.in_window == WINDOW {
            self.close_window();
        }
        self.monitor.record_answer(number, now)
    }

    fn close_window(&mut self) {
        if self.min_in_flight > 0 {
            self.lost += self.min_in_flight;
            self.monitor.record_lost(self.min_in_flight);
        }
        (self.min_in_flight, self.in_window) = (u64::MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(monitor: &Arc<LinkMonitor>, count: u64, is_lost: impl Fn(u64) -> bool, late: u64) -> u64 {
        let (mut commands, mut answers) =
            (OrderedCommands::new(Arc::clone(monitor)), OrderedAnswers::new(Arc::clone(monitor)));
        let mut unanswered = 0;
        for tick in 1..=count {
            commands.record_sent(MonotonicNs(tick * 1000));
            unanswered += u64::from(!is_lost(tick));
            // A stalled line delivers all its answers at once.
            if tick % late == 0 {
                for _ in 0..std::mem::take(&mut unanswered) {
                    answers.on_answer(MonotonicNs(tick * 1000 + 200));
                }
            }
        }
        monitor.statistics(1000.0).frames_lost
    }

    #[test]
    fn answers_that_arrive_together_are_not_lost() {
        let monitor = Arc::new(LinkMonitor::default());
        assert_eq!(exchange(&monitor, 1000, |_| false, 5), 0);
        assert_eq!(monitor.statistics(1000.0).round_trip.max_ns, 4200);
    }

    #[test]
    fn answers_that_never_arrive_are_counted_once_and_later_times_are_correct() {
        let monitor = Arc::new(LinkMonitor::default());
        assert_eq!(exchange(&monitor, 10_000, |tick| tick % 500 == 0, 1), 19);
        assert!(monitor.statistics(1000.0).round_trip.p50_ns < 220);
    }
}
