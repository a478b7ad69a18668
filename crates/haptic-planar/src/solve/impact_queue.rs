//! Impacts of one tick, resolved in time order at the inter-state position with the current velocity. No time is
//! discarded.
//!
//! Every point that closes within the tick is an event at the time τ = −(g + J d)/u, where g is its gap, d the shift of
//! the bodies by earlier impacts, and u the normal velocity at the end of the tick. The impact uses the velocity at the
//! time τ, u* = u − (T − τ) a. Afterwards the body continues as if it had moved with its new velocity from a *virtual
//! start*: v ← v + ΔV, d ← d − τ ΔV. Energy is therefore exact under a constant force for any error in τ, a body can be
//! hit several times in a tick, and impacts propagate through chains of bodies.

use crate::collide::warm_start::{BlockImpulse, Mode};
use crate::scene::description::RestitutionLaw;
use crate::solve::block::{Block, Factor, InverseEffectiveMass};
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::impact::{PointInverseMass, resolve};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBodies;
use crate::tick::TICK_S;

/// Maximum number of impacts resolved in one tick; later ones are left to the contact solve, which has no restitution.
pub const MAX_IMPACTS: usize = 64;
/// Lowest approach speed that can be an impact, m/s; below it, a bounce cannot be distinguished from rest.
const MIN_APPROACH_M_PER_S: f64 = 1e-4;
/// Constant part of the gap below which the other point of a manifold is hit together with the closing one, m.
const FLAT_GAP_M: f64 = 2e-5;
/// Speed-dependent part of the gap below which the other point of a manifold is hit together with the closing one, as a
/// fraction of the distance that the closing point approaches in a tick.
const FLAT_FRACTION: f64 = 0.02;
/// Tolerance for the energy gain of a flat impact, J, per squared approach speed, m²/s².
const GAIN_SLACK: f64 = 1e-12;

/// Next impact of each manifold in this tick.
#[derive(Clone, Debug)]
pub struct ImpactQueue {
    /// Time of the next impact of each manifold after the start of the tick, s; infinite if there is none.
    due_s: Vec<f64>,
    /// Index of the point at which the next impact of each manifold occurs.
    point: Vec<u8>,
}

/// Totals over the impacts of a tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImpactTotals {
    /// Number of impacts resolved.
    pub count: u32,
    /// Kinetic energy lost in the impacts, J.
    pub lost_j: f64,
}

/// Restitution law and coupling of this tick.
#[derive(Clone, Copy, Debug)]
pub struct Rules<'a> {
    /// Restitution law.
    pub law: RestitutionLaw,
    /// The coupling, if the tool is held.
    pub coupling: Option<&'a ImplicitCoupling>,
}

impl ImpactQueue {
    /// Preallocates memory for a scene's manifolds.
    pub fn with_capacity(manifolds: usize) -> Self {
        Self { due_s: Vec::with_capacity(manifolds), point: Vec::with_capacity(manifolds) }
    }

    /// Resolves the impacts of this tick. Real-time: at most [`MAX_IMPACTS`] impacts; each impact, and each event whose
    /// point turns out not to close yet, takes at most two passes over the manifolds.
    pub fn run<P: Policy>(
        &mut self,
        manifolds: &[Manifold],
        solver_bodies: &mut SolverBodies,
        rules: &Rules,
    ) -> ImpactTotals {
        let mut impacts = ImpactTotals::default();
        let mut now_s = 0.0;
        while impacts.count < MAX_IMPACTS as u32 {
            let any = if P::FORCED && !manifolds.is_empty() { Some(0) } else { None };
            let Some(index) = self.earliest().or(any) else { break };
            if !P::FORCED {
                now_s = self.due_s[index].max(now_s);
            }
            let point = usize::from(self.point[index]);
            let manifold = &manifolds[index];
            match resolve_impact::<P>(manifold, point, now_s, solver_bodies, rules) {
                Some(lost_j) => {
                    impacts.count += 1;
                    impacts.lost_j += lost_j;
                    self.requeue::<P>(manifolds, solver_bodies, manifold.bodies, now_s);
                }
                // The point closes only later in the tick, by acceleration; the contact solve handles it.
                None => self.due_s[index] = f64::INFINITY,
            }
        }
        impacts
    }

    /// Finds the first impact of each manifold; returns whether there is any.
    pub fn fill(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies) -> bool {
        self.due_s.clear();
        self.point.clear();
        let mut any = false;
        for manifold in manifolds {
            let (due, point) = next_event(manifold, solver_bodies, 0.0);
            any |= due < f64::INFINITY;
            self.due_s.push(due);
            self.point.push(point);
        }
        any
    }

