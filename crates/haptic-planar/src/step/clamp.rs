//! Ends the tick of fast islands at their first obstacle, so that no body passes through another.

use super::contacts::{MAX_NEIGHBOUR_REACH_M, MIN_SEARCHED_M, searched_m, update_least_pairs, update_pairs};
use super::displacement::motion_reach_m;
use super::events::move_by_events;
use super::output::{MAX_GAP_ERROR_M, MAX_LINEAR_MOTION_M};
use super::worst_case;
use crate::collide::narrow::{Near, PairSide, collide};
use crate::collide::toi::{
    FAST_M, PENETRATION_M, SUBSTEPS, SafeFraction, ToiBudget, is_clear_after, moved_piece, safe_fraction,
};
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::shape::aabb::Aabb;
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::islands::Islands;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Rotation in one tick above which the linear gaps of a body are too inaccurate, rad.
const FAST_ROTATION_RAD: f64 = 0.03;
/// Reach above which a body that rotates by more than [`FAST_ROTATION_RAD`] needs its time of impact, m. Without an
/// impact, it needs it only if it penetrates in its pose at the end of the tick.
const FAST_ROTATION_M: f64 = 1.5e-3;
/// Error of linear gaps, ½ θ² r, above which a body that rotates by θ in a tick needs its time of impact, m. Bodies
/// that spin under load would otherwise sink deeper in every tick.
const CURVED_M: f64 = 1e-4;
/// Smallest fraction of its motion that an obstacle can leave a body without slowing it; a substep of the tick.
const MIN_FRACTION: f64 = 1.0 / SUBSTEPS as f64;
/// Motion in a tick to which the velocity of a blocked body is reduced, m. Less than [`FAST_M`] by more than rounding.
const SLOWED_M: f64 = 0.9 * FAST_M;
/// Relative motion that an obstacle always leaves a pair, m; as deep as a pair that grazes may penetrate.
const MIN_PROGRESS_M: f64 = PENETRATION_M;
/// Largest relative motion that is left to a pair for which the budget ran out, m; the contact margin covers it.
const UNSEEN_M: f64 = SLOWED_M;
/// Relative motion until an impact above which a pair may have passed through a thin wall before it, m.
const MIN_CROSSING_M: f64 = 3e-3;
/// Cosine between the normals of a contact with a fixed body before and after an impact above which the other body is
/// surely on the same side of it. A body that leaves a room at its corner turns the normal by less than a right angle.
const SAME_SIDE_OF_FIXED: f64 = 0.9;

/// Ends the tick early for every island with a fast body that would penetrate an obstacle, for example because an
/// impact of this tick changed its path. Returns the coupling force on the tool, world, N, which is `force` unless the
/// tool's motion is shortened.
///
/// All bodies of an island make the same fraction s of their motion: the displacement becomes s Δq and the velocity
/// v₀ + s (v₁ − v₀). With one s, no body runs into another that has stopped, and no energy is gained: kinetic energy is
/// convex, so E(v) ≤ (1 − s) E₀ + s E₁. After impacts, this would lose most of the energy. An island without contact
/// load or coupling therefore stops on its true path, at a time t after its last impact. With the acceleration a, its
/// motion is Δq − (T − t) v₁ + ½ (T − t)² a, and its velocity v₁ − (T − t) a.
pub(super) fn clamp_to_toi<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
) -> Vector2<f64> {
    workspace.events.is_active = false;
    let (mut any, mut any_curved) = (P::FORCED, false);
    let has_unfinished_impacts = workspace.has_unfinished_impacts;
    for &body in &scene.dynamic_bodies {
        let moved = &mut workspace.solver_bodies.all[body];
        let reach = motion_reach_m(scene, body, moved);
        let curved_m = 0.5 * moved.rotation_step_rad * moved.rotation_step_rad * scene.bodies[body].reach_m;
        let rotates_far = (moved.rotation_step_rad.abs() > FAST_ROTATION_RAD && reach > FAST_ROTATION_M)
            || (moved.had_impact && rotated_far(moved, &state.bodies[body]));
        let rotates_fast = rotates_far || curved_m > CURVED_M;
        let is_beyond = reach > MIN_SEARCHED_M && reach > searched_m(moved);
        moved.only_rotates_fast = rotates_fast && reach <= FAST_M && !is_beyond && !moved.had_impact && !P::FORCED;
        // An impact that is not finished can have stopped a fast body.
        let is_unfinished = has_unfinished_impacts && moved.had_impact;
        moved.is_fast = reach > FAST_M || is_beyond || rotates_fast || is_unfinished || P::FORCED;
        moved.is_blocked = false;
        any |= moved.is_fast;
        any_curved |= reach > MAX_LINEAR_MOTION_M || moved.rotation_step_rad.abs() * reach > MAX_GAP_ERROR_M;
    }
    // What follows only shortens motions, except of fast bodies.
    workspace.may_have_curved_motions = any_curved || any;
    if any { clamp_fast_islands::<P>(scene, state, workspace, coupling, force) } else { force }
}

