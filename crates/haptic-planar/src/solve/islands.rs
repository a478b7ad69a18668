//! Islands: bodies that touch each other directly or through others. An island is the smallest part of a world that has
//! its own energy balance.

use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;

/// The islands of one tick and the energy that each of them gained.
#[derive(Clone, Debug)]
pub struct Islands {
    /// For each body, the next body on the path to the representative of its island.
    parent: Vec<u32>,
    /// Energy gained in the tick, J, stored at the representative of each island.
    gain_j: Vec<f64>,
}

impl Islands {
    /// Preallocates memory for a scene with this many bodies.
    pub fn with_capacity(bodies: usize) -> Self {
        Self { parent: vec![0; bodies], gain_j: vec![0.0; bodies] }
    }

    /// Finds the islands of a tick. Fixed bodies do not connect islands. Real-time: one pass over dynamic bodies and
    /// manifolds.
    pub fn find(&mut self, manifolds: &[Manifold], solver_bodies: &[SolverBody], dynamic_bodies: &[usize]) {
        for &body in dynamic_bodies {
            self.parent[body] = body as u32;
            self.gain_j[body] = 0.0;
        }
        for manifold in manifolds {
            let [a, b] = manifold.bodies;
            if solver_bodies[a].inverse_mass > 0.0 && solver_bodies[b].inverse_mass > 0.0 {
                let (a, b) = (self.root(a), self.root(b));
                // The smaller index becomes the representative, so that the result does not depend on the order of
                // manifolds.
                self.parent[a.max(b)] = a.min(b) as u32;
            }
        }
    }

    /// Adds `gain_j`, J, to the energy that a body's island gained.
    pub fn add(&mut self, body: usize, gain_j: f64) {
        let root = self.root(body);
        self.gain_j[root] += gain_j;
    }

    /// Returns the energy that a body's island gained, J.
    pub fn gain_j(&mut self, body: usize) -> f64 {
        let root = self.root(body);
        self.gain_j[root]
    }

    /// Returns the representative of a body's island and halves the path to it.
    fn root(&mut self, mut body: usize) -> usize {
        while self.parent[body] as usize != body {
            self.parent[body] = self.parent[self.parent[body] as usize];
            body = self.parent[body] as usize;
        }
        body
    }
}
