//! Answers without numbers: they come in the order of the commands, and which ones are missing must be guessed.
//!
//! In a healthy exchange every command is answered before long, so the number of open ones touches zero again and again.
//! If over a whole window it never falls below n, then n answers will never come.

use crate::link_monitor::LinkMonitor;
use haptic_device::MonotonicNs;
use std::sync::Arc;

/// Answers in a window: long enough for a stalled line to drain, short enough to notice a loss soon.
const WINDOW: u32 = 64;

/// The voice's side: numbers its commands, so that times can be found again.
pub struct OrderedCommands {
    ledger: Arc<LinkMonitor>,
    next: u8,
}

impl OrderedCommands {
    /// Begins to count at zero.
    pub fn new(ledger: Arc<LinkMonitor>) -> Self {
        Self { ledger, next: 0 }
    }

    /// A command goes out.
    ///
    /// Real-time: two atomic stores.
    pub fn record_sent(&mut self, now: MonotonicNs) {
        self.ledger.record_sent(self.next, now);
        self.next = self.next.wrapping_add(1);
    }

    /// The last one did not go out after all.
    ///
    /// Real-time: two atomic stores.
    pub fn cancel_last(&mut self) {
        self.next = self.next.wrapping_sub(1);
        self.ledger.note_unsent(self.next);
    }
}

/// The ear's side.
pub struct OrderedAnswers {
    ledger: Arc<LinkMonitor>,
    commands_before: u64,
    answered: u64,
    lost: u64,
    least_open: u64,
    in_window: u32,
}

impl OrderedAnswers {
    /// Begins to count at the first command of a session.
    pub fn new(ledger: Arc<LinkMonitor>) -> Self {
        let commands_before = ledger.commands();
        Self { ledger, commands_before, answered: 0, lost: 0, least_open: u64::MAX, in_window: 0 }
    }

    /// An answer came: when its command went out, if that is known.
    pub fn take(&mut self, now: MonotonicNs) -> Option<MonotonicNs> {
        let number = (self.answered + self.lost) as u8;
        self.answered += 1;
        let commands = self.ledger.commands().saturating_sub(self.commands_before);
        self.least_open = self.least_open.min(commands.saturating_sub(self.answered + self.lost));
        self.in_window += 1;
        if self.in_window == WINDOW {
            self.close_window();
        }
        self.ledger.note_answer(number, now)
    }

    fn close_window(&mut self) {
        if self.least_open > 0 {
            self.lost += self.least_open;
            self.ledger.note_lost(self.least_open);
        }
        (self.least_open, self.in_window) = (u64::MAX, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exchange(ledger: &Arc<LinkMonitor>, count: u64, is_lost: impl Fn(u64) -> bool, late: u64) -> u64 {
        let (mut commands, mut answers) =
            (OrderedCommands::new(Arc::clone(ledger)), OrderedAnswers::new(Arc::clone(ledger)));
        let mut open = 0;
        for tick in 1..=count {
            commands.record_sent(MonotonicNs(tick * 1000));
            open += u64::from(!is_lost(tick));
            // A stalled line brings its answers together.
            if tick % late == 0 {
                for _ in 0..std::mem::take(&mut open) {
                    answers.take(MonotonicNs(tick * 1000 + 200));
                }
            }
        }
        ledger.statistics(1000.0).frames_lost
    }

    #[test]
    fn answers_that_come_in_bunches_are_not_lost() {
        let ledger = Arc::new(LinkMonitor::default());
        assert_eq!(exchange(&ledger, 1000, |_| false, 5), 0);
        assert_eq!(ledger.statistics(1000.0).round_trip.max_ns, 4200);
    }

    #[test]
    fn answers_that_never_come_are_counted_once_and_times_come_right_again() {
        let ledger = Arc::new(LinkMonitor::default());
        assert_eq!(exchange(&ledger, 10_000, |tick| tick % 500 == 0, 1), 19);
        assert!(ledger.statistics(1000.0).round_trip.p50_ns < 220);
    }
}
