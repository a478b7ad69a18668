//! Stability margins of a pair of gains on a device, as numbers and as text.

use crate::coupling::Gains;
use crate::model::{HandImpedance, WorstAxisModel};
use crate::passivity::{damping_for_any_world, damping_for_wall, min_mass_of_explicit_coupling_kg};
use crate::sampled::{max_stable_stiffness_n_per_m, spectral_radius};
use crate::tank::RESERVE_J;
use std::f64::consts::TAU;
use std::fmt;

/// Fraction of the device's damping that the passive gains use for the coupling's damper.
const PASSIVE_DAMPING_FRACTION: f64 = 0.2;
/// Fraction of the device's damping that the passive gains use for the spring; the rest is margin.
const PASSIVE_STIFFNESS_FRACTION: f64 = 0.7;
/// Upper bound on the force step that one encoder step causes through the damper of the crisp gains, N.
const QUIET_STEP_N: f64 = 0.05;
/// Upper bound on the stiffness of the crisp gains, as a fraction of the maximum stable stiffness; the rule of thumb in
/// [`crisp_gains`] usually gives a lower one.
const CRISP_FRACTION: f64 = 0.6;
/// Lightest tool worth simulating, kg.
const MIN_TOOL_MASS_KG: f64 = 0.002;

/// Force with which the trembling hand presses, N.
const PRESS_N: f64 = 2.0;
/// Mean speed at which a trembling hand moves to and fro, m/s: physiological tremor of 60 µm at 8.7 Hz and 30 µm at
/// 11.3 Hz.
const TREMOR_M_PER_S: f64 = 0.0035;

/// Margins for a device, a hand and a pair of gains. Gains are in the device frame (multiplied by scale²).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Model of the device.
    pub device: WorstAxisModel,
    /// Hand assumed by the stability margins. The passivity margins assume none.
    pub hand: HandImpedance,
    /// Stiffness K of the coupling, device frame, N/m.
    pub stiffness_n_per_m: f64,
    /// Damping B of the coupling, device frame, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Mass of the tool, device frame, kg; `None` without a tool.
    pub tool_mass_kg: Option<f64>,
    /// Device damping that is sufficient for any passive world, N·s/m.
    pub needed_damping_n_s_per_m: f64,
    /// Device damping that a rigid wall needs, by frequency sweep, N·s/m.
    pub needed_for_wall_n_s_per_m: f64,
    /// Magnitude of the largest eigenvalue of the sampled loop with a fixed tool.
    pub spectral_radius: f64,
    /// Maximum stable stiffness when held by `hand`, N/m.
    pub max_stable_stiffness_n_per_m: f64,
    /// Largest stiffness at which Coulomb friction certainly absorbs the encoder steps, N/m; infinity for an ideal
    /// encoder.
    pub stiffest_quiet_n_per_m: f64,
    /// Stiffness displayed once the tank limits the force, N/m: the smaller of K and b/(T/2 + t_d).
    pub displayed_stiffness_n_per_m: f64,
    /// Force step caused by one encoder step, N.
    pub force_quantum_n: f64,
    /// Energy that the tank loses at each crossing when the hand moves slowly back and forth over an encoder edge, J; a
    /// hand that knows where the edge is could extract it. Zero if dry friction covers the force step.
    pub loss_per_crossing_j: f64,
    /// Time for which a trembling hand can press with 2 N before these losses make the tank reduce the force, s; `None`
    /// if they never do.
    pub trembling_press_s: Option<f64>,
    /// Damping ratio of the tool on the coupling; `None` without a tool.
    pub damping_ratio: Option<f64>,
    /// Natural frequency of the tool on the coupling, Hz; `None` without a tool.
    pub frequency_hz: Option<f64>,
    /// Smallest tool mass that an explicit coupling could hold passively, kg; the implicit coupling has no minimum.
    pub explicit_mass_kg: f64,
    /// Tool mass below which the spring is stiff relative to the tick, kg.
    pub advised_mass_kg: f64,
}

