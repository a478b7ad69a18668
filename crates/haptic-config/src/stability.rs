//! Stability margins of a profile on its device, for the `check` command, and what is wrong or unusual about them.

use crate::error::Problem;
use crate::keys::toml_number;
use crate::profile::GainLocations;
use crate::proposals::{Proposals, three_digits};
use crate::setup::Setup;
use haptic_coupling::coupling::Gains;
use haptic_coupling::margins::Margins;
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use serde::Serialize;

/// Damping ratio of the tool on the coupling below which it is felt to ring.
const MIN_DAMPING_RATIO: f64 = 0.1;
/// Largest damping of the coupling that a remedy proposes, as a fraction of the device's damping; the rest is for the
/// spring.
const MAX_DAMPING_FRACTION: f64 = 0.8;

/// Stability margins of a profile, as numbers and as text.
#[derive(Clone, Debug, Serialize)]
#[allow(missing_docs, reason = "the names say it, with their units")]
pub struct Stability {
    pub passive: bool,
    pub stable: bool,
    pub quiet: bool,
    pub passive_margin: f64,
    pub device_damping_n_s_per_m: f64,
    pub needed_damping_n_s_per_m: f64,
    pub spectral_radius: f64,
    #[serde(rename = "stiffest_stable_n_per_m")]
    pub max_stable_stiffness_n_per_m: f64,
    /// Largest stiffness at which friction masks encoder steps, N/m; `None` for an ideal encoder, which is quiet at any
    /// stiffness.
    pub stiffest_quiet_n_per_m: Option<f64>,
    pub displayed_stiffness_n_per_m: f64,
    pub force_quantum_n: f64,
    /// Whether a hand that trembles over encoder edges costs no energy.
    pub trembling_is_free: bool,
    pub loss_per_crossing_j: f64,
    /// Time for which a trembling hand can press with 2 N before the tank reduces the force, s; `None` if it never
    /// does.
    pub trembling_press_s: Option<f64>,
    pub tool_damping_ratio: Option<f64>,
    pub tool_frequency_hz: Option<f64>,
    pub advice: Vec<String>,
    /// Proposed gains for this device and mapping.
    pub proposals: Proposals,
    /// Margins and proposals as lines of text.
    #[serde(skip)]
    pub text: String,
    #[serde(skip)]
    inputs: Inputs,
}

/// What the margins were computed from, world frame except for the device.
#[derive(Clone, Copy, Debug)]
struct Inputs {
    device: WorstAxisModel,
    gains: Gains,
    scale: f64,
    tool_mass_kg: Option<f64>,
}

impl Stability {
    /// Computes the margins. Stability may rely on the hand from [`hand_impedance`]; passivity relies on no hand.
    pub fn new(setup: &Setup) -> Self {
        let tool_mass_kg = setup.scene.tool.map(|tool| setup.scene.bodies[tool.body].mass_kg);
        let settings = setup.settings();
        let (device, scale) = (setup.device_model(), settings.mapping.scale);
        let margins = Margins::of(&device, &hand_impedance(setup), &settings.coupling, scale, tool_mass_kg);
        let inputs = Inputs { device, gains: settings.coupling, scale, tool_mass_kg };
        Self::from_margins(&margins, inputs)
    }

    fn from_margins(margins: &Margins, inputs: Inputs) -> Self {
        let proposals = Proposals::new(&inputs.device, inputs.scale);
        Self {
            passive: margins.is_passive(),
            stable: margins.is_stable(),
            quiet: margins.is_quiet(),
            passive_margin: margins.passive_margin(),
            device_damping_n_s_per_m: margins.device.damping_n_s_per_m,
            needed_damping_n_s_per_m: margins.needed_damping_n_s_per_m,
            spectral_radius: margins.spectral_radius,
            max_stable_stiffness_n_per_m: margins.max_stable_stiffness_n_per_m,
            stiffest_quiet_n_per_m: Some(margins.stiffest_quiet_n_per_m).filter(|limit| limit.is_finite()),
            displayed_stiffness_n_per_m: margins.displayed_stiffness_n_per_m,
            force_quantum_n: margins.force_quantum_n,
            trembling_is_free: margins.is_trembling_free(),
            loss_per_crossing_j: margins.loss_per_crossing_j,
            trembling_press_s: margins.trembling_press_s,
            tool_damping_ratio: margins.damping_ratio,
            tool_frequency_hz: margins.frequency_hz,
            advice: margins.advice(),
            proposals,
            text: format!("{margins}{proposals}"),
            inputs,
        }
    }

    /// Returns why the coupling must not drive hardware: it is unstable with the hand that it may rely on. `None` if it
    /// is stable.
    pub fn instability(&self, at: &GainLocations) -> Option<Problem> {
        let Gains { stiffness_n_per_m, damping_n_s_per_m, .. } = self.inputs.gains;
        let passive = &self.proposals.passive;
        // A gain that is lower than the proposed one stays as it is.
        let stiffness = stiffness_n_per_m.min(passive.stiffness_n_per_m);
        let damping = damping_n_s_per_m.min(passive.damping_n_s_per_m);
        (!self.stable).then(|| Problem {
            problem: format!(
                "the coupling of {} N/m and {} N·s/m is unstable on this device: spectral radius {:.5}, at least 1",
                toml_number(stiffness_n_per_m),
                toml_number(damping_n_s_per_m),
                self.spectral_radius
            ),
            remedy: remedy(stiffness, damping),
            ..at.stiffness.clone()
        })
    }

