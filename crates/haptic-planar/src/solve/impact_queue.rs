//! Impacts of one tick, resolved in time order. Each uses the position and the velocity at its own time, and the rest
//! of the tick is still simulated (*Time and state of an impact* in `docs/physics.md`).
//!
//! Every point that closes within the tick is an event at the time τ = −(g + J d)/u, where g is its gap, J the contact
//! Jacobian, d the shift of the bodies by earlier impacts, and u the normal velocity at the end of the tick. The impact
//! uses the velocity at the time τ, u* = u − (T − τ) a, with the length T of the tick and the normal acceleration a of
//! the point. Afterwards the body continues as if it had moved with its new velocity from a *virtual start*: with the
//! change of velocity ΔV, v ← v + ΔV and d ← d − τ ΔV. Under a constant force, energy is therefore conserved between
//! impacts even if τ is inexact. A body can be hit several times in a tick, and impacts propagate through chains of
//! bodies. Impacts at the same time on connected bodies are resolved together
//! ([`impact_group`](crate::solve::impact_group)).

use crate::collide::warm_start::{BlockImpulse, Mode};
use crate::math::smaller;
use crate::scene::description::RestitutionLaw;
use crate::solve::block::{Block, Factor, InverseEffectiveMass};
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::impact::{PointInverseMass, resolve};
use crate::solve::impact_group::{Hit, ImpactGroup};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::tick::TICK_S;

/// Maximum number of times at which impacts are resolved in one tick, alone or in groups; later ones are left to the
/// contact solve, which has no restitution.
const MAX_IMPACTS: usize = 40;
/// The same per manifold that the scene has capacity for: a body that rebounds more often within a tick is at rest.
const MAX_IMPACTS_PER_MANIFOLD: usize = 8;
/// Time within which impacts on connected bodies happen at once, s.
pub const AT_ONCE_S: f64 = 0.02 * TICK_S;
/// Time within which impacts on unconnected bodies happen at the same time, s: more than rounding errors. All of them
/// come before the impacts that follow from any of them; otherwise the order of manifolds would decide what follows.
pub const SAME_TIME_S: f64 = 1e-6 * TICK_S;
/// Lowest approach speed that can be an impact, m/s; below it, a bounce cannot be distinguished from rest.
pub const MIN_APPROACH_M_PER_S: f64 = 1e-4;
/// Constant part of the gap below which the other point of a manifold is hit together with the closing one, m.
pub const FLAT_GAP_M: f64 = 2e-5;
/// Speed-dependent part of the gap below which the other point of a manifold is hit together with the closing one, as a
/// fraction of the distance that the closing point approaches in a tick.
pub const FLAT_FRACTION: f64 = 0.02;
/// Slope of the clipped edge above which an impact is not flat. Two points close to each other have nearly the same gap
/// at any slope, but only the corner of a tilted edge hits.
const MAX_FLAT_SLOPE: f64 = 0.05;
/// Tolerance for the energy gain of a flat impact, J, per squared approach speed, m²/s².
const GAIN_SLACK: f64 = 1e-12;

/// Next impact of each manifold in this tick.
#[derive(Clone, Debug)]
pub struct ImpactQueue {
    /// Time of the next impact of each manifold after the start of the tick, s; infinite if there is none.
    due_s: Vec<f64>,
    /// Index of the point at which the next impact of each manifold occurs.
    point: Vec<u8>,
    /// Impacts that happen at once.
    group: ImpactGroup,
    /// For each body, whether it was struck since the manifolds were last queued.
    is_struck: Vec<bool>,
    /// Maximum number of times at which impacts are resolved in one tick.
    max_impacts: usize,
    /// Whether the last run resolved as many impacts as one tick may, so that more can be due.
    pub is_exhausted: bool,
    /// Totals over the impacts of each manifold. The energy lost in a group is in that of its first manifold.
    totals: Vec<ImpactTotals>,
}

/// Totals over the impacts of a tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct ImpactTotals {
    /// Number of impacts resolved.
    pub count: u32,
    /// Number of times at which impacts were resolved, alone or in groups.
    pub events: u32,
    /// Number of relaxations of groups.
    pub group_relaxations: u32,
    /// Kinetic energy lost in the impacts, J.
    pub lost_j: f64,
}

