//! The nudge of the sign check: the only force before the tool has been brought to the hand.

use super::{Admission, ForceRequest, Guard, clamp_norm, slewed};
use crate::fault::Fault;
use crate::motor_set::MotorSet;
use crate::reading_monitor::{HandReading, Validity};
use crate::sign_check::{NUDGE_N, NUDGE_TICKS};
use haptic_planar::checkpoint::Archive;
use nalgebra::Vector2;

/// State of the nudge.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Nudge {
    /// Force of the last tick, N.
    force_n: Vector2<f64>,
    /// Periods since the first force; zero before it.
    periods: u32,
    /// Fault of reversed motors, if any have been found.
    pub(super) reversed: Option<Fault>,
}

impl Nudge {
    /// Advances the time and returns whether a force is permitted now.
    fn advance(&mut self, wanted_n: Vector2<f64>, periods: u32) -> bool {
        if self.periods > 0 || wanted_n != Vector2::zeros() {
            self.periods = self.periods.saturating_add(periods);
        }
        self.periods <= NUDGE_TICKS
    }
}

impl Guard {
    /// Returns the permitted force in a tick of the sign check, which requests `nudge_n` for the handle. Everything that
    /// ends a force ends a nudge; the tank does not pay for it, because its magnitude and its duration are limited.
    /// Real-time: constant.
    #[cold]
    pub fn admit_nudge(&mut self, request: &ForceRequest, hand: &HandReading, nudge_n: Vector2<f64>) -> Admission {
        let admission = self.admit(request, hand);
        let is_quiet = self.active_fault.is_none() && self.is_off() && matches!(hand.validity, Validity::Good);
        let wanted_n = clamp_norm(nudge_n.map(|axis_n| axis_n.clamp(-NUDGE_N, NUDGE_N)), self.clamp.now_n);
        let is_permitted = self.nudge.advance(wanted_n, request.periods) && is_quiet;
        let allowed_n = slewed(self.nudge.force_n, wanted_n, self.slew_n_per_tick);
        self.nudge.force_n = if is_permitted { allowed_n } else { Vector2::zeros() };
        Admission { force_n: if is_permitted { allowed_n } else { admission.force_n }, ..admission }
    }

    /// Ends all force until the end of the run, because of reversed motors. Real-time: constant.
    pub fn reject(&mut self, motors: MotorSet) {
        self.nudge.reversed = Some(Fault::ReversedAxis(motors));
        self.engagement.stop();
    }

    /// Archives or restores the state of the nudge. Real-time: constant.
    pub fn carry_nudge(&mut self, archive: &mut impl Archive) {
        let Nudge { force_n, periods, reversed } = &mut self.nudge;
        archive.vector(force_n);
        archive.count(periods);
        Fault::carry(reversed, archive);
    }
}
