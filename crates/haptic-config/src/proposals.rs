//! Proposed gains for a device.

use haptic_coupling::coupling::Gains;
use haptic_coupling::margins::{Margins, crisp_gains, passive_gains};
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use serde::Serialize;
use std::fmt;

/// Proposed gains, with the keys of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the profile")]
pub struct Proposal {
    pub stiffness_n_per_m: f64,
    pub damping_n_s_per_m: f64,
    /// Stiffness that remains when the tank limits the force, N/m.
    pub displayed_stiffness_n_per_m: f64,
}

/// Two sets of proposed gains for a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Proposals {
    /// Gains that are passive with any hand and any world.
    pub passive: Proposal,
    /// Gains that are stable while a hand holds the handle, but not passive; the tank may therefore limit the force.
    pub crisp: Proposal,
}

impl Proposals {
    /// Computes the proposals in the world frame, as used in profiles. `scale` is world metres per device metre.
    pub fn new(device: &WorstAxisModel, scale: f64) -> Self {
        let proposal = |gains: Gains| {
            let displayed = Margins::of(device, &HandImpedance::NOMINAL, &gains, 1.0, None).displayed_stiffness_n_per_m;
            let in_world = |value: f64| three_digits(value / (scale * scale));
            Proposal {
                stiffness_n_per_m: in_world(gains.stiffness_n_per_m),
                damping_n_s_per_m: in_world(gains.damping_n_s_per_m),
                displayed_stiffness_n_per_m: in_world(displayed),
            }
        };
        Self { passive: proposal(passive_gains(device)), crisp: proposal(crisp_gains(device, &HandImpedance::NOMINAL)) }
    }
}

impl fmt::Display for Proposals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Proposal { stiffness_n_per_m, damping_n_s_per_m, .. } = self.passive;
        writeln!(
            f,
            "proposed, passive: stiffness_n_per_m = {stiffness_n_per_m}, damping_n_s_per_m = {damping_n_s_per_m}"
        )?;
        let Proposal { stiffness_n_per_m, damping_n_s_per_m, displayed_stiffness_n_per_m } = self.crisp;
        write!(
            f,
            "proposed, crisp:   stiffness_n_per_m = {stiffness_n_per_m}, damping_n_s_per_m = {damping_n_s_per_m}"
        )?;
        if displayed_stiffness_n_per_m < stiffness_n_per_m {
            write!(f, " (about {displayed_stiffness_n_per_m} N/m sustained under the energy tank)")?;
        }
        writeln!(f)
    }
}

/// Rounds down to three significant digits, because rounding must not make a proposal stiffer.
pub(crate) fn three_digits(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return value;
    }
    let place = libm::pow(10.0, libm::floor(libm::log10(value)) - 2.0);
    let rounded = libm::floor(value / place) * place;
    // Remove spurious digits such as those of 437.00000000000006.
    format!("{rounded:.12}").parse().unwrap_or(rounded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_down_and_short() {
        assert_eq!([437.58, 0.10001, 3750.0, 0.0].map(three_digits), [437.0, 0.1, 3750.0, 0.0]);
    }

    #[test]
    fn a_mapping_that_magnifies_asks_for_softer_gains_in_the_world() {
        let device = WorstAxisModel::default();
        let (plain, magnified) = (Proposals::new(&device, 1.0), Proposals::new(&device, 2.0));
        assert_eq!(plain.passive.stiffness_n_per_m, 437.0);
        assert_eq!(magnified.passive.stiffness_n_per_m, 109.0);
    }

    #[test]
    fn the_words_can_be_copied_into_a_profile() {
        let text = Proposals::new(&WorstAxisModel::default(), 1.0).to_string();
        assert!(text.contains("passive: stiffness_n_per_m = 437, damping_n_s_per_m = 0.1\n"), "{text}");
        let crisp = "crisp:   stiffness_n_per_m = 3750, damping_n_s_per_m = 5 (about 625 N/m sustained";
        assert!(text.contains(crisp), "{text}");
    }
}