/// Whether a body with an impact rotated far before or after it. An impact can reverse a motion within the tick, so that little
/// of it is left at the end. The contacts were found along the motion before the impact.
#[cold]
#[inline(never)]
fn rotated_far(moved: &SolverBody, before: &BodyState) -> bool {
    let fastest_rad_per_s = before.angular_velocity_rad_per_s.abs().max(moved.angular_velocity.abs());
    fastest_rad_per_s * TICK_S > FAST_ROTATION_RAD && moved.reach_m > FAST_ROTATION_M
}

/// Does what [`clamp_to_toi`] does if a body is fast.
#[cold]
#[inline(never)]
fn clamp_fast_islands<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
) -> Vector2<f64> {
    require_aabbs_of_fast_bodies::<P>(scene, state, workspace);
    let held = coupling.map(ImplicitCoupling::body);
    let farthest_m = find_safe_fractions::<P>(scene, state, workspace, held);
    move_by_events::<P>(scene, state, workspace, held);
    let force = coupling.map_or(force, |coupling| shorter_force(workspace, coupling, force));
    shorten_motions(scene, state, workspace, farthest_m);
    force
}

/// Finds the near pairs along the displacement of each fast body, as far as they can be looked up.
fn require_aabbs_of_fast_bodies<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { solver_bodies, look_ups, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        let moved = &mut solver_bodies.all[body];
        moved.searched_fraction = 1.0;
        if moved.is_fast {
            let sweep = Sweep::new(scene, &state.bodies[body], moved, body);
            let needed = |index: usize, fraction: f64| sweep.aabb(scene, &state.placed, index, 0.0, fraction);
            let fraction = state.broad_phase.searchable_fraction(look_ups, scene, body, sweep.reach_m(), needed);
            moved.searched_fraction = fraction;
            for index in scene.bodies[body].pieces.clone() {
                state.broad_phase.require_aabb(look_ups, index, &needed(index, fraction));
            }
        }
    }
    if !update_pairs::<P>(scene, state, workspace) {
        for &body in &scene.dynamic_bodies {
            let moved = &mut workspace.solver_bodies.all[body];
            let sweep = Sweep::new(scene, &state.bodies[body], moved, body);
            moved.searched_fraction = sweep.slow_fraction();
        }
        update_least_pairs(scene, state, workspace, |state, moved, index| {
            let body = scene.pieces[index].body as usize;
            let sweep = Sweep::new(scene, &state.bodies[body], moved, body);
            sweep.aabb(scene, &state.placed, index, MAX_NEIGHBOUR_REACH_M / 2.0, sweep.slow_fraction())
        });
    }
}

/// Motion of a body in this tick, for which its near pairs must be known.
struct Sweep {
    displacement: Vector2<f64>,
    /// Displacement without the impacts of the tick, which events need as well.
    free: Vector2<f64>,
    /// Largest displacement of a point by the rotation, m.
    rotation_m: f64,
}

