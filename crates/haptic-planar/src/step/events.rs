//! Motion of fast islands from event to event.
//!
//! The ordinary step resolves impacts with gaps that are linear over the whole tick. An impact that turns a fast body
//! or sends it elsewhere leaves these gaps behind, and the rest of its motion would penetrate. An island of free bodies
//! to which this happens repeats its tick here, from the start: its bodies move freely until two of them meet, the
//! impact is resolved in the poses of that moment, and so on until the end of the tick. Impacts never add energy, so
//! neither does the island.
//!
//! No pair is searched beyond the next meeting of all pairs: what would follow if the bodies passed through each other
//! does not matter. The work is limited. An island for which it does not suffice ends its tick early, with the poses
//! and velocities of the time up to which its pairs are known. It keeps its energy, and its next tick continues from
//! there.

use super::worst_case;
use crate::collide::meeting::{
    Meeting, MeetingBudget, contact_at_meeting, contact_when_touching, extent_m, next_meeting,
};
use crate::collide::narrow::PairSide;
use crate::collide::pair_table::Pair;
use crate::collide::toi::{FAST_M, SUBSTEPS, moved_piece};
use crate::collide::warm_start::BlockImpulse;
use crate::math::integrate_rotation;
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::shape::piece::PlacedPiece;
use crate::solve::contact_solver::MAX_SWEEPS;
use crate::solve::events::{Due, EventIsland, Events, MAX_EVENTS};
use crate::solve::impact_group::Hit;
use crate::solve::impact_queue::{
    AT_ONCE_S, FLAT_GAP_M, MIN_APPROACH_M_PER_S, SAME_TIME_S, apply, impact_now, is_flat,
};
use crate::solve::manifold::Manifold;
use crate::solve::policy::{Ordinary, Policy};
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Maximum number of events of one island in one tick.
const MAX_EVENTS_OF_ISLAND: u32 = 32;
/// Work of the events in a tick in which the contact solve leaves none, in relaxations of a manifold.
const MIN_WORK: usize = 256;
/// Work of one event apart from its manifolds, searches and visits, in relaxations of a manifold.
const WORK_PER_EVENT: usize = 8;
/// Number of near pairs and bodies that one event visits, in several passes, for the work of a relaxation.
const VISITS_PER_RELAXATION: usize = 4;
/// Number of near pairs that are compared to find the next one, for the work of a relaxation.
const COMPARISONS_PER_RELAXATION: usize = 16;
/// Motion of a body with an impact above which the linear gaps of the ordinary step are not used, m.
const FAR_M: f64 = 4.0 * FAST_M;
/// Rotation of a body with an impact above which the linear gaps of the ordinary step are not used, rad.
const FAR_RAD: f64 = 0.3;
/// Part of the tick that an island whose contacts may carry load must make here, s. One that makes less is left to the
/// ordinary step.
const MIN_DURATION_S: f64 = TICK_S / SUBSTEPS as f64;

/// Repeats the tick of each island of free bodies that cannot make its whole motion, in which a body moves far after an
/// impact, or whose impacts the ordinary step may not have finished. The body `held` by the coupling and bodies under
/// contact load in the last tick are not free. Replaces the impacts of these islands. Real-time: the budget is the work
/// that the contact solve left, and [`MIN_WORK`]; apart from it, a few passes over the dynamic bodies and the near
/// pairs.
pub(super) fn move_by_events<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    held: Option<usize>,
) {
    if !find_islands::<P>(scene, state, workspace, held) {
        return;
    }
    for (saved, &body) in workspace.saved_bodies.iter_mut().zip(&scene.dynamic_bodies) {
        *saved = workspace.solver_bodies.all[body];
    }
    let Workspace { events, solver_bodies, work, .. } = workspace;
    events.is_active = true;
    let pairs = state.broad_phase.table.pairs().len();
    // The contact solve of a tick with impacts makes up to twice its sweeps; events use what it left.
    let solve = 2 * MAX_SWEEPS * pairs;
    let left = MIN_WORK + solve.saturating_sub(work.relaxations as usize);
    let budget = MeetingBudget::new(left, scene.max_corners);
    let mut run = Run { scene, state, solver_bodies, events, budget };
    if P::FORCED {
        run.slowest();
    } else {
        run.start();
        run.all();
    }
    work.relaxations += (left - run.budget.left()) as u32;
    finish::<P>(scene, state, workspace);
}

