//! Where bodies are at one instant.

use haptic_planar::math::rotate;
use haptic_planar::scene::{Body, Scene};
use haptic_planar::state::State;
use nalgebra::Vector2;

/// Where one body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Placement {
    /// Centre of mass, world, m.
    pub centre_m: Vector2<f64>,
    /// (cos, sin) of the angle.
    pub rotation: Vector2<f64>,
}

impl Placement {
    /// Where a body starts.
    pub fn at_start(body: &Body) -> Self {
        let (centre_m, rotation) = body.start_pose();
        Self { centre_m, rotation }
    }

    /// A point given relative to the centre of mass, in the world, m.
    pub fn to_world(&self, point_m: Vector2<f64>) -> Vector2<f64> {
        self.centre_m + rotate(self.rotation, point_m)
    }
}

/// Every body where it starts, in file order.
pub fn at_start(scene: &Scene) -> Vec<Placement> {
    scene.bodies.iter().map(Placement::at_start).collect()
}

/// Every body where it is in a world.
pub fn in_state(state: &State) -> Vec<Placement> {
    state.bodies.iter().map(|motion| Placement { centre_m: motion.centre_m, rotation: motion.rotation }).collect()
}
