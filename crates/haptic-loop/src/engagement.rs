//! Engagement: decides how much of the world's force the hand receives. The force ramps up once the tool has been
//! brought to the hand, starts over from zero after a fault, and stays off after an emergency stop until a person
//! releases it.

mod checkpoint;

use haptic_planar::tick::TICK_S;

/// Time over which the force returns after a gap in the readings or a late tick, s.
pub const RECOVERY_S: f64 = 0.05;

/// Engagement phase. `docs/safety.md` has the table of phases and events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// No force: the tool has not been brought to the hand yet.
    #[default]
    Waiting,
    /// Force is ramping up, after an engagement or an interruption.
    Ramping,
    /// Full force.
    Engaged,
    /// No force after an emergency stop, until it is released.
    Stopped,
}

impl Phase {
    /// Name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Ramping => "ramping",
            Self::Engaged => "engaged",
            Self::Stopped => "stopped",
        }
    }
}

/// State of the engagement, which determines the fraction of the world's force that the hand receives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Engagement {
    /// Time from no force to full force, s; zero for full force from the first tick.
    ramp_s: f64,
    /// Whether an emergency stop is in effect.
    is_stopped: bool,
    /// Whether the tool has been brought to the hand, so that the ramp may run.
    is_ready: bool,
    /// Fraction reached by the ramp, 0 to 1.
    fraction: f64,
    /// Fraction restored after a gap in the readings, 0 to 1.
    recovered: f64,
    /// Whether both fractions are 1. A tick asks for this several times.
    is_at_full_force: bool,
}

impl Engagement {
    /// Creates an engagement without force.
    pub fn new(ramp_s: f64) -> Self {
        Self { ramp_s, is_stopped: false, is_ready: false, fraction: 0.0, recovered: 1.0, is_at_full_force: false }
    }

    /// Sets the ramp time; the current fraction does not change. Real-time: constant.
    pub fn set_limits(&mut self, ramp_s: f64) {
        self.ramp_s = ramp_s;
    }

    /// Restarts with no force. An emergency stop stays in effect. Real-time: constant.
    pub fn restart(&mut self) {
        *self = Self { is_stopped: self.is_stopped, ..Self::new(self.ramp_s) };
    }

    /// Stops: no force until [`Self::release`]. Real-time: constant.
    pub fn stop(&mut self) {
        self.restart();
        self.is_stopped = true;
    }

    /// Releases an emergency stop; the force engages from zero. Real-time: constant.
    pub fn release(&mut self) {
        if self.is_stopped {
            *self = Self::new(self.ramp_s);
        }
    }

