//! From STATE and FAULT frames to samples; arms again after a fault.

use super::{Scales, spoken};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{ReceiveHalf, Received, Sample, TxBytes};
use haptic_device::velocity::AdaptiveWindow;
use haptic_device::{FaultCode, Health, MonotonicNs};
use haptic_wire::{Arm, Decoder, Fault, Frame, Message, State, Status, sequence};
use nalgebra::Vector2;
use std::sync::Arc;

/// A faulted board is asked to arm again this often, ns: soon enough to go on, too seldom to hide a lasting fault.
const REARM_EVERY_NS: u64 = 200_000_000;

/// The listening thread's half of a session.
pub struct NativeReceiveHalf {
    scales: Scales,
    ledger: Arc<LinkMonitor>,
    arm: Arm,
    decoder: Decoder,
    damaged: u32,
    newest: Sample,
    /// Sequence numbers of the newest STATE and of the command it answered.
    heard: Option<(u8, u8)>,
    sampled_at_us: Option<u32>,
    velocity: AdaptiveWindow,
    /// What the board complained of, until it is armed again.
    fault: Option<FaultCode>,
    rearmed_at: Option<MonotonicNs>,
}

impl NativeReceiveHalf {
    /// An ear for a board that was just armed.
    pub fn new(scales: Scales, ledger: Arc<LinkMonitor>, arm: Arm, decoder: Decoder) -> Self {
        let step_m = scales[0].m_per_count.max(scales[1].m_per_count);
        Self {
            scales,
            ledger,
            arm,
            damaged: damaged(&decoder),
            decoder,
            newest: Sample::nothing_yet(),
            heard: None,
            sampled_at_us: None,
            velocity: AdaptiveWindow::new(step_m),
            fault: None,
            rearmed_at: None,
        }
    }

    fn take(&mut self, frame: &Frame<'_>, now: MonotonicNs) -> Option<Sample> {
        match Message::parse(frame) {
            Ok(Message::State(state)) => self.take_state(&state, frame.sequence, now),
            Ok(Message::Fault(fault)) => self.take_fault(&fault),
            Ok(Message::ArmAck(_)) => {
                self.fault = None;
                None
            }
            _ => None,
        }
    }

    fn take_fault(&mut self, fault: &Fault) -> Option<Sample> {
        if !fault.code.latches() {
            return None;
        }
        let code = code_of(fault);
        self.fault = Some(code);
        self.newest.health = Health::Faulted(code);
        Some(self.newest)
    }

    fn take_state(&mut self, state: &State, number: u8, now: MonotonicNs) -> Option<Sample> {
        if let Some((heard, answered)) = self.heard {
            if !sequence::is_newer(number, heard) {
                return None;
            }
            self.ledger.note_gap(answered, state.acknowledged);
        }
        self.heard = Some((number, state.acknowledged));
        let sent_at = self.ledger.note_answer(state.acknowledged, now);
        self.newest.taken_at = sent_at.unwrap_or(now);
        self.newest.sequence = self.newest.sequence.wrapping_add(1);
        self.newest.health = self.health(state.status);
        self.place(state);
        Some(self.newest)
    }

    fn place(&mut self, state: &State) {
        let of = |axis: usize| state.axes.get(axis).copied().unwrap_or_default();
        let position_m = Vector2::from_fn(|axis, _| f64::from(of(axis).position) * self.scales[axis].m_per_count);
        let before_us = self.sampled_at_us.replace(state.sampled_at_us);
        let elapsed_us = before_us.map_or(0, |before| state.sampled_at_us.wrapping_sub(before));
        let estimated = self.velocity.update(position_m, f64::from(elapsed_us) * 1e-6);
        let given = Vector2::from_fn(|axis, _| f64::from(of(axis).velocity) * self.scales[axis].m_per_count);
        self.newest.position_m = position_m;
        self.newest.velocity_m_per_s = if state.velocity_given { given } else { estimated };
    }

    fn health(&mut self, status: Status) -> Health {
        if status.has(Status::FAULT) {
            let code = *self.fault.get_or_insert(FaultCode::Disarmed);
            return Health::Faulted(code);
        }
        if status.has(Status::ARMED) {
            self.fault = None;
            return Health::Ready;
        }
        Health::Faulted(*self.fault.get_or_insert(FaultCode::Disarmed))
    }

    /// A board in trouble is asked to arm again, now and then.
    fn rearm(&mut self, now: MonotonicNs) -> Option<TxBytes> {
        self.fault?;
        let waited = self.rearmed_at.is_none_or(|before| now.since(before) >= REARM_EVERY_NS);
        waited.then(|| {
            self.rearmed_at = Some(now);
            spoken(&Message::Arm(self.arm), self.ledger.next_sequence())
        })
    }
}

impl ReceiveHalf for NativeReceiveHalf {
    fn hear(&mut self, bytes: &[u8], now: MonotonicNs) -> Received {
        let mut sample = None;
        // Frames borrow the decoder, so it is taken out for so long.
        let mut decoder = std::mem::take(&mut self.decoder);
        decoder.push_all(bytes, |frame| sample = self.take(&frame, now).or(sample));
        self.decoder = decoder;
        let damaged = damaged(&self.decoder);
        self.ledger.note_damaged(damaged.wrapping_sub(self.damaged));
        self.damaged = damaged;
        Received { sample, reply: self.rearm(now) }
    }
}

/// Frames that arrived and made no sense.
fn damaged(decoder: &Decoder) -> u32 {
    let counters = decoder.counters();
    counters.crc_errors.wrapping_add(counters.framing_errors).wrapping_add(counters.overlong)
}

fn code_of(fault: &Fault) -> FaultCode {
    match fault.code {
        haptic_wire::FaultCode::Watchdog => FaultCode::Watchdog,
        haptic_wire::FaultCode::EncoderJump => FaultCode::EncoderJump { axis: (fault.detail >> 24) as u8 },
        other => FaultCode::Device { code: other.byte(), detail: fault.detail },
    }
}