/// Finds the islands that move from event to event. Returns whether there are any.
fn find_islands<P: Policy>(scene: &Scene, state: &State, workspace: &mut Workspace, held: Option<usize>) -> bool {
    let Workspace { events, islands, solver_bodies, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        let is_moving = islands.fraction(body) < 1.0 || P::FORCED;
        events.start(body, islands.root(body), is_moving);
    }
    for &body in &scene.dynamic_bodies {
        let moved = &solver_bodies.all[body];
        if moves_far_after_impact(&state.bodies[body], moved) || moved.had_impact && workspace.has_unfinished_impacts {
            events.islands[events.bodies[body].root].is_moving = true;
        }
    }
    for &body in &scene.dynamic_bodies {
        if (held == Some(body) || state.had_contact_load[body]) && !P::FORCED {
            events.islands[events.bodies[body].root].is_moving = false;
        }
    }
    let mut any = false;
    for &body in &scene.dynamic_bodies {
        events.bodies[body].is_moving = events.islands[events.bodies[body].root].is_moving;
        any |= events.bodies[body].is_moving;
    }
    any
}

/// Whether an impact sends a body so far, or it rotates so far, that its linear gaps are wrong.
fn moves_far_after_impact(start: &BodyState, moved: &SolverBody) -> bool {
    let spin = start.angular_velocity_rad_per_s.abs().max(moved.angular_velocity.abs());
    moved.had_impact && (moved.reach_m > FAR_M || moved.displacement.norm() > FAR_M || spin * TICK_S > FAR_RAD)
}

/// The events of one tick.
struct Run<'r> {
    scene: &'r Scene,
    state: &'r State,
    /// The velocities and displacements of moving bodies are those at their times.
    solver_bodies: &'r mut SolverBodies,
    events: &'r mut Events,
    budget: MeetingBudget,
}

