//! Impacts that happen at once: a body that hits two others, or two points far apart, at the same time.
//!
//! If such impacts were resolved one after the other, the first would change the velocity with which the second is
//! resolved, and the order in the file would decide where a body goes. All members of a group are therefore resolved
//! together, as a generalised reflection:
//!
//! 1. The plastic impulses P of the closing points, with friction, by block Gauss–Seidel on the bare masses.
//! 2. P_i ← (1 + e_i) P_i, tangents too (Poisson's law).
//! 3. If the energy w + q/2 rises, with w = P·u and q = P·K P, all P are scaled by −2w/q, so that it does not.
//!
//! With a converged P and one e, ΔE = −½ (1 − e²) P·K P minus friction; step 3 covers unequal e and sweeps that end
//! early. All members open: u⁺ = (1 + e) u_plastic − e u ≥ 0. Contacts that do not close are not members, so an impact
//! still propagates through a chain of balls as a sequence of single impacts. A simultaneous solve of all touching
//! contacts was rejected: in a chain of five, all balls but the first would move.

use crate::collide::warm_start::{BlockImpulse, Mode};
use crate::solve::block::{Block, Factor, InverseEffectiveMass};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBody;
use nalgebra::Vector2;

/// Maximum number of impacts in a group; further ones form the next group.
pub const MAX_MEMBERS: usize = 64;
/// Maximum number of sweeps over a group.
const MAX_SWEEPS: usize = 128;
/// Number of relaxations in a tick over all groups, per manifold that the scene has capacity for, so that their cost
/// stays a fifth of that of the contact solve; a pool break of 15 balls with friction takes more than 1,000. When they
/// are used up, impacts are resolved one after the other.
const RELAXATIONS_PER_MANIFOLD: usize = 12;
/// Number of relaxations per manifold in a scene with few of them: a few impacts at once take up to 64 sweeps to
/// converge.
const RELAXATIONS_PER_MANIFOLD_OF_FEW: usize = 64;
/// Number of relaxations up to which [`RELAXATIONS_PER_MANIFOLD_OF_FEW`] applies.
const RELAXATIONS_OF_FEW: usize = 512;
/// Largest number of relaxations in a tick.
pub const MAX_RELAXATIONS: usize = 1536;
/// Number of relaxations that count for a further group, or a single impact, at the same time.
const RELAXATIONS_PER_GROUP: usize = 2;
/// Velocity change of a sweep below which the plastic impulses have converged, as a fraction of the fastest approach.
const CONVERGED: f64 = 1e-12;

/// Normal velocity of every point in a forced step, m/s.
const FORCED_APPROACH_M_PER_S: f64 = -1e-3;

/// One impact of a group.
#[derive(Clone, Copy, Debug)]
struct Member {
    /// Index of the manifold.
    manifold: usize,
    /// Time of the impact after the start of the tick, s.
    due_s: f64,
    /// Points of the manifold, the one that surely closes first. The fields below are in this order.
    points: [usize; 2],
    /// Inverse effective mass without the coupling.
    mass: InverseEffectiveMass,
    /// Normal velocities at the time of the impact, m/s; infinite for a second point that is not hit.
    normal: [f64; 2],
    /// Slip velocity at the time of the impact, m/s.
    slip: f64,
    /// Impulses so far, N·s.
    impulse: BlockImpulse,
    mode: Mode,
    factor: Factor,
}

/// Time and velocities with which a manifold is hit.
#[derive(Clone, Copy, Debug)]
pub struct Hit {
    /// Time of the impact after the start of the tick, s.
    pub due_s: f64,
    /// The point that closes.
    pub point: usize,
    /// Its normal velocity, m/s, negative.
    pub approach: f64,
    /// Normal velocity of the other point, m/s, if it is hit as well.
    pub other: Option<f64>,
    /// Slip velocity, m/s.
    pub slip: f64,
}

/// Change of one body's velocities by the impulses of a group.
#[derive(Clone, Copy, Debug, Default)]
struct BodyChange {
    velocity: Vector2<f64>,
    angular_velocity: f64,
}

/// Scratch memory of the group that is resolved, and the relaxations that are left in the tick.
#[derive(Clone, Debug)]
pub struct ImpactGroup {
    /// Impacts at about the same time that are not yet part of a group.
    waiting: Vec<Member>,
    /// Members of the group.
    members: Vec<Member>,
    /// Change of each body; zero for bodies that the group does not strike.
    changes: Vec<BodyChange>,
    relaxations: usize,
    relaxations_per_tick: usize,
}

impl ImpactGroup {
    /// Preallocates memory for a scene with these numbers of manifolds and bodies.
    pub fn with_capacity(manifolds: usize, bodies: usize) -> Self {
        Self {
            waiting: Vec::with_capacity(MAX_MEMBERS),
            members: Vec::with_capacity(MAX_MEMBERS),
            changes: vec![BodyChange::default(); bodies],
            relaxations: 0,
            relaxations_per_tick: relaxations_per_tick(manifolds),
        }
    }

    /// Begins a tick.
    pub fn reset(&mut self) {
        self.relaxations = self.relaxations_per_tick;
    }

