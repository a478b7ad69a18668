//! From efforts to CMD frames.

use super::{Scales, spoken};
use crate::contract::{Effort, MonotonicNs, WriteError};
use crate::serial::ledger::Ledger;
use crate::serial::protocol::{Sample, Spoken, Voice};
use haptic_wire::{Command, Message, PerAxis};
use std::sync::Arc;

/// The tick's half of a session.
pub struct NativeVoice {
    axes: usize,
    scales: Scales,
    ledger: Arc<Ledger>,
    last_sequence: u8,
}

impl NativeVoice {
    /// A voice that has said nothing.
    pub fn new(axes: usize, scales: Scales, ledger: Arc<Ledger>) -> Self {
        Self { axes, scales, ledger, last_sequence: 0 }
    }

    fn efforts(&self, effort: Effort) -> PerAxis<i16> {
        let of = |axis: usize| self.scales[axis].effort_q15(effort.force_n[axis]);
        if self.axes == 1 { PerAxis::one(of(0)) } else { PerAxis::two(of(0), of(1)) }
    }
}

impl Voice for NativeVoice {
    fn say(&mut self, effort: Effort, _newest: &Sample, now: MonotonicNs) -> (Spoken, Result<(), WriteError>) {
        let is_number = effort.force_n.x.is_finite() && effort.force_n.y.is_finite();
        let (effort, verdict) = if is_number { (effort, Ok(())) } else { (Effort::zero(), Err(WriteError::NotFinite)) };
        self.last_sequence = self.ledger.next_sequence();
        self.ledger.note_sent(self.last_sequence, now);
        let command = Message::Command(Command::pushing(self.efforts(effort)));
        (spoken(&command, self.last_sequence), verdict)
    }

    fn take_back(&mut self) {
        self.ledger.note_unsent(self.last_sequence);
    }

    fn farewell(&mut self) -> Spoken {
        spoken(&Message::Stop, self.ledger.next_sequence())
    }
}
