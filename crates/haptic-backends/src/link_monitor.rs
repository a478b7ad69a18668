//! Link statistics: commands sent, answered and lost, and their round-trip times. The transmit half records commands in
//! the tick, the receive half records answers on its own thread, and both draw sequence numbers from one counter.

use haptic_device::{LinkStatistics, MonotonicNs, RoundTrip};
use haptic_realtime::histogram::Histogram;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Number of distinct sequence numbers.
const NUMBERS: usize = 256;

/// Value in `sent_at_ns` for a sequence number without a command in flight.
const NOT_SENT: u64 = 0;

/// Statistics of the link to one device, over all its sessions.
pub struct LinkMonitor {
    /// Time at which the command with each sequence number was sent, ns, or `NOT_SENT`.
    sent_at_ns: [AtomicU64; NUMBERS],
    next_sequence: AtomicU8,
    commands: AtomicU64,
    /// Number of times the tick has tried to send a command.
    attempts: AtomicU64,
    /// Number of commands answered or counted as lost.
    settled: AtomicU64,
    /// Minimum interval between two commands while the receiving thread resynchronises, ns; zero otherwise.
    hold_ns: AtomicU64,
    counters: Mutex<Counters>,
}

/// Counters updated by the receiving thread.
struct Counters {
    round_trips: Box<Histogram>,
    frames_lost: u64,
    crc_errors: u64,
    reconnects: u32,
}

impl Default for LinkMonitor {
    fn default() -> Self {
        let round_trips = Box::new(Histogram::new());
        Self {
            sent_at_ns: [const { AtomicU64::new(NOT_SENT) }; NUMBERS],
            next_sequence: AtomicU8::new(0),
            commands: AtomicU64::new(0),
            attempts: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            hold_ns: AtomicU64::new(0),
            counters: Mutex::new(Counters { round_trips, frames_lost: 0, crc_errors: 0, reconnects: 0 }),
        }
    }
}

