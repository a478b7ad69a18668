//! Receive half: decodes STATE and FAULT frames into samples, and re-arms the board after a fault.

use super::Scales;
use super::framing::Framing;
use crate::link_monitor::LinkMonitor;
use crate::protocol::{ReceiveHalf, Received, Sample, TxBytes};
use crate::scale::{AxisScale, encoder_step_m};
use haptic_device::velocity::AdaptiveWindow;
use haptic_device::{FaultCode, Health, MonotonicNs};
use haptic_wire::{Arm, AxisReading, Fault, Frame, Message, State, Status, sequence};
use nalgebra::Vector2;
use std::sync::Arc;

/// Interval between ARM messages to a faulted board, ns. Short enough to resume soon, long enough for a persistent
/// fault to stay visible.
const REARM_EVERY_NS: u64 = 200_000_000;

/// Receive half of a session.
pub struct NativeReceive<F> {
    framing: F,
    scales: Scales,
    monitor: Arc<LinkMonitor>,
    arm: Arm,
    /// Number of damaged frames already recorded by the monitor.
    damaged: u32,
    newest: Sample,
    /// Sequence numbers of the newest STATE and of the command it answered.
    answered: Option<(u8, u8)>,
    sampled_at_us: Option<u32>,
    velocity: AdaptiveWindow,
    /// Fault of the board, until it is re-armed.
    fault: Option<FaultCode>,
    rearmed_at: Option<MonotonicNs>,
}

impl<F: Framing> NativeReceive<F> {
    /// Creates the receive half for a board just armed with `arm`. `framing` is the framing used in the handshake, and
    /// `fault` the fault that the board has reported since.
    pub fn new(framing: F, scales: Scales, monitor: Arc<LinkMonitor>, arm: Arm, fault: Option<&Fault>) -> Self {
        Self {
            damaged: framing.counts().damaged,
            framing,
            monitor,
            arm,
            newest: Sample::default(),
            answered: None,
            sampled_at_us: None,
            velocity: AdaptiveWindow::new(encoder_step_m(&scales)),
            scales,
            fault: fault.map(fault_code),
            rearmed_at: None,
        }
    }

    /// Handles a frame and returns the new sample, if any.
    fn on_frame(&mut self, frame: &Frame<'_>, now: MonotonicNs) -> Option<Sample> {
        match Message::parse(frame) {
            Ok(Message::State(state)) => self.on_state(&state, frame.sequence, now),
            Ok(Message::Fault(fault)) => self.on_fault(&fault),
            // ARM_ACK ends no fault: a stopped board sends it too. STATE tells whether the board is armed.
            _ => None,
        }
    }

    fn on_fault(&mut self, fault: &Fault) -> Option<Sample> {
        let code = match fault.code {
            // Another host has opened a session: whatever the fault was, the board now ignores this host's ARM.
            haptic_wire::FaultCode::NonceMismatch => FaultCode::Disarmed,
            code if code.latches() => fault_code(fault),
            _ => return None,
        };
        self.fault = Some(code);
        self.newest.health = Health::Faulted(code);
        Some(self.newest)
    }

    fn on_state(&mut self, state: &State, number: u8, now: MonotonicNs) -> Option<Sample> {
        if let Some((newest, acknowledged)) = self.answered {
            if !sequence::is_newer(number, newest) {
                return None;
            }
            self.monitor.record_gap(acknowledged, state.acknowledged);
        }
        self.answered = Some((number, state.acknowledged));
        let sent_at = self.monitor.record_answer(state.acknowledged, now);
        self.newest.taken_at = sent_at.unwrap_or(now);
        self.newest.sequence = self.newest.sequence.wrapping_add(1);
        self.newest.health = self.health(state.status);
        self.update_motion(state);
        Some(self.newest)
    }

