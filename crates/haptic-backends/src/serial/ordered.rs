//! Matches answers without sequence numbers to commands. Answers arrive in the order of the commands, but some are
//! lost, and some belong to no command: frames that arrive twice, and answers to the stop frames of the dead-man
//! process.
//!
//! An answer counts as that of the oldest command in flight. If answers were lost before, it belongs to a later
//! command, so that the sample is younger than it seems, never older. A surplus answer would make the next samples seem
//! younger than they are. Both errors stay until the link resynchronises: the tick sends no commands until every
//! command is answered or the line has been silent for [`SILENT_AFTER_NS`]. What is then unanswered is lost, and the
//! count starts again with one command.

mod backlog;

use crate::link_monitor::LinkMonitor;
use backlog::Backlog;
use haptic_device::MonotonicNs;
use std::sync::Arc;

/// Time after the last command and the last answer after which no answer arrives any more, ns; longer on a line whose
/// round trips are longer. Less than the five ticks after which a reading is stale: a link that answers promptly loses
/// no force when it resynchronises.
pub const SILENT_AFTER_NS: u64 = 4_500_000;

/// Time without answers to commands in flight after which the link has stalled, ns.
const STALLED_AFTER_NS: u64 = 10_000_000;

/// Time between two calls of a receive half after which the host has stalled, ns. Less than the time after which the
/// dead-man process sends stop frames, whose answers may then be among the received bytes.
const HOST_STALLED_AFTER_NS: u64 = 40_000_000;

/// Minimum interval between two commands while the link has stalled, ns. The first answer ends the stall.
const STALLED_HOLD_NS: u64 = 10_000_000;

/// Minimum interval between two commands while the line falls silent, ns. Normally it is silent earlier; if not, the
/// device's watchdog must be fed.
const DRAINING_HOLD_NS: u64 = 20_000_000;

/// How much sooner than any lone command's an answer may arrive, ns. One that arrives even sooner belongs to an earlier
/// command.
const SOONER_NS: u64 = 500_000;

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

/// What the matcher does with answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Matches them to commands.
    Matching,
    /// Matches them to commands while the tick sends none.
    Draining,
    /// Discards them while the tick sends no commands.
    Discarding,
    /// Waits for the first one after a stall.
    Stalled,
}

/// Matches the answers of a receive half to commands.
pub struct OrderedAnswers {
    monitor: Arc<LinkMonitor>,
    commands_before: u64,
    /// Number of commands of this session that are answered or lost.
    settled: u64,
    mode: Mode,
    backlog: Backlog,
    /// Time of the last answer, or of the start of the mode.
    heard_at: MonotonicNs,
    /// Time of the last call of the receive half.
    woken_at: Option<MonotonicNs>,
    /// Whether the next answer is that of a lone command after a resynchronisation.
    is_alone: bool,
    /// Shortest round trip of a lone command, ns; zero before the first one.
    shortest_ns: u64,
    /// Longest of the last round trips, ns, which loses a 64th with each answer. Includes the time by which samples
    /// seem older than they are.
    longest_ns: u64,
}

impl OrderedAnswers {
    /// Creates a matcher that starts at the first command of a session.
    pub fn new(monitor: Arc<LinkMonitor>) -> Self {
        monitor.hold(0);
        Self {
            commands_before: monitor.commands(),
            monitor,
            settled: 0,
            mode: Mode::Matching,
            backlog: Backlog::default(),
            heard_at: MonotonicNs(0),
            woken_at: None,
            is_alone: true,
            shortest_ns: 0,
            longest_ns: 0,
        }
    }

    /// Handles a call of the receive half, before its answers.
    pub fn on_wake(&mut self, now: MonotonicNs) {
        let before = self.woken_at.replace(now);
        let has_stalled = before.is_some_and(|before| now.since(before) >= HOST_STALLED_AFTER_NS);
        match self.mode {
            _ if has_stalled && self.commands() > 0 => self.enter(Mode::Discarding, now),
            Mode::Draining | Mode::Discarding if now >= self.silent_at() => self.start_again(now),
            Mode::Matching if self.stalled_at().is_some_and(|at| now >= at) => self.enter(Mode::Stalled, now),
            _ => {}
        }
    }

