//! Output of one step: force on the hand, contacts, energy.

use crate::scene::body_state::BodyState;
use crate::solve::energy::EnergyBalance;
use crate::solve::manifold::Manifold;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Result of one step.
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
    /// Near pairs dropped in this tick because the pair table was full.
    pub pairs_dropped: u32,
    /// The energy balance after this tick.
    pub energy: EnergyBalance,
}

/// One loaded point between two bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Bodies, first and second, in file order of the scene.
    pub bodies: [u32; 2],
    /// On the first body's surface, world, m.
    pub point_m: Vector2<f64>,
    /// From the first to the second body.
    pub normal: Vector2<f64>,
    /// On the second body, world, N; the opposite acts on the first. The friction of a manifold is divided between its
    /// two points in proportion to their normal forces.
    pub force_n: Vector2<f64>,
}

impl Contact {
    /// One point of a manifold. A manifold knows its points by their arms: r × n is the distance along the tangent,
    /// r × t the distance against the normal.
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
