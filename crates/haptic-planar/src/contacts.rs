//! Where bodies touched in the last tick, and what they pressed there: for those who look on.

use crate::manifold::Manifold;
use crate::scene::TICK_S;
use crate::state::State;
use nalgebra::Vector2;

/// One loaded point between two bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Contact {
    /// Bodies, first and second, in file order of the scene.
    pub bodies: [u32; 2],
    /// On the first body's surface, world, m.
    pub point_m: Vector2<f64>,
    /// From the first to the second body.
    pub normal: Vector2<f64>,
    /// On the second body, world, N; the first gets the opposite. A manifold's two points share its friction by load.
    pub force_n: Vector2<f64>,
}

impl State {
    /// The contacts that carried load in the last tick; the blow of an impact is not a load. Real-time: once over the
    /// manifolds.
    pub fn contacts(&self) -> impl Iterator<Item = Contact> + '_ {
        self.manifolds.iter().flat_map(|manifold| {
            (0..manifold.count)
                .filter(|&point| manifold.impulse.normal[point] > 0.0)
                .map(|point| self.contact(manifold, point))
        })
    }

    /// A manifold knows its points by their arms: r × n is the way along the tangent, r × t the way against the normal.
    fn contact(&self, manifold: &Manifold, point: usize) -> Contact {
        let normal_impulse = manifold.impulse.normal[point];
        let friction = manifold.impulse.tangent * (normal_impulse / manifold.load());
        let centre = self.bodies[manifold.bodies[0]].centre_m;
        Contact {
            bodies: manifold.bodies.map(|body| body as u32),
            point_m: centre + manifold.tangent * manifold.arm[0][point] - manifold.normal * manifold.slip_arm[0],
            normal: manifold.normal,
            force_n: (manifold.normal * normal_impulse + manifold.tangent * friction) / TICK_S,
        }
    }
}
