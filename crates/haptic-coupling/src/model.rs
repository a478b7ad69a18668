//! Models of a device and of the hand that holds it.

/// Model of the worst axis of a device: a mass with friction, a sampled position and a delayed force.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorstAxisModel {
    /// Moving mass at the handle, kg.
    pub mass_kg: f64,
    /// Viscous damping, N·s/m. This must be a guaranteed lower bound: every guarantee of the tank relies on it.
    pub damping_n_s_per_m: f64,
    /// Coulomb friction of each axis, N; a lower bound.
    pub coulomb_n: f64,
    /// Distance between two encoder counts, m; zero for an ideal encoder. An upper bound.
    pub encoder_step_m: f64,
    /// Delay from sampling the position until the force acts, beyond the period itself, s; an upper bound.
    pub delay_s: f64,
    /// Largest force, N.
    pub max_force_n: f64,
    /// Service period, s; a multiple of the tick.
    pub period_s: f64,
}

impl Default for WorstAxisModel {
    /// Returns the model of a device file that specifies no values.
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
    /// Returns T/2 + t_d, s, the mean delay of a held force. The damping that a stiffness needs is proportional to this
    /// delay.
    pub fn effective_delay_s(&self) -> f64 {
        self.period_s / 2.0 + self.delay_s
    }
}

/// Impedance of the hand on the handle. The mass of the hand adds to the mass of the device; a spring and a damper
/// connect the handle to the intended position of the hand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HandImpedance {
    /// Mass, kg.
    pub mass_kg: f64,
    /// Damping, N·s/m.
    pub damping_n_s_per_m: f64,
    /// Stiffness, N/m.
    pub stiffness_n_per_m: f64,
}

impl HandImpedance {
    /// Minimum impedance assumed by the crisp gains for a hand that holds the handle: 0.5 N·s/m of damping, no mass and
    /// no spring.
    pub const NOMINAL: Self = Self { mass_kg: 0.0, damping_n_s_per_m: 0.5, stiffness_n_per_m: 0.0 };
}
