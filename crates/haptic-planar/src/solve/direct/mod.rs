//! Direct solve of small islands: the impulses of all loaded manifolds of an island at once.
//!
//! The sweeps of the contact solver converge slowly in a stack, and the error they leave has a bias, so the stack would
//! creep. If the modes of all manifolds are known, the contact law is a linear system. A step solves it for the modes
//! that the last sweep left; the sweep after it finds the next modes. A sweep that changes nothing proves that every
//! manifold satisfies its contact law at the same velocities. If no step reaches this, the island gets back the
//! impulses and velocities it had before, because those of a failed attempt can contain any amount of energy.
//!
//! The contacts of a single body, however many, are solved in the velocities of that body instead.

mod matrix;
mod one_body;
mod system;

use crate::collide::warm_start::{BlockImpulse, Mode};
use crate::solve::islands::Islands;
use crate::solve::manifold::Manifold;
use crate::solve::policy::Ordinary;
use crate::solve::relaxation::{Change, EXACT_M_PER_S, relax};
use crate::solve::solver_body::SolverBodies;
use nalgebra::Vector2;
use system::System;

/// Maximum number of manifolds of an island, loaded or not.
const MAX_MANIFOLDS: usize = 64;
/// Maximum number of steps for one island. An island that needs more is hardly ever solved.
const MAX_STEPS: usize = 6;
/// Upper bound of the cost of a step, in sweeps over the same manifolds: 3 were measured for chains, and at the largest
/// degree there are three times as many blocks.
const STEP_COST_SWEEPS: usize = 8;
/// Upper bound of the cost of the solve of an island, in sweeps over its manifolds.
pub const MAX_COST_SWEEPS: usize = 1 + MAX_STEPS * (1 + STEP_COST_SWEEPS);
/// Velocity change of the last sweep below which the result of all steps is kept although it is not exact, m/s.
const ACCEPTABLE_M_PER_S: f64 = 1e-6;
/// The same for a single body, after the last step or the one before it, m/s: the accelerated sweeps would end with no
/// better result. The modes may alternate between two steps, of which only one is as good as that.
const ACCEPTABLE_OF_ONE_BODY_M_PER_S: f64 = 1e-5;
/// End of a list of manifolds.
const END: u32 = u32::MAX;

/// Result of the direct solve of a tick.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// Whether every island is solved.
    pub is_solved: bool,
    /// Upper bound of the cost, in sweeps over all manifolds.
    pub cost_sweeps: usize,
}

/// Scratch memory of the direct solve.
#[derive(Clone, Debug)]
pub struct DirectSolver {
    islands: Islands,
    /// For each body that represents an island, the first manifold of the island, or `END`.
    first: Vec<u32>,
    /// For each manifold, the next manifold of its island, or `END`.
    next: Vec<u32>,
    /// Manifolds of the present island.
    members: Vec<u32>,
    /// What the members were before the first step.
    saved: Vec<Saved>,
    system: System,
}

/// Impulses of a manifold and velocities of its two bodies.
#[derive(Clone, Copy, Debug)]
struct Saved {
    impulse: BlockImpulse,
    mode: Mode,
    velocities: [(Vector2<f64>, f64); 2],
}

impl DirectSolver {
    /// Preallocates memory for a scene with these numbers of manifolds and bodies.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            islands: Islands::with_capacity(bodies),
            first: vec![END; bodies],
            next: Vec::with_capacity(manifolds),
            members: Vec::with_capacity(MAX_MANIFOLDS),
            saved: Vec::with_capacity(MAX_MANIFOLDS),
            system: System::with_capacity(bodies),
        }
    }

    /// Solves the islands that are small enough, from impulses that a sweep left. Real-time: one pass over the
    /// manifolds, and for each manifold of a small island at most `MAX_STEPS` steps with a sweep after each.
    pub fn run(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
    ) -> Outcome {
        self.find_islands(manifolds, solver_bodies, dynamic_bodies);
        let (mut all_solved, mut cost) = (true, 0);
        for &body in dynamic_bodies {
            if self.first[body] == END {
                continue;
            }
            let (is_solved, steps) = if self.gather(body) { self.solve(manifolds, solver_bodies) } else { (false, 0) };
            all_solved &= is_solved;
            cost += self.members.len() * (1 + steps * (1 + STEP_COST_SWEEPS));
        }
        Outcome { is_solved: all_solved, cost_sweeps: cost.div_ceil(manifolds.len()) }
    }

    /// Lists the manifolds of each island, in order.
    fn find_islands(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies, dynamic_bodies: &[usize]) {
        self.islands.find(manifolds, &solver_bodies.all, dynamic_bodies);
        for &body in dynamic_bodies {
            self.first[body] = END;
        }
        self.next.clear();
        self.next.resize(manifolds.len(), END);
        for (index, manifold) in manifolds.iter().enumerate().rev() {
            let dynamic = usize::from(solver_bodies.all[manifold.bodies[0]].inverse_mass == 0.0);
            let island = self.islands.root(manifold.bodies[dynamic]);
            self.next[index] = self.first[island];
            self.first[island] = index as u32;
        }
    }

    /// Collects the members of the island that a body represents. Returns whether there are at most `MAX_MANIFOLDS`.
    fn gather(&mut self, body: usize) -> bool {
        self.members.clear();
        let mut index = self.first[body];
        while index != END && self.members.len() < MAX_MANIFOLDS {
            self.members.push(index);
            index = self.next[index as usize];
        }
        index == END
    }

    /// Solves the present island. Returns whether it is solved, and the number of steps made.
    fn solve(&mut self, manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) -> (bool, usize) {
        if self.sweep(manifolds, solver_bodies) < EXACT_M_PER_S {
            return (true, 0);
        }
        self.save(manifolds, solver_bodies);
        for steps in 1..=MAX_STEPS {
            if !self.system.step(&self.members, manifolds, solver_bodies) {
                self.restore(manifolds, solver_bodies);
                return (false, steps - 1);
            }
            let good = match MAX_STEPS - steps {
                0 | 1 if self.system.only_body.is_some() => ACCEPTABLE_OF_ONE_BODY_M_PER_S,
                0 => ACCEPTABLE_M_PER_S,
                _ => EXACT_M_PER_S,
            };
            if self.sweep(manifolds, solver_bodies) < good {
                return (true, steps);
            }
        }
        self.restore(manifolds, solver_bodies);
        (false, MAX_STEPS)
    }

    /// Solves each manifold of the island once; returns the largest change of a velocity, m/s.
    fn sweep(&self, manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) -> f64 {
        let mut change = Change::default();
        for &index in &self.members {
            relax::<Ordinary>(&mut manifolds[index as usize], solver_bodies, &mut change);
        }
        change.largest
    }

    fn save(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies) {
        let velocity = |body: usize| (solver_bodies.all[body].velocity, solver_bodies.all[body].angular_velocity);
        self.saved.clear();
        self.saved.extend(self.members.iter().map(|&index| {
            let Manifold { impulse, mode, bodies, .. } = manifolds[index as usize];
            Saved { impulse, mode, velocities: bodies.map(velocity) }
        }));
    }

    fn restore(&self, manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) {
        for (&index, saved) in self.members.iter().zip(&self.saved) {
            let manifold = &mut manifolds[index as usize];
            (manifold.impulse, manifold.mode) = (saved.impulse, saved.mode);
            for (&body, &(velocity, angular_velocity)) in manifold.bodies.iter().zip(&saved.velocities) {
                let solver_body = &mut solver_bodies.all[body];
                (solver_body.velocity, solver_body.angular_velocity) = (velocity, angular_velocity);
            }
        }
    }
}