impl Margins {
    /// Computes the margins. `scale` is the scale of the mapping (world metres per device metre); the tool mass is in
    /// the world frame.
    pub fn of(
        device: &WorstAxisModel,
        hand: &HandImpedance,
        gains: &Gains,
        scale: f64,
        tool_mass_kg: Option<f64>,
    ) -> Self {
        let stiffness = gains.stiffness_n_per_m * scale * scale;
        let damping = gains.damping_n_s_per_m * scale * scale;
        let tool_mass_kg = tool_mass_kg.map(|mass| mass * scale * scale);
        let period_s = device.period_s;
        let loss_per_crossing_j = loss_per_crossing_j(device, stiffness, damping);
        Self {
            device: *device,
            hand: *hand,
            stiffness_n_per_m: stiffness,
            damping_n_s_per_m: damping,
            tool_mass_kg,
            needed_damping_n_s_per_m: damping_for_any_world(stiffness, damping, device.effective_delay_s()),
            needed_for_wall_n_s_per_m: damping_for_wall(stiffness, damping, period_s, device.delay_s),
            spectral_radius: spectral_radius(device, hand, stiffness, damping),
            max_stable_stiffness_n_per_m: max_stable_stiffness_n_per_m(device, hand, damping),
            stiffest_quiet_n_per_m: stiffest_quiet_n_per_m(device),
            displayed_stiffness_n_per_m: stiffness.min(device.damping_n_s_per_m / device.effective_delay_s()),
            force_quantum_n: (stiffness + damping / period_s) * device.encoder_step_m,
            loss_per_crossing_j,
            trembling_press_s: trembling_press_s(device, stiffness, loss_per_crossing_j),
            damping_ratio: tool_mass_kg.map(|mass| damping / (2.0 * (stiffness * mass).sqrt())),
            frequency_hz: tool_mass_kg.map(|mass| (stiffness / mass).sqrt() / TAU),
            explicit_mass_kg: min_mass_of_explicit_coupling_kg(stiffness, damping, period_s),
            advised_mass_kg: MIN_TOOL_MASS_KG.max(10.0 * stiffness * period_s * period_s),
        }
    }

    /// Returns true if no hand and no passive world can make the loop gain energy, even without the tank.
    pub fn is_passive(&self) -> bool {
        self.device.damping_n_s_per_m >= self.needed_damping_n_s_per_m
    }

    /// Returns true if the loop is stable with [`Self::hand`] and a fixed tool.
    pub fn is_stable(&self) -> bool {
        self.spectral_radius < 1.0
    }

    /// Returns true if encoder steps cannot sustain a limit cycle.
    pub fn is_quiet(&self) -> bool {
        self.stiffness_n_per_m <= self.stiffest_quiet_n_per_m
    }

    /// Returns true if a hand that trembles over encoder edges costs no energy: 2f_c ≥ (K + 2B/T)Δ.
    pub fn is_trembling_free(&self) -> bool {
        self.loss_per_crossing_j == 0.0
    }

    /// Returns the ratio of the device's damping to the damping needed. The gains are passive if it is at least one.
    pub fn passive_margin(&self) -> f64 {
        self.device.damping_n_s_per_m / self.needed_damping_n_s_per_m
    }

    /// Returns recommended changes, one sentence each; empty if there are none.
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        if !self.is_passive() {
            advice.push(self.advice_for_passivity());
        }
        if !self.is_stable() {
            let stiffest = 0.5 * self.max_stable_stiffness_n_per_m;
            advice.push(format!("lower the stiffness below {stiffest:.0} N/m, half of the stable limit"));
        }
        if !self.is_quiet() {
            let stiffest = self.stiffest_quiet_n_per_m;
            advice.push(format!("encoder steps may be felt: use a finer encoder or at most {stiffest:.0} N/m"));
        }
        if self.tool_mass_kg.is_some_and(|mass| mass < self.advised_mass_kg) {
            advice.push(format!("use a tool mass of at least {:.3} kg, as felt at the device", self.advised_mass_kg));
        }
        advice
    }

    fn advice_for_passivity(&self) -> String {
        let left = self.device.damping_n_s_per_m - self.damping_n_s_per_m;
        if left > 0.0 {
            let stiffest = left / self.device.effective_delay_s();
            format!(
                "stiffness up to {stiffest:.0} N/m is passive with this damping; above it the tank limits the force"
            )
        } else {
            let damping = PASSIVE_DAMPING_FRACTION * self.device.damping_n_s_per_m;
            format!("the coupling's damper alone uses all of the device's damping: try {damping:.3} N·s/m")
        }
    }
}