impl ImpactTotals {
    /// Adds a number of impacts and the energy lost in them, J.
    pub fn add(&mut self, count: u32, lost_j: f64) {
        self.count += count;
        self.lost_j += lost_j;
    }
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
    /// Preallocates memory for a scene with these numbers of manifolds and bodies.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            due_s: Vec::with_capacity(manifolds),
            point: Vec::with_capacity(manifolds),
            group: ImpactGroup::with_capacity(manifolds, bodies),
            is_struck: vec![false; bodies],
            is_exhausted: false,
            totals: Vec::with_capacity(manifolds),
            max_impacts: (MAX_IMPACTS_PER_MANIFOLD * manifolds).min(MAX_IMPACTS),
        }
    }

    /// Resolves the impacts of this tick. Real-time: at most [`MAX_IMPACTS`] times; each, and each event whose point
    /// turns out not to close yet, takes at most four passes over the manifolds. The groups take at most
    /// [`MAX_RELAXATIONS`](crate::solve::impact_group::MAX_RELAXATIONS) relaxations.
    pub fn run<P: Policy>(
        &mut self,
        manifolds: &[Manifold],
        solver_bodies: &mut SolverBodies,
        rules: &Rules,
    ) -> ImpactTotals {
        let mut impacts = ImpactTotals::default();
        let mut now_s = 0.0;
        self.group.reset();
        self.totals.clear();
        self.totals.resize(manifolds.len(), ImpactTotals::default());
        for _ in 0..self.max_impacts {
            let Some(index) = self.next::<P>(manifolds, solver_bodies, &mut now_s) else { break };
            self.gather::<P>(index, now_s, manifolds, solver_bodies);
            // All groups at this time before the impacts that follow from them.
            while self.group.next::<P>(now_s + SAME_TIME_S, manifolds, &solver_bodies.all) {
                self.resolve_group::<P>(now_s, manifolds, solver_bodies, rules, &mut impacts);
            }
            self.requeue::<P>(manifolds, solver_bodies, now_s);
            impacts.events += 1;
        }
        self.is_exhausted = impacts.events == self.max_impacts as u32;
        impacts.group_relaxations = self.group.relaxations_made();
        impacts
    }

    /// Returns the manifold with the next impact and advances `now_s` to its time.
    fn next<P: Policy>(
        &mut self,
        manifolds: &[Manifold],
        solver_bodies: &SolverBodies,
        now_s: &mut f64,
    ) -> Option<usize> {
        if P::FORCED {
            self.earliest();
            return (!manifolds.is_empty()).then_some(0);
        }
        while let Some(index) = self.earliest() {
            *now_s = self.due_s[index].max(*now_s);
            let point = usize::from(self.point[index]);
            if approach(&manifolds[index], point, *now_s, solver_bodies) < 0.0 {
                return Some(index);
            }
            // The point closes only later in the tick, by acceleration; the contact solve handles it.
            self.due_s[index] = f64::INFINITY;
        }
        None
    }

    /// Gathers the impacts that are due within [`AT_ONCE_S`] of that of the manifold `index` at the time `now_s`.
    fn gather<P: Policy>(&mut self, index: usize, now_s: f64, manifolds: &[Manifold], solver_bodies: &SolverBodies) {
        self.group.clear();
        let first = std::iter::once(index);
        let others = (0..manifolds.len()).filter(|&other| other != index);
        for other in first.chain(others) {
            if self.due_s[other] > now_s + AT_ONCE_S && !P::FORCED {
                continue;
            }
            if !self.group.has_room() {
                break;
            }
            let due_s = self.due_s[other].max(now_s);
            let hit = Hit { due_s, ..hit(&manifolds[other], usize::from(self.point[other]), now_s, solver_bodies) };
            if hit.approach < 0.0 || P::FORCED {
                self.group.add::<P>(other, &manifolds[other], &hit, &solver_bodies.all);
            }
        }
    }

    /// Resolves the group that was formed last; a single impact by its closed form.
    fn resolve_group<P: Policy>(
        &mut self,
        now_s: f64,
        manifolds: &[Manifold],
        solver_bodies: &mut SolverBodies,
        rules: &Rules,
        impacts: &mut ImpactTotals,
    ) {
        if let Some(index) = self.group.alone() {
            let point = usize::from(self.point[index]);
            let lost_j = resolve_impact(&manifolds[index], point, now_s, solver_bodies, rules);
            impacts.add(1, lost_j);
            self.totals[index].add(1, lost_j);
            manifolds[index].bodies.into_iter().for_each(|body| self.is_struck[body] = true);
            return;
        }
        let mut lost_j = self.group.resolve::<P>(manifolds, &solver_bodies.all);
        impacts.add(self.group.len() as u32, lost_j);
        for (index, impulse) in self.group.impulses() {
            self.totals[index].add(1, lost_j);
            lost_j = 0.0;
            apply(&manifolds[index], &impulse, now_s, solver_bodies, rules.coupling);
            manifolds[index].bodies.into_iter().for_each(|body| self.is_struck[body] = true);
        }
    }

    /// Finds the first impact of each manifold, before any impact has shifted a body; returns whether there is any.
    #[inline(always)]
    pub fn fill(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies) -> bool {
        self.due_s.clear();
        self.point.clear();
        self.totals.clear();
        let mut any = false;
        for manifold in manifolds {
            let (due, point) = next_event(manifold, solver_bodies, 0.0, |point| manifold.gap_m[point]);
            any |= due < f64::INFINITY;
            self.due_s.push(due);
            self.point.push(point);
        }
        any
    }

    /// Returns the totals over the impacts of a manifold in this tick.
    pub fn totals(&self, manifold: usize) -> ImpactTotals {
        self.totals.get(manifold).copied().unwrap_or_default()
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

    /// Finds the next impacts of the manifolds of bodies that were just struck.
    fn requeue<P: Policy>(&mut self, manifolds: &[Manifold], solver_bodies: &SolverBodies, now_s: f64) {
        for (index, manifold) in manifolds.iter().enumerate() {
            let moved = |body: usize| solver_bodies.all[body].inverse_mass > 0.0 && self.is_struck[body];
            if moved(manifold.bodies[0]) || moved(manifold.bodies[1]) || P::FORCED {
                let gap_m = |point| manifold.gap_now(&solver_bodies.all, point);
                (self.due_s[index], self.point[index]) = next_event(manifold, solver_bodies, now_s, gap_m);
            }
        }
        for manifold in manifolds {
            manifold.bodies.into_iter().for_each(|body| self.is_struck[body] = false);
        }
    }
}

