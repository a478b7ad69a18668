//! Input of one step.

use nalgebra::Vector2;

/// Coupling input of one tick. The coupling is an isotropic spring-damper between the hand and the tool's handle.
///
/// The spring is solved inside the step, so any stiffness is stable. The force saturates inside the coupling, and the
/// same force acts on both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CouplingInput {
    /// Hand position at the end of this tick, world, m.
    pub hand_m: Vector2<f64>,
    /// Hand position at the end of the previous tick, world, m. Equal to `hand_m` on the first tick.
    pub hand_before_m: Vector2<f64>,
    /// Stiffness between hand and handle, N/m, zero or more.
    pub stiffness_n_per_m: f64,
    /// Damping between hand and handle, N·s/m, zero or more.
    pub damping_n_s_per_m: f64,
    /// Stiffness of the spring that turns the tool towards its initial angle, N·m/rad, zero or more.
    pub angular_stiffness_n_m_per_rad: f64,
    /// Damping of the tool's rotation, N·m·s/rad, zero or more.
    pub angular_damping_n_m_s_per_rad: f64,
    /// Force limit of the coupling, N; infinity for no limit.
    pub max_force_n: f64,
    /// Unit direction of the rail, world; `None` without a rail. The rail is the line through `hand_m` that the handle
    /// of a one-axis device stays on.
    pub rail: Option<Vector2<f64>>,
}
