//! Bound on the work of contact loads whose sweeps ended before they converged.
//!
//! Loads that satisfy the contact law do no work: P·(u + b) + P_t u_t ≤ 0, with u the velocities at the end of the tick
//! and b the bias. Loads that have not converged, as with mass ratios of 10⁴ or a warm start that no longer fits, can
//! add joules in a tick. Over an island, with u₀ the velocities before the loads act, their work is
//! W = Σ P·((u₀ + u)/2 + b) + P_t (u₀_t + u_t)/2. If it is positive, the velocities of the island are reduced until the
//! kinetic energy has fallen by W.
//!
//! Reduced velocities penetrate no deeper: u + b ≥ 0 and b ≥ 0 give κ u + b ≥ 0 for κ ≤ 1. Scaling down the loads was
//! rejected: it removes the energy as well, but then the island loses its support and sinks in by millimetres.

use crate::collide::warm_start::BlockImpulse;
use crate::solve::islands::Islands;
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::{SolverBodies, SolverBody};

/// Work of the loads of one manifold above which the work of its island is examined, and of an island above which its
/// velocities are reduced, J.
const MAX_WORK_J: f64 = 1e-9;

/// Removes the energy that the loads of an island add. Real-time: one pass over the manifolds; if a manifold does work,
/// four passes over manifolds and two over dynamic bodies.
pub fn limit_work<P: Policy>(
    manifolds: &[Manifold],
    solver_bodies: &mut SolverBodies,
    islands: &mut Islands,
    dynamic_bodies: &[usize],
) {
    if manifolds.iter().any(|manifold| does_work(manifold, &solver_bodies.all)) || P::FORCED {
        measure_work(manifolds, solver_bodies, islands, dynamic_bodies);
        slow_working_islands(solver_bodies, islands, dynamic_bodies);
    }
}

/// Whether the loads of a manifold do work at the present velocities.
#[inline]
pub fn does_work(manifold: &Manifold, solver_bodies: &[SolverBody]) -> bool {
    power(manifold, solver_bodies) > MAX_WORK_J
}

/// Sets the sums of each island of bodies that press on each other: the work of the loads and the kinetic energy, J.
#[cold]
fn measure_work(
    manifolds: &[Manifold],
    solver_bodies: &mut SolverBodies,
    islands: &mut Islands,
    dynamic_bodies: &[usize],
) {
    let is_loaded = |manifold: &&Manifold| manifold.normal_impulse() > 0.0;
    let loaded = || manifolds.iter().filter(is_loaded);
    islands.find(loaded(), &solver_bodies.all, dynamic_bodies);
    for manifold in loaded() {
        islands.add(manifold.dynamic_body(&solver_bodies.all), [0.5 * power(manifold, &solver_bodies.all), 0.0]);
    }
    loaded().for_each(|manifold| manifold.apply_impulse(solver_bodies, &scaled(&manifold.impulse, -1.0)));
    for manifold in loaded() {
        islands.add(manifold.dynamic_body(&solver_bodies.all), [0.5 * power(manifold, &solver_bodies.all), 0.0]);
    }
    loaded().for_each(|manifold| manifold.apply_impulse(solver_bodies, &manifold.impulse));
    for &body in dynamic_bodies {
        islands.add(body, [0.0, solver_bodies.all[body].kinetic_j()]);
    }
}

/// Reduces the velocities of the islands whose loads do work.
fn slow_working_islands(solver_bodies: &mut SolverBodies, islands: &mut Islands, dynamic_bodies: &[usize]) {
    for &body in dynamic_bodies {
        let [work, kinetic] = islands.sums(body);
        if work > MAX_WORK_J {
            let slowed = if work < kinetic { (1.0 - work / kinetic).sqrt() } else { 0.0 };
            solver_bodies.all[body].velocity *= slowed;
            solver_bodies.all[body].angular_velocity *= slowed;
        }
    }
}

/// Returns P·(u + b) + P_t u_t of a manifold at the present velocities, J.
#[inline]
fn power(manifold: &Manifold, solver_bodies: &[SolverBody]) -> f64 {
    let [p1, p2] = manifold.impulse.normal;
    if p1 == 0.0 && p2 == 0.0 {
        return 0.0;
    }
    let mut work = manifold.impulse.tangent * manifold.slip_speed(solver_bodies);
    if p1 > 0.0 {
        work += p1 * (manifold.normal_speed(solver_bodies, 0) + manifold.bias[0]);
    }
    if p2 > 0.0 {
        work += p2 * (manifold.normal_speed(solver_bodies, 1) + manifold.bias[1]);
    }
    work
}

fn scaled(impulse: &BlockImpulse, factor: f64) -> BlockImpulse {
    BlockImpulse { normal: impulse.normal.map(|p| p * factor), tangent: impulse.tangent * factor }
}
