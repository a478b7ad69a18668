//! Spring-damper between hand and tool. Computes the coupling input of one tick from the hand position.
//!
//! When the force engages, the tool need not be at the hand: a wall may be in the way. The spring then ends at the hand
//! plus an offset, so that it starts relaxed, and the offset shrinks to zero while the force ramps up.
//!
//! New gains are ramped over [`RAMP_S`]. Stiffening a stretched spring adds energy that the hand did not put in. Each
//! step of the ramp therefore computes the energy it needs and advances only as far as the caller's energy permits.

mod checkpoint;

use crate::key::{Key, KeyError, Number, Range, check};
use haptic_planar::input::CouplingInput;
use haptic_planar::scene::envelope::MAX_STIFFNESS_N_PER_M;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};

/// Duration of a ramp, s. A shorter ramp is felt as a knock.
pub const RAMP_S: f64 = 0.05;

/// Largest fraction of a ramp that is completed in one tick.
const RAMP_FRACTION: f64 = TICK_S / RAMP_S;

/// Gains of the coupling between hand and tool.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gains {
    /// Spring between hand and handle, N/m.
    pub stiffness_n_per_m: f64,
    /// Damper between hand and handle, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Spring towards the tool's initial angle, N·m/rad.
    pub angular_stiffness_n_m_per_rad: f64,
    /// Damper on the tool's angular velocity, N·m·s/rad.
    pub angular_damping_n_m_s_per_rad: f64,
}

impl Default for Gains {
    /// Returns the gains of an empty profile, which are passive on the default device.
    fn default() -> Self {
        Self {
            stiffness_n_per_m: 400.0,
            damping_n_s_per_m: 0.1,
            angular_stiffness_n_m_per_rad: 0.0,
            angular_damping_n_m_s_per_rad: 0.0,
        }
    }
}

/// Numbers of the section `[coupling]` of a profile.
pub const GAIN_KEYS: [Key<Gains>; 4] = [
    Key {
        number: Number {
            name: "stiffness_n_per_m",
            about: "Stiffness of the spring between the hand and the handle of the tool",
            accepted: Range::up_to(1e6),
            recommended: Range::new(1.0, MAX_STIFFNESS_N_PER_M),
        },
        field: |gains| &mut gains.stiffness_n_per_m,
    },
    Key {
        number: Number {
            name: "damping_n_s_per_m",
            about: "Damping between the hand and the handle of the tool",
            accepted: Range::up_to(1e4),
            recommended: Range::up_to(50.0),
        },
        field: |gains| &mut gains.damping_n_s_per_m,
    },
    Key {
        number: Number {
            name: "angular_stiffness_n_m_per_rad",
            about: "Stiffness of the spring that turns the tool towards its angle at the start",
            accepted: Range::up_to(1e4),
            recommended: Range::up_to(10.0),
        },
        field: |gains| &mut gains.angular_stiffness_n_m_per_rad,
    },
    Key {
        number: Number {
            name: "angular_damping_n_m_s_per_rad",
            about: "Damping of the rotation of the tool",
            accepted: Range::up_to(1e3),
            recommended: Range::up_to(1.0),
        },
        field: |gains| &mut gains.angular_damping_n_m_s_per_rad,
    },
];

impl Gains {
    /// Validates that all gains are finite and non-negative. The ramp and the step rely on this.
    ///
    /// # Errors
    /// If a gain is not accepted; the error names the first such gain.
    pub fn checked(self) -> Result<Self, KeyError> {
        check(&GAIN_KEYS, &self).map(|()| self)
    }
}

/// Current deformation of the coupling. The energy needed to stiffen it grows with the deformation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deformation {
    /// Distance between handle and hand, m, zero or more.
    pub stretch_m: f64,
    /// Angle of the tool relative to its initial angle, rad.
    pub twist_rad: f64,
}

/// Gains and force limit at one end of a ramp.
#[derive(Clone, Copy, Debug, PartialEq)]
struct RampPoint {
    gains: Gains,
    max_force_n: f64,
}

