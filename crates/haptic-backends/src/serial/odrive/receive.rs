//! From turns to metres; asks now and then whether the controller is well.

use super::{CLOSED_LOOP, Lines, OdriveSettings, number_in, take_control};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{ReceiveHalf, Received, Sample, TxBytes};
use crate::serial::ordered::OrderedAnswers;
use haptic_device::{FaultCode, Health, MonotonicNs};
use nalgebra::Vector2;
use std::sync::Arc;

/// How often it is asked how it is, ns: its feedback does not tell. In turn for errors and for the state of its axis.
const ASK_EVERY_NS: u64 = 100_000_000;
/// The same while something is wrong, ns.
const ASK_IN_TROUBLE_EVERY_NS: u64 = 30_000_000;

/// What is asked or done next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Error,
    State,
    TakeControl,
}

/// The listening thread's half of a session.
pub struct OdriveReceiveHalf {
    m_per_turn: f64,
    monitor: Arc<LinkMonitor>,
    answers: OrderedAnswers,
    lines: Lines,
    newest: Sample,
    asked_at: Option<MonotonicNs>,
    next: Next,
    /// What the next single number answers.
    asked: Option<Next>,
    /// What went wrong, until the motor is known to be on again.
    trouble: Option<FaultCode>,
    /// Commands that had gone out when the session began.
    commands_before: u64,
}

impl OdriveReceiveHalf {
    /// An ear that has heard nothing.
    pub fn new(settings: &OdriveSettings, monitor: Arc<LinkMonitor>) -> Self {
        Self {
            m_per_turn: settings.m_per_turn(),
            answers: OrderedAnswers::new(Arc::clone(&monitor)),
            commands_before: monitor.commands(),
            monitor,
            lines: Lines::default(),
            newest: Sample::default(),
            asked_at: None,
            next: Next::Error,
            asked: None,
            trouble: None,
        }
    }

    /// Two numbers are the feedback, one is the answer to a question.
    fn take(&mut self, line: &str, now: MonotonicNs) -> Option<Sample> {
        let mut words = line.split_ascii_whitespace();
        match (words.next().map(number_in), words.next().map(str::parse::<f64>), words.next()) {
            (Some(Some(turns)), Some(Ok(turns_per_s)), None) => Some(self.take_feedback(turns, turns_per_s, now)),
            (Some(Some(number)), None, None) => self.take_answer(number),
            _ => {
                self.monitor.record_damaged(1);
                None
            }
        }
    }

    fn take_feedback(&mut self, turns: f64, turns_per_s: f64, now: MonotonicNs) -> Sample {
        let sent_at = self.answers.on_answer(now);
        self.newest.taken_at = sent_at.unwrap_or(now);
        self.newest.sequence = self.newest.sequence.wrapping_add(1);
        self.newest.position_m = Vector2::new(turns * self.m_per_turn, 0.0);
        self.newest.velocity_m_per_s = Vector2::new(turns_per_s * self.m_per_turn, 0.0);
        self.newest.health = self.health();
        self.newest
    }

    fn take_answer(&mut self, number: f64) -> Option<Sample> {
        match (self.asked.take()?, number) {
            (Next::State, CLOSED_LOOP) => (self.trouble, self.next) = (None, Next::Error),
            (Next::State, _) => {
                self.trouble.get_or_insert(FaultCode::Disarmed);
                // Taking control would clear the reason: it is asked for first.
                self.next = Next::Error;
            }
            (Next::TakeControl, 0.0) => self.next = Next::State,
            (Next::Error, 0.0) => self.next = if self.trouble.is_some() { Next::TakeControl } else { Next::State },
            (Next::Error | Next::TakeControl, error) => {
                self.trouble = Some(FaultCode::Device { code: 0, detail: error as u32 });
                self.next = Next::TakeControl;
            }
        }
        self.newest.health = self.health();
        self.trouble.map(|_| self.newest)
    }

    fn health(&self) -> Health {
        self.trouble.map_or(Health::Ready, Health::Faulted)
    }

    /// Until the tick begins to speak, somebody must feed the watchdog; the torque is zero so long.
    fn question(&mut self, now: MonotonicNs) -> Option<TxBytes> {
        if self.monitor.commands() == self.commands_before {
            return Some(TxBytes::new(b"u 0\n"));
        }
        let every_ns = if self.trouble.is_some() { ASK_IN_TROUBLE_EVERY_NS } else { ASK_EVERY_NS };
        let is_due = self.asked_at.is_none_or(|before| now.since(before) >= every_ns);
        is_due.then(|| {
            self.asked_at = Some(now);
            self.asked = Some(self.next);
            match self.next {
                Next::State => TxBytes::new(b"r axis0.current_state\n"),
                Next::Error => TxBytes::new(b"r axis0.error\n"),
                Next::TakeControl => {
                    let mut words = take_control();
                    words.append(b"r axis0.error\n");
                    words
                }
            }
        })
    }
}

impl ReceiveHalf for OdriveReceiveHalf {
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs) -> Received {
        let mut sample = None;
        for &byte in bytes {
            if let Some(line) = self.lines.push(byte) {
                sample = self.take(&line, now).or(sample);
            }
        }
        Received { sample, reply: self.question(now) }
    }
}
