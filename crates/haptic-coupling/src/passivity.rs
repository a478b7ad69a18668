//! Device damping at which a sampled coupling never generates energy, whatever the hand does.
//!
//! Colgate and Schenkel's condition for a virtual wall is b > T/(2(1−cosθ))·Re[(1−e^{−jθ})H(e^{jθ})] for all θ = ωT. It
//! is extended to any passive world behind a coupling of admittance Y: with 1/Z = Y + Y_e and the world's admittance
//! Y_e anywhere in the right half-plane, Z fills a disc of centre and radius 1/(2·Re Y), which gives b ≥ max
//! (1−cosθ)/(2·Re Y). The closed forms are tested against a frequency sweep that does not use them.

use nalgebra::Complex;
use std::f64::consts::PI;

/// Number of grid points in the sweep, before refinement.
const SWEEP_POINTS: u32 = 4096;

/// Returns the device damping that a spring-damper on a rigid wall needs, N·s/m, computed by a frequency sweep.
/// `delay_s` is the delay beyond the period.
pub fn damping_for_wall(stiffness_n_per_m: f64, damping_n_s_per_m: f64, period_s: f64, delay_s: f64) -> f64 {
    largest_over_frequencies(|theta| {
        let difference = one_minus_delay(theta);
        let wall = stiffness_n_per_m + difference * (damping_n_s_per_m / period_s);
        let late = Complex::from_polar(1.0, -theta * delay_s / period_s);
        period_s / (2.0 * one_minus_cosine(theta)) * (difference * wall * late).re
    })
}

/// Returns a device damping that is sufficient for any passive world behind the coupling, N·s/m: K(T/2 + t_d) + B. It
/// is exact without delay; with a delay it is somewhat more than a wall needs.
pub fn damping_for_any_world(stiffness_n_per_m: f64, damping_n_s_per_m: f64, effective_delay_s: f64) -> f64 {
    stiffness_n_per_m * effective_delay_s + damping_n_s_per_m
}

/// Returns the mass of the lightest body that an explicit coupling, whose force is one step late, could hold passively,
/// kg: T(2B + KT)/4. The implicit coupling of hapticd has no such limit; this value shows the benefit.
pub fn min_mass_of_explicit_coupling_kg(stiffness_n_per_m: f64, damping_n_s_per_m: f64, period_s: f64) -> f64 {
    period_s * (2.0 * damping_n_s_per_m + stiffness_n_per_m * period_s) / 4.0
}

/// Computes 1 − e^{−jθ} without cancellation at small angles.
fn one_minus_delay(theta: f64) -> Complex<f64> {
    let (sine, cosine) = (theta / 2.0).sin_cos();
    Complex::new(sine, cosine) * (2.0 * sine)
}

/// Computes 1 − cosθ without cancellation at small angles.
fn one_minus_cosine(theta: f64) -> f64 {
    2.0 * (theta / 2.0).sin().powi(2)
}

/// Returns the supremum of a smooth function over (0, π]: the best grid point, refined by golden-section search around
/// it.
fn largest_over_frequencies(value: impl Fn(f64) -> f64) -> f64 {
    let lowest = 1e-6;
    let step = (PI - lowest) / f64::from(SWEEP_POINTS);
    let angle = |index: u32| lowest + step * f64::from(index);
    let best = (0..=SWEEP_POINTS).map(angle).max_by(|a, b| value(*a).total_cmp(&value(*b))).unwrap_or(PI);
    let (mut low, mut high) = ((best - step).max(lowest), (best + step).min(PI));
    let ratio = (5f64.sqrt() - 1.0) / 2.0;
    for _ in 0..60 {
        let (left, right) = (high - ratio * (high - low), low + ratio * (high - low));
        if value(left) > value(right) { high = right } else { low = left }
    }
    value(best).max(value((low + high) / 2.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    const T: f64 = 0.001;

    /// Integration rule of the coupling.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Integrator {
        /// Velocity by backward difference; used while a contact is active.
        Backward,
        /// Velocity and stretch at the midpoint of the step (Tustin).
        Midpoint,
    }

    /// Returns the damping for any passive world behind the coupling without delay, N·s/m, in closed form.
    fn damping_by_rule(rule: Integrator, stiffness_n_per_m: f64, damping_n_s_per_m: f64, period_s: f64) -> f64 {
        let half = stiffness_n_per_m * period_s / 2.0;
        match rule {
            Integrator::Backward => half + damping_n_s_per_m,
            Integrator::Midpoint => damping_n_s_per_m.max(half * half / damping_n_s_per_m),
        }
    }

    /// Returns the damping for any passive world behind the coupling without delay, N·s/m, by frequency sweep.
    fn damping_by_sweep(rule: Integrator, stiffness_n_per_m: f64, damping_n_s_per_m: f64, period_s: f64) -> f64 {
        largest_over_frequencies(|theta| {
            let difference = one_minus_delay(theta);
            let integral = match rule {
                Integrator::Backward => period_s / difference,
                Integrator::Midpoint => (Complex::from(2.0) - difference) * (period_s / 2.0) / difference,
            };
            let impedance = integral * stiffness_n_per_m + damping_n_s_per_m;
            one_minus_cosine(theta) / (2.0 * impedance.inv().re)
        })
    }

    fn assert_close(found: f64, expected: f64, tolerance: f64) {
        assert!((found / expected - 1.0).abs() < tolerance, "{found} instead of {expected}");
    }

    #[test]
    fn a_wall_needs_half_the_stiffness_a_period_plus_its_damping() {
        for (stiffness, damping) in [(1000.0, 5.0), (400.0, 0.1), (3000.0, 0.0), (1.0, 20.0)] {
            assert_close(damping_for_wall(stiffness, damping, T, 0.0), stiffness * T / 2.0 + damping, 1e-6);
        }
    }

    #[test]
    fn the_sweep_behind_a_coupling_agrees_with_both_closed_forms() {
        for (stiffness, damping) in [(1000.0, 5.0), (400.0, 0.1), (1000.0, 0.5), (5000.0, 1.0)] {
            for rule in [Integrator::Backward, Integrator::Midpoint] {
                let closed = damping_by_rule(rule, stiffness, damping, T);
                assert_close(damping_by_sweep(rule, stiffness, damping, T), closed, 1e-6);
            }
        }
    }

    #[test]
    fn a_delayed_spring_needs_its_stiffness_times_the_lateness() {
        for delay_s in [0.0003, 0.001, 0.0025] {
            assert_close(damping_for_wall(1000.0, 0.0, T, delay_s), 1000.0 * (T / 2.0 + delay_s), 1e-6);
        }
    }

    #[test]
    fn a_delayed_spring_damper_needs_less_than_the_sufficient_formula() {
        let swept = damping_for_wall(1000.0, 5.0, T, T);
        assert!((swept - 5.525).abs() < 5e-4, "{swept}");
        assert!(swept < damping_for_any_world(1000.0, 5.0, 1.5 * T));
    }

    #[test]
    fn an_explicit_coupling_would_need_three_grams() {
        assert_close(min_mass_of_explicit_coupling_kg(1000.0, 5.0, T), 0.00275, 1e-12);
    }
}