impl Run<'_> {
    /// Puts the moving bodies at the start of the tick and finds the first meeting of each pair.
    fn start(&mut self) {
        for &body in &self.scene.dynamic_bodies {
            if self.events.bodies[body].is_moving {
                let (start, moved) = (&self.state.bodies[body], &mut self.solver_bodies.all[body]);
                moved.velocity = start.velocity_m_per_s;
                moved.angular_velocity = start.angular_velocity_rad_per_s;
                (moved.displacement, moved.rotation_step_rad) = (Vector2::zeros(), 0.0);
                (moved.has_contact_load, moved.had_impact) = (false, false);
                self.keep_in_boxes(body, 0.0);
            }
        }
        let relaxations = self.events.group.reset_to(self.budget.left() / 4);
        self.budget.take(relaxations);
        self.events.due.clear();
        for pair in self.state.broad_phase.table.pairs() {
            let due = self.search(pair, 0.0);
            self.events.due.push(due);
        }
    }

    fn pairs(&self) -> &[Pair] {
        self.state.broad_phase.table.pairs()
    }

    /// Resolves the events in the order of their times, and searches each pair up to the next one. Real-time: each turn
    /// takes from the budget, and at most [`MAX_EVENTS`] are events.
    fn all(&mut self) {
        let visits = self.pairs().len() + self.scene.dynamic_bodies.len();
        let work = WORK_PER_EVENT + visits / VISITS_PER_RELAXATION;
        let comparing = 1 + self.pairs().len() / COMPARISONS_PER_RELAXATION;
        let mut events = 0;
        while let Some((index, due)) = self.events.next(self.pairs()) {
            if !self.budget.take(if due.is_meeting { work } else { comparing }) {
                break;
            }
            if due.is_meeting {
                self.resolve(index, due.at_s);
                events += 1;
                if events == MAX_EVENTS {
                    break;
                }
            } else {
                self.events.due[index] = self.search(&self.state.broad_phase.table.pairs()[index], due.at_s);
            }
        }
        self.events.end_all(self.state.broad_phase.table.pairs());
    }

    /// Resolves the impact of a pair and those at once with it, and finds the next meetings of all bodies struck.
    fn resolve(&mut self, index: usize, now_s: f64) {
        let pair = self.pairs()[index];
        let root = self.events.bodies[self.events.moving_body(&pair)].root;
        self.events.islands[root].events += 1;
        if !self.events.is_in_island(&pair, root, &self.solver_bodies.all) {
            // The other body belongs to another island: leave both to the ordinary step.
            for body in pair.bodies {
                self.events.end_island_of(body as usize, 0.0);
                let root = self.events.bodies[body as usize].root;
                self.events.islands[root].needs_contacts = true;
            }
            return;
        }
        self.gather(index, root, now_s);
        let is_struck = self.strike(root, now_s);
        let island = &mut self.events.islands[root];
        if !is_struck || island.events >= MAX_EVENTS_OF_ISLAND {
            island.end_s = now_s;
            return;
        }
        for &body in &self.scene.dynamic_bodies {
            if self.events.bodies[body].is_struck {
                self.keep_in_boxes(body, now_s);
            }
        }
        for (other, near) in self.state.broad_phase.table.pairs().iter().enumerate() {
            if near.bodies.iter().any(|&body| self.events.bodies[body as usize].is_struck) {
                self.events.due[other] = self.search(near, now_s);
            }
        }
        for &body in &self.scene.dynamic_bodies {
            self.events.bodies[body].is_struck = false;
        }
    }

    /// Gathers the impacts in the island of the body `root` that are due within [`AT_ONCE_S`] of that of the pair
    /// `index` at the time `now_s`.
    fn gather(&mut self, index: usize, root: usize, now_s: f64) {
        self.events.struck.clear();
        self.events.group.clear();
        let others = (0..self.pairs().len()).filter(|&other| other != index);
        for other in std::iter::once(index).chain(others) {
            let due = self.events.due[other];
            let pair = &self.state.broad_phase.table.pairs()[other];
            let is_due = other == index
                || due.is_meeting
                    && due.at_s <= now_s + AT_ONCE_S
                    && self.events.is_in_island(pair, root, &self.solver_bodies.all);
            if !is_due {
                continue;
            }
            if !(self.events.group.has_room() && self.budget.take_manifold()) {
                break;
            }
            pair.bodies.into_iter().for_each(|body| self.advance(body as usize, now_s));
            let mut budget = self.budget;
            let hit = self.hit(other, pair, due.at_s.max(now_s), &mut budget);
            self.budget = budget;
            if let Some((manifold, hit)) = hit {
                self.events.islands[root].needs_contacts |= may_come_to_rest(&manifold, &hit, &self.solver_bodies.all);
                let at = self.events.struck.len();
                self.events.group.add::<Ordinary>(at, &manifold, &hit, &self.solver_bodies.all);
                self.events.struck.push(manifold);
            }
        }
    }

    /// Resolves the impacts that were gathered in the island of the body `root`, as far as they are connected to those
    /// due at `now_s`. Returns whether there are any.
    fn strike(&mut self, root: usize, now_s: f64) -> bool {
        let Events { group, struck, bodies, islands, .. } = &mut *self.events;
        let mut any = false;
        while group.next::<Ordinary>(now_s + SAME_TIME_S, struck, &self.solver_bodies.all) {
            any = true;
            let mut strike = |solver_bodies: &mut SolverBodies, index: usize, impulse: &BlockImpulse, lost_j: f64| {
                let manifold: &Manifold = &struck[index];
                apply(manifold, impulse, now_s, solver_bodies, None);
                islands[root].impacts.add(1, lost_j);
                manifold.bodies.into_iter().for_each(|body| bodies[body].is_struck = bodies[body].is_moving);
            };
            if let Some(index) = group.alone() {
                let solver_bodies = &self.solver_bodies.all;
                if let Some((point, is_flat)) = closing_point(&struck[index], solver_bodies) {
                    let law = self.scene.restitution_law;
                    let (impulse, lost_j) = impact_now(&struck[index], solver_bodies, point, is_flat, law);
                    strike(self.solver_bodies, index, &impulse, lost_j);
                }
            } else {
                let mut lost_j = group.resolve::<Ordinary>(struck, &self.solver_bodies.all);
                for (index, impulse) in group.impulses() {
                    strike(self.solver_bodies, index, &impulse, lost_j);
                    lost_j = 0.0;
                }
            }
        }
        any
    }

    /// Returns the manifold of a pair whose bodies have moved to the present, and the velocities with which it is hit,
    /// if it closes.
    fn hit(&self, index: usize, pair: &Pair, due_s: f64, budget: &mut MeetingBudget) -> Option<(Manifold, Hit)> {
        let now_s = self.events.bodies[self.events.moving_body(pair)].time_s;
        let poses = [self.pose(pair, 0, now_s), self.pose(pair, 1, now_s)];
        let sides = [0, 1].map(|which| self.side(pair, which, now_s, 0.0, &poses[which]));
        let geometry = contact_at_meeting(&sides[0], &sides[1], due_s - now_s)?;
        let (geometry, centres) = contact_when_touching(geometry, &sides[0], &sides[1], budget);
        let manifold = Manifold::new(index, pair, &geometry, centres, [0.0; 2]);
        let bodies = &self.solver_bodies.all;
        let (point, is_flat) = closing_point(&manifold, bodies)?;
        let hit = Hit {
            due_s,
            point,
            approach: manifold.normal_speed(bodies, point),
            other: is_flat.then(|| manifold.normal_speed(bodies, 1 - point)),
            slip: manifold.slip_speed(bodies),
        };
        Some((manifold, hit))
    }

    /// Searches for the next meeting of a pair after `now_s` along one axis.
    fn search(&mut self, pair: &Pair, now_s: f64) -> Due {
        let bodies = pair.bodies.map(|body| body as usize);
        let end_s = self.events.island_of(pair).end_s;
        if !bodies.iter().any(|&body| self.events.bodies[body].is_moving) || end_s <= now_s {
            return Due::NEVER;
        }
        if !self.budget.take_search() {
            return Due::not_before(now_s);
        }
        let poses = [self.pose(pair, 0, now_s), self.pose(pair, 1, now_s)];
        let side = |which: usize| self.side(pair, which, now_s, 0.5 * (TICK_S - now_s), &poses[which]);
        let mut budget = self.budget;
        let meeting = next_meeting(&side(0), &side(1), end_s - now_s, &mut budget);
        self.budget = budget;
        match meeting {
            Meeting::Never => Due::NEVER,
            Meeting::Now => Due { at_s: now_s, is_meeting: true },
            Meeting::NotBefore(after_s) => Due::not_before(now_s + after_s),
        }
    }

    /// Returns the pose of one piece of a pair at `now_s`, and those of its body.
    fn pose(&self, pair: &Pair, which: usize, now_s: f64) -> Pose {
        let (displacement, angle, _) = self.motion(pair.bodies[which] as usize, now_s);
        moved_piece(&self.start_side(pair, which), displacement, angle)
    }

    fn start_side(&self, pair: &Pair, which: usize) -> PairSide<'_> {
        PairSide::new(pair, which, self.scene, &self.state.placed, &self.state.bodies, (Vector2::zeros(), 0.0))
    }

    /// Returns one side of a pair at `now_s` in its pose, with the velocities that it has `later_s` after that.
    fn side<'p>(
        &'p self,
        pair: &Pair,
        which: usize,
        now_s: f64,
        later_s: f64,
        (placed, centre_m, rotation): &'p Pose,
    ) -> PairSide<'p> {
        let body = pair.bodies[which] as usize;
        let (_, _, (mut velocity_m_per_s, mut angular_velocity_rad_per_s)) = self.motion(body, now_s);
        if self.events.bodies[body].is_moving {
            velocity_m_per_s += self.solver_bodies.all[body].acceleration * later_s;
            angular_velocity_rad_per_s += self.solver_bodies.all[body].angular_acceleration * later_s;
        }
        let (centre_m, rotation) = (*centre_m, *rotation);
        let start = self.start_side(pair, which);
        PairSide { placed, centre_m, rotation, velocity_m_per_s, angular_velocity_rad_per_s, ..start }
    }

    /// Returns the displacement, the rotation and the velocities of a body at `now_s`. A body that does not move from
    /// event to event moves uniformly.
    fn motion(&self, body: usize, now_s: f64) -> (Vector2<f64>, f64, (Vector2<f64>, f64)) {
        let moved = &self.solver_bodies.all[body];
        if !self.events.bodies[body].is_moving {
            let velocity = (moved.displacement / TICK_S, moved.rotation_step_rad / TICK_S);
            return (velocity.0 * now_s, velocity.1 * now_s, velocity);
        }
        let mut then = *moved;
        advance_freely(&mut then, now_s - self.events.bodies[body].time_s);
        (then.displacement, then.rotation_step_rad, (then.velocity, then.angular_velocity))
    }

    /// Moves a body freely to `now_s`.
    fn advance(&mut self, body: usize, now_s: f64) {
        let event_body = &mut self.events.bodies[body];
        if event_body.is_moving {
            advance_freely(&mut self.solver_bodies.all[body], now_s - event_body.time_s);
            event_body.time_s = now_s;
        }
    }

    /// Ends the tick of a body's island before the body leaves the boxes in which its near pairs are known. The body is
    /// at `now_s`.
    fn keep_in_boxes(&mut self, body: usize, now_s: f64) {
        if !self.budget.take_boxes(self.scene.bodies[body].pieces.len()) {
            self.events.end_island_of(body, now_s);
            return;
        }
        let (start, moved) = (&self.state.bodies[body], &self.solver_bodies.all[body]);
        let mut least_s = f64::INFINITY;
        for index in self.scene.bodies[body].pieces.clone() {
            let piece = &self.scene.pieces[index];
            let around = self.state.broad_phase.box_of(index as u32);
            let side = PairSide {
                piece,
                placed: &self.state.placed[index],
                centre_m: start.centre_m + moved.displacement,
                rotation: integrate_rotation(start.rotation, moved.rotation_step_rad),
                velocity_m_per_s: moved.velocity,
                angular_velocity_rad_per_s: moved.angular_velocity,
            };
            let sides = [
                (Vector2::new(1.0, 0.0), around.high.x),
                (Vector2::new(-1.0, 0.0), -around.low.x),
                (Vector2::new(0.0, 1.0), around.high.y),
                (Vector2::new(0.0, -1.0), -around.low.y),
            ];
            for (direction, limit_m) in sides {
                let speed = direction.dot(&moved.velocity) + moved.angular_velocity.abs() * piece.reach_m;
                if speed > 0.0 {
                    least_s = least_s.min((limit_m - extent_m(&side, direction, 0.0)).max(0.0) / speed);
                }
            }
        }
        self.events.end_island_of(body, now_s + least_s);
    }

    /// Uses up the budget. Its unit is that of the contact solve, which leaves [`MIN_WORK`] in a forced step.
    fn slowest(&mut self) {
        if let Some(pair) = self.pairs().first() {
            let mut budget = self.budget;
            let sum = worst_case::slowest_meeting(&self.start_side(pair, 0), &self.start_side(pair, 1), &mut budget);
            self.budget = budget;
            // Keeps the work from being optimised away.
            std::hint::black_box(sum);
        }
    }
}

