//! Gains for a device, for those who do not want to guess.

use haptic_coupling::coupling::Gains;
use haptic_coupling::margins::{Margins, crisp_gains, passive_gains};
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use serde::Serialize;
use std::fmt;

/// A pair of gains as a profile writes them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the names are those of the profile")]
pub struct Proposal {
    pub stiffness_n_per_m: f64,
    pub damping_n_s_per_m: f64,
    /// What is felt once the tank cuts, N/m.
    pub displayed_stiffness_n_per_m: f64,
}

/// Two ways to set the coupling for a device.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Proposals {
    /// Cannot gain energy, whatever the hand and the world.
    pub passive: Proposal,
    /// Stable with a hand that really holds the handle; not passive, so the tank may cut.
    pub crisp: Proposal,
}

impl Proposals {
    /// For a device behind a mapping of so many world metres per device metre: profiles give gains in the world.
    pub fn of(device: &WorstAxisModel, scale: f64) -> Self {
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
            write!(f, " (the tank lets {displayed_stiffness_n_per_m} N/m last)")?;
        }
        writeln!(f)
    }
}

/// Rounded down to three digits: a proposal must not become bolder by rounding.
fn three_digits(value: f64) -> f64 {
    if !(value > 0.0 && value.is_finite()) {
        return value;
    }
    let place = libm::pow(10.0, libm::floor(libm::log10(value)) - 2.0);
    let rounded = libm::floor(value / place) * place;
    // Away with digits like 437.00000000000006.
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
        let (plain, magnified) = (Proposals::of(&device, 1.0), Proposals::of(&device, 2.0));
        assert_eq!(plain.passive.stiffness_n_per_m, 437.0);
        assert_eq!(magnified.passive.stiffness_n_per_m, 109.0);
    }

    #[test]
    fn the_words_can_be_copied_into_a_profile() {
        let text = Proposals::of(&WorstAxisModel::default(), 1.0).to_string();
        assert!(text.contains("passive: stiffness_n_per_m = 437, damping_n_s_per_m = 0.1\n"), "{text}");
        assert!(
            text.contains("crisp:   stiffness_n_per_m = 3750, damping_n_s_per_m = 5 (the tank lets 625 N/m last)"),
            "{text}"
        );
    }
}
