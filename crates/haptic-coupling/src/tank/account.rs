//! Account of the tank level S for a device with delay, encoder steps and dry friction.
//!
//! **Delay.** Over an interval τ in which the hand moves by D under a force f(t) with the mean f̄, the device delivers
//! at most f̄·D − (b/τ)D² + (τ/4b)·var f, whatever the path: the best path is v = D/τ + (f − f̄)/2b. The delay hides
//! the variance of the force and nothing else. If f lies in \[f₋, f₊\], var f ≤ (f₊ − f̄)(f̄ − f₋), and the largest
//! value over the possible means is
//!
//! > w(D) = f̂·D − (b/τ)D² + (τ/4b)(f₊ − f̂)(f̂ − f₋) − f_c|D|, with f̂ = 2bD/τ + (f₋ + f₊)/2, limited to those means.
//!
//! w is concave, and its slope is f̂ − 2bD/τ − f_c·sign D.
//!
//! **Encoder.** The hand is within h = Δ/2 of the middle of an encoder step, at e. V(e) is the most that any path
//! through the readings can have extracted if it ends at e. The account keeps a line that lies above it, V(e) ≤ C +
//! p·e. After a reading that differs by Δy, V(e′) ≤ C′ + p′·e′ holds for every p′ with
//!
//! > C′ = C + h|p′ − p| + max over |s| ≤ Δ of w(Δy + s) − max(p, p′)·s⁺ + min(p, p′)·s⁻,
//!
//! because for a fixed s = e′ − e the difference p·e − p′·e′ is linear in e. S = S₀ − C − h|p| bounds what any hand can
//! have extracted. A constant force costs nothing: with p = f the maximum is zero at rest, and with p = f − 2bΔy/τ at
//! constant speed. Only changes of p cost energy. p is free, and [`AxisLine::choose_slope`] only affects how much
//! energy is lost to the uncertainty.

use super::sent::Span;
use haptic_planar::math::{larger, smaller};

/// Constants of the account, from the settings of the tank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct AccountSettings {
    /// Damping b of the device, N·s/m; above zero.
    pub damping_n_s_per_m: f64,
    /// Dry friction f_c in each axis, N.
    pub coulomb_n: f64,
    /// Encoder step Δ, m.
    pub encoder_step_m: f64,
    /// 1/4b, the power per squared force that no hand can exceed, W/N².
    pub per_square: f64,
    /// Whether there are neither encoder steps nor dry friction.
    pub is_exact: bool,
    /// Fraction by which a line turns for each joule that its wrong slope can cost, times newtons, N/J.
    pub turning_n_per_j: f64,
}

impl AccountSettings {
    pub fn new(damping_n_s_per_m: f64, coulomb_n: f64, encoder_step_m: f64) -> Self {
        let per_square = 0.25 / damping_n_s_per_m;
        let turning_n_per_j = if encoder_step_m > 0.0 { TURN / (0.5 * encoder_step_m) } else { 0.0 };
        let is_exact = encoder_step_m == 0.0 && coulomb_n == 0.0;
        Self { damping_n_s_per_m, coulomb_n, encoder_step_m, per_square, is_exact, turning_n_per_j }
    }
}

/// Energy that a force delivers along one axis over an interval, as a function of the displacement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AxisWork {
    low_n: f64,
    high_n: f64,
    mean_low_n: f64,
    mean_high_n: f64,
    middle_n: f64,
    /// b/τ, N/m.
    damper_n_per_m: f64,
    /// τ/4b, energy per squared force, J/N².
    per_square: f64,
    /// τ/2b, displacement per force at which the damper balances it, m/N.
    yielding_m_per_n: f64,
    coulomb_n: f64,
}

impl AxisWork {
    /// Returns w for one axis of a span that counts as `lasted_s`, at least the time that really passed. In the
    /// additional time the hand rests under the force `newest_n`.
    #[inline(always)]
    pub fn new(settings: &AccountSettings, span: &Span, axis: usize, newest_n: f64, lasted_s: f64) -> Self {
        let (low_n, high_n) = (span.low_n[axis], span.high_n[axis]);
        let padding_n_s = newest_n * (lasted_s - span.elapsed_s);
        let per_s = 1.0 / lasted_s;
        let per_square = lasted_s * settings.per_square;
        Self {
            low_n,
            high_n,
            mean_low_n: (span.low_n_s[axis] + padding_n_s) * per_s,
            mean_high_n: (span.high_n_s[axis] + padding_n_s) * per_s,
            middle_n: 0.5 * (low_n + high_n),
            damper_n_per_m: settings.damping_n_s_per_m * per_s,
            per_square,
            yielding_m_per_n: 2.0 * per_square,
            coulomb_n: settings.coulomb_n,
        }
    }

    /// Spends dry friction on hiding nothing, if it suffices: (f − g)·v ≤ |f − g||v|, so a force that stays within r of
    /// its middle delivers no more than the middle itself does against a friction that is lower by r. A hand that rests
    /// needs the friction for nothing else.
    #[inline(always)]
    pub fn for_a_resting_hand(self) -> Self {
        let half_range_n = self.high_n - self.middle_n;
        if half_range_n > self.coulomb_n {
            return self;
        }
        let Self { middle_n, coulomb_n, .. } = self;
        Self {
            low_n: middle_n,
            high_n: middle_n,
            mean_low_n: middle_n,
            mean_high_n: middle_n,
            coulomb_n: coulomb_n - half_range_n,
            ..self
        }
    }

