//! From efforts to CMD frames.

use super::{Scales, spoken};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Sample, TransmitHalf, TxBytes};
use haptic_device::{Effort, MonotonicNs, WriteError};
use haptic_wire::{Command, Message, PerAxis};
use std::sync::Arc;

/// The tick's half of a session.
pub struct NativeTransmitHalf {
    axes: usize,
    scales: Scales,
    ledger: Arc<LinkMonitor>,
    last_sequence: u8,
}

impl NativeTransmitHalf {
    /// A voice that has said nothing.
    pub fn new(axes: usize, scales: Scales, ledger: Arc<LinkMonitor>) -> Self {
        Self { axes, scales, ledger, last_sequence: 0 }
    }

    fn efforts(&self, effort: Effort) -> PerAxis<i16> {
        let of = |axis: usize| self.scales[axis].effort_q15(effort.force_n[axis]);
        if self.axes == 1 { PerAxis::one(of(0)) } else { PerAxis::two(of(0), of(1)) }
    }
}

impl TransmitHalf for NativeTransmitHalf {
    fn say(&mut self, effort: Effort, _newest: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
        let is_number = effort.force_n.x.is_finite() && effort.force_n.y.is_finite();
        let (effort, verdict) = if is_number { (effort, Ok(())) } else { (Effort::zero(), Err(WriteError::NotFinite)) };
        self.last_sequence = self.ledger.next_sequence();
        self.ledger.record_sent(self.last_sequence, now);
        let command = Message::Command(Command::with_efforts(self.efforts(effort)));
        (spoken(&command, self.last_sequence), verdict)
    }

    fn cancel_last(&mut self) {
        self.ledger.note_unsent(self.last_sequence);
    }

    fn stop_frame(&mut self) -> TxBytes {
        spoken(&Message::Stop, self.ledger.next_sequence())
    }
}
