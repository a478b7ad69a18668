//! Transmit half: encodes efforts as CMD frames.

use super::framing::Framing;
use super::{Scales, per_axis};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Sample, TransmitHalf, TxBytes};
use haptic_device::{Effort, MonotonicNs, WriteError};
use haptic_wire::{Command, Message};
use std::marker::PhantomData;
use std::sync::Arc;

/// Transmit half of a session.
pub struct NativeTransmit<F> {
    scales: Scales,
    monitor: Arc<LinkMonitor>,
    last_sequence: u8,
    framing: PhantomData<F>,
}

impl<F: Framing> NativeTransmit<F> {
    /// Creates the transmit half for a newly armed board.
    pub fn new(scales: Scales, monitor: Arc<LinkMonitor>) -> Self {
        Self { scales, monitor, last_sequence: 0, framing: PhantomData }
    }
}

impl<F: Framing> TransmitHalf for NativeTransmit<F> {
    fn encode(&mut self, effort: Effort, _newest: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
        let is_finite = effort.force_n.x.is_finite() && effort.force_n.y.is_finite();
        let (effort, verdict) = if is_finite { (effort, Ok(())) } else { (Effort::zero(), Err(WriteError::NotFinite)) };
        self.last_sequence = self.monitor.next_sequence();
        self.monitor.record_sent(self.last_sequence, now);
        let efforts_q15 = per_axis(self.scales.len(), |axis| self.scales[axis].effort_q15(effort.force_n[axis]));
        (F::encode(&Message::Command(Command::with_efforts(efforts_q15)), self.last_sequence), verdict)
    }

    fn cancel_last(&mut self) {
        self.monitor.record_unsent(self.last_sequence);
    }

    fn stop_frame(&mut self) -> TxBytes {
        F::encode(&Message::Stop, self.monitor.next_sequence())
    }
}

#[cfg(test)]
mod tests {
    use super::super::framing::HidReport;
    use super::*;
    use crate::scale::AxisScale;
    use haptic_wire::PerAxis;
    use haptic_wire::report::decode_report;
    use nalgebra::Vector2;

    #[test]
    fn zero_force_is_a_command_without_enable_so_that_a_board_does_not_slew_to_it() {
        let scale = AxisScale { full_scale_n: 4.0, ..AxisScale::default() };
        let mut transmit = NativeTransmit::<HidReport>::new(PerAxis::two(scale, scale), Arc::default());
        let mut flags = |x_n: f64, y_n: f64| {
            let effort = Effort { force_n: Vector2::new(x_n, y_n) };
            let (bytes, _) = transmit.encode(effort, &Sample::default(), MonotonicNs(1));
            match Message::parse(&decode_report(bytes.bytes()).unwrap()) {
                Ok(Message::Command(command)) => command.flags,
                other => panic!("{other:?}"),
            }
        };
        assert_eq!([flags(0.0, 0.0), flags(-0.0, 1e-9), flags(f64::NAN, 1.0)], [0; 3]);
        assert_eq!([flags(1.0, 0.0), flags(0.0, -1.0)], [Command::ENABLE; 2]);
    }
}
