//! Receive half: converts turns to metres, and periodically requests the errors and the state of the ODrive.

use super::{CLOSED_LOOP, Lines, OdriveSettings, append_command, commands, number_in, take_control, verified};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{ReceiveHalf, Received, Sample, TxBytes};
use crate::serial::ordered::OrderedAnswers;
use haptic_device::{FaultCode, Health, MonotonicNs};
use nalgebra::Vector2;
use std::sync::Arc;

/// Interval between requests, ns. The requests alternate between axis errors and axis state, because the feedback
/// contains neither.
const REQUEST_EVERY_NS: u64 = 100_000_000;
/// Interval between requests during a fault, ns.
const REQUEST_IN_FAULT_EVERY_NS: u64 = 30_000_000;

/// A request to the ODrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Request {
    Error,
    State,
    TakeControl,
}

/// Receive half of a session.
pub struct OdriveReceiveHalf {
    m_per_turn: f64,
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
    pub fn new(settings: &OdriveSettings, monitor: Arc<LinkMonitor>) -> Self {
        Self {
            m_per_turn: settings.m_per_turn(),
            answers: OrderedAnswers::new(Arc::clone(&monitor)),
            commands_before: monitor.commands(),
            monitor,
            lines: Lines::default(),
            newest: Sample::default(),
            requested_at: None,
            next: Request::Error,
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
            (Request::State, CLOSED_LOOP) => (self.fault, self.next) = (None, Request::Error),
            (Request::State, _) => {
                self.fault.get_or_insert(FaultCode::Disarmed);
                // Taking control would clear the error, so the error is requested first.
                self.next = Request::Error;
            }
            (Request::TakeControl, 0.0) => self.next = Request::State,
            (Request::Error, 0.0) => {
                self.next = if self.fault.is_some() { Request::TakeControl } else { Request::State }
            }
            (Request::Error | Request::TakeControl, error) => {
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
        if self.monitor.commands() == self.commands_before {
            return Some(commands(&["u 0"]));
        }
        let every_ns = if self.fault.is_some() { REQUEST_IN_FAULT_EVERY_NS } else { REQUEST_EVERY_NS };
        let is_due = self.requested_at.is_none_or(|before| now.since(before) >= every_ns);
        is_due.then(|| {
            self.requested_at = Some(now);
            self.requested = Some(self.next);
            match self.next {
                Request::State => commands(&["r axis0.current_state"]),
                Request::Error => commands(&["r axis0.error"]),
                Request::TakeControl => {
                    let mut bytes = take_control();
                    append_command(&mut bytes, format_args!("r axis0.error"));
                    bytes
                }
            }
        })
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