    /// Returns the number of relaxations made since the last [`Self::reset`].
    pub fn relaxations_made(&self) -> u32 {
        (self.relaxations_per_tick - self.relaxations) as u32
    }

    /// Begins a tick with at most `limit` relaxations, and returns their number.
    pub fn reset_to(&mut self, limit: usize) -> usize {
        self.relaxations = self.relaxations_per_tick.min(limit);
        self.relaxations
    }

    /// Forgets the impacts that are waiting.
    pub fn clear(&mut self) {
        self.waiting.clear();
    }

    /// Whether there is room for another waiting impact. Each but the first counts as a relaxation.
    pub fn has_room(&mut self) -> bool {
        let is_first = self.waiting.is_empty();
        let has_room = is_first || (self.waiting.len() < MAX_MEMBERS && self.relaxations > 0);
        self.relaxations -= usize::from(has_room && !is_first);
        has_room
    }

    /// Adds an impact to those that are waiting.
    pub fn add<P: Policy>(&mut self, index: usize, manifold: &Manifold, hit: &Hit, solver_bodies: &[SolverBody]) {
        let mass = manifold.uncoupled_mass(solver_bodies);
        let (approach, other) = if P::FORCED {
            (FORCED_APPROACH_M_PER_S, Some(FORCED_APPROACH_M_PER_S))
        } else {
            (hit.approach, hit.other)
        };
        self.waiting.push(Member {
            manifold: index,
            due_s: hit.due_s,
            points: [hit.point, 1 - hit.point],
            mass: if hit.point == 0 { mass } else { mass.swapped() },
            normal: [approach, other.unwrap_or(f64::INFINITY)],
            slip: hit.slip,
            impulse: BlockImpulse::default(),
            mode: Mode::Open,
            factor: Factor::default(),
        });
    }

    /// Forms the next group: the first waiting impact that is due until `until_s` and those that are connected to it
    /// through moving bodies. Returns false if there is none, or if no relaxations are left for another group.
    /// Real-time: at most [`MAX_MEMBERS`]² comparisons; each row of comparisons counts as a relaxation.
    pub fn next<P: Policy>(&mut self, until_s: f64, manifolds: &[Manifold], solver_bodies: &[SolverBody]) -> bool {
        let is_first = self.members.is_empty();
        self.members.clear();
        let due = self.waiting.iter().position(|impact| impact.due_s <= until_s || P::FORCED);
        let Some(first) = due.filter(|_| is_first || self.relaxations >= RELAXATIONS_PER_GROUP) else { return false };
        self.relaxations = self.relaxations.saturating_sub(RELAXATIONS_PER_GROUP);
        self.members.push(self.waiting.remove(first));
        let mut row = 0;
        while row < self.members.len() && self.relaxations > 0 {
            let bodies = manifolds[self.members[row].manifold].bodies;
            let members = &mut self.members;
            self.waiting.retain(|impact| {
                let other = &manifolds[impact.manifold];
                let shares = |body: usize| solver_bodies[body].inverse_mass > 0.0 && other.involves(body);
                let is_connected = shares(bodies[0]) || shares(bodies[1]) || P::FORCED;
                if is_connected {
                    members.push(*impact);
                }
                !is_connected
            });
            row += 1;
            self.relaxations -= 1;
        }
        true
    }

    /// Returns the manifold of the first impact of the group if it has to be resolved alone: because it is the only
    /// one, or because the relaxations that are left do not suffice for a sweep.
    pub fn alone(&self) -> Option<usize> {
        let is_alone = self.members.len() < 2 || self.relaxations < self.members.len();
        self.members.first().filter(|_| is_alone).map(|member| member.manifold)
    }

    /// Finds the impulses of the group and returns the energy lost, J. Real-time: at most [`MAX_SWEEPS`] sweeps and the
    /// relaxations that are left.
    pub fn resolve<P: Policy>(&mut self, manifolds: &[Manifold], solver_bodies: &[SolverBody]) -> f64 {
        self.clear_changes(manifolds);
        let fastest = self.members.iter().fold(0.0, |fastest: f64, member| fastest.max(-member.normal[0]));
        let sweeps = (self.relaxations / self.members.len()).min(MAX_SWEEPS);
        for _ in 0..sweeps {
            self.relaxations -= self.members.len();
            if self.sweep::<P>(manifolds, solver_bodies) < CONVERGED * fastest && !P::FORCED {
                break;
            }
        }
        self.reflect(manifolds, solver_bodies)
    }

    /// Returns the manifolds of the group and their impulses, N·s, in the order of the points of each manifold.
    pub fn impulses(&self) -> impl Iterator<Item = (usize, BlockImpulse)> {
        self.members.iter().map(|member| {
            let mut impulse = member.impulse;
            impulse.normal = [impulse.normal[member.points[0]], impulse.normal[member.points[1]]];
            (member.manifold, impulse)
        })
    }

    /// Number of impacts in the group.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Clears the changes of the bodies that the group strikes.
    fn clear_changes(&mut self, manifolds: &[Manifold]) {
        for member in &self.members {
            for body in manifolds[member.manifold].bodies {
                self.changes[body] = BodyChange::default();
            }
        }
    }

