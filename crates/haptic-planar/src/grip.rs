//! The two things that cross the border each tick: how the hand holds the tool, and what it feels.

use crate::energy::EnergyBalance;
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

/// What one tick felt like.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepOutput {
    /// Coupling force on the hand, world, N, before any guard. Pressing down on a floor gives y > 0.
    pub force_on_hand_n: Vector2<f64>,
    /// Contact points of the tool that carry load.
    pub tool_contacts: u32,
    /// Deepest penetration of the tool, m, zero or more.
    pub tool_penetration_m: f64,
    /// Sum of the tool's normal contact impulses over the tick, divided by the tick, N.
    pub tool_normal_n: f64,
    /// Sum of the tool's tangential contact impulses likewise, along t = (n_y, −n_x), n towards the tool, N.
    pub tool_tangent_n: f64,
    /// Contact points of the whole world that carry load.
    pub contacts: u32,
    /// Deepest penetration of any pair, m, zero or more.
    pub penetration_m: f64,
    /// Impacts resolved in this tick.
    pub impacts: u32,
    /// Near pairs that found no room this tick.
    pub pairs_dropped: u32,
    /// The energy account after this tick.
    pub energy: EnergyBalance,
}
