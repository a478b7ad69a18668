//! Motion of fast islands from event to event.
//!
//! The ordinary step resolves impacts with gaps that are linear over the whole tick. An impact that turns a fast body or
//! sends it elsewhere leaves these gaps behind, and the rest of its motion would penetrate. An island of free bodies to
//! which this happens repeats its tick here, from the start: its bodies move freely until two of them meet, the impact is
//! resolved in the poses of that moment, and so on until the end of the tick. Impacts never add energy, so neither does
//! the island.
//!
//! The work is limited. An island for which it does not suffice ends its tick early, with the poses and velocities of
//! that time.

use super::worst_case;
use crate::collide::meeting::{Meeting, MeetingBudget, contact_at_meeting, extent_m, next_meeting};
use crate::collide::narrow::PairSide;
use crate::collide::pair_table::Pair;
use crate::collide::toi::{SUBSTEPS, moved_piece};
use crate::math::integrate_rotation;
use crate::scene::Scene;
use crate::shape::piece::PlacedPiece;
use crate::solve::events::Events;
use crate::solve::impact_queue::{FLAT_GAP_M, ImpactTotals, apply, impact_now};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Maximum number of events of one island in one tick.
const MAX_EVENTS_OF_ISLAND: u32 = 32;
/// Part of the tick that an island must make here, s. One that makes less is left to the ordinary step.
const MIN_DURATION_S: f64 = TICK_S / SUBSTEPS as f64;

/// Repeats the tick of each island of free bodies that cannot make its whole motion. The body `held` by the coupling and
/// bodies under contact load in the last tick are not free. Replaces the impacts of these islands in `impacts`.
/// Real-time: at most [`MAX_EVENTS`](crate::solve::events::MAX_EVENTS) events, each with two passes over the near pairs, and one [`MeetingBudget`].
pub(super) fn move_by_events<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    held: Option<usize>,
    impacts: &mut ImpactTotals,
) {
    if !find_islands::<P>(scene, state, workspace, held) {
        return;
    }
    for (saved, &body) in workspace.saved_bodies.iter_mut().zip(&scene.dynamic_bodies) {
        *saved = workspace.solver_bodies.all[body];
    }
    let Workspace { events, solver_bodies, work, .. } = workspace;
    events.is_active = true;
    let mut run =
        Run { scene, state, solver_bodies, events, budget: MeetingBudget::for_pairs(scene.pair_capacity), count: 0 };
    run.start();
    if P::FORCED {
        run.slowest();
    } else {
        run.all();
    }
    run.budget.count(work);
    work.events += run.count;
    finish::<P>(scene, state, workspace, impacts);
}