    /// Handles an answer. Returns the earliest time at which its command can have been sent; `None` if that is not
    /// known.
    pub fn on_answer(&mut self, now: MonotonicNs) -> Option<MonotonicNs> {
        self.heard_at = now;
        let is_surplus = self.in_flight() == 0;
        let number = self.settled as u8;
        self.settled += u64::from(!is_surplus);
        if is_surplus || matches!(self.mode, Mode::Stalled | Mode::Discarding) {
            if !is_surplus {
                self.monitor.record_unused(number);
            }
            self.enter(Mode::Discarding, now);
            return None;
        }
        let sent_at = self.monitor.record_answer(number, now)?;
        let round_trip_ns = now.since(sent_at);
        self.longest_ns = round_trip_ns.max(self.longest_ns - self.longest_ns / 64);
        if self.is_too_soon(round_trip_ns) {
            self.enter(Mode::Discarding, now);
            return None;
        }
        self.watch_backlog(now);
        Some(sent_at)
    }

    /// Whether answers are discarded, because it is not known which commands they belong to.
    pub fn is_discarding(&self) -> bool {
        matches!(self.mode, Mode::Stalled | Mode::Discarding)
    }

    /// Time at which [`Self::on_wake`] has something to do even if no answer arrives, if any.
    pub fn wake_at(&self) -> Option<MonotonicNs> {
        match self.mode {
            Mode::Matching => self.stalled_at(),
            Mode::Draining | Mode::Discarding => Some(self.silent_at()),
            Mode::Stalled => None,
        }
    }

    /// Number of commands sent in this session.
    fn commands(&self) -> u64 {
        self.monitor.commands().saturating_sub(self.commands_before)
    }

    fn in_flight(&self) -> u64 {
        self.commands().saturating_sub(self.settled)
    }

    /// Whether a round trip is too short for the command that an answer is matched to.
    fn is_too_soon(&mut self, round_trip_ns: u64) -> bool {
        if std::mem::take(&mut self.is_alone) {
            let is_shortest = self.shortest_ns == 0 || round_trip_ns < self.shortest_ns;
            self.shortest_ns = if is_shortest { round_trip_ns } else { self.shortest_ns };
        }
        round_trip_ns + SOONER_NS < self.shortest_ns
    }

    /// Resynchronises if more commands are in flight than the round trip explains, and ends that when all are answered.
    fn watch_backlog(&mut self, now: MonotonicNs) {
        let in_flight = self.in_flight();
        if self.mode == Mode::Draining {
            if in_flight == 0 {
                self.backlog.explain();
                self.enter(Mode::Matching, now);
            }
            return;
        }
        self.backlog.record(in_flight);
        if self.backlog.is_unexplained() {
            self.enter(Mode::Draining, now);
        }
    }

    fn enter(&mut self, mode: Mode, now: MonotonicNs) {
        self.monitor.hold(match mode {
            Mode::Matching => 0,
            Mode::Draining | Mode::Discarding => DRAINING_HOLD_NS,
            Mode::Stalled => STALLED_HOLD_NS,
        });
        (self.mode, self.heard_at) = (mode, now);
    }

    /// Counts the commands in flight as lost and starts again with the next one.
    fn start_again(&mut self, now: MonotonicNs) {
        let lost = self.in_flight();
        if lost > 0 {
            self.monitor.record_lost(lost);
        }
        (self.settled, self.is_alone) = (self.settled + lost, true);
        self.backlog.clear();
        self.enter(Mode::Matching, now);
    }

    /// Time after which no answer to the commands sent so far arrives any more.
    fn silent_at(&self) -> MonotonicNs {
        let last = self.monitor.sent_at((self.commands() as u8).wrapping_sub(1));
        let silence_ns = (self.longest_ns + SOONER_NS).clamp(SILENT_AFTER_NS, STALLED_AFTER_NS);
        self.heard_at.max(last.unwrap_or_default()).after(silence_ns)
    }

    /// Time at which the link has stalled if no answer arrives before; `None` without commands in flight.
    fn stalled_at(&self) -> Option<MonotonicNs> {
        let oldest = (self.in_flight() > 0).then(|| self.monitor.sent_at(self.settled as u8)).flatten()?;
        Some(self.heard_at.max(oldest).after(STALLED_AFTER_NS))
    }
}

#[cfg(test)]
mod tests;