/// Returns the point of a manifold that closes first at the present velocities of its bodies, and whether both points
/// close at once.
fn closing_point(manifold: &Manifold, bodies: &[SolverBody]) -> Option<(usize, bool)> {
    let closes = |point: usize| point < manifold.count && manifold.normal_speed(bodies, point) < 0.0;
    let gap_m = manifold.gap_m;
    let point = usize::from(closes(1) && !(closes(0) && gap_m[0] <= gap_m[1]));
    let is_flat = closes(0) && closes(1) && is_flat(manifold, gap_m[0] - gap_m[1], FLAT_GAP_M);
    closes(point).then_some((point, is_flat))
}

/// Whether what a manifold is hit with may end in a contact under load: the impact takes energy, or the forces known at
/// the start of the tick explain its speed.
fn may_come_to_rest(manifold: &Manifold, hit: &Hit, bodies: &[SolverBody]) -> bool {
    let (pull, _) = manifold.acceleration(bodies, hit.point);
    manifold.restitution < 1.0
        || manifold.friction > 0.0
        || -hit.approach <= MIN_APPROACH_M_PER_S + 2.0 * TICK_S * pull.abs()
}

/// A piece in a pose, with the centre of mass of its body and (cos, sin) of its angle.
type Pose = (PlacedPiece, Vector2<f64>, Vector2<f64>);