/// Finds the islands that move from event to event. Returns whether there are any.
fn find_islands<P: Policy>(scene: &Scene, state: &State, workspace: &mut Workspace, held: Option<usize>) -> bool {
    let Workspace { events, islands, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        let is_moving = islands.fraction(body) < 1.0 || P::FORCED;
        events.start(body, islands.root(body), is_moving);
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

/// The events of one tick.
struct Run<'r> {
    scene: &'r Scene,
    state: &'r State,
    /// The velocities and displacements of moving bodies are those at their times.
    solver_bodies: &'r mut SolverBodies,
    events: &'r mut Events,
    budget: MeetingBudget,
    /// Number of events so far.
    count: u32,
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
        self.events.due_s.clear();
        for pair in self.state.broad_phase.table.pairs() {
            let due_s = self.search(pair, 0.0);
            self.events.due_s.push(due_s);
        }
    }

    fn pairs(&self) -> &[Pair] {
        self.state.broad_phase.table.pairs()
    }

    /// Resolves the events in the order of their times.
    fn all(&mut self) {
        for _ in 0..self.events.max_events {
            let Some((index, now_s)) = self.events.next(self.pairs()) else { return };
            self.count += 1;
            self.resolve(index, now_s);
        }
        if let Some((_, now_s)) = self.events.next(self.pairs()) {
            self.events.end_all(self.state.broad_phase.table.pairs(), now_s);
        }
    }

    /// Resolves the impact of a pair, and finds the next meetings of both bodies.
    fn resolve(&mut self, index: usize, now_s: f64) {
        let pair = self.state.broad_phase.table.pairs()[index];
        let bodies = pair.bodies.map(|body| body as usize);
        let root = self.events.bodies[self.events.moving_body(&pair)].root;
        self.events.islands[root].events += 1;
        let is_apart = bodies.iter().any(|&body| {
            let other = &self.events.bodies[body];
            self.solver_bodies.all[body].inverse_mass > 0.0 && !(other.is_moving && other.root == root)
        });
        if is_apart {
            // The other body belongs to another island: leave both to the ordinary step.
            bodies.into_iter().for_each(|body| self.events.end_island_of(body, 0.0));
            return;
        }
        bodies.into_iter().for_each(|body| self.advance(body, now_s));
        if !self.strike(index, &pair) || self.events.islands[root].events >= MAX_EVENTS_OF_ISLAND {
            self.events.islands[root].end_s = now_s;
            return;
        }
        for body in bodies {
            if self.events.bodies[body].is_moving {
                self.keep_in_boxes(body, now_s);
            }
        }
        for (other, near) in self.state.broad_phase.table.pairs().iter().enumerate() {
            let is_struck = |body: &u32| pair.bodies.contains(body) && self.events.bodies[*body as usize].is_moving;
            if near.bodies.iter().any(is_struck) {
                self.events.due_s[other] = self.search(near, now_s);
            }
        }
    }

    /// Returns the time at which a pair next meets after `now_s`, s; infinite if it does not before its island ends. If
    /// that is unknown, the island ends.
    fn search(&mut self, pair: &Pair, now_s: f64) -> f64 {
        let bodies = pair.bodies.map(|body| body as usize);
        if !bodies.iter().any(|&body| self.events.bodies[body].is_moving) {
            return f64::INFINITY;
        }
        let end_s = self.events.island_of(pair).end_s;
        if end_s <= now_s {
            return f64::INFINITY;
        }
        let poses = [0, 1].map(|which| self.pose(pair, which, now_s));
        let side = |which: usize| self.side(pair, which, now_s, 0.5 * (TICK_S - now_s), &poses[which]);
        let mut budget = self.budget;
        let meeting = next_meeting(&side(0), &side(1), end_s - now_s, &mut budget);
        self.budget = budget;
        match meeting {
            Meeting::Never => f64::INFINITY,
            Meeting::At(after_s) => now_s + after_s,
            Meeting::Unknown(after_s) => {
                let body = self.events.moving_body(pair);
                self.events.end_island_of(body, now_s + after_s);
                f64::INFINITY
            }
        }
    }

    /// Resolves the impact of a pair whose bodies have moved to the present. Returns whether there is one.
    fn strike(&mut self, index: usize, pair: &Pair) -> bool {
        let now_s = self.events.bodies[self.events.moving_body(pair)].time_s;
        let poses = [0, 1].map(|which| self.pose(pair, which, now_s));
        let sides = [0, 1].map(|which| self.side(pair, which, now_s, 0.0, &poses[which]));
        let Some(geometry) = contact_at_meeting(&sides[0], &sides[1]) else { return false };
        let manifold = Manifold::new(index, pair, &geometry, sides.map(|side| side.centre_m), [0.0; 2]);
        let bodies = &self.solver_bodies.all;
        let closes = |point: usize| point < manifold.count && manifold.normal_speed(bodies, point) < 0.0;
        let gap = manifold.gap_m;
        let is_flat = closes(0) && closes(1) && (gap[0] - gap[1]).abs() < FLAT_GAP_M;
        let point = usize::from(closes(1) && !(closes(0) && gap[0] <= gap[1]));
        if !closes(point) {
            return false;
        }
        let (impulse, lost_j) = impact_now(&manifold, bodies, point, is_flat, self.scene.restitution_law);
        apply(&manifold, &impulse, now_s, self.solver_bodies, None);
        self.events.island_of(pair).impacts.add(1, lost_j);
        true
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

    /// Does the work of the most expensive events.
    fn slowest(&mut self) {
        let Some(pair) = self.state.broad_phase.table.pairs().first().copied() else { return };
        let mut sum = 0.0;
        for _ in 0..self.events.max_events {
            sum += self.events.next(self.pairs()).map_or(0.0, |(_, due_s)| due_s);
            sum += f64::from(u8::from(self.strike(0, &pair)));
            pair.bodies.into_iter().for_each(|body| self.keep_in_boxes(body as usize, 0.0));
            for other in self.state.broad_phase.table.pairs() {
                sum += f64::from(u8::from(other.bodies.contains(&pair.bodies[0])));
            }
            self.count += 1;
        }
        let (a, b) = (self.start_side(&pair, 0), self.start_side(&pair, 1));
        let mut budget = self.budget;
        sum += worst_case::slowest_meeting(&a, &b, &mut budget);
        self.budget = budget;
        // Keeps the work from being optimised away.
        std::hint::black_box(sum);
    }
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

/// Moves the islands to the end of their ticks. Those that made too little of it are left to the ordinary step.
fn finish<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace, impacts: &mut ImpactTotals) {
    let Workspace { events, solver_bodies, manifolds, correction, saved_bodies, impact_queue, .. } = workspace;
    for (saved, &body) in saved_bodies.iter().zip(&scene.dynamic_bodies) {
        let event_body = &mut events.bodies[body];
        let end_s = events.islands[event_body.root].end_s;
        if !event_body.is_moving || end_s < MIN_DURATION_S || P::FORCED {
            event_body.is_moving = false;
            solver_bodies.all[body] = *saved;
            continue;
        }
        advance_freely(&mut solver_bodies.all[body], end_s - event_body.time_s);
        correction.scale(body, 0.0);
        if event_body.root == body {
            let ImpactTotals { count, lost_j, .. } = events.islands[body].impacts;
            impacts.add(count, lost_j);
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
