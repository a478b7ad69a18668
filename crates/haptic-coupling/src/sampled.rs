//! Sampled linear model of device, hand and coupling with a fixed tool. Its eigenvalues give the stiffest stable
//! coupling, whether or not it is passive.

use crate::model::{HandImpedance, WorstAxisModel};
use nalgebra::{DMatrix, Matrix2, Matrix3, Vector2};

/// Relative tolerance at which the search for the stiffest coupling ends.
const SEARCH_TOLERANCE: f64 = 1e-6;
/// Upper limit of the search for the stiffest coupling, N/m.
const MAX_STIFFNESS_N_PER_M: f64 = 1e7;

/// Device and hand as one mass with a spring and a damper, driven by a force that is held over part of a period.
struct Held {
    transition: Matrix3<f64>,
}

impl Held {
    /// Computes the exact motion over `duration_s`; the third column is the effect of a constant force of 1 N.
    fn over(device: &WorstAxisModel, hand: &HandImpedance, duration_s: f64) -> Self {
        let mass_kg = device.mass_kg + hand.mass_kg;
        let damping = device.damping_n_s_per_m + hand.damping_n_s_per_m;
        let rate = Matrix3::new(
            0.0,
            1.0,
            0.0,
            -hand.stiffness_n_per_m / mass_kg,
            -damping / mass_kg,
            1.0 / mass_kg,
            0.0,
            0.0,
            0.0,
        );
        Self { transition: (rate * duration_s).exp() }
    }
}

/// Sampled motion of device and hand: the position in the next period is that of the transition of (position,
/// velocity), plus the effects of the force that was held before and of the one that is held after the delay.
struct Plant {
    free: Matrix2<f64>,
    old_force: Vector2<f64>,
    new_force: Vector2<f64>,
    /// Number of whole periods in the delay.
    whole: usize,
}

impl Plant {
    fn new(device: &WorstAxisModel, hand: &HandImpedance) -> Self {
        let periods = (device.delay_s / device.period_s).floor();
        let late_s = device.delay_s - periods * device.period_s;
        let early = Held::over(device, hand, late_s).transition;
        let rest = Held::over(device, hand, device.period_s - late_s).transition;
        Self {
            free: rest.fixed_view::<2, 2>(0, 0) * early.fixed_view::<2, 2>(0, 0),
            old_force: rest.fixed_view::<2, 2>(0, 0) * early.fixed_view::<2, 1>(0, 2),
            new_force: rest.fixed_view::<2, 1>(0, 2).into(),
            whole: periods as usize,
        }
    }

    /// Returns the coefficients of the characteristic polynomial of [`one_period`], highest power first:
    /// z^(w+2)·det(zI − Φ) − ((z − Φ₂₂)(o₁ + n₁z) + Φ₁₂(o₂ + n₂z))·(B/T − (K + B/T)z).
    fn polynomial(&self, period_s: f64, stiffness_n_per_m: f64, damping_n_s_per_m: f64) -> Vec<f64> {
        let (free, old, new) = (&self.free, &self.old_force, &self.new_force);
        let response = [new.x, old.x - free.m22 * new.x + free.m12 * new.y, free.m12 * old.y - free.m22 * old.x];
        let damper = damping_n_s_per_m / period_s;
        let force = [-(stiffness_n_per_m + damper), damper];
        let mut coefficients = vec![0.0; self.whole + 5];
        coefficients[..3].copy_from_slice(&[1.0, -free.trace(), free.determinant()]);
        let low = self.whole + 1;
        for (power, response) in response.iter().enumerate() {
            coefficients[low + power] -= response * force[0];
            coefficients[low + power + 1] -= response * force[1];
        }
        coefficients
    }
}

/// Whether all roots of a polynomial lie inside the unit circle (Schur and Cohn). The coefficients start with that of
/// the highest power. Takes time proportional to the square of the degree.
fn is_schur_stable(mut coefficients: Vec<f64>) -> bool {
    while let [first, .., last] = coefficients[..] {
        let degree = coefficients.len() - 1;
        // False for coefficients that are not finite, too.
        let is_inside = last.abs() < first.abs();
        if !is_inside {
            return false;
        }
        let reflection = last / first;
        coefficients = (0..degree).map(|at| coefficients[at] - reflection * coefficients[degree - at]).collect();
    }
    true
}

/// Returns the transition matrix of one period. The state consists of position, velocity, previous position, and as
/// many past forces as the delay requires, newest first.
pub fn one_period(
    device: &WorstAxisModel,
    hand: &HandImpedance,
    stiffness_n_per_m: f64,
    damping_n_s_per_m: f64,
) -> DMatrix<f64> {
    let Plant { free, old_force, new_force, whole } = Plant::new(device, hand);
    let force = [-stiffness_n_per_m - damping_n_s_per_m / device.period_s, 0.0, damping_n_s_per_m / device.period_s];

    let mut matrix = DMatrix::zeros(4 + whole, 4 + whole);
    matrix.view_mut((0, 0), (2, 2)).copy_from(&free);
    matrix[(2, 0)] = 1.0;
    // Row 3 computes the force of this period; the rows below shift the older forces.
    (0..3).for_each(|column| matrix[(3, column)] = force[column]);
    (0..whole).for_each(|age| matrix[(4 + age, 3 + age)] = 1.0);
    for row in 0..2 {
        matrix[(row, 3 + whole)] += old_force[row];
        if whole == 0 {
            (0..3).for_each(|column| matrix[(row, column)] += new_force[row] * force[column]);
        } else {
            matrix[(row, 2 + whole)] += new_force[row];
        }
    }
    matrix
}