impl Sweep {
    fn new(scene: &Scene, start: &BodyState, moved: &SolverBody, body: usize) -> Self {
        let displacement = moved.displacement;
        let free = if moved.had_impact { start.velocity_m_per_s * TICK_S } else { displacement };
        let free_rad = if moved.had_impact { start.angular_velocity_rad_per_s * TICK_S } else { 0.0 };
        let rotation_m = moved.rotation_step_rad.abs().max(free_rad.abs()) * scene.bodies[body].reach_m;
        Self { displacement, free, rotation_m }
    }

    fn reach_m(&self) -> f64 {
        self.displacement.norm().max(self.free.norm()) + self.rotation_m
    }

    /// Returns the fraction of the motion that is at most [`FAST_M`] long.
    fn slow_fraction(&self) -> f64 {
        (FAST_M / self.reach_m()).min(1.0)
    }

    /// Returns the box that a piece needs for a fraction of the motion, grown by `margin_m`.
    fn aabb(&self, scene: &Scene, placed: &[PlacedPiece], index: usize, margin_m: f64, fraction: f64) -> Aabb {
        let margin_m = scene.pieces[index].radius_m + fraction * self.rotation_m + margin_m;
        let start = Aabb::around(&placed[index], margin_m);
        start.swept(self.displacement * fraction).joined(&start.swept(self.free * fraction))
    }
}

/// Sets the fraction of its motion that each island can make. Islands are joined by contacts and by the near pairs of
/// fast bodies. Marks the bodies that an obstacle leaves next to no motion as blocked. Returns the largest relative
/// motion of a shortened pair, m.
///
/// No body can starve, that is, stand still tick after tick while it keeps its velocity or gains more:
///
/// - The fraction of a pair is at least [`MIN_PROGRESS_M`] divided by the relative motion of the pair, or
///   [`unseen_progress_m`] divided by it if the budget ran out. So the island of a pair always moves on, whatever the
///   order of the pairs. Motions of these sizes need no time of impact: the contacts of the tick cover them. A body
///   whose sweep could not be looked up completely makes the same progress.
/// - Forces act for the same fraction of the tick, so that they cannot accumulate velocity without motion.
/// - A body that an obstacle leaves less than [`MIN_FRACTION`] loses its velocity down to [`SLOWED_M`] per tick, so it
///   is not fast in the next tick unless the forces of that tick make it so.
fn find_safe_fractions<P: Policy>(scene: &Scene, state: &State, workspace: &mut Workspace, held: Option<usize>) -> f64 {
    let mut budget = ToiBudget::after_impacts();
    let mut farthest_m: f64 = 0.0;
    let Workspace { solver_bodies, islands, manifolds, .. } = workspace;
    islands.find(manifolds.iter(), &solver_bodies.all, &scene.dynamic_bodies);
    let pairs = state.broad_phase.table.pairs();
    for pair in pairs {
        let bodies = pair.bodies.map(|body| body as usize);
        if bodies.iter().any(|&body| solver_bodies.all[body].is_fast) {
            islands.join(bodies, &solver_bodies.all);
            bodies.into_iter().for_each(|body| islands.mark_fast(body));
        }
    }
    // A neighbour of a fast body may be struck and run into its own neighbours.
    for pair in pairs {
        let bodies = pair.bodies.map(|body| body as usize);
        if bodies.iter().any(|&body| islands.is_fast(body)) {
            islands.join(bodies, &solver_bodies.all);
        }
    }
    find_struck_islands(scene, &solver_bodies.all, islands, held);
    for &body in &scene.dynamic_bodies {
        let moved = &solver_bodies.all[body];
        if moved.searched_fraction < 1.0 {
            islands.forget_impacts(body);
            let reach_m = motion_reach_m(scene, body, moved);
            islands.limit(body, moved.searched_fraction.max((MIN_PROGRESS_M / reach_m).min(1.0)));
            farthest_m = farthest_m.max(reach_m);
        }
    }
    for pair in pairs {
        let bodies = pair.bodies.map(|body| body as usize);
        if !bodies.iter().any(|&body| solver_bodies.all[body].is_fast) {
            continue;
        }
        let side = |which: usize| {
            let moved = &solver_bodies.all[bodies[which]];
            let mean_velocity = (moved.displacement / TICK_S, moved.rotation_step_rad / TICK_S);
            PairSide::new(pair, which, scene, &state.placed, &state.bodies, mean_velocity)
        };
        let (a, b) = (side(0), side(1));
        let [moved_a, moved_b] = bodies.map(|body| &solver_bodies.all[body]);
        let is_slow = |moved: &SolverBody| !moved.is_fast || moved.only_rotates_fast;
        let is_examined = is_slow(moved_a) && is_slow(moved_b) && budget.has_substep();
        if is_examined && is_clear_after(&a, &b, TICK_S, &mut budget) {
            continue;
        }
        let dynamic = if moved_a.inverse_mass > 0.0 { bodies[0] } else { bodies[1] };
        let struck_s = islands.struck_s(dynamic).filter(|_| !P::FORCED);
        let safe = if P::FORCED {
            worst_case::slowest_fraction(&a, &b, &mut budget)
        } else if let Some(struck_s) = struck_s {
            match safe_fraction_after_impact(&a, &b, [moved_a, moved_b], struck_s, &mut budget) {
                Some(safe) => safe,
                None => {
                    islands.forget_impacts(dynamic);
                    SafeFraction { fraction: 0.0, is_uncertain: false }
                }
            }
        } else {
            safe_fraction(&a, &b, TICK_S, &mut budget)
        };
        if safe.fraction < 1.0 {
            let reach = motion_reach_m(scene, bodies[0], moved_a) + motion_reach_m(scene, bodies[1], moved_b);
            let progress =
                if safe.is_uncertain { unseen_progress_m(reach, [moved_a, moved_b]) } else { MIN_PROGRESS_M };
            let fraction = safe.fraction.max((progress / reach).min(1.0));
            let is_blocked = !safe.is_uncertain && safe.fraction < MIN_FRACTION && struck_s.is_none();
            farthest_m = farthest_m.max(reach);
            for body in bodies {
                let moved = &mut solver_bodies.all[body];
                moved.is_blocked |= is_blocked && moved.is_fast;
                if moved.inverse_mass > 0.0 {
                    islands.limit(body, fraction);
                }
            }
        }
    }
    budget.count(&mut workspace.work);
    farthest_m
}

