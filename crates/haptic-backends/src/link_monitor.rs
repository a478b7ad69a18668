//! What is counted on a line: when each command went out, what came back and when. The voice writes on the tick, the ear
//! on its own thread; both count in one series of sequence numbers.

use haptic_device::{LinkStatistics, MonotonicNs, RoundTrip};
use haptic_realtime::histogram::Histogram;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Sequence numbers there are.
const NUMBERS: usize = 256;

/// No command has this number.
const NOT_SENT: u64 = 0;

/// The books of one device, kept over all its sessions.
pub struct LinkMonitor {
    /// When the command of each sequence number went out, ns.
    sent_at_ns: [AtomicU64; NUMBERS],
    next_sequence: AtomicU8,
    commands: AtomicU64,
    /// Commands that were answered or given up.
    settled: AtomicU64,
    account: Mutex<Account>,
}

/// What only the listening thread writes, and reports read.
struct Account {
    round_trips: Box<Histogram>,
    frames_lost: u64,
    crc_errors: u64,
    reconnects: u32,
}

impl Default for LinkMonitor {
    fn default() -> Self {
        let account = Account { round_trips: Box::new(Histogram::new()), frames_lost: 0, crc_errors: 0, reconnects: 0 };
        Self {
            sent_at_ns: [const { AtomicU64::new(NOT_SENT) }; NUMBERS],
            next_sequence: AtomicU8::new(0),
            commands: AtomicU64::new(0),
            settled: AtomicU64::new(0),
            account: Mutex::new(account),
        }
    }
}

impl LinkMonitor {
    /// A number for the next frame, whoever sends it.
    ///
    /// Real-time: one atomic addition.
    pub fn next_sequence(&self) -> u8 {
        self.next_sequence.fetch_add(1, Ordering::Relaxed)
    }

    /// A command went out.
    ///
    /// Real-time: two atomic stores.
    pub fn record_sent(&self, sequence: u8, now: MonotonicNs) {
        self.sent_at_ns[usize::from(sequence)].store(now.0.max(1), Ordering::Release);
        self.commands.fetch_add(1, Ordering::Release);
    }

    /// A command that did not go out after all.
    ///
    /// Real-time: two atomic stores.
    pub fn note_unsent(&self, sequence: u8) {
        self.sent_at_ns[usize::from(sequence)].store(NOT_SENT, Ordering::Release);
        self.commands.fetch_sub(1, Ordering::Release);
    }

    /// Commands that went out so far.
    pub fn commands(&self) -> u64 {
        self.commands.load(Ordering::Acquire)
    }

    /// Commands on their way: neither answered nor given up.
    ///
    /// Real-time: two atomic loads.
    pub fn open_commands(&self) -> u64 {
        self.commands().saturating_sub(self.settled.load(Ordering::Acquire))
    }

    /// A command was answered: when it went out, if it was one of ours. Not for the tick.
    pub fn note_answer(&self, sequence: u8, now: MonotonicNs) -> Option<MonotonicNs> {
        let sent_at = MonotonicNs(self.sent_at_ns[usize::from(sequence)].swap(NOT_SENT, Ordering::AcqRel));
        (sent_at.0 != NOT_SENT).then(|| {
            self.settled.fetch_add(1, Ordering::AcqRel);
            self.account().round_trips.record(now.since(sent_at));
            sent_at
        })
    }

    /// Commands after `answered` and before `answered_now` that nobody answered are lost. Not for the tick.
    pub fn note_gap(&self, answered: u8, answered_now: u8) {
        let between = usize::from(haptic_wire::sequence::lost_between(answered, answered_now));
        let numbers = (1..=between).map(|step| answered.wrapping_add(step as u8));
        let lost = numbers.filter(|&number| self.forget(number)).count() as u64;
        if lost > 0 {
            self.note_lost(lost);
        }
    }

    fn forget(&self, sequence: u8) -> bool {
        self.sent_at_ns[usize::from(sequence)].swap(NOT_SENT, Ordering::AcqRel) != NOT_SENT
    }

    /// At the end of a session: what was on its way then is neither answered nor lost.
    pub fn forget_all(&self) {
        for sent_at_ns in &self.sent_at_ns {
            sent_at_ns.store(NOT_SENT, Ordering::Release);
        }
        self.settled.store(self.commands(), Ordering::Release);
    }

    /// Commands that were not answered. Not for the tick.
    pub fn note_lost(&self, count: u64) {
        self.settled.fetch_add(count, Ordering::AcqRel);
        self.account().frames_lost += count;
    }

    /// Answers that arrived damaged. Not for the tick.
    pub fn note_damaged(&self, count: u32) {
        if count > 0 {
            self.account().crc_errors += u64::from(count);
        }
    }

    /// The link was found again. Not for the tick.
    pub fn note_reconnect(&self) {
        self.account().reconnects += 1;
    }

    /// What it all comes to, for a device that is served so often. Not for the tick.
    pub fn statistics(&self, rate_hz: f64) -> LinkStatistics {
        let account = self.account();
        let percentiles = account.round_trips.percentiles();
        LinkStatistics {
            round_trip: RoundTrip { p50_ns: percentiles.p50, p99_ns: percentiles.p99, max_ns: percentiles.max },
            frames_lost: account.frames_lost,
            crc_errors: account.crc_errors,
            reconnects: account.reconnects,
            rate_hz,
        }
    }

    fn account(&self) -> MutexGuard<'_, Account> {
        // Numbers are right whatever a panicking thread left undone.
        self.account.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(count: u8) -> LinkMonitor {
        let ledger = LinkMonitor::default();
        for _ in 0..count {
            let sequence = ledger.next_sequence();
            ledger.record_sent(sequence, MonotonicNs(1000 * u64::from(sequence) + 1));
        }
        ledger
    }

    #[test]
    fn an_answer_tells_when_its_command_went_out_and_only_once() {
        let ledger = sent(3);
        assert_eq!(ledger.note_answer(2, MonotonicNs(2501)), Some(MonotonicNs(2001)));
        assert_eq!(ledger.note_answer(2, MonotonicNs(2502)), None);
        assert_eq!(ledger.statistics(1000.0).round_trip.max_ns, 500);
    }

    #[test]
    fn commands_skipped_by_an_answer_are_lost_and_other_frames_are_not() {
        let ledger = sent(3);
        ledger.next_sequence();
        let sequence = ledger.next_sequence();
        ledger.record_sent(sequence, MonotonicNs(9000));
        ledger.note_answer(0, MonotonicNs(9001));
        ledger.note_gap(0, sequence);
        assert_eq!(ledger.statistics(1000.0).frames_lost, 2);
    }

    #[test]
    fn what_never_went_out_is_not_lost() {
        let ledger = sent(3);
        ledger.note_unsent(1);
        ledger.note_gap(0, 2);
        assert_eq!((ledger.statistics(1000.0).frames_lost, ledger.commands()), (0, 2));
    }

    #[test]
    fn numbers_go_on_across_the_wrap() {
        let ledger = LinkMonitor::default();
        let numbers: Vec<u8> = (0..258).map(|_| ledger.next_sequence()).collect();
        assert_eq!(numbers[254..], [254, 255, 0, 1]);
    }
}
