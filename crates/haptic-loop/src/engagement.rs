//! Engagement: the force ramps up once the tool is free of contact forces, and starts over from zero after a fault.

mod checkpoint;

use haptic_coupling::tank::project_onto_segment;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;

/// Force below which the world counts as quiet, N, in addition to any force explained by the weight of a swinging tool.
pub const QUIET_N: f64 = 0.2;
/// Number of consecutive quiet ticks before the ramp starts; fewer could be part of a bounce.
pub const QUIET_TICKS: u32 = 20;
/// Time over which the force returns after a gap in the readings, s.
pub const RECOVERY_S: f64 = 0.05;

/// Engagement phase.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No force: the world is not quiet yet.
    #[default]
    Waiting,
    /// Force is ramping up.
    Ramping,
    /// Full force.
    Engaged,
}

impl Phase {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ramping => "ramping",
            Self::Engaged => "engaged",
        }
    }
}

/// State of the engagement, which determines the fraction of the world's force that the hand receives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Engagement {
    /// Time from no force to full force, s; zero for full force from the first tick.
    ramp_s: f64,
    quiet_ticks: u32,
    /// Fraction reached by the ramp, 0 to 1.
    fraction: f64,
    /// Fraction restored after a gap in the readings, 0 to 1.
    recovered: f64,
}

impl Engagement {
    /// Creates an engagement without force.
    pub fn new(ramp_s: f64) -> Self {
        Self { ramp_s, quiet_ticks: 0, fraction: 0.0, recovered: 1.0 }
    }

    /// Sets the ramp time; the current fraction does not change. Real-time: constant.
    pub fn set_limits(&mut self, ramp_s: f64) {
        self.ramp_s = ramp_s;
    }

    /// Restarts with no force. Real-time: constant.
    pub fn restart(&mut self) {
        *self = Self::new(self.ramp_s);
    }

    /// Removes the force in this tick; it then returns over [`RECOVERY_S`]. Real-time: constant.
    pub fn interrupt(&mut self) {
        self.recovered = 0.0;
    }

    /// Advances by one tick and returns the fraction of the force for that tick. `would_be_n` is the force that the
    /// world requests, and `load_n` is the weight of the tool. Forces between zero and twice the weight count as quiet:
    /// the tool may rest on something, the hand may carry it, or it may swing after a release, since a lightly damped
    /// coupling takes seconds to settle. Real-time: constant.
    pub fn advance(&mut self, would_be_n: Vector2<f64>, load_n: Vector2<f64>) -> f64 {
        if self.recovered < 1.0 {
            self.recovered = (self.recovered + TICK_S / RECOVERY_S).min(1.0);
        }
        if self.fraction >= 1.0 {
            return self.recovered;
        }
        if self.ramp_s <= 0.0 {
            self.fraction = 1.0;
        } else if self.quiet_ticks >= QUIET_TICKS {
            self.fraction = (self.fraction + TICK_S / self.ramp_s).min(1.0);
        } else {
            let is_quiet = (would_be_n - project_onto_segment(load_n * 2.0, would_be_n)).norm() < QUIET_N;
            self.quiet_ticks = if is_quiet { self.quiet_ticks + 1 } else { 0 };
        }
        self.fraction * self.recovered
    }

    /// Engagement phase.
    pub fn phase(&self) -> Phase {
        if self.fraction >= 1.0 {
            Phase::Engaged
        } else if self.fraction > 0.0 {
            Phase::Ramping
        } else {
            Phase::Waiting
        }
    }

    /// Fraction of the force that is permitted now, 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.fraction * self.recovered
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Vector2<f64> = Vector2::new(0.0, 0.0);

    #[test]
    fn force_comes_on_linearly_after_the_quiet_ticks() {
        let mut engagement = Engagement::new(0.2);
        for _ in 0..QUIET_TICKS {
            assert_eq!(engagement.advance(NOTHING, NOTHING), 0.0);
        }
        for tick in 1..=200 {
            let fraction = engagement.advance(Vector2::new(9.0, 0.0), NOTHING);
            assert!((fraction - f64::from(tick) / 200.0).abs() < 1e-12);
        }
        assert_eq!(engagement.phase(), Phase::Engaged);
    }

    #[test]
    fn a_hand_that_is_pushed_is_never_engaged() {
        let mut engagement = Engagement::new(0.2);
        for tick in 0..10_000 {
            let push_n = if tick % 10 == 0 { 0.3 } else { 0.0 };
            assert_eq!(engagement.advance(Vector2::new(push_n, 0.0), NOTHING), 0.0);
        }
        assert_eq!(engagement.phase(), Phase::Waiting);
    }

    #[test]
    fn a_hand_that_holds_the_tools_weight_is_engaged() {
        let weight_n = Vector2::new(0.0, -0.981);
        for acting_force_n in [NOTHING, weight_n * 0.5, weight_n, weight_n * 2.0] {
            let mut engagement = Engagement::new(0.1);
            (0..200).for_each(|_| _ = engagement.advance(acting_force_n, weight_n));
            assert_eq!(engagement.phase(), Phase::Engaged);
        }
    }

    #[test]
    fn more_than_a_swinging_tool_is_not_quiet() {
        let weight_n = Vector2::new(0.0, -0.981);
        for pushed_n in [weight_n * 2.3, -weight_n, Vector2::new(0.3, -0.5)] {
            let mut engagement = Engagement::new(0.1);
            (0..200).for_each(|_| _ = engagement.advance(pushed_n, weight_n));
            assert_eq!(engagement.phase(), Phase::Waiting);
        }
    }

    #[test]
    fn an_interruption_takes_all_and_gives_it_back_in_50_ms() {
        let mut engagement = Engagement::new(0.01);
        (0..40).for_each(|_| _ = engagement.advance(NOTHING, NOTHING));
        engagement.interrupt();
        assert_eq!(engagement.fraction(), 0.0);
        let shares: Vec<f64> = (0..50).map(|_| engagement.advance(NOTHING, NOTHING)).collect();
        assert!((shares[24] - 0.5).abs() < 1e-12 && shares[49] > 1.0 - 1e-12);
    }

    #[test]
    fn without_a_ramp_it_is_engaged_from_the_first_tick() {
        let mut engagement = Engagement::new(0.0);
        assert_eq!(engagement.advance(Vector2::new(9.0, 0.0), NOTHING), 1.0);
    }
}