/// Returns the relative motion, m, that is left to a pair for which the budget ran out: as far as its contacts, whose
/// gaps are linear, are accurate to [`PENETRATION_M`]. A fraction s of a motion of `reach_m` in which the bodies rotate
/// by θ in all changes a gap by up to s² θ `reach_m` more than linearly.
fn unseen_progress_m(reach_m: f64, moved: [&SolverBody; 2]) -> f64 {
    let curved_m = reach_m * moved.iter().map(|moved| moved.rotation_step_rad.abs()).sum::<f64>();
    let linear = if curved_m > PENETRATION_M { (PENETRATION_M / curved_m).sqrt() } else { 1.0 };
    UNSEEN_M.min(linear * reach_m).max(MIN_PROGRESS_M)
}

/// Finds the islands that had impacts and whose bodies move freely after the last one: without contact load, and
/// without the body `held` by the coupling.
fn find_struck_islands(scene: &Scene, solver_bodies: &[SolverBody], islands: &mut Islands, held: Option<usize>) {
    for &body in &scene.dynamic_bodies {
        let moved = &solver_bodies[body];
        if moved.had_impact {
            islands.strike(body, moved.struck_s);
        }
    }
    for &body in &scene.dynamic_bodies {
        if solver_bodies[body].has_contact_load || held == Some(body) {
            islands.forget_impacts(body);
        }
    }
}

