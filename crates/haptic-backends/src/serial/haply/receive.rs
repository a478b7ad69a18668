//! Receive half: converts joint angles to handle positions.

use super::HaplyVariant;
use super::message::AnswerFinder;
use crate::link_monitor::LinkMonitor;
use crate::protocol::{ReceiveHalf, Received, Sample};
use crate::serial::ordered::OrderedAnswers;
use haptic_device::velocity::AdaptiveWindow;
use haptic_device::{FaultCode, Health, MonotonicNs};
use nalgebra::Vector2;
use std::sync::Arc;

/// Receive half of a session.
pub struct HaplyReceiveHalf {
    variant: HaplyVariant,
    monitor: Arc<LinkMonitor>,
    answers: OrderedAnswers,
    finder: AnswerFinder,
    newest: Sample,
    velocity: AdaptiveWindow,
    received_at: Option<MonotonicNs>,
}

impl HaplyReceiveHalf {
    /// Creates the receive half of a new session.
    pub fn new(variant: HaplyVariant, monitor: Arc<LinkMonitor>) -> Self {
        let [first_rad, second_rad] = variant.steps_rad();
        let step_m = first_rad.max(second_rad) * variant.linkage.upper_link_m;
        Self {
            variant,
            answers: OrderedAnswers::new(Arc::clone(&monitor)),
            monitor,
            finder: AnswerFinder::default(),
            newest: Sample::default(),
            velocity: AdaptiveWindow::new(step_m),
            received_at: None,
        }
    }

    /// Handles an answer and returns the newest sample, which it does not change if its age is unknown.
    fn on_answer(&mut self, degrees: [f32; 2], now: MonotonicNs) -> Sample {
        let Some(sent_at) = self.answers.on_answer(now) else { return self.newest };
        self.newest.taken_at = sent_at;
        self.newest.sequence = self.newest.sequence.wrapping_add(1);
        let joints_rad = Vector2::from_fn(|joint, _| f64::from(degrees[joint]).to_radians());
        match self.variant.linkage.handle_m(joints_rad) {
            Ok(position_m) => self.update_motion(position_m, joints_rad, now),
            Err(_) => self.newest.health = Health::Faulted(FaultCode::Kinematics),
        }
        self.newest
    }

    fn update_motion(&mut self, position_m: Vector2<f64>, joints_rad: Vector2<f64>, now: MonotonicNs) {
        let elapsed_s = self.received_at.replace(now).map_or(0.0, |before| now.since(before) as f64 * 1e-9);
        self.newest.velocity_m_per_s = self.velocity.update(position_m, elapsed_s);
        (self.newest.position_m, self.newest.joints_rad) = (position_m, joints_rad);
        self.newest.health = Health::Ready;
    }
}

impl ReceiveHalf for HaplyReceiveHalf {
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs) -> Received {
        self.answers.on_wake(now);
        let (mut received, before) = (Received::default(), self.newest);
        for &byte in bytes {
            if let Some(degrees) = self.finder.push(byte, &self.variant) {
                received.add(Some(self.on_answer(degrees, now)));
            }
        }
        self.monitor.record_damaged(self.finder.take_damaged());
        if self.answers.is_discarding() {
            // The ages of the answers that arrived together with a surplus answer are not certain either.
            self.newest = Sample { health: self.newest.health, ..before };
            received.sample = received.sample.map(|_| self.newest);
        }
        received
    }

    fn wake_at(&self) -> Option<MonotonicNs> {
        self.answers.wake_at()
    }
}