    fn update_motion(&mut self, state: &State) {
        let position_m = self.vector(state, |scale, axis| scale.position_m(f64::from(axis.position)));
        let before_us = self.sampled_at_us.replace(state.sampled_at_us);
        let elapsed_us = before_us.map_or(0, |before_us| state.sampled_at_us.wrapping_sub(before_us));
        let estimated_m_per_s = self.velocity.update(position_m, f64::from(elapsed_us) * 1e-6);
        self.newest.position_m = position_m;
        self.newest.velocity_m_per_s = if state.velocity_given {
            self.vector(state, |scale, axis| f64::from(axis.velocity) * scale.m_per_count)
        } else {
            estimated_m_per_s
        };
    }

    /// Returns a vector with one component per axis; zero for an axis that the board does not have.
    fn vector(&self, state: &State, component: impl Fn(&AxisScale, &AxisReading) -> f64) -> Vector2<f64> {
        let mut vector = Vector2::zeros();
        for (axis, (scale, reading)) in self.scales.iter().zip(state.axes.iter()).enumerate() {
            vector[axis] = component(scale, reading);
        }
        vector
    }

    fn health(&mut self, status: Status) -> Health {
        if status.has(Status::ARMED) && !status.has(Status::FAULT) {
            self.fault = None;
            return Health::Ready;
        }
        Health::Faulted(*self.fault.get_or_insert(FaultCode::Disarmed))
    }

    /// Returns an ARM message for a faulted board, at most once per [`REARM_EVERY_NS`].
    fn rearm(&mut self, now: MonotonicNs) -> Option<TxBytes> {
        self.fault?;
        let is_due = self.rearmed_at.is_none_or(|before| now.since(before) >= REARM_EVERY_NS);
        is_due.then(|| {
            self.rearmed_at = Some(now);
            F::encode(&Message::Arm(self.arm), self.monitor.next_sequence())
        })
    }

    fn record_damaged(&mut self) {
        let damaged = self.framing.counts().damaged;
        self.monitor.record_damaged(damaged.wrapping_sub(self.damaged));
        self.damaged = damaged;
    }
}

impl<F: Framing> ReceiveHalf for NativeReceive<F> {
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs) -> Received {
        let mut received = Received::default();
        // Frames borrow the framing, so it is moved out of `self` while they are handled.
        let mut framing = std::mem::take(&mut self.framing);
        framing.decode(bytes, |frame| received.add(self.on_frame(&frame, now)));
        self.framing = framing;
        self.record_damaged();
        Received { reply: self.rearm(now), ..received }
    }
}

/// Converts the code of a FAULT message to a fault code of a [`haptic_device::Device`].
fn fault_code(fault: &Fault) -> FaultCode {
    match fault.code {
        haptic_wire::FaultCode::Watchdog => FaultCode::Watchdog,
        haptic_wire::FaultCode::EmergencyStop => FaultCode::EmergencyStop,
        haptic_wire::FaultCode::EncoderJump => FaultCode::EncoderJump { axis: (fault.detail >> 24) as u8 },
        other => FaultCode::Device { code: other.byte(), detail: fault.detail },
    }
}

#[cfg(test)]
mod tests {
    use super::super::framing::HidReport;
    use super::*;
    use haptic_wire::report::{decode_report, encode_report};
    use haptic_wire::{Kind, PerAxis};

    const MS: u64 = 1_000_000;

    fn armed_board() -> NativeReceive<HidReport> {
        let scale = AxisScale { m_per_count: 1e-5, full_scale_n: 4.0, ..AxisScale::default() };
        let arm = Arm { nonce: 7, watchdog_ms: 20, limits_q15: PerAxis::two(100, 100), slew_q15_per_ms: 0 };
        NativeReceive::new(HidReport::default(), PerAxis::two(scale, scale), Arc::default(), arm, None)
    }

    fn at(ms: u64) -> MonotonicNs {
        MonotonicNs(ms * MS)
    }

    /// Encodes a STATE that answers the command with this sequence number.
    fn state(acknowledged: u8, status: u8) -> [u8; 64] {
        let axis = AxisReading { position: 1000, velocity: 0 };
        let axes = PerAxis::two(axis, axis);
        let state = State { acknowledged, status: Status(status), sampled_at_us: 0, axes, velocity_given: false };
        encode_report(&Message::State(state), acknowledged).unwrap()
    }

