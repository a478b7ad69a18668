//! Relaxation of one manifold: solves its contact law exactly against the velocities that the other manifolds left.

use crate::collide::warm_start::{BlockImpulse, Loaded, Mode};
use crate::solve::block::{Block, InverseEffectiveMass};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBodies;

/// Velocity change below which the solution counts as exact, m/s.
pub(super) const EXACT_M_PER_S: f64 = 1e-9;

/// Number of times that the tangent and the normals of a manifold with bounded friction are solved in turn.
const BLOCK_PASSES: usize = 3;

/// Impulse assigned to every manifold before each sweep of a forced step, N·s, so that the block has to search for its
/// mode.
const FORCED_IMPULSE: BlockImpulse = BlockImpulse { normal: [1e-6; 2], tangent: 0.0 };

/// Change made by a sweep.
#[derive(Clone, Copy, Default)]
pub(super) struct Change {
    /// Squared change in the norm of the diagonal of K.
    pub(super) square: f64,
    /// Largest change of a velocity, m/s.
    pub(super) largest: f64,
}

impl Change {
    #[inline]
    fn add(&mut self, mass: &InverseEffectiveMass, delta: &BlockImpulse) {
        let [d1, d2, dt] = [delta.normal[0] * mass.n11, delta.normal[1] * mass.n22, delta.tangent * mass.tt];
        self.square += delta.normal[0] * d1 + delta.normal[1] * d2 + delta.tangent * dt;
        // Plain comparisons, because a maximum that handles NaN costs three times as much here.
        for size in [d1.abs(), d2.abs(), dt.abs()] {
            if size > self.largest {
                self.largest = size;
            }
        }
    }
}

/// Solves one manifold for the present velocities of its bodies and adds its change to `change`.
#[inline]
pub(super) fn relax<P: Policy>(manifold: &mut Manifold, solver_bodies: &mut SolverBodies, change: &mut Change) {
    if P::FORCED {
        manifold.mode = Mode::Open;
        manifold.impulse = FORCED_IMPULSE;
    }
    let n1 = manifold.normal_speed(&solver_bodies.all, 0) + manifold.bias[0];
    let n2 = if manifold.count == 2 {
        manifold.normal_speed(&solver_bodies.all, 1) + manifold.bias[1]
    } else {
        f64::INFINITY
    };
    let [p1, p2] = manifold.impulse.normal;
    let pt = manifold.impulse.tangent;
    if p1 == 0.0 && p2 == 0.0 && pt == 0.0 && n1 >= 0.0 && n2 >= 0.0 {
        return;
    }
    let m = &manifold.mass;
    let slip = manifold.slip_speed(&solver_bodies.all);
    let block =
        Block { mass: m, friction: manifold.friction, impulse: manifold.impulse, normal: [n1, n2], tangent: slip };
    let (new, mode) = block.solve(manifold.mode, &mut manifold.factor);
    let delta = BlockImpulse { normal: [new.normal[0] - p1, new.normal[1] - p2], tangent: new.tangent - pt };
    change.add(m, &delta);
    manifold.mode = mode;
    manifold.impulse = new;
    manifold.apply_impulse(solver_bodies, &delta);
}

/// Relaxes one manifold whose friction is at most `bound`, whatever its normal impulses are: its tangent and its
/// normals in turn. Unlike the contact law, this is the condition of a minimum of a convex function, so sweeps never cycle.
#[cold]
#[inline(never)]
pub(super) fn relax_with_bounded_friction(
    manifold: &mut Manifold,
    solver_bodies: &mut SolverBodies,
    bound: f64,
    change: &mut Change,
) {
    let m = &manifold.mass;
    let BlockImpulse { normal: [p1, p2], tangent: pt } = manifold.impulse;
    // Velocities without the impulses of this manifold.
    let speed = |point: usize| manifold.normal_speed(&solver_bodies.all, point) + manifold.bias[point];
    let f1 = speed(0) - m.n11 * p1 - m.n12 * p2 - m.n1t * pt;
    let f2 = if manifold.count == 2 { speed(1) - m.n12 * p1 - m.n22 * p2 - m.n2t * pt } else { f64::INFINITY };
    let slip = manifold.slip_speed(&solver_bodies.all) - m.n1t * p1 - m.n2t * p2 - m.tt * pt;
    let (mut normal, mut tangent) = (manifold.impulse.normal, pt);
    for _ in 0..BLOCK_PASSES {
        // Unlike `clamp`, this does not panic at NaN.
        tangent = (-(slip + m.n1t * normal[0] + m.n2t * normal[1]) / m.tt).min(bound).max(-bound);
        normal = m.frictionless_impulses([f1 + m.n1t * tangent, f2 + m.n2t * tangent]);
    }
    let delta = BlockImpulse { normal: [normal[0] - p1, normal[1] - p2], tangent: tangent - pt };
    change.add(m, &delta);
    manifold.impulse = BlockImpulse { normal, tangent };
    manifold.mode = mode_of(&manifold.impulse, bound);
    manifold.apply_impulse(solver_bodies, &delta);
}

/// Returns the mode of a contact with these impulses, whose friction is at most `bound`.
fn mode_of(impulse: &BlockImpulse, bound: f64) -> Mode {
    let loaded = match impulse.normal.map(|p| p > 0.0) {
        [true, true] => Loaded::Both,
        [true, false] => Loaded::First,
        [false, true] => Loaded::Second,
        [false, false] => return Mode::Open,
    };
    if impulse.tangent.abs() < bound {
        Mode::Stick(loaded)
    } else if impulse.tangent < 0.0 {
        Mode::SlideForward(loaded)
    } else {
        Mode::SlideBack(loaded)
    }
}