/// Returns gains that are passive on a device with any hand: stiffness 0.7b/(T/2 + t_d), damping 0.2b.
pub fn passive_gains(device: &WorstAxisModel) -> Gains {
    let damping = device.damping_n_s_per_m;
    Gains {
        stiffness_n_per_m: PASSIVE_STIFFNESS_FRACTION * damping / device.effective_delay_s(),
        damping_n_s_per_m: PASSIVE_DAMPING_FRACTION * damping,
        ..Gains::default()
    }
}

/// Returns crisper gains that are stable with the given hand but not passive; users must opt in to them. Returns the
/// passive gains instead if the crisp gains would be softer, for example because the device has too little Coulomb
/// friction to absorb encoder steps.
pub fn crisp_gains(device: &WorstAxisModel, hand: &HandImpedance) -> Gains {
    let by_mass = 0.05 * device.mass_kg / device.period_s;
    let by_encoder =
        if device.encoder_step_m > 0.0 { QUIET_STEP_N * device.period_s / device.encoder_step_m } else { by_mass };
    let damping = by_mass.min(by_encoder);
    let by_rule = 0.5 * (device.damping_n_s_per_m + hand.damping_n_s_per_m + damping) / device.effective_delay_s();
    let stable = by_rule.min(CRISP_FRACTION * max_stable_stiffness_n_per_m(device, hand, damping));
    let passive = passive_gains(device);
    let stiffness = stable.min(stiffest_quiet_n_per_m(device));
    if stiffness < passive.stiffness_n_per_m {
        return passive;
    }
    Gains { stiffness_n_per_m: stiffness, damping_n_s_per_m: damping, ..Gains::default() }
}

/// Returns 2f_c/Δ, N/m, the stiffness up to which Coulomb friction certainly absorbs the encoder steps; infinity for an
/// ideal encoder. The bound is sufficient but not tight.
fn stiffest_quiet_n_per_m(device: &WorstAxisModel) -> f64 {
    if device.encoder_step_m > 0.0 { 2.0 * device.coulomb_n / device.encoder_step_m } else { f64::INFINITY }
}

/// Returns the energy that a hand can extract from one crossing of an encoder edge, J: gs − (b/T)s² with the force step
/// g = (K + B/T)Δ, as far as dry friction does not cover it, and s = gT/2b, at most Δ.
fn loss_per_crossing_j(device: &WorstAxisModel, stiffness_n_per_m: f64, damping_n_s_per_m: f64) -> f64 {
    let WorstAxisModel { damping_n_s_per_m: own, coulomb_n, encoder_step_m: step_m, period_s, .. } = *device;
    let range_n = (stiffness_n_per_m + 2.0 * damping_n_s_per_m / period_s) * step_m;
    let force_step_n =
        ((stiffness_n_per_m + damping_n_s_per_m / period_s) * step_m).min((range_n - 2.0 * coulomb_n).max(0.0));
    let moved_m = if own > 0.0 { (force_step_n * period_s / (2.0 * own)).min(step_m) } else { step_m };
    force_step_n * moved_m - own / period_s * moved_m * moved_m
}

/// Returns the time after which the losses of a trembling hand that presses with [`PRESS_N`] have used up what the
/// spring stores beyond the energy that its force must be covered by, s.
fn trembling_press_s(device: &WorstAxisModel, stiffness_n_per_m: f64, loss_per_crossing_j: f64) -> Option<f64> {
    if loss_per_crossing_j == 0.0 {
        return None;
    }
    let force_n = PRESS_N.min(device.max_force_n);
    let lasting_s = device.period_s + device.delay_s;
    let covered_j = force_n * force_n * lasting_s / (4.0 * device.damping_n_s_per_m) + device.encoder_step_m * force_n;
    let spare_j = 0.5 * force_n * force_n / stiffness_n_per_m + RESERVE_J - covered_j;
    let crossings_per_s = TREMOR_M_PER_S / device.encoder_step_m;
    Some((spare_j / (loss_per_crossing_j * crossings_per_s)).max(0.0))
}

impl fmt::Display for Margins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_coupling(f)?;
        self.write_passivity(f)?;
        self.write_stability(f)?;
        self.write_feel(f)?;
        self.advice().iter().try_for_each(|sentence| writeln!(f, "advice: {sentence}"))
    }
}