    /// Returns warnings: gains above the passive bound, unless the coupling is unstable as well, and a tool that rings.
    pub fn warnings(&self, at: &GainLocations) -> Vec<Problem> {
        let active = self.stable && !self.passive;
        active.then(|| self.activity(at)).into_iter().chain(self.ringing(at)).collect()
    }

    fn activity(&self, at: &GainLocations) -> Problem {
        let Gains { stiffness_n_per_m, damping_n_s_per_m, .. } = self.inputs.gains;
        let limit = self.inputs.passive_stiffness_n_per_m(damping_n_s_per_m);
        if limit > 0.0 {
            let limit = three_digits(limit);
            let problem = format!(
                "is {}: above the passive bound of {limit} N/m on this device, where the energy tank limits the force",
                toml_number(stiffness_n_per_m)
            );
            let remedy = format!("write stiffness_n_per_m = {}", toml_number(limit));
            return Problem { problem, remedy, ..at.stiffness.clone() };
        }
        let problem = format!(
            "is {}: above the passive bound, which is less than the {:.3} N·s/m of the device",
            toml_number(damping_n_s_per_m),
            self.inputs.device_damping_n_s_per_m()
        );
        let passive = &self.proposals.passive;
        let (stiffness, damping) = self.inputs.tool_mass_kg.map_or_else(
            || (stiffness_n_per_m.min(passive.stiffness_n_per_m), passive.damping_n_s_per_m),
            |mass_kg| self.inputs.damped_gains(mass_kg),
        );
        Problem { problem, remedy: remedy(stiffness, damping), ..at.damping.clone() }
    }

    fn ringing(&self, at: &GainLocations) -> Option<Problem> {
        let (ratio, frequency_hz) = (self.tool_damping_ratio?, self.tool_frequency_hz?);
        let mass_kg = self.inputs.tool_mass_kg?;
        (ratio < MIN_DAMPING_RATIO).then(|| {
            let Gains { damping_n_s_per_m, .. } = self.inputs.gains;
            let (stiffness, damping) = self.inputs.damped_gains(mass_kg);
            Problem {
                problem: format!(
                    "is {}: the tool of {mass_kg:.3} kg has a damping ratio of {ratio:.3} on the coupling, below \
                     {MIN_DAMPING_RATIO}, and rings at {frequency_hz:.1} Hz",
                    toml_number(damping_n_s_per_m)
                ),
                remedy: remedy(stiffness, damping),
                ..at.damping.clone()
            }
        })
    }
}

fn remedy(stiffness_n_per_m: f64, damping_n_s_per_m: f64) -> String {
    let (stiffness, damping) = (toml_number(stiffness_n_per_m), toml_number(damping_n_s_per_m));
    format!("write stiffness_n_per_m = {stiffness} and damping_n_s_per_m = {damping}")
}

impl Inputs {
    /// Damping of the device as seen from the world, N·s/m.
    fn device_damping_n_s_per_m(&self) -> f64 {
        self.device.damping_n_s_per_m / (self.scale * self.scale)
    }

    /// Returns the largest stiffness that is passive with a damping, N/m; zero or less if there is none.
    fn passive_stiffness_n_per_m(&self, damping_n_s_per_m: f64) -> f64 {
        (self.device_damping_n_s_per_m() - damping_n_s_per_m) / self.device.effective_delay_s()
    }

    /// Returns passive gains, not stiffer than those in use, with which a tool has a sufficient damping ratio.
    fn damped_gains(&self, mass_kg: f64) -> (f64, f64) {
        let most = MAX_DAMPING_FRACTION * self.device_damping_n_s_per_m();
        let stiffness_with = |damping: f64| {
            let damped = (damping / (2.0 * MIN_DAMPING_RATIO)).powi(2) / mass_kg;
            self.gains.stiffness_n_per_m.min(damped).min(self.passive_stiffness_n_per_m(damping))
        };
        let sufficient = 2.0 * MIN_DAMPING_RATIO * (self.gains.stiffness_n_per_m * mass_kg).sqrt();
        // Rounding down must not make the damping insufficient.
        let damping = three_digits((1.01 * sufficient).min(most));
        (three_digits(stiffness_with(damping)), damping)
    }
}

/// Returns the impedance of the hand that stability may rely on: the simulated hand, zero for a simulated device
/// without a hand, or the minimum impedance of a real hand on hardware.
pub fn hand_impedance(setup: &Setup) -> HandImpedance {
    match &setup.device.hand {
        Some(hand) => HandImpedance {
            mass_kg: hand.mass_kg,
            damping_n_s_per_m: hand.damping_n_s_per_m,
            stiffness_n_per_m: hand.stiffness_n_per_m,
        },
        None if setup.is_simulated() => HandImpedance::default(),
        None => HandImpedance::NOMINAL,
    }
}
