//! Everything that moves, as plain preallocated data.

use crate::grip::{Felt, Grip};
use crate::scene::Scene;
use nalgebra::Vector2;

/// All that changes from tick to tick.
#[derive(Clone, Debug)]
pub struct State {
    /// Pose and velocity of each body, in file order.
    pub motions: Vec<Motion>,
}

/// Pose and velocity of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Motion {
    /// Centre of mass, world, m.
    pub centre_m: Vector2<f64>,
    /// (cos, sin) of the angle.
    pub turn: Vector2<f64>,
    /// Angle, rad, anticlockwise, not wrapped.
    pub angle_rad: f64,
    /// Velocity of the centre of mass, m/s.
    pub velocity_m_per_s: Vector2<f64>,
    /// Spin, rad/s, anticlockwise.
    pub spin_rad_per_s: f64,
}

impl State {
    /// The world at its start.
    pub fn new(_scene: &Scene) -> Self {
        Self { motions: Vec::new() }
    }

    /// One millisecond. Without a grip nobody holds the tool. Real-time: bounded by the scene's capacities.
    pub fn advance(&mut self, _scene: &Scene, _grip: Option<&Grip>) -> Felt {
        Felt::default()
    }

    /// Where the handle is, world, m; zero without a tool.
    pub fn handle_m(&self, _scene: &Scene) -> Vector2<f64> {
        Vector2::zeros()
    }

    /// Origin of a body's frame (not its centre of mass), world, m.
    pub fn origin_m(&self, _scene: &Scene, _body: usize) -> Vector2<f64> {
        Vector2::zeros()
    }

    /// 64-bit hash of pose and velocity bits of every body in file order, −0 as +0.
    pub fn hash(&self) -> u64 {
        0
    }
}
