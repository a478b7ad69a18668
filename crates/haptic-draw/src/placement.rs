//! Poses of bodies.

use haptic_planar::math::rotate;
use haptic_planar::scene::{Body, Scene};
use haptic_planar::state::State;
use nalgebra::Vector2;

/// Pose of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Centre of mass, world frame, m.
    pub centre_m: Vector2<f64>,
    /// Rotation: (cos, sin) of the angle.
    pub rotation: Vector2<f64>,
}

impl Placement {
    /// Returns the start pose of a body.
    pub fn at_start(body: &Body) -> Self {
        let (centre_m, rotation) = body.start_pose();
        Self { centre_m, rotation }
    }

    /// Returns the world position of a point given relative to the centre of mass in the body's frame, m.
    pub fn to_world(&self, point_m: Vector2<f64>) -> Vector2<f64> {
        self.centre_m + rotate(self.rotation, point_m)
    }
}

/// Returns the start poses of all bodies, in file order.
pub fn at_start(scene: &Scene) -> Vec<Placement> {
    scene.bodies.iter().map(Placement::at_start).collect()
}

/// Returns the poses of all bodies in a state, in file order.
pub fn in_state(state: &State) -> Vec<Placement> {
    state.bodies.iter().map(|body| Placement { centre_m: body.centre_m, rotation: body.rotation }).collect()
}
