//! From forces to torques in decimal.

use super::OdriveSettings;
use crate::contract::{Effort, MonotonicNs, WriteError};
use crate::serial::ledger::Ledger;
use crate::serial::ordered::OrderedCommands;
use crate::serial::protocol::{Sample, Spoken, Voice};
use std::fmt::Write;
use std::sync::Arc;

/// The tick's half of a session.
pub struct OdriveVoice {
    lever_m: f64,
    commands: OrderedCommands,
}

impl OdriveVoice {
    /// A voice that has said nothing.
    pub fn new(settings: &OdriveSettings, ledger: Arc<Ledger>) -> Self {
        Self { lever_m: settings.lever_m, commands: OrderedCommands::new(ledger) }
    }
}

impl Voice for OdriveVoice {
    /// Sets the torque, which feeds the watchdog, then asks where the motor is.
    ///
    /// Real-time: one number in decimal, on the stack.
    fn say(&mut self, effort: Effort, _newest: &Sample, now: MonotonicNs) -> (Spoken, Result<(), WriteError>) {
        let is_number = effort.force_n.x.is_finite();
        let torque_n_m = if is_number { effort.force_n.x * self.lever_m } else { 0.0 };
        let mut spoken = Spoken::nothing();
        // There is room for any torque within a million newton metres; beyond, the line is cut and not understood.
        let _ = write!(spoken, "c 0 {torque_n_m:.6}\nf 0\n");
        self.commands.note_sent(now);
        (spoken, if is_number { Ok(()) } else { Err(WriteError::NotFinite) })
    }

    fn take_back(&mut self) {
        self.commands.take_back();
    }

    fn farewell(&mut self) -> Spoken {
        Spoken::of(b"c 0 0\nw axis0.requested_state 1\n")
    }
}
