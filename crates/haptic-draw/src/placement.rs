//! Poses of bodies.

use haptic_planar::math::rotate;
use haptic_planar::scene::body_state::BodyState;
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
    /// Whether the body left the bounds of the scene and is not drawn any more.
    pub is_removed: bool,
}

impl Placement {
    /// Returns the start pose of a body.
    pub fn at_start(body: &Body) -> Self {
        let (centre_m, rotation) = body.start_pose();
        Self { centre_m, rotation, is_removed: false }
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
pub fn in_state(scene: &Scene, state: &State) -> Vec<Placement> {
    let placement = |(index, body): (usize, &BodyState)| Placement {
        centre_m: body.centre_m,
        rotation: body.rotation,
        is_removed: state.is_removed(scene, index),
    };
    state.bodies.iter().enumerate().map(placement).collect()
}
