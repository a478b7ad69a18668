//! Receive half: converts turns to metres, and periodically requests the state of the axis. If the motor is off, it
//! requests the reason and then switches the motor on again.

use super::dialect::Dialect;
use super::{CLOSED_LOOP, Lines, OdriveSettings, append_command, number_in, take_control, verified};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{ReceiveHalf, Received, Sample, TxBytes};
use crate::serial::ordered::OrderedAnswers;
use haptic_device::{FaultCode, Health, MonotonicNs};
use nalgebra::Vector2;
use std::sync::Arc;

/// Interval between requests for the state, ns, because the feedback does not contain it; at most twice as long if an
/// answer is due all the time. That is shorter than any watchdog time, so that a motor that is off is noticed as fast as
/// its watchdog would switch it off.
const REQUEST_EVERY_NS: u64 = 20_000_000;
/// Interval between requests during a fault, ns.
const REQUEST_IN_FAULT_EVERY_NS: u64 = 30_000_000;

/// A request to the ODrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    /// State of the axis.
    State,
    /// What switched the motor off.
    Reason,
    /// To switch the motor on; the answer is what still keeps it off.
    TakeControl,
}

/// Receive half of a session.
pub struct OdriveReceiveHalf {
    m_per_turn: f64,
    dialect: &'static Dialect,
    monitor: Arc<LinkMonitor>,
    answers: OrderedAnswers,
    lines: Lines,
    newest: Sample,
    requested_at: Option<MonotonicNs>,
    next: Request,
    /// Request to be answered by the next line with a single number.
    requested: Option<Request>,
    /// Fault of the ODrive; `None` once the motor is known to be on again.
    fault: Option<FaultCode>,
    /// Number of commands sent before this session.
    commands_before: u64,
}

impl OdriveReceiveHalf {
    /// Creates the receive half of a new session.
    pub(super) fn new(settings: &OdriveSettings, dialect: &'static Dialect, monitor: Arc<LinkMonitor>) -> Self {
        Self {
            m_per_turn: settings.m_per_turn(),
            dialect,
            answers: OrderedAnswers::new(Arc::clone(&monitor)),
            commands_before: monitor.commands(),
            monitor,
            lines: Lines::default(),
            newest: Sample::default(),
            requested_at: None,
            next: Request::State,
            requested: None,
            fault: None,
        }
    }

    /// Handles a line with a right checksum: two numbers are the feedback, a single number is the answer to a request.
    fn on_line(&mut self, line: &str, now: MonotonicNs) -> Option<Sample> {
        let mut numbers = verified(line).unwrap_or_default().split_ascii_whitespace();
        match (numbers.next().map(number_in), numbers.next().map(str::parse::<f64>), numbers.next()) {
            (Some(Some(turns)), Some(Ok(turns_per_s)), None) => Some(self.on_feedback(turns, turns_per_s, now)),
            (Some(Some(number)), None, None) => self.on_answer(number),
            _ => {
                self.monitor.record_damaged(1);
                None
            }
        }
    }

    /// Handles feedback and returns the newest sample, which it does not change if its age is unknown.
    fn on_feedback(&mut self, turns: f64, turns_per_s: f64, now: MonotonicNs) -> Sample {
        let Some(sent_at) = self.answers.on_answer(now) else { return self.newest };
        self.newest.taken_at = sent_at;
        self.newest.sequence = self.newest.sequence.wrapping_add(1);
        self.newest.position_m = Vector2::new(turns * self.m_per_turn, 0.0);
        self.newest.velocity_m_per_s = Vector2::new(turns_per_s * self.m_per_turn, 0.0);
        self.newest.health = self.health();
        self.newest
    }

    fn on_answer(&mut self, number: f64) -> Option<Sample> {
        match (self.requested.take()?, number) {
            (Request::State, CLOSED_LOOP) => (self.fault, self.next) = (None, Request::State),
            (Request::State, _) => {
                // Taking control would clear the reason, so it is requested first, and at once.
                (self.next, self.requested_at) = (Request::Reason, None);
            }
            (Request::TakeControl, 0.0) => self.next = Request::State,
            (Request::Reason, 0.0) => {
                self.fault.get_or_insert(FaultCode::Disarmed);
                self.next = Request::TakeControl;
            }
            (Request::Reason | Request::TakeControl, error) => {
                self.fault = Some(FaultCode::Device { code: 0, detail: error as u32 });
                self.next = Request::TakeControl;
            }
        }
        self.newest.health = self.health();
        self.fault.map(|_| self.newest)
    }

    fn health(&self) -> Health {
        self.fault.map_or(Health::Ready, Health::Faulted)
    }

    /// Returns the next request if one is due. Until the tick sends its first command, zero torque is sent instead,
    /// which feeds the watchdog.
    fn request(&mut self, now: MonotonicNs) -> Option<TxBytes> {
        let mut bytes = TxBytes::EMPTY;
        if self.monitor.commands() == self.commands_before {
            append_command(&mut bytes, format_args!("u 0"));
            return Some(bytes);
        }
        let every_ns = if self.fault.is_some() { REQUEST_IN_FAULT_EVERY_NS } else { REQUEST_EVERY_NS };
        // Some firmware discards an answer while it sends another, so a request waits until no answer is due.
        let waited_ns = self.requested_at.map_or(u64::MAX, |before| now.since(before));
        if waited_ns < every_ns || self.monitor.in_flight() > 0 && waited_ns < 2 * every_ns {
            return None;
        }
        if self.requested == Some(Request::Reason) {
            // The answer was lost. The reason is not known, but that the motor is off is.
            self.fault.get_or_insert(FaultCode::Disarmed);
        }
        (self.requested_at, self.requested) = (Some(now), Some(self.next));
        let property = match self.next {
            Request::State => "axis0.current_state",
            Request::Reason => self.dialect.disarm_reason,
            Request::TakeControl => {
                bytes = take_control();
                self.dialect.errors
            }
        };
        append_command(&mut bytes, format_args!("r {property}"));
        Some(bytes)
    }
}

impl ReceiveHalf for OdriveReceiveHalf {
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs) -> Received {
        self.answers.on_wake(now);
        let (mut received, before) = (Received::default(), self.newest);
        for &byte in bytes {
            if let Some(line) = self.lines.push(byte) {
                received.add(self.on_line(&line, now));
            }
        }
        if self.answers.is_discarding() {
            // The ages of the answers that arrived together with a surplus answer are not certain either.
            self.newest = Sample { health: self.newest.health, ..before };
            received.sample = received.sample.map(|_| self.newest);
        }
        Received { reply: self.request(now), ..received }
    }

    fn wake_at(&self) -> Option<MonotonicNs> {
        self.answers.wake_at()
    }
}
