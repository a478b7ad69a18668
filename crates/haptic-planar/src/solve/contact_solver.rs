//! Contact solve over all manifolds: block Gauss–Seidel, accelerated by a nonsmooth nonlinear conjugate gradient
//! method.
//!
//! Each manifold is solved exactly in turn, for the velocities that the manifolds before it left. Let δ_k be the change
//! of the impulses in sweep k, and β = ‖δ_k‖²/‖δ_{k−1}‖² in the norm of the diagonal of K. If β ≤ 1, the last search
//! direction times β is added to the impulses. The last sweep is not accelerated, so the final impulses of every
//! manifold satisfy its friction and sign limits.
//!
//! With large coefficients of friction, as of a body struck into a corner, sweeps can cycle for ever, and the last one
//! can leave any velocity. If half of the sweeps have not converged, the others therefore bound the friction of each
//! manifold by an impulse of its own, which follows μ (P₁ + P₂) slowly and then stays constant (Haslinger's fixed
//! point). With constant bounds, the impulses minimise a convex function, so the sweeps converge. The result keeps the
//! bodies apart and adds no energy, whatever the bounds are.

use crate::collide::warm_start::BlockImpulse;
use crate::solve::direct::{DirectSolver, Outcome};
use crate::solve::manifold::{Manifold, VERY_DEEP_M};
use crate::solve::policy::Policy;
use crate::solve::relaxation::{Change, EXACT_M_PER_S, relax, relax_with_bounded_friction};
use crate::solve::solver_body::{SolverBodies, SolverBody};
use nalgebra::Vector2;

/// Maximum number of sweeps in a tick in which every near pair touches. A tick with fewer manifolds can make more
/// sweeps at the same cost, so the cost of a tick in which every near pair touches bounds that of every tick.
pub const MAX_SWEEPS: usize = 64;
/// Maximum number of sweeps in any tick: enough for a pile that is pressed hard; further sweeps gain little.
const MAX_SWEEPS_OF_FEW: usize = 160;
/// Conditions for ending the sweeps early. Each row applies up to its number of manifolds and has several pairs of a
/// number of sweeps and a velocity, m/s. The solve ends if, for one of the pairs, it has made at least that number of
/// sweeps and the last sweep changed every velocity by less than that velocity. The velocity of the first pair of each
/// row is too small to feel (1e-5 m/s is ten nanometres per tick). With few manifolds, the sweeps converge quickly; in
/// a pile, they never converge completely.
const GOOD_ENOUGH: [(usize, &[(usize, f64)]); 3] =
    [(16, &[(2, 3e-5), (8, 1e-3), (16, 7e-3)]), (64, &[(2, 1e-5), (16, 7e-3)]), (usize::MAX, &[(2, 1e-5), (10, 7e-3)])];

/// Condition for ending the sweeps early in a tick in which a pair penetrates by more than [`VERY_DEEP_M`], in the form
/// of a row of [`GOOD_ENOUGH`]. A light body between heavy ones converges so slowly that a sweep changes little
/// although the body sinks in by tens of micrometres in every tick.
const GOOD_ENOUGH_IF_DEEP: &[(usize, f64)] = &[(2, 1e-5)];

/// Change of a velocity, m/s, by the sweep after half of the sweeps above which the friction of every manifold is bounded.
const CYCLING_M_PER_S: f64 = 0.05;
/// Part of the distance to μ (P₁ + P₂) by which a sweep moves the bound of a friction impulse. With a half, the bounds
/// themselves cycle.
const BOUND_STEP: f64 = 0.125;