impl RampPoint {
    /// Interpolates towards another point by `fraction`. At fraction 1 the result is exactly the other point.
    fn towards(&self, other: &RampPoint, fraction: f64) -> RampPoint {
        let mix = |from: f64, to: f64| if fraction >= 1.0 || from == to { to } else { from + (to - from) * fraction };
        let (a, b) = (&self.gains, &other.gains);
        RampPoint {
            gains: Gains {
                stiffness_n_per_m: mix(a.stiffness_n_per_m, b.stiffness_n_per_m),
                damping_n_s_per_m: mix(a.damping_n_s_per_m, b.damping_n_s_per_m),
                angular_stiffness_n_m_per_rad: mix(a.angular_stiffness_n_m_per_rad, b.angular_stiffness_n_m_per_rad),
                angular_damping_n_m_s_per_rad: mix(a.angular_damping_n_m_s_per_rad, b.angular_damping_n_m_s_per_rad),
            },
            max_force_n: mix(self.max_force_n, other.max_force_n),
        }
    }

    /// Returns an upper bound on the energy that a full change to another point adds at `deformation`, J: ½ΔK|e|² for
    /// each spring, where e is its stretch or twist, and ΔF·|e| for a force limit that rises while it is active. A
    /// partial change adds the same fraction of the energy.
    fn cost_j(&self, other: &RampPoint, deformation: &Deformation) -> f64 {
        let (a, b) = (&self.gains, &other.gains);
        let stiffer = (b.stiffness_n_per_m - a.stiffness_n_per_m).max(0.0);
        let angularly_stiffer = (b.angular_stiffness_n_m_per_rad - a.angular_stiffness_n_m_per_rad).max(0.0);
        let springs =
            0.5 * (stiffer * deformation.stretch_m.powi(2) + angularly_stiffer * deformation.twist_rad.powi(2));
        let saturated = a.stiffness_n_per_m * deformation.stretch_m > self.max_force_n;
        let opening = if saturated { (other.max_force_n - self.max_force_n).max(0.0) } else { 0.0 };
        springs + opening * deformation.stretch_m
    }
}

/// Coupling between the hand and one tool.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coupling {
    from: RampPoint,
    to: RampPoint,
    /// Progress of the ramp, 0 to 1.
    fraction: f64,
    /// Unit vector along the rail, world frame, if the handle stays on one.
    rail: Option<Vector2<f64>>,
    /// End of the spring at the previous tick, the hand plus the offset, world frame, m; `None` if it is not known.
    before_m: Option<Vector2<f64>>,
    /// Offset of the end of the spring from the hand when the force engaged, world frame, m.
    offset_m: Vector2<f64>,
    /// Fraction of `offset_m` that remained in the last tick, 0 to 1.
    remaining: f64,
}

impl Coupling {
    /// Creates a coupling that is not ramping, with gains validated by [`Gains::checked`] and a force of at most
    /// `max_force_n` (world frame; infinity for no limit).
    pub fn new(gains: Gains, max_force_n: f64, rail: Option<Vector2<f64>>) -> Self {
        let hold = RampPoint { gains, max_force_n };
        let offset_m = Vector2::zeros();
        Self { from: hold, to: hold, fraction: 1.0, rail, before_m: None, offset_m, remaining: 0.0 }
    }

    /// Starts the spring at `offset_m` from the hand, world frame. Real-time: constant.
    pub fn engage(&mut self, offset_m: Vector2<f64>) {
        (self.offset_m, self.remaining, self.before_m) = (offset_m, 1.0, None);
    }

    /// Reduces the offset to the fraction `remaining` of its initial value and returns its displacement, m. Real-time:
    /// constant.
    pub fn shrink_offset(&mut self, remaining: f64) -> Vector2<f64> {
        let before = std::mem::replace(&mut self.remaining, remaining);
        self.offset_m * (remaining - before)
    }

    /// Returns the coupling input of this tick, with the hand now at `hand_m` (world frame). Real-time: constant.
    #[inline]
    pub fn input(&mut self, hand_m: Vector2<f64>) -> CouplingInput {
        self.input_at(if self.has_offset() { hand_m + self.offset_m * self.remaining } else { hand_m })
    }

    /// Whether the spring does not end at the hand.
    pub fn has_offset(&self) -> bool {
        self.remaining > 0.0
    }

    /// Returns the coupling input of a tick in which the end of the spring stays where it was in the last tick; at
    /// `otherwise_m` if that is not known. Real-time: constant.
    pub fn input_at_rest(&mut self, otherwise_m: Vector2<f64>) -> CouplingInput {
        let held_m = self.before_m.unwrap_or(otherwise_m);
        self.input_at(held_m)
    }

