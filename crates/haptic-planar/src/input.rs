//! The two things that cross the border each tick: how the hand holds the tool, and what it feels.

use nalgebra::Vector2;

/// How the hand holds the tool during one tick: an isotropic spring-damper from the hand to the tool's handle.
///
/// The spring is solved inside the step, so any stiffness is stable; the force saturates inside the coupling and the
/// same force acts on both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CouplingInput {
    /// Hand position at the end of this tick, world, m.
    pub hand_m: Vector2<f64>,
    /// Hand position at the end of the tick before, world, m. Equal to `hand_m` on the first tick.
    pub hand_before_m: Vector2<f64>,
    /// Spring between hand and handle, N/m, zero or more.
    pub stiffness_n_per_m: f64,
    /// Damper between hand and handle, N·s/m, zero or more.
    pub damping_n_s_per_m: f64,
    /// Spring towards the tool's angle at the start, N·m/rad, zero or more.
    pub angular_stiffness_n_m_per_rad: f64,
    /// Damper on the tool's spin, N·m·s/rad, zero or more.
    pub angular_damping_n_m_s_per_rad: f64,
    /// The coupling never pulls harder than this, N; infinity for no limit.
    pub max_force_n: f64,
    /// Unit direction of the line that the handle must stay on (through `hand_m`), if it rides on a rail.
    pub rail: Option<Vector2<f64>>,
}