/// Moves a free body for `duration_s` under the forces known at the start of the tick.
fn advance_freely(moved: &mut SolverBody, duration_s: f64) {
    let half_s2 = 0.5 * duration_s * duration_s;
    moved.displacement += moved.velocity * duration_s + moved.acceleration * half_s2;
    moved.rotation_step_rad += moved.angular_velocity * duration_s + moved.angular_acceleration * half_s2;
    moved.velocity += moved.acceleration * duration_s;
    moved.angular_velocity += moved.angular_acceleration * duration_s;
}

/// Moves the islands to the end of their ticks. Those that did not get on, or may have loaded contacts and made too
/// little of their ticks, are left to the ordinary step.
fn finish<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { events, solver_bodies, manifolds, correction, saved_bodies, impact_queue, impacts, .. } = workspace;
    for (saved, &body) in saved_bodies.iter().zip(&scene.dynamic_bodies) {
        let event_body = &mut events.bodies[body];
        let EventIsland { end_s, needs_contacts, impacts: own, .. } = events.islands[event_body.root];
        let has_got_on = end_s >= MIN_DURATION_S || !needs_contacts && (end_s > 0.0 || own.count > 0);
        if !event_body.is_moving || !has_got_on || P::FORCED {
            event_body.is_moving = false;
            solver_bodies.all[body] = *saved;
            continue;
        }
        advance_freely(&mut solver_bodies.all[body], end_s - event_body.time_s);
        correction.scale(body, 0.0);
        if event_body.root == body {
            impacts.add(own.count, own.lost_j);
        }
    }
    for (index, manifold) in manifolds.iter_mut().enumerate() {
        if events.moved(manifold.dynamic_body(&solver_bodies.all)) {
            let replaced = impact_queue.totals(index);
            impacts.count -= replaced.count;
            impacts.lost_j -= replaced.lost_j;
            manifold.silence();
        }
    }
    for pair in state.broad_phase.table.pairs_mut() {
        if pair.bodies.iter().any(|&body| events.moved(body as usize)) {
            pair.warm_start = Default::default();
        }
    }
}