    #[inline]
    fn input_at(&mut self, hand_m: Vector2<f64>) -> CouplingInput {
        let hand_before_m = self.before_m.replace(hand_m).unwrap_or(hand_m);
        let RampPoint { gains, max_force_n } = self.now();
        CouplingInput {
            hand_m,
            hand_before_m,
            stiffness_n_per_m: gains.stiffness_n_per_m,
            damping_n_s_per_m: gains.damping_n_s_per_m,
            angular_stiffness_n_m_per_rad: gains.angular_stiffness_n_m_per_rad,
            angular_damping_n_m_s_per_rad: gains.angular_damping_n_m_s_per_rad,
            max_force_n,
            rail: self.rail,
        }
    }

    /// Starts a ramp to new gains and a new force limit from the current point of the last ramp. If both equal the
    /// current targets, the coupling does not change by a single bit. Real-time: constant.
    pub fn set_gains(&mut self, gains: Gains, max_force_n: f64) {
        let to = RampPoint { gains, max_force_n };
        if to != self.to {
            (self.from, self.to, self.fraction) = (self.now(), to, 0.0);
        }
    }

    /// Starts a ramp to a new force limit, keeping the target gains. Real-time: constant.
    pub fn limit(&mut self, max_force_n: f64) {
        self.set_gains(self.to.gains, max_force_n);
    }

    /// Sets a new rail and discards the previous hand position, which is meaningless under a new mapping. Real-time:
    /// constant.
    pub fn reset_hand(&mut self, rail: Option<Vector2<f64>>) {
        (self.rail, self.before_m, self.remaining) = (rail, None, 0.0);
    }

    /// Advances the ramp by one tick and returns the energy used, J, at most `available_j`. The ramp slows down if
    /// there is too little energy, and waits if there is none. Real-time: constant.
    pub fn ramp(&mut self, deformation: &Deformation, available_j: f64) -> f64 {
        if !self.is_ramping() {
            return 0.0;
        }
        let cost_j = self.from.cost_j(&self.to, deformation);
        let step = RAMP_FRACTION.min(1.0 - self.fraction);
        let affordable = if cost_j * step > available_j { available_j.max(0.0) / cost_j } else { step };
        self.fraction += affordable;
        if self.fraction > 1.0 - 1e-9 {
            self.fraction = 1.0;
        }
        cost_j * affordable
    }

    /// Returns true while a ramp is in progress.
    pub fn is_ramping(&self) -> bool {
        self.fraction < 1.0
    }

    /// Returns the gains that apply in this tick.
    pub fn gains(&self) -> Gains {
        self.now().gains
    }

    /// Returns the end of the spring in the last coupling input, world frame, m; `None` before the first and after
    /// [`Self::reset_hand`].
    pub fn hand_m(&self) -> Option<Vector2<f64>> {
        self.before_m
    }