impl LinkMonitor {
    /// Returns the sequence number of the next frame. The tick and the receiving thread may both call this.
    ///
    /// Real-time: one atomic addition.
    pub fn next_sequence(&self) -> u8 {
        self.next_sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// Records that a command was sent.
    ///
    /// Real-time: two atomic operations.
    pub fn record_sent(&self, sequence: u8, now: MonotonicNs) {
        self.sent_at_ns[usize::from(sequence)].store(now.0.max(1), Ordering::Release);
        self.commands.fetch_add(1, Ordering::Release);
    }

    /// Records that a command recorded as sent was not sent after all.
    ///
    /// Real-time: two atomic operations.
    pub fn record_unsent(&self, sequence: u8) {
        self.sent_at_ns[usize::from(sequence)].store(NOT_SENT, Ordering::Release);
        self.commands.fetch_sub(1, Ordering::Release);
    }

    /// Number of commands sent so far.
    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Acquire)
    }

    /// Records that the tick tries to send a command.
    ///
    /// Real-time: one atomic addition.
    pub fn record_attempt(&self) {
        self.attempts.fetch_add(1, Ordering::Release);
    }

    /// Number of times the tick has tried to send a command.
    pub fn attempts(&self) -> u64 {
        self.attempts.load(Ordering::Acquire)
    }

    /// Number of commands in flight: sent, but neither answered nor counted as lost.
    ///
    /// Real-time: two atomic loads.
    pub fn in_flight(&self) -> u64 {
        self.commands().saturating_sub(self.settled.load(Ordering::Acquire))
    }

    /// Asks the tick to leave at least this time between two commands, ns; zero for no such minimum.
    pub fn hold(&self, interval_ns: u64) {
        self.hold_ns.store(interval_ns, Ordering::Release);
    }

    /// Minimum interval between two commands, ns; zero if there is none.
    ///
    /// Real-time: one atomic load.
    pub fn hold_ns(&self) -> u64 {
        self.hold_ns.load(Ordering::Acquire)
    }

    /// Time at which the command with this sequence number was sent; `None` if it is not in flight.
    pub fn sent_at(&self, sequence: u8) -> Option<MonotonicNs> {
        let sent_at_ns = self.sent_at_ns[usize::from(sequence)].load(Ordering::Acquire);
        (sent_at_ns != NOT_SENT).then_some(MonotonicNs(sent_at_ns))
    }

    /// Records that a command was answered. Returns the time at which it was sent, or `None` if it was not in flight.
    /// Not real-time: takes a lock.
    pub fn record_answer(&self, sequence: u8, now: MonotonicNs) -> Option<MonotonicNs> {
        let sent_at = MonotonicNs(self.sent_at_ns[usize::from(sequence)].swap(NOT_SENT, Ordering::AcqRel));
        (sent_at.0 != NOT_SENT).then(|| {
            self.settled.fetch_add(1, Ordering::AcqRel);
            self.counters().round_trips.record(now.since(sent_at));
            sent_at
        })
    }

    /// Counts the unanswered commands with sequence numbers between `answered` and `answered_now` as lost. Not
    /// real-time: takes a lock.
    pub fn record_gap(&self, answered: u8, answered_now: u8) {
        let between = usize::from(haptic_wire::sequence::lost_between(answered, answered_now));
        let numbers = (1..=between).map(|step| answered.wrapping_add(step as u8));
        let lost = numbers.filter(|&number| self.forget(number)).count() as u64;
        if lost > 0 {
            self.record_lost(lost);
        }
    }

    fn forget(&self, sequence: u8) -> bool {
        self.sent_at_ns[usize::from(sequence)].swap(NOT_SENT, Ordering::AcqRel) != NOT_SENT
    }

    /// Ends a session. Commands in flight count neither as answered nor as lost.
    pub fn forget_all(&self) {
        for sent_at_ns in &self.sent_at_ns {
            sent_at_ns.store(NOT_SENT, Ordering::Release);
        }
        self.settled.store(self.commands(), Ordering::Release);
        self.hold(0);
    }

    /// Records that a command was answered by an answer that is not used.
    pub fn record_unused(&self, sequence: u8) {
        self.forget(sequence);
        self.settled.fetch_add(1, Ordering::AcqRel);
    }

    /// Records that `count` commands were lost. Not real-time: takes a lock.
    pub fn record_lost(&self, count: u64) {
        self.settled.fetch_add(count, Ordering::AcqRel);
        self.counters().frames_lost += count;
    }

    /// Records that `count` frames were damaged. Not real-time: takes a lock.
    pub fn record_damaged(&self, count: u32) {
        if count > 0 {
            self.counters().crc_errors += u64::from(count);
        }
    }

    /// Records a reconnection. Not real-time: takes a lock.
    pub fn record_reconnect(&self) {
        self.counters().reconnects += 1;
    }

    /// Returns the statistics of the link; `rate_hz` is the service rate of the device. Not real-time: takes a lock.
    pub fn statistics(&self, rate_hz: f64) -> LinkStatistics {
        let counters = self.counters();
        let percentiles = counters.round_trips.percentiles();
        LinkStatistics {
            round_trip: RoundTrip { p50_ns: percentiles.p50, p99_ns: percentiles.p99, max_ns: percentiles.max },
            frames_lost: counters.frames_lost,
            crc_errors: counters.crc_errors,
            reconnects: counters.reconnects,
            rate_hz,
        }
    }

    fn counters(&self) -> MutexGuard<'_, Counters> {
        // The counters are valid even if a thread panicked between two updates.
        self.counters.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(count: u8) -> LinkMonitor {
        let monitor = LinkMonitor::default();
        for _ in 0..count {
            let sequence = monitor.next_sequence();
            monitor.record_sent(sequence, MonotonicNs(1000 * u64::from(sequence) + 1));
        }
        monitor
    }

    #[test]
    fn an_answer_returns_the_time_of_its_command_once() {
        let monitor = sent(3);
        assert_eq!(monitor.record_answer(2, MonotonicNs(2501)), Some(MonotonicNs(2001)));
        assert_eq!(monitor.record_answer(2, MonotonicNs(2502)), None);
        assert_eq!(monitor.statistics(1000.0).round_trip.max_ns, 500);
    }

    #[test]
    fn commands_skipped_by_an_answer_are_lost_and_other_frames_are_not() {
        let monitor = sent(3);
        monitor.next_sequence();
        let sequence = monitor.next_sequence();
        monitor.record_sent(sequence, MonotonicNs(9000));
        monitor.record_answer(0, MonotonicNs(9001));
        monitor.record_gap(0, sequence);
        assert_eq!(monitor.statistics(1000.0).frames_lost, 2);
    }

    #[test]
    fn a_command_that_was_not_sent_is_not_lost() {
        let monitor = sent(3);
        monitor.record_unsent(1);
        monitor.record_gap(0, 2);
        assert_eq!((monitor.statistics(1000.0).frames_lost, monitor.commands()), (0, 2));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let monitor = LinkMonitor::default();
        let numbers: Vec<u8> = (0..258).map(|_| monitor.next_sequence()).collect();
        assert_eq!(numbers[254..], [254, 255, 0, 1]);
    }
}