/// Returns the time, s, and the point of the next impact of a manifold at or after `now_s`; an infinite time if there
/// is none. `gap_m` returns the gap of a point at the virtual start of the tick.
#[inline(never)]
fn next_event(
    manifold: &Manifold,
    solver_bodies: &SolverBodies,
    now_s: f64,
    gap_m: impl Fn(usize) -> f64,
) -> (f64, u8) {
    let mut next = (f64::INFINITY, 0);
    for point in 0..manifold.count {
        let speed = manifold.normal_speed(&solver_bodies.all, point);
        if speed >= -MIN_APPROACH_M_PER_S {
            continue;
        }
        let gap_m = gap_m(point);
        let closing_s = gap_m / -speed;
        // A plain comparison here and below: a maximum that handles NaN costs three times as much.
        let due = if closing_s > now_s { closing_s } else { now_s };
        if due <= TICK_S
            && due < next.0
            && -speed > threshold(manifold, solver_bodies, point)
            && gap_m + TICK_S * speed_under_load(manifold, solver_bodies, point, speed) <= 0.0
        {
            next = (due, point as u8);
        }
    }
    next
}

/// Returns the normal velocity of a point, m/s, of which `speed` includes all forces of this tick, without the forces
/// on bodies that were under contact load in the last tick. Contacts that are not solved yet hold such a body back. If
/// a point closes only by these forces, it need not close at all; the contact solve decides.
fn speed_under_load(manifold: &Manifold, solver_bodies: &SolverBodies, point: usize, speed: f64) -> f64 {
    let change = |which: usize| {
        let body = &solver_bodies.all[manifold.bodies[which]];
        let acceleration =
            manifold.normal.dot(&body.acceleration) + body.angular_acceleration * manifold.arm[which][point];
        if body.had_contact_load { TICK_S * acceleration } else { 0.0 }
    };
    speed - (change(1) - change(0))
}

/// Returns the approach speed above which a closing point is an impact, m/s. A slower approach can be explained by the
/// forces and by the contact load of the last tick; the contact solve handles it.
#[inline(always)]
fn threshold(manifold: &Manifold, solver_bodies: &SolverBodies, point: usize) -> f64 {
    let side = |which: usize| {
        let body = &solver_bodies.all[manifold.bodies[which]];
        (manifold.normal.dot(&body.acceleration) + body.angular_acceleration * manifold.arm[which][point]).abs()
    };
    let mass = &manifold.mass;
    let own = if point == 0 { mass.n11 } else { mass.n22 };
    let other = mass.n12 * manifold.last.normal[1 - point];
    let load = own * manifold.last.normal[point] + if other > 0.0 { other } else { 0.0 };
    MIN_APPROACH_M_PER_S + 2.0 * TICK_S * (side(0) + side(1)) + 2.0 * load
}