    #[inline(always)]
    fn now(&self) -> RampPoint {
        if self.is_ramping() { self.from.towards(&self.to, self.fraction) } else { self.to }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRETCHED: Deformation = Deformation { stretch_m: 0.002, twist_rad: 0.1 };

    fn stiffer() -> Gains {
        Gains { stiffness_n_per_m: 1000.0, angular_stiffness_n_m_per_rad: 0.2, ..Gains::default() }
    }

    #[test]
    fn the_first_grip_has_no_motion_and_the_next_has_the_hands() {
        let mut coupling = Coupling::new(Gains::default(), 4.0, None);
        let (first, second) = (Vector2::new(0.1, 0.2), Vector2::new(0.1, 0.21));
        assert_eq!(coupling.input(first).hand_before_m, first);
        let input = coupling.input(second);
        assert_eq!((input.hand_before_m, input.hand_m), (first, second));
    }

    #[test]
    fn an_offset_starts_the_spring_relaxed_and_shrinks_to_nothing() {
        let mut coupling = Coupling::new(Gains::default(), 4.0, None);
        let (hand, handle) = (Vector2::new(0.1, 0.2), Vector2::new(0.1, 0.24));
        coupling.engage(handle - hand);
        let input = coupling.input(hand);
        assert!((input.hand_m - handle).norm() < 1e-15 && input.hand_before_m == input.hand_m);
        let mut total_m = Vector2::zeros();
        for tick in 1..=100 {
            let shrunk_m = coupling.shrink_offset(1.0 - f64::from(tick) / 100.0);
            let input = coupling.input(hand);
            assert!((input.hand_m - input.hand_before_m - shrunk_m).norm() < 1e-15);
            total_m += shrunk_m;
        }
        assert!((total_m - (hand - handle)).norm() < 1e-15);
        assert!(!coupling.has_offset());
        assert_eq!(coupling.input(hand).hand_m, hand);
    }

    #[test]
    fn a_ramp_takes_fifty_ticks_and_draws_the_energy_of_the_stiffening() {
        let mut coupling = Coupling::new(Gains::default(), 4.0, None);
        coupling.set_gains(stiffer(), 4.0);
        let (mut ticks, mut drawn_j) = (0, 0.0);
        while coupling.is_ramping() {
            drawn_j += coupling.ramp(&STRETCHED, 1.0);
            ticks += 1;
        }
        let owed_j = 0.5 * 600.0 * 0.002f64.powi(2) + 0.5 * 0.2 * 0.1f64.powi(2);
        assert_eq!(ticks, 50);
        assert!((drawn_j - owed_j).abs() < 1e-12, "{drawn_j} instead of {owed_j}");
        assert_eq!(coupling.gains(), stiffer());
    }

    #[test]
    fn a_ramp_without_energy_waits_and_with_little_goes_slower() {
        let mut coupling = Coupling::new(Gains::default(), 4.0, None);
        coupling.set_gains(stiffer(), 4.0);
        assert_eq!(coupling.ramp(&STRETCHED, 0.0), 0.0);
        assert_eq!(coupling.ramp(&STRETCHED, -1.0), 0.0);
        assert_eq!(coupling.gains(), Gains::default());
        let drawn_j = coupling.ramp(&STRETCHED, 1e-6);
        assert!((drawn_j - 1e-6).abs() < 1e-18 && coupling.gains().stiffness_n_per_m > 400.0);
    }

    #[test]
    fn softening_needs_no_energy() {
        let mut coupling = Coupling::new(stiffer(), 4.0, None);
        coupling.set_gains(Gains::default(), 4.0);
        for _ in 0..50 {
            assert_eq!(coupling.ramp(&STRETCHED, 0.0), 0.0);
        }
        assert_eq!(coupling.gains(), Gains::default());
    }

    #[test]
    fn opening_a_saturated_spring_is_paid_for() {
        let mut coupling = Coupling::new(Gains::default(), 1.0, None);
        coupling.set_gains(Gains::default(), 2.0);
        let far = Deformation { stretch_m: 0.01, twist_rad: 0.0 };
        let drawn_j: f64 = (0..50).map(|_| coupling.ramp(&far, 1.0)).sum();
        let energy_j = |force_n: f64| force_n * 0.01 - force_n * force_n / 800.0;
        assert!(drawn_j >= energy_j(2.0) - energy_j(1.0));
    }

    #[test]
    fn the_same_gains_again_change_not_one_bit() {
        let mut coupling = Coupling::new(Gains::default(), 4.0, None);
        coupling.set_gains(Gains::default(), 4.0);
        assert!(!coupling.is_ramping());
        coupling.set_gains(stiffer(), 4.0);
        coupling.ramp(&STRETCHED, 1.0);
        let halfway = coupling;
        coupling.set_gains(stiffer(), 4.0);
        assert_eq!(coupling, halfway);
    }

    #[test]
    fn a_turn_back_in_mid_ramp_does_not_jump() {
        let mut coupling = Coupling::new(Gains::default(), 4.0, None);
        coupling.set_gains(stiffer(), 4.0);
        (0..25).for_each(|_| _ = coupling.ramp(&STRETCHED, 1.0));
        let before = coupling.gains();
        coupling.set_gains(Gains::default(), 4.0);
        assert_eq!(coupling.gains(), before);
    }

    #[test]
    fn an_invalid_gain_is_rejected_with_its_key() {
        let wrong = Gains { damping_n_s_per_m: -0.1, ..Gains::default() };
        assert_eq!(wrong.checked().unwrap_err().to_string(), "damping_n_s_per_m must be from 0 to 10000, got -0.1");
        assert!(Gains { stiffness_n_per_m: f64::INFINITY, ..wrong }.checked().is_err());
        assert!(Gains::default().checked().is_ok());
    }
}