/// Returns the fraction of its motion after the last impact of its island, at the time `struck_s`, that a pair can make
/// before it penetrates. Returns `None` if the pieces passed through each other before, penetrate at that time already,
/// or the budget is used up.
fn safe_fraction_after_impact(
    a: &PairSide,
    b: &PairSide,
    moved: [&SolverBody; 2],
    struck_s: f64,
    budget: &mut ToiBudget,
) -> Option<SafeFraction> {
    let left_s = TICK_S - struck_s;
    let step = moved.map(|moved| motion_in_rest(moved, left_s));
    let pose = |side: &PairSide, moved: &SolverBody, (step, angle): (Vector2<f64>, f64)| {
        moved_piece(side, moved.displacement - step, moved.rotation_step_rad - angle)
    };
    let (pose_a, pose_b) = (pose(a, moved[0], step[0]), pose(b, moved[1], step[1]));
    let (struck_a, struck_b) = (at_pose(a, &pose_a, step[0], left_s), at_pose(b, &pose_b, step[1], left_s));
    let has_fixed = moved.iter().any(|moved| moved.inverse_mass == 0.0);
    let reach_m = |side: usize| {
        let (whole, (rest, angle)) = (moved[side], step[side]);
        let rotation = (whole.rotation_step_rad - angle).abs() * [a, b][side].piece.reach_m;
        (whole.displacement - rest).norm() + rotation
    };
    if reach_m(0) + reach_m(1) > MIN_CROSSING_M {
        let (start_a, start_b) =
            (until_impact(a, moved[0], step[0], struck_s), until_impact(b, moved[1], step[1], struck_s));
        let is_clear = safe_fraction(&start_a, &start_b, struck_s, budget).fraction >= 1.0;
        let least_cosine = if has_fixed { SAME_SIDE_OF_FIXED } else { 0.0 };
        let is_unseen = has_fixed && !budget.has_substep();
        if is_unseen || !is_clear && may_have_crossed([a, b], [&struck_a, &struck_b], least_cosine) {
            return None;
        }
    }
    if !is_clear_after(&struck_a, &struck_b, 0.0, budget) {
        return None;
    }
    Some(safe_fraction(&struck_a, &struck_b, left_s, budget))
}

/// Whether two pieces may have passed through each other between two poses: the cosine between the normals of the
/// contact in these poses is not above `least_cosine`.
fn may_have_crossed(before: [&PairSide; 2], after: [&PairSide; 2], least_cosine: f64) -> bool {
    let normal = |[a, b]: [&PairSide; 2]| {
        collide(a, b, &Near::within(f64::MAX), &mut FeatureCache::default()).map(|geometry| geometry.normal)
    };
    normal(before).zip(normal(after)).is_none_or(|(before, after)| before.dot(&after) <= least_cosine)
}

/// Returns a side with its mean velocity until the impact at `struck_s`, after which it moves by `step` and `angle`.
fn until_impact<'p>(
    side: &PairSide<'p>,
    moved: &SolverBody,
    (step, angle): (Vector2<f64>, f64),
    struck_s: f64,
) -> PairSide<'p> {
    PairSide {
        velocity_m_per_s: (moved.displacement - step) / struck_s,
        angular_velocity_rad_per_s: (moved.rotation_step_rad - angle) / struck_s,
        ..*side
    }
}

/// Returns a side in another pose, with the mean velocity of a motion in `duration_s`.
fn at_pose<'p>(
    side: &PairSide<'p>,
    (placed, centre_m, rotation): &'p (PlacedPiece, Vector2<f64>, Vector2<f64>),
    (step, angle): (Vector2<f64>, f64),
    duration_s: f64,
) -> PairSide<'p> {
    let (velocity_m_per_s, angular_velocity_rad_per_s) = (step / duration_s, angle / duration_s);
    let (centre_m, rotation) = (*centre_m, *rotation);
    PairSide { placed, centre_m, rotation, velocity_m_per_s, angular_velocity_rad_per_s, ..*side }
}

/// Returns the displacement and the rotation of a free body in the last `rest_s` of the tick, after its last impact.
fn motion_in_rest(moved: &SolverBody, rest_s: f64) -> (Vector2<f64>, f64) {
    let half_s2 = 0.5 * rest_s * rest_s;
    let step = moved.velocity * rest_s - moved.acceleration * half_s2;
    (step, moved.angular_velocity * rest_s - moved.angular_acceleration * half_s2)
}

