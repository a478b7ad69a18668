//! From turns to metres; asks now and then whether the controller is well.

use super::{Lines, OdriveSettings, take_control};
use crate::contract::{FaultCode, Health, MonotonicNs};
use crate::serial::ledger::Ledger;
use crate::serial::ordered::OrderedAnswers;
use crate::serial::protocol::{Ear, Heard, Sample, Spoken};
use nalgebra::Vector2;
use std::sync::Arc;

/// How often it is asked for errors, ns. Its feedback does not tell of them.
const ASK_EVERY_NS: u64 = 100_000_000;

/// The listening thread's half of a session.
pub struct OdriveEar {
    m_per_turn: f64,
    ledger: Arc<Ledger>,
    answers: OrderedAnswers,
    lines: Lines,
    newest: Sample,
    asked_at: Option<MonotonicNs>,
    error: u32,
    /// Commands that had gone out when the session began.
    commands_before: u64,
}

impl OdriveEar {
    /// An ear that has heard nothing.
    pub fn new(settings: &OdriveSettings, ledger: Arc<Ledger>) -> Self {
        Self {
            m_per_turn: settings.m_per_turn(),
            answers: OrderedAnswers::new(Arc::clone(&ledger)),
            commands_before: ledger.commands(),
            ledger,
            lines: Lines::default(),
            newest: Sample::nothing_yet(),
            asked_at: None,
            error: 0,
        }
    }

    /// Two numbers are the feedback, one is the answer about errors.
    fn take(&mut self, line: &str, now: MonotonicNs) -> Option<Sample> {
        let mut words = line.split_ascii_whitespace();
        match (words.next().map(str::parse::<f64>), words.next().map(str::parse::<f64>), words.next()) {
            (Some(Ok(turns)), Some(Ok(turns_per_s)), None) => Some(self.take_feedback(turns, turns_per_s, now)),
            (Some(Ok(error)), None, None) => self.take_error(error as u32),
            _ => {
                self.ledger.note_damaged(1);
                None
            }
        }
    }

    fn take_feedback(&mut self, turns: f64, turns_per_s: f64, now: MonotonicNs) -> Sample {
        let sent_at = self.answers.take(now);
        self.newest.taken_at = sent_at.unwrap_or(now);
        self.newest.sequence = self.newest.sequence.wrapping_add(1);
        self.newest.position_m = Vector2::new(turns * self.m_per_turn, 0.0);
        self.newest.velocity_m_per_s = Vector2::new(turns_per_s * self.m_per_turn, 0.0);
        self.newest.health = self.health();
        self.newest
    }

    fn take_error(&mut self, error: u32) -> Option<Sample> {
        self.error = error;
        self.newest.health = self.health();
        (error != 0).then_some(self.newest)
    }

    fn health(&self) -> Health {
        match self.error {
            0 => Health::Ready,
            detail => Health::Faulted(FaultCode::Device { code: 0, detail }),
        }
    }

    /// Until the tick begins to speak, somebody must feed the watchdog; the torque is zero so long.
    fn question(&mut self, now: MonotonicNs) -> Option<Spoken> {
        if self.ledger.commands() == self.commands_before {
            return Some(Spoken::of(b"u 0\n"));
        }
        let is_due = self.asked_at.is_none_or(|before| now.since(before) >= ASK_EVERY_NS);
        is_due.then(|| {
            self.asked_at = Some(now);
            let mut words = if self.error == 0 { Spoken::nothing() } else { take_control() };
            words.append(b"r axis0.error\n");
            words
        })
    }
}

impl Ear for OdriveEar {
    fn hear(&mut self, bytes: &[u8], now: MonotonicNs) -> Heard {
        let mut sample = None;
        for &byte in bytes {
            if let Some(line) = self.lines.push(byte) {
                sample = self.take(&line, now).or(sample);
            }
        }
        Heard { sample, reply: self.question(now) }
    }
}
