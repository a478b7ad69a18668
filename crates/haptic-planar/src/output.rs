//! Output of one step: force on the hand, contacts and energy balance.

use crate::scene::body_state::BodyState;
use crate::solve::energy::EnergyBalance;
use crate::solve::manifold::Manifold;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Result of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct StepOutput {
    /// Coupling force on the hand, world, N, before the guard limits it. It points up (y > 0) while the tool is pressed
    /// down on a floor.
    pub force_on_hand_n: Vector2<f64>,
    /// Number of contact points of the tool that carry load.
    pub tool_contacts: u32,
    /// Deepest penetration of the tool, m, zero or more.
    pub tool_penetration_m: f64,
    /// Sum of the tool's normal contact impulses in the tick, divided by the duration of the tick, N.
    pub tool_normal_n: f64,
    /// Sum of the tool's tangential contact impulses in the tick, divided by the duration of the tick, N. Each is
    /// positive along t = (n_y, −n_x), where n is the contact's normal towards the tool.
    pub tool_tangent_n: f64,
    /// Number of contact points in the whole world that carry load.
    pub contacts: u32,
    /// Deepest penetration of any two bodies, m, zero or more.
    pub penetration_m: f64,
    /// Number of impacts resolved in this tick.
    pub impacts: u32,
    /// Number of near pairs dropped in this tick because the pair table was full.
    pub pairs_dropped: u32,
    /// Energy balance after this tick.
    pub energy: EnergyBalance,
}

/// A contact point of two bodies that carries load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Indices of the first and second body in [`Scene::bodies`](crate::scene::Scene::bodies).
    pub bodies: [u32; 2],
    /// Position on the first body's surface, world, m.
    pub point_m: Vector2<f64>,
    /// Unit normal from the first to the second body, world.
    pub normal: Vector2<f64>,
    /// Force on the second body, world, N; the opposite force acts on the first body. If two bodies touch at two
    /// points, their friction force is divided between the points in proportion to the normal forces.
    pub force_n: Vector2<f64>,
}

impl Contact {
    /// Returns the contact at one point of a manifold. A manifold stores only the arms of its points: r × n is the
    /// coordinate along the tangent, −(r × t) the coordinate along the normal.
    pub(crate) fn new(manifold: &Manifold, point: usize, first: &BodyState) -> Self {
        let normal_impulse = manifold.impulse.normal[point];
        let friction = manifold.impulse.tangent * (normal_impulse / manifold.normal_impulse());
        Self {
            bodies: manifold.bodies.map(|body| body as u32),
            point_m: first.centre_m + manifold.tangent * manifold.arm[0][point]
                - manifold.normal * manifold.slip_arm[0],
            normal: manifold.normal,
            force_n: (manifold.normal * normal_impulse + manifold.tangent * friction) / TICK_S,
        }
    }
}