/// Resolves one impact at the time `tau_s` and returns the energy lost, J.
fn resolve_impact(
    manifold: &Manifold,
    point: usize,
    tau_s: f64,
    solver_bodies: &mut SolverBodies,
    rules: &Rules,
) -> f64 {
    let hit = hit(manifold, point, tau_s, solver_bodies);
    let (approach, slip) = (hit.approach, hit.slip);
    let mass = manifold.uncoupled_mass(&solver_bodies.all);
    let bounce = manifold.restitution;
    let impulse = match hit.other {
        Some(other) => {
            let mut normal = [approach; 2];
            normal[1 - point] = other;
            flat(&mass, normal, slip, manifold.friction, bounce)
        }
        None => single(&mass, point, approach, slip, manifold.friction, bounce, rules.law),
    };
    let left_s = TICK_S - tau_s;
    let mut speeds = [0.0; 2];
    for (i, speed) in speeds.iter_mut().enumerate().take(manifold.count) {
        *speed = manifold.normal_speed(&solver_bodies.all, i) - left_s * manifold.acceleration(&solver_bodies.all, i).0;
    }
    let lost_j = -energy_change(&mass, speeds, slip, &impulse);
    apply(manifold, &impulse, tau_s, solver_bodies, rules.coupling);
    lost_j
}

/// Returns the normal velocity of a point at the time `tau_s`, m/s: the end velocity minus the change by the forces of
/// the rest of the tick.
fn approach(manifold: &Manifold, point: usize, tau_s: f64, solver_bodies: &SolverBodies) -> f64 {
    let (pull, _) = manifold.acceleration(&solver_bodies.all, point);
    manifold.normal_speed(&solver_bodies.all, point) - (TICK_S - tau_s) * pull
}

/// Returns the velocities with which a manifold is hit at a point at the time `tau_s`.
fn hit(manifold: &Manifold, point: usize, tau_s: f64, solver_bodies: &SolverBodies) -> Hit {
    let (_, drag) = manifold.acceleration(&solver_bodies.all, point);
    let approach = approach(manifold, point, tau_s, solver_bodies);
    Hit {
        due_s: tau_s,
        point,
        approach,
        other: flat_speed(manifold, 1 - point, tau_s, approach, solver_bodies),
        slip: manifold.slip_speed(&solver_bodies.all) - (TICK_S - tau_s) * drag,
    }
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
    let limit_m = FLAT_GAP_M + FLAT_FRACTION * TICK_S * approach.abs();
    (is_flat(manifold, gap, limit_m) && then < 0.0).then_some(then)
}

/// Whether the two points of a manifold are hit together if their gaps differ by `difference_m` when one of them is
/// hit. The difference may be up to `limit_m`.
pub fn is_flat(manifold: &Manifold, difference_m: f64, limit_m: f64) -> bool {
    let length_m = (manifold.arm[0][1] - manifold.arm[0][0]).abs();
    difference_m.abs() < smaller(limit_m, MAX_FLAT_SLOPE * length_m)
}

/// Returns the impulse of an impact that happens at the present velocities of the bodies, and the energy lost, J. It is
/// an impact at the point `point` or, if `is_flat`, at both points at once.
pub fn impact_now(
    manifold: &Manifold,
    bodies: &[SolverBody],
    point: usize,
    is_flat: bool,
    law: RestitutionLaw,
) -> (BlockImpulse, f64) {
    let (slip, mass) = (manifold.slip_speed(bodies), manifold.uncoupled_mass(bodies));
    let mut normal = [0.0; 2];
    for (point, speed) in normal.iter_mut().enumerate().take(manifold.count) {
        *speed = manifold.normal_speed(bodies, point);
    }
    let (friction, restitution) = (manifold.friction, manifold.restitution);
    let impulse = if is_flat {
        flat(&mass, normal, slip, friction, restitution)
    } else {
        single(&mass, point, normal[point], slip, friction, restitution, law)
    };
    (impulse, -energy_change(&mass, normal, slip, &impulse))
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
        moved.struck_s = tau_s;
        match coupling {
            Some(coupling) if coupling.body() == body => coupling.apply_impact(solver_bodies, tau_s, dv, dw),
            _ => {
                moved.velocity += dv;
                moved.angular_velocity += dw;
            }
        }
    }
}
