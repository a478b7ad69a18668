//! Transmit half: converts forces to torques at the newest pose.

use super::message::{stop, write};
use super::{HaplyVariant, MAX_TORQUE_N_M};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Sample, TransmitHalf, TxBytes};
use crate::serial::ordered::OrderedCommands;
use haptic_device::{Effort, Health, MonotonicNs, WriteError};
use nalgebra::Vector2;
use std::sync::Arc;

/// Transmit half of a session.
pub struct HaplyTransmitHalf {
    variant: HaplyVariant,
    commands: OrderedCommands,
}

impl HaplyTransmitHalf {
    /// Creates the transmit half of a new session.
    pub fn new(variant: HaplyVariant, monitor: Arc<LinkMonitor>) -> Self {
        Self { variant, commands: OrderedCommands::new(monitor) }
    }

    /// Returns the torques for a force; zero if the pose is unknown or singular. If a motor would exceed its limit,
    /// both torques are scaled down, so that the force keeps its direction.
    fn torques_n_m(&self, force_n: Vector2<f64>, newest: &Sample) -> Vector2<f64> {
        if newest.health != Health::Ready {
            return Vector2::zeros();
        }
        let torques = self.variant.linkage.torques_n_m(newest.joints_rad, force_n).unwrap_or_else(|_| Vector2::zeros());
        torques * (MAX_TORQUE_N_M / torques.amax().max(MAX_TORQUE_N_M))
    }
}

impl TransmitHalf for HaplyTransmitHalf {
    /// Real-time: a few trigonometric functions.
    fn encode(&mut self, effort: Effort, newest: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
        let is_finite = effort.force_n.x.is_finite() && effort.force_n.y.is_finite();
        let (force_n, verdict) =
            if is_finite { (effort.force_n, Ok(())) } else { (Vector2::zeros(), Err(WriteError::NotFinite)) };
        let torques = self.torques_n_m(force_n, newest);
        self.commands.record_sent(now);
        (write(&self.variant, [torques.x as f32, torques.y as f32]), verdict)
    }

    fn cancel_last(&mut self) {
        self.commands.cancel_last();
    }

    fn stop_frame(&mut self) -> TxBytes {
        stop(&self.variant)
    }

    fn realign_frame(&mut self) -> Option<TxBytes> {
        Some(self.stop_frame())
    }
}