    /// Returns the largest energy that the device can have delivered while the hand moved by `moved_m`, J.
    #[inline(always)]
    pub fn energy_j(&self, moved_m: f64) -> f64 {
        let resisted_n = self.damper_n_per_m * moved_m;
        let mean_n = smaller(larger(2.0 * resisted_n + self.middle_n, self.mean_low_n), self.mean_high_n);
        let hidden_j = self.per_square * (self.high_n - mean_n) * (mean_n - self.low_n);
        (mean_n - resisted_n) * moved_m - self.coulomb_n * moved_m.abs() + hidden_j
    }

    /// Returns the displacement at which the energy less `slope_n` times the displacement is largest, m.
    #[inline(always)]
    fn best_displacement_m(&self, slope_n: f64) -> f64 {
        let forward_n = self.driving_n(slope_n + self.coulomb_n);
        let backward_n = self.driving_n(slope_n - self.coulomb_n);
        // At most one of them drives in its own direction; otherwise, dry friction holds the hand.
        self.yielding_m_per_n * (larger(forward_n, 0.0) + smaller(backward_n, 0.0))
    }

    /// Returns the force 2bD/τ of the damper at the displacement where w without friction has this slope, N.
    fn driving_n(&self, slope_n: f64) -> f64 {
        (if slope_n > self.middle_n { self.mean_low_n } else { self.mean_high_n }) - slope_n
    }

    /// Returns the largest value of w(Δy + s) − `high`·s⁺ + `low`·s⁻ over |s| ≤ Δ, J, where `low_n` ≤ `high_n`.
    #[inline(always)]
    fn largest_gain_j(&self, moved_m: f64, low_n: f64, high_n: f64, step_m: f64) -> f64 {
        let ahead_m = self.best_displacement_m(high_n) - moved_m;
        let (shift_m, slope_n) = if ahead_m > 0.0 {
            (smaller(ahead_m, step_m), high_n)
        } else {
            let behind_m = self.best_displacement_m(low_n) - moved_m;
            (smaller(larger(behind_m, -step_m), 0.0), low_n)
        };
        self.energy_j(moved_m + shift_m) - slope_n * shift_m
    }
}

/// Line above the largest extracted energy along one axis, as a function of the position within an encoder step. Its
/// constant part is in the tank level.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct AxisLine {
    /// Slope p, N: the force at which the unknown position is valued.
    pub slope_n: f64,
    /// Difference of the last two readings, m.
    pub moved_m: f64,
    /// Last difference of two readings that was not zero, m; zero before the first.
    pub crossed_m: f64,
}

impl AxisLine {
    /// Returns the line after a reading that differs by `moved_m` from the last one.
    #[inline(always)]
    pub fn next(&self, slope_n: f64, moved_m: f64) -> Self {
        Self { slope_n, moved_m, crossed_m: if moved_m == 0.0 { self.crossed_m } else { moved_m } }
    }

    /// Returns the change of the level if the hand moved by `moved_m` according to the readings and the line gets the
    /// slope `slope_n`, J. Real-time: constant.
    #[inline(always)]
    pub fn change_j(&self, work: &AxisWork, moved_m: f64, slope_n: f64, step_m: f64) -> f64 {
        let (low_n, high_n) = if self.slope_n < slope_n { (self.slope_n, slope_n) } else { (slope_n, self.slope_n) };
        let turned_m_n = self.slope_n.abs() - slope_n.abs() - (high_n - low_n);
        0.5 * step_m * turned_m_n - work.largest_gain_j(moved_m, low_n, high_n, step_m)
    }

    /// Returns a slope that loses little energy if `next_n` is the next force. Ideally it equals the slope of w: the
    /// force less what the damper and dry friction take at the speed of the hand. The speed counts only if two readings
    /// confirm it. A hand that crosses one edge after the other in the same direction, with readings between them that
    /// do not differ, is slow: dry friction counts, but no speed. A slope that is wrong costs energy in every tick, and
    /// so does turning the line; it turns by the part for which both cost about the same, and at once if the hand
    /// crosses an edge against the change, because the crossing shows where the hand is. Real-time: constant.
    #[inline(always)]
    pub fn choose_slope(&self, settings: &AccountSettings, work: &AxisWork, moved_m: f64, next_n: f64) -> f64 {
        let coulomb_n = settings.coulomb_n;
        let goal_n = if moved_m * self.moved_m > 0.0 {
            let steady_m = if moved_m.abs() < self.moved_m.abs() { moved_m } else { self.moved_m };
            next_n - 2.0 * work.damper_n_per_m * steady_m - coulomb_n.copysign(steady_m)
        } else if moved_m * self.crossed_m > 0.0 {
            next_n - coulomb_n.copysign(moved_m)
        } else {
            smaller(larger(self.slope_n, next_n - coulomb_n), next_n + coulomb_n)
        };
        let off_n = goal_n - self.slope_n;
        let turned = settings.turning_n_per_j * work.per_square * off_n.abs();
        if moved_m * off_n < 0.0 || turned >= 1.0 { goal_n } else { self.slope_n + off_n * turned }
    }
}

/// Ratio of the energy that is spent on turning the line to the energy that a wrong slope costs in one interval. Values
/// from 2 to 4 lose least under a trembling hand, but 0.1 and 8 lose only a little more.
const TURN: f64 = 0.5;
