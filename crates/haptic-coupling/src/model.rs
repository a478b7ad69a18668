//! What is known of a device and of the hand that holds it.

/// One axis of a device as a mass with friction behind a sampled position and a late force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstAxisModel {
    /// Moving mass at the handle, kg.
    pub mass_kg: f64,
    /// Viscous damping, N·s/m: a guaranteed lower bound, because every promise of the tank rests on it.
    pub damping_n_s_per_m: f64,
    /// Dry friction, N.
    pub coulomb_n: f64,
    /// Distance between two encoder readings, m; zero for a perfect one.
    pub encoder_step_m: f64,
    /// From sampling the position to the force acting, beyond the period itself, s.
    pub delay_s: f64,
    /// Largest force, N.
    pub max_force_n: f64,
    /// How often it is served, s; a multiple of the tick.
    pub period_s: f64,
}

impl Default for WorstAxisModel {
    /// The device of a file that says nothing.
    fn default() -> Self {
        Self {
            mass_kg: 0.1,
            damping_n_s_per_m: 0.5,
            coulomb_n: 0.05,
            encoder_step_m: 1e-5,
            delay_s: 0.0003,
            max_force_n: 4.0,
            period_s: haptic_planar::tick::TICK_S,
        }
    }
}

impl WorstAxisModel {
    /// T/2 + t_d, s: how late, on average, a held force is; stiffness costs damping in proportion to it.
    pub fn effective_delay_s(&self) -> f64 {
        self.period_s / 2.0 + self.delay_s
    }
}

/// The hand on the handle: its mass rides on the device, spring and damper hold it to where it wants to be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HandImpedance {
    /// kg.
    pub mass_kg: f64,
    /// N·s/m.
    pub damping_n_s_per_m: f64,
    /// N/m.
    pub stiffness_n_per_m: f64,
}

impl HandImpedance {
    /// The least that a hand which really holds the handle brings along, and what crisp gains count on: half a newton
    /// second per metre of damping, no mass and no spring.
    pub const NOMINAL: Self = Self { mass_kg: 0.0, damping_n_s_per_m: 0.5, stiffness_n_per_m: 0.0 };
}