    /// Solves every member once for its plastic impulses; returns the largest change of a velocity, m/s.
    fn sweep<P: Policy>(&mut self, manifolds: &[Manifold], solver_bodies: &[SolverBody]) -> f64 {
        let mut largest: f64 = 0.0;
        for index in 0..self.members.len() {
            let member = self.members[index];
            let manifold = &manifolds[member.manifold];
            let (change, slip) = self.velocity_change(&member, manifold);
            let block = Block {
                mass: &member.mass,
                friction: manifold.friction,
                impulse: member.impulse,
                normal: [member.normal[0] + change[0], member.normal[1] + change[1]],
                tangent: member.slip + slip,
            };
            let mode = if P::FORCED { Mode::Open } else { member.mode };
            let (impulse, mode) = block.solve(mode, &mut self.members[index].factor);
            (self.members[index].impulse, self.members[index].mode) = (impulse, mode);
            let delta = difference(&impulse, &member.impulse);
            let [d1, d2] = [delta.normal[0] * member.mass.n11, delta.normal[1] * member.mass.n22];
            largest = largest.max(d1.abs()).max(d2.abs()).max((delta.tangent * member.mass.tt).abs());
            self.apply(&member, manifold, &delta, solver_bodies);
        }
        largest
    }

    /// Turns the plastic impulses into those of the impact and returns the energy lost, J.
    fn reflect(&mut self, manifolds: &[Manifold], solver_bodies: &[SolverBody]) -> f64 {
        self.clear_changes(manifolds);
        for index in 0..self.members.len() {
            let manifold = &manifolds[self.members[index].manifold];
            scale(&mut self.members[index].impulse, 1.0 + manifold.restitution);
            let member = self.members[index];
            self.apply(&member, manifold, &member.impulse, solver_bodies);
        }
        let (mut work, mut square) = (0.0, 0.0);
        for member in &self.members {
            let (change, slip) = self.velocity_change(member, &manifolds[member.manifold]);
            let ([p1, p2], pt) = (member.impulse.normal, member.impulse.tangent);
            work += p1 * member.normal[0] + pt * member.slip;
            square += p1 * change[0] + p2 * change[1] + pt * slip;
            if p2 > 0.0 {
                work += p2 * member.normal[1];
            }
        }
        if work + 0.5 * square <= 0.0 {
            return -(work + 0.5 * square);
        }
        let passive = (-2.0 * work / square).max(0.0);
        self.members.iter_mut().for_each(|member| scale(&mut member.impulse, passive));
        0.0
    }

    /// Returns the changes of a member's normal velocities and of its slip velocity by the group so far, m/s.
    fn velocity_change(&self, member: &Member, manifold: &Manifold) -> ([f64; 2], f64) {
        let [a, b] = manifold.bodies.map(|body| &self.changes[body]);
        let linear = b.velocity - a.velocity;
        let about = |arms: [f64; 2]| b.angular_velocity * arms[1] - a.angular_velocity * arms[0];
        let normal = manifold.normal.dot(&linear);
        let change = member.points.map(|point| normal + about([manifold.arm[0][point], manifold.arm[1][point]]));
        (change, manifold.tangent.dot(&linear) + about(manifold.slip_arm))
    }

    /// Applies impulses, in the order of the member's points, to both bodies of its manifold.
    fn apply(&mut self, member: &Member, manifold: &Manifold, impulse: &BlockImpulse, solver_bodies: &[SolverBody]) {
        let ([p1, p2], [first, second]) = (impulse.normal, member.points);
        let force = manifold.normal * (p1 + p2) + manifold.tangent * impulse.tangent;
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            let body = manifold.bodies[side];
            let about = manifold.arm[side][first] * p1
                + manifold.arm[side][second] * p2
                + manifold.slip_arm[side] * impulse.tangent;
            let change = &mut self.changes[body];
            change.velocity += force * (sign * solver_bodies[body].inverse_mass);
            change.angular_velocity += about * (sign * solver_bodies[body].inverse_inertia);
        }
    }
}

/// Returns the number of relaxations in a tick of a scene with capacity for this number of manifolds; a single manifold
/// forms no group.
fn relaxations_per_tick(manifolds: usize) -> usize {
    let of_few = (RELAXATIONS_PER_MANIFOLD_OF_FEW * manifolds).min(RELAXATIONS_OF_FEW);
    let of_many = (RELAXATIONS_PER_MANIFOLD * manifolds).min(MAX_RELAXATIONS);
    if manifolds < 2 { 0 } else { of_few.max(of_many) }
}

fn difference(a: &BlockImpulse, b: &BlockImpulse) -> BlockImpulse {
    BlockImpulse { normal: [a.normal[0] - b.normal[0], a.normal[1] - b.normal[1]], tangent: a.tangent - b.tangent }
}

fn scale(impulse: &mut BlockImpulse, factor: f64) {
    impulse.normal = impulse.normal.map(|p| p * factor);
    impulse.tangent *= factor;
}
