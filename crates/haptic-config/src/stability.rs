//! Stability margins of a profile on its device, for the `check` command.

use crate::proposals::Proposals;
use crate::setup::Setup;
use haptic_coupling::margins::Margins;
use haptic_coupling::model::HandImpedance;
use serde::Serialize;

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
}

impl Stability {
    /// Computes the margins. Stability may rely on the hand from [`hand_impedance`]; passivity relies on no hand.
    pub fn new(setup: &Setup) -> Self {
        let tool_mass_kg = setup.scene.tool.map(|tool| setup.scene.bodies[tool.body].mass_kg);
        let settings = setup.settings();
        let (device, scale) = (setup.device_model(), settings.mapping.scale);
        let margins = Margins::of(&device, &hand_impedance(setup), &settings.coupling, scale, tool_mass_kg);
        Self::from_margins(&margins, Proposals::new(&device, scale))
    }

    fn from_margins(margins: &Margins, proposals: Proposals) -> Self {
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
        }
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