/// Scratch memory of the contact solver.
#[derive(Clone, Debug)]
pub struct Solver {
    /// Maximum number of manifolds in a tick.
    capacity: usize,
    /// Whether the last solve satisfied the contact law of every manifold exactly.
    pub is_exact: bool,
    /// Search direction of each manifold's impulses.
    along: Vec<BlockImpulse>,
    /// Search direction of each dynamic body's velocity and angular velocity.
    body_along: Vec<(Vector2<f64>, f64)>,
    /// Impulses of each manifold at the start of the sweep.
    before: Vec<BlockImpulse>,
    /// Velocity and angular velocity of each dynamic body at the start of the sweep.
    body_before: Vec<(Vector2<f64>, f64)>,
    /// Largest friction impulse of each manifold if the sweeps cycle, N·s.
    friction_bounds: Vec<f64>,
    direct: DirectSolver,
}

impl Solver {
    /// Preallocates memory for a scene with these numbers of manifolds and bodies.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            capacity: manifolds,
            is_exact: true,
            along: Vec::with_capacity(manifolds),
            body_along: Vec::with_capacity(bodies),
            before: Vec::with_capacity(manifolds),
            body_before: Vec::with_capacity(bodies),
            friction_bounds: Vec::with_capacity(manifolds),
            direct: DirectSolver::with_capacity(manifolds, bodies),
        }
    }

    /// Solves the contacts with rolling friction (Sauer et al.): a torque of up to `lever_m` times the normal force
    /// opposes the relative rotation of the two bodies. In each sweep, the rolling friction of a manifold is solved
    /// right after its contact law; the sweeps are not accelerated. Returns the number of sweeps. Real-time: at most
    /// [`MAX_SWEEPS`] passes over the manifolds.
    pub fn run_rolling<P: Policy>(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        lever_m: f64,
    ) -> usize {
        self.is_exact = false;
        for manifold in manifolds.iter() {
            manifold.apply_impulse(solver_bodies, &manifold.impulse);
            twist(manifold, solver_bodies, manifold.roll);
        }
        for count in 1..=MAX_SWEEPS {
            let mut change = Change::default();
            for manifold in manifolds.iter_mut() {
                relax::<P>(manifold, solver_bodies, &mut change);
                relax_roll(manifold, solver_bodies, lever_m, &mut change);
            }
            if change.largest < EXACT_M_PER_S && !P::FORCED {
                return count;
            }
        }
        MAX_SWEEPS
    }

    /// Finds the impulses of this tick, starting from those of the last one. Returns the number of sweeps. Real-time:
    /// as [`Self::resume`].
    pub fn run<P: Policy>(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
    ) -> usize {
        for manifold in manifolds.iter() {
            if manifold.impulse != BlockImpulse::default() {
                manifold.apply_impulse(solver_bodies, &manifold.impulse);
            }
        }
        self.resume::<P>(manifolds, solver_bodies, dynamic_bodies)
    }

    /// Finds the impulses of this tick, starting from impulses that the velocities contain: by a single sweep if hardly
    /// anything has changed, then directly in small islands, then by accelerated sweeps if an island is left. Returns
    /// the number of sweeps. Real-time: at most the cost of [`MAX_SWEEPS`] sweeps over as many manifolds as the
    /// capacity.
    pub fn resume<P: Policy>(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
    ) -> usize {
        self.is_exact = true;
        // A single manifold is solved exactly by its block, and most small worlds change little from tick to tick.
        let change = sweep::<P>(manifolds, solver_bodies);
        if self.capacity < 2 || (manifolds.len() < 2 || change.largest < EXACT_M_PER_S) && !P::FORCED {
            return 1;
        }
        if P::FORCED {
            return self.accelerate::<P>(manifolds, solver_bodies, dynamic_bodies, 0);
        }
        let direct = self.direct.run(manifolds, solver_bodies, dynamic_bodies);
        if direct.is_solved {
            return 1 + direct.cost_sweeps;
        }
        self.accelerate::<P>(manifolds, solver_bodies, dynamic_bodies, direct.cost_sweeps)
    }

    /// Solves the islands of other contacts directly, for the position correction. An island that cannot be solved keeps
    /// its impulses and velocities, after one more sweep. Real-time: as [`DirectSolver::run`].
    pub fn solve_directly(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
    ) -> Outcome {
        self.direct.run(manifolds, solver_bodies, dynamic_bodies)
    }

    /// Sweeps until the solution is good enough. `spent` is the number of sweeps that the direct solve has cost; it is
    /// taken off the maximum.
    #[inline(never)]
    fn accelerate<P: Policy>(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
        spent: usize,
    ) -> usize {
        self.is_exact = false;
        let good_enough = good_enough(manifolds);
        let max = if P::FORCED { MAX_SWEEPS } else { self.max_sweeps(manifolds.len(), dynamic_bodies.len()) - spent };
        let mut last_square = 0.0;
        let mut bounded_from = max;
        for count in 2..max {
            self.save_sweep_start(manifolds, &solver_bodies.all, dynamic_bodies);
            let change = if count > bounded_from {
                let step = if 2 * count < bounded_from + max { BOUND_STEP } else { 0.0 };
                sweep_with_bounded_friction(manifolds, solver_bodies, &mut self.friction_bounds, step)
            } else {
                sweep::<P>(manifolds, solver_bodies)
            };
            if !P::FORCED && good_enough.iter().any(|&(fewest, good)| count >= fewest && change.largest < good) {
                return count;
            }
            let may_cycle = 2 * count >= max && change.largest > CYCLING_M_PER_S;
            if may_cycle && bounded_from == max && !P::FORCED {
                self.bound_friction(manifolds);
                (bounded_from, last_square) = (count, 0.0);
                continue;
            }
            let fraction = if last_square > 0.0 { change.square / last_square } else { f64::INFINITY };
            let keep = if fraction <= 1.0 && count + 1 < max { fraction } else { 0.0 };
            self.extrapolate(manifolds, solver_bodies, dynamic_bodies, keep, count == 2);
            last_square = change.square;
        }
        if bounded_from < max {
            sweep_with_bounded_friction(manifolds, solver_bodies, &mut self.friction_bounds, 0.0);
        } else {
            sweep::<P>(manifolds, solver_bodies);
        }
        max
    }

    /// Bounds the friction of each manifold by what its present normal impulses permit.
    #[cold]
    #[inline(never)]
    fn bound_friction(&mut self, manifolds: &[Manifold]) {
        self.friction_bounds.clear();
        self.friction_bounds.extend(manifolds.iter().map(friction_limit));
    }

    /// Returns the number of sweeps that cost no more than [`MAX_SWEEPS`] sweeps in a tick in which every near pair
    /// touches, at most [`MAX_SWEEPS_OF_FEW`].
    fn max_sweeps(&self, manifolds: usize, dynamic_bodies: usize) -> usize {
        (MAX_SWEEPS * (self.capacity + dynamic_bodies) / (manifolds + dynamic_bodies)).min(MAX_SWEEPS_OF_FEW)
    }

    fn save_sweep_start(&mut self, manifolds: &[Manifold], solver_bodies: &[SolverBody], dynamic_bodies: &[usize]) {
        self.before.clear();
        self.before.extend(manifolds.iter().map(|m| m.impulse));
        self.body_before.clear();
        self.body_before
            .extend(dynamic_bodies.iter().map(|&i| (solver_bodies[i].velocity, solver_bodies[i].angular_velocity)));
    }

    /// Adds `keep` times the last search direction to the impulses and velocities, and updates the direction with the
    /// change made by this sweep.
    fn extrapolate(
        &mut self,
        manifolds: &mut [Manifold],
        solver_bodies: &mut SolverBodies,
        dynamic_bodies: &[usize],
        keep: f64,
        first: bool,
    ) {
        if first {
            self.along.clear();
            self.along.resize(manifolds.len(), BlockImpulse::default());
            self.body_along.clear();
            self.body_along.resize(dynamic_bodies.len(), (Vector2::zeros(), 0.0));
        }
        for ((manifold, along), before) in manifolds.iter_mut().zip(&mut self.along).zip(&self.before) {
            let p = &mut manifold.impulse;
            extrapolate_value(&mut p.normal[0], &mut along.normal[0], before.normal[0], keep);
            extrapolate_value(&mut p.normal[1], &mut along.normal[1], before.normal[1], keep);
            extrapolate_value(&mut p.tangent, &mut along.tangent, before.tangent, keep);
        }
        for ((&i, along), before) in dynamic_bodies.iter().zip(&mut self.body_along).zip(&self.body_before) {
            let work = &mut solver_bodies.all[i];
            extrapolate_value(&mut work.velocity.x, &mut along.0.x, before.0.x, keep);
            extrapolate_value(&mut work.velocity.y, &mut along.0.y, before.0.y, keep);
            extrapolate_value(&mut work.angular_velocity, &mut along.1, before.1, keep);
        }
    }
}