/// Returns the magnitude of the largest eigenvalue of [`one_period`]. Below one the loop is stable; above one its
/// oscillations grow.
pub fn spectral_radius(
    device: &WorstAxisModel,
    hand: &HandImpedance,
    stiffness_n_per_m: f64,
    damping_n_s_per_m: f64,
) -> f64 {
    let matrix = one_period(device, hand, stiffness_n_per_m, damping_n_s_per_m);
    matrix.complex_eigenvalues().iter().map(|value| value.norm()).fold(0.0, f64::max)
}

/// Returns the maximum stable stiffness with the given damping, N/m; zero if there is none. With hand damping b_h, the
/// closed form (b + b_h + B)/(T/2 + t_d) is a good approximation for B up to about 0.2·m/T; this function uses the
/// characteristic polynomial itself.
pub fn max_stable_stiffness_n_per_m(device: &WorstAxisModel, hand: &HandImpedance, damping_n_s_per_m: f64) -> f64 {
    let plant = Plant::new(device, hand);
    let is_stable = |stiffness: f64| is_schur_stable(plant.polynomial(device.period_s, stiffness, damping_n_s_per_m));
    let (mut low, mut high) = (1e-3, MAX_STIFFNESS_N_PER_M);
    if !is_stable(low) {
        return 0.0;
    }
    while high / low > 1.0 + SEARCH_TOLERANCE {
        let middle = (low * high).sqrt();
        if is_stable(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(delay_s: f64) -> WorstAxisModel {
        WorstAxisModel { delay_s, ..WorstAxisModel::default() }
    }

    #[test]
    fn the_stiffest_stable_coupling_is_that_of_the_table() {
        let table = [(0.0, 0.0, 1001.0), (0.0, 5.0, 10473.0), (0.001, 0.0, 334.0), (0.001, 5.0, 3468.0)];
        for (delay_s, damping, expected) in table {
            let found = max_stable_stiffness_n_per_m(&device(delay_s), &HandImpedance::default(), damping);
            assert!((found / expected - 1.0).abs() < 0.01, "delay {delay_s}, B {damping}: {found} for {expected}");
        }
    }

    #[test]
    fn the_stability_rule_holds_for_small_damping_and_part_of_a_period_of_delay() {
        for delay_s in [0.0003, 0.0007, 0.0013] {
            let device = device(delay_s);
            let rule = (device.damping_n_s_per_m + 1.0) / device.effective_delay_s();
            let found = max_stable_stiffness_n_per_m(&device, &HandImpedance::default(), 1.0);
            assert!((found / rule - 1.0).abs() < 0.06, "delay {delay_s}: {found} for {rule}");
        }
    }

    #[test]
    fn the_polynomial_and_the_eigenvalues_agree_about_stability() {
        let hand = HandImpedance { mass_kg: 0.2, damping_n_s_per_m: 3.0, stiffness_n_per_m: 300.0 };
        for (delay_s, period_s) in [(0.0, 0.001), (0.0003, 0.001), (0.001, 0.001), (0.02, 0.001), (0.1, 0.01)] {
            for (hand, damping) in [(HandImpedance::default(), 0.0), (hand, 0.3), (hand, 5.0)] {
                let device = WorstAxisModel { period_s, ..device(delay_s) };
                let limit = max_stable_stiffness_n_per_m(&device, &hand, damping);
                let radius = |factor: f64| spectral_radius(&device, &hand, factor * limit, damping);
                let case = format!("delay {delay_s}, period {period_s}, damping {damping}: {limit}");
                if limit > 0.0 {
                    assert!(radius(0.999) < 1.0 && radius(1.001) > 1.0, "{case}");
                } else {
                    assert!(spectral_radius(&device, &hand, 1e-3, damping) >= 1.0, "{case}");
                }
            }
        }
    }

    #[test]
    fn a_hand_with_damping_allows_more() {
        let hand = HandImpedance { mass_kg: 0.2, damping_n_s_per_m: 3.0, stiffness_n_per_m: 300.0 };
        let (alone, held) = (HandImpedance::default(), hand);
        let stiffest = |hand: &HandImpedance| max_stable_stiffness_n_per_m(&device(0.0003), hand, 0.1);
        assert!(stiffest(&held) > 4.0 * stiffest(&alone));
    }

    #[test]
    fn far_too_much_coupling_damping_is_unstable_by_itself() {
        assert_eq!(max_stable_stiffness_n_per_m(&device(0.001), &HandImpedance::default(), 500.0), 0.0);
    }
}