    fn earliest(&self) -> Option<usize> {
        let mut best = (f64::INFINITY, None);
        for (index, &due) in self.due_s.iter().enumerate() {
            if due < best.0 {
                best = (due, Some(index));
            }
        }
        best.1
    }

    fn requeue<P: Policy>(
        &mut self,
        manifolds: &[Manifold],
        solver_bodies: &SolverBodies,
        bodies: [usize; 2],
        now_s: f64,
    ) {
        for (index, manifold) in manifolds.iter().enumerate() {
            let moved = |body: usize| solver_bodies.all[body].inverse_mass > 0.0 && manifold.involves(body);
            if moved(bodies[0]) || moved(bodies[1]) || P::FORCED {
                (self.due_s[index], self.point[index]) = next_event(manifold, solver_bodies, now_s);
            }
        }
    }
}

/// Returns the time, s, and the point of the next impact of a manifold at or after `now_s`; an infinite time if there
/// is none.
#[inline]
fn next_event(manifold: &Manifold, solver_bodies: &SolverBodies, now_s: f64) -> (f64, u8) {
    let mut next = (f64::INFINITY, 0);
    for point in 0..manifold.count {
        let speed = manifold.normal_speed(&solver_bodies.all, point);
        if speed >= -MIN_APPROACH_M_PER_S {
            continue;
        }
        let due = (manifold.gap_now(&solver_bodies.all, point) / -speed).max(now_s);
        if due <= TICK_S && due < next.0 && -speed > threshold(manifold, solver_bodies, point) {
            next = (due, point as u8);
        }
    }
    next
}

/// Returns the approach speed above which a closing point is an impact, m/s. A slower approach can be explained by the
/// forces and by the contact load of the last tick; the contact solve handles it.
fn threshold(manifold: &Manifold, solver_bodies: &SolverBodies, point: usize) -> f64 {
    let side = |which: usize| {
        let body = &solver_bodies.all[manifold.bodies[which]];
        (manifold.normal.dot(&body.acceleration) + body.angular_acceleration * manifold.arm[which][point]).abs()
    };
    let mass = &manifold.mass;
    let own = if point == 0 { mass.n11 } else { mass.n22 };
    let load = own * manifold.last.normal[point] + (mass.n12 * manifold.last.normal[1 - point]).max(0.0);
    MIN_APPROACH_M_PER_S + 2.0 * TICK_S * (side(0) + side(1)) + 2.0 * load
}

/// Resolves one impact at the time `tau_s` and returns the energy lost, J; `None` if the point does not close at that
/// time.
fn resolve_impact<P: Policy>(
    manifold: &Manifold,
    point: usize,
    tau_s: f64,
    solver_bodies: &mut SolverBodies,
    rules: &Rules,
) -> Option<f64> {
    let (pull, drag) = manifold.acceleration(&solver_bodies.all, point);
    let left_s = TICK_S - tau_s;
    let approach = manifold.normal_speed(&solver_bodies.all, point) - left_s * pull;
    if approach >= 0.0 && !P::FORCED {
        return None;
    }
    let slip = manifold.slip_speed(&solver_bodies.all) - left_s * drag;
    let mass = manifold.uncoupled_mass(&solver_bodies.all);
    let bounce = manifold.restitution;
    let impulse = match flat_speed(manifold, 1 - point, tau_s, approach, solver_bodies) {
        Some(other) => {
            let mut normal = [approach; 2];
            normal[1 - point] = other;
            flat(&mass, normal, slip, manifold.friction, bounce)
        }
        None => single(&mass, point, approach, slip, manifold.friction, bounce, rules.law),
    };
    let mut speeds = [0.0; 2];
    for (i, speed) in speeds.iter_mut().enumerate().take(manifold.count) {
        *speed = manifold.normal_speed(&solver_bodies.all, i) - left_s * manifold.acceleration(&solver_bodies.all, i).0;
    }
    let lost_j = -energy_change(&mass, speeds, slip, &impulse);
    apply(manifold, &impulse, tau_s, solver_bodies, rules.coupling);
    Some(lost_j)
}

