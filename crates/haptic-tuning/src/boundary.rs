//! Region of stable gains: for each damping of the coupling, the maximum stiffness at which oscillations decay.
//!
//! Compares three limits: the largest stiffness that is passive with any hand and any world (by formula), the largest
//! that is stable with a given hand according to the eigenvalues of the linear loop, and the largest that is stable
//! with this hand in a simulation of the real loop.

use crate::decay_monitor::Verdict;
use crate::tap_test::TapTest;
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::sampled::max_stable_stiffness_n_per_m;

/// Relative width of the stiffness interval at which the bisection ends.
const TOLERANCE: f64 = 0.01;
/// Lower end of the stiffness search, N/m.
pub const MIN_STIFFNESS_N_PER_M: f64 = 1.0;
/// Upper end of the stiffness search, N/m.
pub const MAX_STIFFNESS_N_PER_M: f64 = 1e6;
/// Initial stiffness of the search, as a fraction of the guess.
const FROM_BELOW: f64 = 0.4;
/// Divisor that lowers the initial stiffness while it is unstable.
const WIDEN: f64 = 2.0;
/// Factor between successive stiffness values in the upward search.
const STEP: f64 = 1.12;

/// Maximum stiffness for one damping value, by three criteria; zero where no stiffness meets the criterion.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Damping of the coupling, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Maximum stiffness that is passive with any hand, N/m: (b − B)/(T/2 + t_d), in the notation of
    /// [`haptic_coupling`].
    pub passive_n_per_m: f64,
    /// Maximum stiffness that is stable with the given hand according to the eigenvalues, N/m.
    pub spectral_n_per_m: f64,
    /// Maximum stiffness that is stable with the given hand in the simulated loop, N/m.
    pub simulated_n_per_m: f64,
}

impl Limits {
    /// Computes the limits for one damping value.
    pub fn of(device: &WorstAxisModel, hand: &HandImpedance, tapped: &TapTest, damping_n_s_per_m: f64) -> Self {
        let spectral_n_per_m = max_stable_stiffness_n_per_m(device, hand, damping_n_s_per_m);
        let decays = |stiffness: f64| tapped.verdict(stiffness, damping_n_s_per_m) == Verdict::Decays;
        Self {
            damping_n_s_per_m,
            passive_n_per_m: max_passive_stiffness_n_per_m(device, damping_n_s_per_m),
            spectral_n_per_m,
            simulated_n_per_m: max_stiffness_where(decays, spectral_n_per_m),
        }
    }
}

/// Returns the maximum stiffness that is passive with any hand at one damping value, N/m; zero if there is none.
pub fn max_passive_stiffness_n_per_m(device: &WorstAxisModel, damping_n_s_per_m: f64) -> f64 {
    ((device.damping_n_s_per_m - damping_n_s_per_m) / device.effective_delay_s()).max(0.0)
}

/// Returns the damping values to evaluate, N·s/m, spaced logarithmically from far below the device's own damping to
/// values at which no stiffness is stable.
pub fn dampings(device: &WorstAxisModel, hand: &HandImpedance, count: usize) -> Vec<f64> {
    let own = device.damping_n_s_per_m.max(0.01);
    let mass_kg = device.mass_kg + hand.mass_kg;
    let (low, high) = (0.05 * own, (1.2 * mass_kg / device.effective_delay_s()).max(4.0 * own));
    let last = count.saturating_sub(1).max(1) as f64;
    (0..count).map(|index| low * libm::pow(high / low, index as f64 / last)).collect()
}

/// Returns the largest stiffness up to which `holds` is true, N/m; zero if there is none. The search steps up from
/// below the guess until a stiffness fails, then bisects the last step. Plain bisection would be faster, but with a
/// saturated motor, stable and unstable values alternate, and only the first failure is a useful limit.
pub fn max_stiffness_where(holds: impl Fn(f64) -> bool, guess_n_per_m: f64) -> f64 {
    let mut low = (FROM_BELOW * guess_n_per_m).clamp(MIN_STIFFNESS_N_PER_M, MAX_STIFFNESS_N_PER_M);
    while !holds(low) {
        low /= WIDEN;
        if low < MIN_STIFFNESS_N_PER_M {
            return 0.0;
        }
    }
    let mut high = low * STEP;
    while holds(high) {
        (low, high) = (high, high * STEP);
        if high > MAX_STIFFNESS_N_PER_M {
            return MAX_STIFFNESS_N_PER_M;
        }
    }
    while high / low > 1.0 + TOLERANCE {
        let middle = (low * high).sqrt();
        if holds(middle) { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bisection_finds_the_boundary_wherever_the_guess_was() {
        for guess in [0.0, 3.0, 990.0, 5e5] {
            let found = max_stiffness_where(|stiffness| stiffness < 1234.0, guess);
            assert!((found / 1234.0 - 1.0).abs() < 0.012, "{found} from {guess}");
        }
        assert_eq!(max_stiffness_where(|_| false, 100.0), 0.0);
        assert_eq!(max_stiffness_where(|_| true, 100.0), MAX_STIFFNESS_N_PER_M);
    }

    #[test]
    fn the_passive_line_ends_where_the_damper_spends_all() {
        let device = WorstAxisModel::default();
        assert!((max_passive_stiffness_n_per_m(&device, 0.1) - 500.0).abs() < 1e-9);
        assert_eq!(max_passive_stiffness_n_per_m(&device, 0.6), 0.0);
    }
}