/// Returns the coupling force on the tool for the fraction of its motion that the tool can make.
fn shorter_force(workspace: &mut Workspace, coupling: &ImplicitCoupling, force: Vector2<f64>) -> Vector2<f64> {
    let fraction = workspace.islands.fraction(coupling.body());
    if fraction >= 1.0 {
        return force;
    }
    let tool = &workspace.solver_bodies.all[coupling.body()];
    // The force does not include the position correction.
    let correction = workspace.correction.of(coupling.body());
    let (displacement, angle) =
        (tool.displacement - correction.displacement, tool.rotation_step_rad - correction.angle);
    let whole = coupling.handle_displacement(displacement, angle);
    let step = coupling.handle_displacement(displacement * fraction, angle * fraction);
    coupling.force_of_shorter_motion(force, [whole, step], tool.is_free_motion)
}

/// Ends the tick of each island after its fraction, and slows blocked bodies.
fn shorten_motions(scene: &Scene, state: &State, workspace: &mut Workspace, farthest_m: f64) {
    let Workspace { solver_bodies, islands, events, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        let fraction = islands.fraction(body);
        if fraction >= 1.0 || events.moved(body) {
            continue;
        }
        let (start, moved) = (&state.bodies[body], &mut solver_bodies.all[body]);
        let solved = *moved;
        if let Some(struck_s) = islands.struck_s(body) {
            let rest_s = (TICK_S - struck_s) * (1.0 - fraction);
            let (step, angle) = motion_in_rest(moved, rest_s);
            moved.displacement -= step;
            moved.rotation_step_rad -= angle;
            moved.velocity -= moved.acceleration * rest_s;
            moved.angular_velocity -= moved.angular_acceleration * rest_s;
            continue;
        }
        moved.displacement *= fraction;
        moved.rotation_step_rad *= fraction;
        moved.velocity = start.velocity_m_per_s + (solved.velocity - start.velocity_m_per_s) * fraction;
        moved.angular_velocity =
            start.angular_velocity_rad_per_s + (solved.angular_velocity - start.angular_velocity_rad_per_s) * fraction;
        let reach = velocity_reach_m(scene, body, moved.velocity, moved.angular_velocity);
        if moved.is_blocked && reach > SLOWED_M {
            moved.velocity *= SLOWED_M / reach;
            moved.angular_velocity *= SLOWED_M / reach;
        }
        debug_assert!(moves_on(scene, body, start, &solved, moved, farthest_m), "body {body} stands still");
    }
}

/// Whether the shortened motion of a body is in keeping with its velocity: it makes the progress that every motion is
/// allowed, its velocity is no higher than those between which it lies, and a blocked body is no longer fast.
/// `farthest_m` is the largest relative motion of a shortened pair, m.
fn moves_on(
    scene: &Scene,
    body: usize,
    start: &BodyState,
    solved: &SolverBody,
    moved: &SolverBody,
    farthest_m: f64,
) -> bool {
    const ROUNDING: f64 = 1.0 + 1e-9;
    let reach = |velocity, angular_velocity| velocity_reach_m(scene, body, velocity, angular_velocity);
    let before = reach(start.velocity_m_per_s, start.angular_velocity_rad_per_s);
    let highest = before.max(reach(solved.velocity, solved.angular_velocity));
    let after = reach(moved.velocity, moved.angular_velocity);
    let (whole, made) = (motion_reach_m(scene, body, solved), motion_reach_m(scene, body, moved));
    made * farthest_m * ROUNDING >= whole * MIN_PROGRESS_M.min(farthest_m)
        && after <= highest * ROUNDING
        && (!moved.is_blocked || after <= SLOWED_M * ROUNDING)
}

/// Returns an upper bound of the displacement of any point of a body in a tick at the given velocities, m.
fn velocity_reach_m(scene: &Scene, body: usize, velocity: Vector2<f64>, angular_velocity: f64) -> f64 {
    TICK_S * (velocity.norm() + angular_velocity.abs() * scene.bodies[body].reach_m)
}