impl Margins {
    fn write_coupling(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (stiffness, damping) = (self.stiffness_n_per_m, self.damping_n_s_per_m);
        writeln!(f, "coupling at the device: {stiffness:.0} N/m, {damping:.3} N·s/m")
    }

    fn write_passivity(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_passive() { "passive" } else { "not passive" };
        writeln!(
            f,
            "{verdict}: device damping {:.3} N·s/m, required {:.3} N·s/m (rigid wall {:.3} N·s/m), safety factor {:.2}",
            self.device.damping_n_s_per_m,
            self.needed_damping_n_s_per_m,
            self.needed_for_wall_n_s_per_m,
            self.passive_margin()
        )?;
        if self.displayed_stiffness_n_per_m < self.stiffness_n_per_m {
            writeln!(f, "about {:.0} N/m sustained under the energy tank", self.displayed_stiffness_n_per_m)?;
        }
        Ok(())
    }

    fn write_stability(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verdict = if self.is_stable() { "stable" } else { "unstable" };
        writeln!(
            f,
            "{verdict} with a hand of {:.2} N·s/m: spectral radius {:.5}, stable up to {} N/m",
            self.hand.damping_n_s_per_m,
            self.spectral_radius,
            grouped(self.max_stable_stiffness_n_per_m)
        )?;
        let verdict = if self.is_quiet() { "quiet" } else { "perhaps not quiet" };
        let (quantum, limit) = (self.force_quantum_n, grouped(self.stiffest_quiet_n_per_m));
        writeln!(f, "{verdict}: one encoder step is {quantum:.4} N; masked by dry friction up to {limit} N/m")?;
        self.write_trembling(f)
    }

    fn write_trembling(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let loss_uj = 1e6 * self.loss_per_crossing_j;
        match self.trembling_press_s {
            None => writeln!(f, "a trembling hand loses no force: dry friction covers the encoder steps"),
            Some(press_s) if press_s > 0.0 => writeln!(
                f,
                "a trembling hand loses {loss_uj:.3} µJ at each encoder step: it can press with {PRESS_N} N for about {} s",
                grouped(press_s)
            ),
            Some(_) => writeln!(
                f,
                "a trembling hand loses {loss_uj:.3} µJ at each encoder step, and the tank reduces {PRESS_N} N at once"
            ),
        }
    }

    fn write_feel(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Some(mass), Some(ratio), Some(frequency)) = (self.tool_mass_kg, self.damping_ratio, self.frequency_hz)
        else {
            return writeln!(f, "no tool on the coupling");
        };
        writeln!(
            f,
            "the tool of {mass:.3} kg oscillates on the coupling at {frequency:.1} Hz, damping ratio {ratio:.2}"
        )?;
        writeln!(f, "no minimum tool mass (implicit coupling)")
    }
}

