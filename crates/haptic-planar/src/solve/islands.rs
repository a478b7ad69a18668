//! Islands: bodies that touch each other directly or through others. An island is the smallest part of a world that has
//! its own energy balance.

use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;

/// The islands of one tick, with sums and a minimum over the bodies of each island.
#[derive(Clone, Debug)]
pub struct Islands {
    /// For each body, the next body on the path to the representative of its island.
    parent: Vec<u32>,
    /// Two sums over each island, whose meaning the caller chooses, stored at its representative.
    sums: Vec<[f64; 2]>,
    /// Smallest limit set for each island, at most 1, stored at its representative.
    fraction: Vec<f64>,
    /// For each body, whether it is fast or near a fast body.
    is_fast: Vec<bool>,
    /// Time of the last impact in each island after the start of the tick, s, if there was one; stored at its
    /// representative.
    struck_s: Vec<Option<f64>>,
}

impl Islands {
    /// Preallocates memory for a scene with this many bodies.
    pub fn with_capacity(bodies: usize) -> Self {
        Self {
            parent: vec![0; bodies],
            sums: vec![[0.0; 2]; bodies],
            fraction: vec![1.0; bodies],
            is_fast: vec![false; bodies],
            struck_s: vec![None; bodies],
        }
    }

    /// Finds the islands of a tick. Fixed bodies do not connect islands. Real-time: one pass over dynamic bodies and
    /// manifolds.
    pub fn find<'a>(
        &mut self,
        manifolds: impl IntoIterator<Item = &'a Manifold>,
        solver_bodies: &[SolverBody],
        dynamic_bodies: &[usize],
    ) {
        for &body in dynamic_bodies {
            self.parent[body] = body as u32;
            self.sums[body] = [0.0; 2];
            self.fraction[body] = 1.0;
            self.struck_s[body] = None;
            self.is_fast[body] = false;
        }
        for manifold in manifolds {
            self.join(manifold.bodies, solver_bodies);
        }
    }

    /// Joins the islands of two bodies, unless one of the bodies is fixed. All islands must be joined before the first
    /// sum or limit.
    pub fn join(&mut self, [a, b]: [usize; 2], solver_bodies: &[SolverBody]) {
        if solver_bodies[a].inverse_mass > 0.0 && solver_bodies[b].inverse_mass > 0.0 {
            let (a, b) = (self.root(a), self.root(b));
            // The smaller index becomes the representative, so that the result does not depend on the order of
            // manifolds.
            self.parent[a.max(b)] = a.min(b) as u32;
        }
    }

    /// Marks a body as fast or near a fast body.
    pub fn mark_fast(&mut self, body: usize) {
        self.is_fast[body] = true;
    }

    /// Whether a body is fast or near a fast body.
    pub fn is_fast(&self, body: usize) -> bool {
        self.is_fast[body]
    }

    /// Adds two values to the sums of a body's island.
    pub fn add(&mut self, body: usize, values: [f64; 2]) {
        let root = self.root(body);
        self.sums[root][0] += values[0];
        self.sums[root][1] += values[1];
    }

    /// Sets the sums of all islands to zero.
    pub fn clear_sums(&mut self, dynamic_bodies: &[usize]) {
        for &body in dynamic_bodies {
            self.sums[body] = [0.0; 2];
        }
    }

    /// Returns the sums of a body's island.
    pub fn sums(&mut self, body: usize) -> [f64; 2] {
        let root = self.root(body);
        self.sums[root]
    }

    /// Limits the fraction of a body's island to `fraction`.
    pub fn limit(&mut self, body: usize, fraction: f64) {
        let root = self.root(body);
        self.fraction[root] = self.fraction[root].min(fraction);
    }

    /// Returns the smallest limit of a body's island, at most 1.
    pub fn fraction(&mut self, body: usize) -> f64 {
        let root = self.root(body);
        self.fraction[root]
    }

    /// Records an impact on a body's island at a time after the start of the tick, s.
    pub fn strike(&mut self, body: usize, at_s: f64) {
        let root = self.root(body);
        self.struck_s[root] = Some(self.struck_s[root].map_or(at_s, |last_s| last_s.max(at_s)));
    }

    /// Forgets the impacts on a body's island.
    pub fn forget_impacts(&mut self, body: usize) {
        let root = self.root(body);
        self.struck_s[root] = None;
    }

    /// Returns the time of the last impact on a body's island, s, if there was one.
    pub fn struck_s(&mut self, body: usize) -> Option<f64> {
        let root = self.root(body);
        self.struck_s[root]
    }

    /// Returns the representative of a body's island and halves the path to it.
    pub fn root(&mut self, mut body: usize) -> usize {
        while self.parent[body] as usize != body {
            self.parent[body] = self.parent[self.parent[body] as usize];
            body = self.parent[body] as usize;
        }
        body
    }
}