/// Returns the normal velocity of the point `other` at the time `tau_s`, m/s, if that point hits at the same time.
fn flat_speed(
    manifold: &Manifold,
    other: usize,
    tau_s: f64,
    approach: f64,
    solver_bodies: &SolverBodies,
) -> Option<f64> {
    if manifold.count < 2 {
        return None;
    }
    let speed = manifold.normal_speed(&solver_bodies.all, other);
    let gap = manifold.gap_now(&solver_bodies.all, other) + tau_s * speed;
    let pull = manifold.acceleration(&solver_bodies.all, other).0;
    let then = speed - (TICK_S - tau_s) * pull;
    let at_once = gap.abs() < FLAT_GAP_M + FLAT_FRACTION * TICK_S * approach.abs() && then < 0.0;
    at_once.then_some(then)
}

/// Returns the impulse of an impact at a single point.
pub fn single(
    mass: &InverseEffectiveMass,
    point: usize,
    approach: f64,
    slip: f64,
    friction: f64,
    restitution: f64,
    law: RestitutionLaw,
) -> BlockImpulse {
    let (normal, cross) = if point == 0 { (mass.n11, mass.n1t) } else { (mass.n22, mass.n2t) };
    let seen = PointInverseMass { tangent: mass.tt, cross, normal };
    let impulse = resolve(&seen, slip, approach, friction, restitution, law);
    let mut block = BlockImpulse { normal: [0.0; 2], tangent: impulse.tangent };
    block.normal[point] = impulse.normal;
    block
}

/// Returns the impulse of an impact at both points at once; resolving the points one after the other would make a flat
/// box rotate. The impulses of a plastic impact are found first, and the normal ones are scaled by 1 + `restitution`.
/// Friction then stops the remaining slip as far as it can; if that would add energy, the plastic tangential impulse is
/// scaled as well.
fn flat(mass: &InverseEffectiveMass, normal: [f64; 2], slip: f64, friction: f64, restitution: f64) -> BlockImpulse {
    let block = Block { mass, friction, impulse: BlockImpulse::default(), normal, tangent: slip };
    let (plastic, _) = block.solve(Mode::Open, &mut Factor::default());
    let scale = 1.0 + restitution;
    let [p1, p2] = [plastic.normal[0] * scale, plastic.normal[1] * scale];
    let limit = friction * (p1 + p2);
    let left = slip + mass.n1t * p1 + mass.n2t * p2;
    let sticking = BlockImpulse { normal: [p1, p2], tangent: (-left / mass.tt).clamp(-limit, limit) };
    let before = normal[0].abs() + normal[1].abs();
    if energy_change(mass, normal, slip, &sticking) <= GAIN_SLACK * before * before {
        sticking
    } else {
        BlockImpulse { normal: [p1, p2], tangent: plastic.tangent * scale }
    }
}

/// Returns the change of kinetic energy by the impulse p, p·u + ½ pᵀ K p, J, where u are the velocities `normal` and
/// `slip` before it.
pub fn energy_change(mass: &InverseEffectiveMass, normal: [f64; 2], slip: f64, p: &BlockImpulse) -> f64 {
    let ([p1, p2], pt) = (p.normal, p.tangent);
    let work = p1 * normal[0] + p2 * normal[1] + pt * slip;
    let square = p1 * p1 * mass.n11
        + p2 * p2 * mass.n22
        + pt * pt * mass.tt
        + 2.0 * (p1 * p2 * mass.n12 + p1 * pt * mass.n1t + p2 * pt * mass.n2t);
    work + 0.5 * square
}

/// Applies an impulse to both bodies at the time `tau_s` after the start of the tick.
pub fn apply(
    manifold: &Manifold,
    p: &BlockImpulse,
    tau_s: f64,
    solver_bodies: &mut SolverBodies,
    coupling: Option<&ImplicitCoupling>,
) {
    let [p1, p2] = p.normal;
    let force = manifold.normal * (p1 + p2) + manifold.tangent * p.tangent;
    for (side, sign) in [(0, -1.0), (1, 1.0)] {
        let body = manifold.bodies[side];
        let about = manifold.arm[side][0] * p1 + manifold.arm[side][1] * p2 + manifold.slip_arm[side] * p.tangent;
        let moved = &mut solver_bodies.all[body];
        let dv = force * (sign * moved.inverse_mass);
        let dw = about * (sign * moved.inverse_inertia);
        moved.shift -= dv * tau_s;
        moved.shift_angle -= dw * tau_s;
        moved.had_impact = true;
        match coupling {
            Some(coupling) if coupling.body() == body => coupling.apply_impact(solver_bodies, tau_s, dv, dw),
            _ => {
                moved.velocity += dv;
                moved.angular_velocity += dw;
            }
        }
    }
}