/// Formats a number without decimals and with thousands separators.
fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digit.is_ascii_digit() && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hand() -> HandImpedance {
        HandImpedance { damping_n_s_per_m: 0.5, ..HandImpedance::default() }
    }

    #[test]
    fn the_default_gains_on_the_default_device_are_passive() {
        let margins = Margins::of(&WorstAxisModel::default(), &hand(), &Gains::default(), 1.0, Some(0.1));
        assert!(margins.is_passive() && margins.is_stable() && margins.is_quiet());
        assert!(margins.advice().is_empty(), "{:?}", margins.advice());
        assert!((margins.passive_margin() - 0.5 / 0.42).abs() < 1e-12);
    }

    #[test]
    fn the_proposed_gains_are_those_of_the_worked_example() {
        let device = WorstAxisModel::default();
        let passive = passive_gains(&device);
        assert!((passive.stiffness_n_per_m - 437.5).abs() < 1e-9 && (passive.damping_n_s_per_m - 0.1).abs() < 1e-12);
        let crisp = crisp_gains(&device, &hand());
        assert!((crisp.stiffness_n_per_m - 3750.0).abs() < 1e-9 && (crisp.damping_n_s_per_m - 5.0).abs() < 1e-12);
    }

    #[test]
    fn without_dry_friction_crisp_gains_are_the_passive_ones() {
        let smooth = WorstAxisModel { coulomb_n: 0.0, ..WorstAxisModel::default() };
        assert_eq!(crisp_gains(&smooth, &hand()), passive_gains(&smooth));
    }

    #[test]
    fn passive_gains_are_passive_and_crisp_gains_only_stable() {
        let device = WorstAxisModel::default();
        let of = |gains| Margins::of(&device, &hand(), &gains, 1.0, Some(0.1));
        assert!(of(passive_gains(&device)).is_passive());
        let crisp = of(crisp_gains(&device, &hand()));
        assert!(!crisp.is_passive() && crisp.is_stable());
        assert!((crisp.displayed_stiffness_n_per_m - 625.0).abs() < 1e-9);
    }

    #[test]
    fn a_mapping_that_magnifies_stiffens_by_its_square() {
        let margins = Margins::of(&WorstAxisModel::default(), &hand(), &Gains::default(), 2.0, None);
        assert_eq!(margins.stiffness_n_per_m, 1600.0);
        assert!(!margins.is_passive());
    }

    #[test]
    fn the_words_say_what_is_wrong_and_what_would_be_right() {
        let stiff = Gains { stiffness_n_per_m: 1000.0, damping_n_s_per_m: 0.3, ..Gains::default() };
        let text = Margins::of(&WorstAxisModel::default(), &hand(), &stiff, 1.0, Some(0.005)).to_string();
        for words in [
            "not passive: device damping 0.500 N·s/m, required 1.100",
            "about 625 N/m sustained",
            "stiffness up to 250 N/m is passive",
            "at least 0.010 kg",
            "one encoder step is 0.0130 N",
        ] {
            assert!(text.contains(words), "‘{words}’ is missing in:\n{text}");
        }
    }

    #[test]
    fn dry_friction_makes_trembling_free_and_without_it_a_press_lasts_for_minutes() {
        let of = |device: &WorstAxisModel, gains: &Gains| Margins::of(device, &hand(), gains, 1.0, None);
        let device = WorstAxisModel::default();
        let free = of(&device, &Gains::default());
        assert!(free.is_trembling_free() && free.trembling_press_s.is_none());
        assert!(free.to_string().contains("a trembling hand loses no force"));
        // Just enough friction is enough, and no more.
        let enough_n = 0.5 * (400.0 + 2.0 * 0.1 / 0.001) * 1e-5;
        assert!(of(&WorstAxisModel { coulomb_n: 1.0001 * enough_n, ..device }, &Gains::default()).is_trembling_free());
        assert!(!of(&WorstAxisModel { coulomb_n: 0.999 * enough_n, ..device }, &Gains::default()).is_trembling_free());
        let smooth = WorstAxisModel { coulomb_n: 0.0, ..device };
        let lossy = of(&smooth, &Gains::default());
        assert!((lossy.loss_per_crossing_j - 12.5e-9).abs() < 1e-12, "{lossy:?}");
        assert!((400.0..700.0).contains(&lossy.trembling_press_s.unwrap()), "{lossy:?}");
        let coarse = of(&WorstAxisModel { encoder_step_m: 5e-5, ..smooth }, &Gains::default());
        assert!((coarse.loss_per_crossing_j - 0.3125e-6).abs() < 1e-12, "{coarse:?}");
        let text = coarse.to_string();
        assert!(text.contains("loses 0.312 µJ at each encoder step: it can press with 2 N for about 110 s"), "{text}");
        let crisp = of(&device, &crisp_gains(&device, &hand()));
        assert_eq!(crisp.trembling_press_s, Some(0.0), "{crisp:?}");
    }

    #[test]
    fn thousands_are_separated() {
        assert_eq!([0.4, 999.0, 1000.0, 13_328.0, 1e6].map(grouped), ["0", "999", "1,000", "13,328", "1,000,000"]);
        assert_eq!(grouped(f64::INFINITY), "inf");
    }

    #[test]
    fn a_damping_that_is_too_high_is_reported_with_a_better_value() {
        let wrong = Gains { damping_n_s_per_m: 5.0, ..Gains::default() };
        let margins = Margins::of(&WorstAxisModel::default(), &hand(), &wrong, 1.0, None);
        assert!(margins.advice()[0].contains("try 0.100 N·s/m"), "{:?}", margins.advice());
    }
}