    /// Whether an emergency stop is in effect.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped
    }

    /// Whether the ramp waits for the tool. Without a ramp, it does not: the world starts as its file describes it.
    pub fn awaits_tool(&self) -> bool {
        !self.is_ready && !self.is_stopped && self.ramp_s > 0.0 && self.fraction <= 0.0
    }

    /// Starts the ramp, because the tool has been brought to the hand. Real-time: constant.
    pub fn start_ramp(&mut self) {
        self.is_ready = true;
    }

    /// Removes the force in this tick; it then returns over [`RECOVERY_S`]. Real-time: constant.
    pub fn interrupt(&mut self) {
        self.recovered = 0.0;
        self.is_at_full_force = false;
    }

    /// Advances by one tick and returns the fraction of the force for that tick. Real-time: constant.
    #[inline(always)]
    pub fn advance(&mut self) -> f64 {
        if self.is_at_full_force {
            return 1.0;
        }
        let fraction = self.ramp();
        self.is_at_full_force = self.fraction >= 1.0 && self.recovered >= 1.0;
        fraction
    }

    /// Whether the hand receives the whole force, which it does in nearly every tick.
    #[inline(always)]
    pub fn is_at_full_force(&self) -> bool {
        self.is_at_full_force
    }

    fn ramp(&mut self) -> f64 {
        if self.recovered < 1.0 {
            self.recovered = (self.recovered + TICK_S / RECOVERY_S).min(1.0);
        }
        if self.fraction >= 1.0 {
            return self.recovered;
        }
        if self.is_stopped {
            return 0.0;
        }
        if self.ramp_s <= 0.0 {
            self.fraction = 1.0;
        } else if self.is_ready {
            self.fraction = (self.fraction + TICK_S / self.ramp_s).min(1.0);
        }
        self.fraction * self.recovered
    }

    /// Whether the tool has been brought to the hand but no force is permitted yet: before the first tick of the ramp,
    /// and during an interruption.
    pub fn starts_from_zero(&self) -> bool {
        self.fraction() <= 0.0 && !self.awaits_tool() && !self.is_stopped
    }

    /// Whether the force is interrupted or returns after an interruption.
    pub fn is_recovering(&self) -> bool {
        self.fraction >= 1.0 && self.recovered < 1.0
    }

    /// Whether the ramp after an engagement is running, interrupted or not.
    pub fn is_engaging(&self) -> bool {
        self.is_ready && self.fraction < 1.0
    }

    /// Engagement phase. It is `Engaged` only at full force: not while the force returns after an interruption.
    pub fn phase(&self) -> Phase {
        // Nearly every tick. A stop has no fraction.
        if self.is_at_full_force {
            Phase::Engaged
        } else if self.is_stopped {
            Phase::Stopped
        } else if self.is_ready || self.fraction > 0.0 {
            Phase::Ramping
        } else {
            Phase::Waiting
        }
    }

    /// Fraction of the force that is permitted now, 0 to 1.
    pub fn fraction(&self) -> f64 {
        self.fraction * self.recovered
    }

    /// Fraction reached by the ramp, 0 to 1, whether or not the force is interrupted.
    pub fn ramped(&self) -> f64 {
        self.fraction
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ramping(ramp_s: f64) -> Engagement {
        let mut engagement = Engagement::new(ramp_s);
        engagement.start_ramp();
        engagement
    }

    #[test]
    fn force_ramps_up_linearly_once_the_tool_is_at_the_hand() {
        let mut engagement = Engagement::new(0.2);
        for _ in 0..1000 {
            assert_eq!(engagement.advance(), 0.0);
            assert!(engagement.awaits_tool() && engagement.phase() == Phase::Waiting);
        }
        engagement.start_ramp();
        for tick in 1..=200 {
            assert_eq!(engagement.phase(), Phase::Ramping);
            assert!((engagement.advance() - f64::from(tick) / 200.0).abs() < 1e-12);
        }
        assert_eq!(engagement.phase(), Phase::Engaged);
    }

    #[test]
    fn a_restart_begins_at_zero_and_waits_for_the_tool_again() {
        let mut engagement = ramping(0.01);
        (0..20).for_each(|_| _ = engagement.advance());
        engagement.restart();
        assert_eq!((engagement.advance(), engagement.phase()), (0.0, Phase::Waiting));
        assert!(engagement.awaits_tool());
    }

    #[test]
    fn an_interruption_takes_all_and_gives_it_back_in_50_ms() {
        let mut engagement = ramping(0.01);
        (0..40).for_each(|_| _ = engagement.advance());
        engagement.interrupt();
        assert_eq!((engagement.fraction(), engagement.phase()), (0.0, Phase::Ramping));
        let shares: Vec<f64> = (0..49).map(|_| engagement.advance()).collect();
        assert!((shares[24] - 0.5).abs() < 1e-12 && engagement.phase() == Phase::Ramping);
        engagement.advance();
        assert_eq!((engagement.advance(), engagement.phase()), (1.0, Phase::Engaged));
    }

    #[test]
    fn without_a_ramp_it_is_engaged_from_the_first_tick() {
        let mut engagement = Engagement::new(0.0);
        assert!(!engagement.awaits_tool());
        assert_eq!(engagement.advance(), 1.0);
    }

    #[test]
    fn a_stop_lasts_through_restarts_until_it_is_released() {
        for ramp_s in [0.0, 0.2] {
            let mut engagement = ramping(ramp_s);
            (0..300).for_each(|_| _ = engagement.advance());
            engagement.stop();
            engagement.restart();
            engagement.start_ramp();
            for _ in 0..1000 {
                assert_eq!((engagement.advance(), engagement.phase()), (0.0, Phase::Stopped));
            }
            engagement.restart();
            engagement.release();
            assert_eq!(engagement.phase(), Phase::Waiting);
        }
    }
}