fn good_enough(manifolds: &[Manifold]) -> &'static [(usize, f64)] {
    let is_deep = |manifold: &Manifold| manifold.gap_m[..manifold.count].iter().any(|&gap_m| gap_m < -VERY_DEEP_M);
    if manifolds.iter().any(is_deep) {
        return GOOD_ENOUGH_IF_DEEP;
    }
    GOOD_ENOUGH.iter().find(|&&(max, _)| manifolds.len() <= max).map_or(&[], |&(_, pairs)| pairs)
}

/// Adds `keep` · `along` to `value`, and replaces `along` with `keep` · `along` + (`value` − `before`), where `value`
/// is the one before the addition.
#[inline]
fn extrapolate_value(value: &mut f64, along: &mut f64, before: f64, keep: f64) {
    let carried = keep * *along;
    *along = carried + (*value - before);
    *value += carried;
}

/// Solves every manifold once, in order, and returns the change.
fn sweep<P: Policy>(manifolds: &mut [Manifold], solver_bodies: &mut SolverBodies) -> Change {
    let mut change = Change::default();
    for manifold in manifolds {
        relax::<P>(manifold, solver_bodies, &mut change);
    }
    change
}

/// Solves every manifold once, in order, with bounded friction, and returns the change. Then moves the bound of the
/// manifold by the part `step` of the distance to its friction limit.
#[cold]
#[inline(never)]
fn sweep_with_bounded_friction(
    manifolds: &mut [Manifold],
    solver_bodies: &mut SolverBodies,
    bounds: &mut [f64],
    step: f64,
) -> Change {
    let mut change = Change::default();
    for (manifold, bound) in manifolds.iter_mut().zip(bounds) {
        relax_with_bounded_friction(manifold, solver_bodies, *bound, &mut change);
        *bound += step * (friction_limit(manifold) - *bound);
    }
    change
}