    fn fault(code: haptic_wire::FaultCode) -> [u8; 64] {
        encode_report(&Message::Fault(Fault { code, detail: 20 }), 1).unwrap()
    }

    fn arm_ack(receive: &NativeReceive<HidReport>) -> [u8; 64] {
        encode_report(&Message::ArmAck(receive.arm), 1).unwrap()
    }

    #[test]
    fn a_faulted_board_is_armed_at_once_and_then_five_times_a_second() {
        let mut receive = armed_board();
        let is_arm = |reply: TxBytes| decode_report(reply.bytes()).is_some_and(|frame| frame.kind == Kind::Arm as u8);
        assert_eq!(receive.receive(&state(999u64 as u8, Status::ARMED), at(999)).reply, None);
        let armed_at: Vec<u64> = (1000..2000)
            .filter(|ms| receive.receive(&state(*ms as u8, Status::FAULT), at(*ms)).reply.is_some_and(is_arm))
            .collect();
        assert_eq!(armed_at, [1000, 1200, 1400, 1600, 1800]);
    }

    #[test]
    fn a_fault_lasts_until_the_board_reports_that_it_is_armed_and_counts_no_command_as_lost() {
        let monitor = Arc::new(LinkMonitor::default());
        let mut receive = NativeReceive { monitor: Arc::clone(&monitor), ..armed_board() };
        let health = |received: Received| received.sample.unwrap().health;
        let faulted = Health::Faulted(FaultCode::Watchdog);
        for number in [1, 2, 4] {
            monitor.record_sent(number, at(0));
        }
        assert_eq!(health(receive.receive(&state(1, Status::ARMED), at(1))), Health::Ready);
        assert_eq!(health(receive.receive(&fault(haptic_wire::FaultCode::Watchdog), at(2))), faulted);
        assert_eq!(health(receive.receive(&state(2, Status::FAULT), at(3))), faulted);
        // The ARM message had sequence number 3.
        assert_eq!(health(receive.receive(&state(4, Status::ARMED), at(4))), Health::Ready);
        assert_eq!(monitor.statistics(1000.0).frames_lost, 0);
    }

    #[test]
    fn an_emergency_stop_lasts_through_arm_acks_even_if_the_fault_after_one_is_lost() {
        let mut receive = armed_board();
        let health = |received: Received| received.sample.unwrap().health;
        let stopped = Health::Faulted(FaultCode::EmergencyStop);
        assert_eq!(health(receive.receive(&fault(haptic_wire::FaultCode::EmergencyStop), at(1))), stopped);
        for number in 1..100 {
            assert_eq!(receive.receive(&arm_ack(&receive), at(2)).sample, None);
            assert_eq!(health(receive.receive(&state(number, Status::FAULT), at(3))), stopped);
        }
        assert_eq!(health(receive.receive(&state(100, Status::ARMED), at(4))), Health::Ready);
    }

    #[test]
    fn a_board_that_another_host_has_taken_over_is_disarmed_whatever_its_fault_was() {
        let mut receive = armed_board();
        let health = |received: Received| received.sample.unwrap().health;
        receive.receive(&fault(haptic_wire::FaultCode::EmergencyStop), at(1));
        let disarmed = Health::Faulted(FaultCode::Disarmed);
        assert_eq!(health(receive.receive(&fault(haptic_wire::FaultCode::NonceMismatch), at(2))), disarmed);
        assert_eq!(health(receive.receive(&state(1, 0), at(3))), disarmed);
    }

    #[test]
    fn damaged_reports_are_counted_and_an_empty_read_is_not_one() {
        let mut receive = armed_board();
        let mut damaged = state(1, Status::ARMED);
        damaged[5] ^= 1;
        for report in [&damaged[..], &[], &state(2, Status::ARMED)] {
            receive.receive(report, at(1));
        }
        assert_eq!(receive.monitor.statistics(1000.0).crc_errors, 1);
    }
}
