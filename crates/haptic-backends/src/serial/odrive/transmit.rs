//! Transmit half: encodes forces as torques in decimal notation.

use super::{OdriveSettings, append_command, commands};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Sample, TransmitHalf, TxBytes};
use crate::serial::ordered::OrderedCommands;
use haptic_device::{Effort, MonotonicNs, WriteError};
use std::sync::Arc;

/// Transmit half of a session.
pub struct OdriveTransmitHalf {
    lever_m: f64,
    commands: OrderedCommands,
}

impl OdriveTransmitHalf {
    /// Creates the transmit half of a new session.
    pub fn new(settings: &OdriveSettings, monitor: Arc<LinkMonitor>) -> Self {
        Self { lever_m: settings.lever_m, commands: OrderedCommands::new(monitor) }
    }
}

impl TransmitHalf for OdriveTransmitHalf {
    /// Encodes a command that sets the torque, which feeds the watchdog, and requests motor feedback.
    ///
    /// Real-time: formats one number, without allocation.
    fn encode(&mut self, effort: Effort, _newest: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
        let is_finite = effort.force_n.x.is_finite();
        let torque_n_m = if is_finite { effort.force_n.x * self.lever_m } else { 0.0 };
        let mut bytes = TxBytes::EMPTY;
        append_command(&mut bytes, format_args!("c 0 {torque_n_m:.6}"));
        append_command(&mut bytes, format_args!("f 0"));
        self.commands.record_sent(now);
        (bytes, if is_finite { Ok(()) } else { Err(WriteError::NotFinite) })
    }

    fn cancel_last(&mut self) {
        self.commands.cancel_last();
    }

    fn stop_frame(&mut self) -> TxBytes {
        commands(&["c 0 0", "w axis0.requested_state 1"])
    }
}