/// Returns the largest friction impulse that the normal impulses of a manifold permit, N·s.
fn friction_limit(manifold: &Manifold) -> f64 {
    manifold.friction * manifold.normal_impulse()
}

/// Reduces the relative rotation of two bodies as far as rolling friction under the present normal force allows.
fn relax_roll(manifold: &mut Manifold, solver_bodies: &mut SolverBodies, lever_m: f64, change: &mut Change) {
    let [a, b] = manifold.bodies;
    let softness = solver_bodies.all[a].augmented_inverse_inertia + solver_bodies.all[b].augmented_inverse_inertia;
    let limit = lever_m * manifold.normal_impulse();
    let relative = solver_bodies.all[b].angular_velocity - solver_bodies.all[a].angular_velocity;
    let wanted = (manifold.roll - relative / softness).clamp(-limit, limit);
    let delta = wanted - manifold.roll;
    manifold.roll = wanted;
    change.largest = change.largest.max((delta * softness * lever_m).abs());
    twist(manifold, solver_bodies, delta);
}

/// Applies an angular impulse to the second body and its opposite to the first.
fn twist(manifold: &Manifold, solver_bodies: &mut SolverBodies, angular: f64) {
    solver_bodies.apply_impulse(manifold.bodies[0], Vector2::zeros(), -angular);
    solver_bodies.apply_impulse(manifold.bodies[1], Vector2::zeros(), angular);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collide::narrow::ContactGeometry;
    use crate::collide::pair_table::Pair;
    use crate::scene::Scene;
    use crate::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
    use crate::shape::features::FeatureId;
    use crate::solve::policy::Ordinary;
    use haptic_testing::Random;
    use nalgebra::vector;

    /// Pieces of the pairs: the room and the light body, the light body and the heavy one.
    const PIECES: [[u32; 2]; 2] = [[0, 1], [1, 2]];

    /// Returns a scene of a room, a light body and one that is 10 times as heavy.
    fn scene(friction: f64) -> Scene {
        let body = |name: &str, mass_kg| BodyDescription {
            friction,
            mass_kg,
            fixed: mass_kg.is_none(),
            ..BodyDescription::new(name, ShapeDescription::Box { size_m: vector![0.04, 0.04] })
        };
        let bodies = vec![body("room", None), body("light", Some(0.01)), body("heavy", Some(0.1))];
        Scene::build(&SceneDescription { bodies, ..SceneDescription::default() }).unwrap()
    }

    /// Returns a contact of closed points on a circle of 20 mm around the light body, with a normal that points to the
    /// second body.
    fn contact(random: &mut Random, scene: &Scene, pair: usize, solver_bodies: &SolverBodies) -> Manifold {
        let (sine, cosine) = libm::sincos(random.between(0.0, 0.5 * std::f64::consts::TAU));
        let (normal, at) = (vector![cosine, sine], random.between(-0.02, 0.02));
        let tangent = vector![sine, -cosine];
        let away = if pair == 0 { -0.02 } else { 0.02 };
        let point = |along: f64| normal * away + tangent * along;
        let geometry = ContactGeometry {
            normal,
            count: 1 + random.index(2),
            gap_m: [0.0; 2],
            at_m: [point(at), point(at + 0.01)],
            apart_m: 0.0,
            end: 0,
            id: FeatureId::default(),
            includes_rotation: false,
        };
        let centres = [vector![0.0, 0.0], vector![0.0, 0.0]];
        let mut manifold = Manifold::new(pair, &Pair::new(scene, PIECES[pair]), &geometry, centres, [0.0; 2]);
        manifold.set_mass(solver_bodies);
        manifold
    }

    /// Solves random contacts of a light body that a heavy one strikes against a room. Returns the highest speed at
    /// which a point still closes, m/s, and the part of the energy that is gained.
    fn strike(random: &mut Random) -> (f64, f64) {
        let scene = scene(random.between(0.5, 2.0));
        let mut solver_bodies = SolverBodies::new(&scene);
        solver_bodies.all[2].velocity = vector![random.between(-1.0, 1.0), -1.0];
        let energy_j = |bodies: &SolverBodies| bodies.all[1].kinetic_j() + bodies.all[2].kinetic_j();
        let before_j = energy_j(&solver_bodies);
        let mut manifolds = [0, 0, 0, 0, 1].map(|pair| contact(random, &scene, pair, &solver_bodies));
        let mut solver = Solver::with_capacity(60, 3);
        solver.run::<Ordinary>(&mut manifolds, &mut solver_bodies, &scene.dynamic_bodies);
        let bodies = &solver_bodies.all;
        let closing = manifolds.iter().flat_map(|m| (0..m.count).map(|point| -m.normal_speed(bodies, point)));
        (closing.fold(0.0, f64::max), energy_j(&solver_bodies) / before_j - 1.0)
    }

    #[test]
    fn a_light_body_struck_into_a_corner_with_large_friction_neither_penetrates_nor_gains_energy() {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        for case in 0..3000 {
            let (closing_m_per_s, gain) = strike(&mut random);
            assert!(closing_m_per_s < CYCLING_M_PER_S, "case {case}: closes at {closing_m_per_s} m/s");
            assert!(gain < 1e-3, "case {case}: gains {gain} of the energy");
        }
    }
}
