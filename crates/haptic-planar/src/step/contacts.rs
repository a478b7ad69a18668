//! Near pairs and contacts of one tick: which pieces can meet, and the manifold of each pair that touches or closes.

use super::worst_case;
use crate::collide::broad_phase::{LookUps, MAX_REPLACEMENTS};
use crate::collide::narrow::{ContactGeometry, Near, PairSide, VelocityChange, collide};
use crate::collide::toi::{FAST_M, ToiBudget, collide_after_rotation, collide_ahead};
use crate::math::{larger, smaller};
use crate::scene::Scene;
use crate::shape::aabb::Aabb;
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::Vector2;
use std::iter::once_with;

/// Constant part of the contact margin, m: the gap below which even a pair at rest is tracked as a contact.
const MARGIN_M: f64 = 5e-4;
/// Part of the contact margin that covers the motion of one body even if it is at rest, m.
pub(super) const MIN_SEARCHED_M: f64 = 0.5 * MARGIN_M;
/// Part of the contact margin that grows with the speed, as a multiple of the distance the pair can close in a tick.
const MARGIN_FACTOR: f64 = 1.5;
/// Rotation of a face in one tick below which its gaps count as linear, rad.
const MAX_LINEAR_ROTATION_RAD: f64 = 0.05;
/// Largest penetration by the rotation of a face that is corrected and reported, m. The rotation is only predicted, and
/// at 1,000 rad/s it lowers gaps by millimetres; with no limit, bodies that touch would be pushed apart by as much.
/// With zero, a gas of elastic boxes would lose 1e-6 of its energy.
const MAX_ROTATION_DEPTH_M: f64 = 2e-4;
/// Largest distance within which the contacts of a body that a neighbour may hit in this tick are searched for, m. A
/// body that moves farther has its displacement shortened instead.
pub(super) const MAX_NEIGHBOUR_REACH_M: f64 = 5e-3;

/// Finds the near pairs of this tick and the reach of each body and of its neighbours.
#[inline(always)]
pub(super) fn find_near_pairs<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { solver_bodies, look_ups, .. } = workspace;
    look_ups.start_tick();
    if P::FORCED {
        state.broad_phase.clear(scene);
    }
    let mut farthest: f64 = 0.0;
    for &body in &scene.dynamic_bodies {
        let solver_body = &mut solver_bodies.all[body];
        solver_body.set_reach(scene.bodies[body].reach_m);
        solver_body.had_contact_load = state.had_contact_load[body];
        // Plain comparisons here and below: a maximum that handles NaN costs three times as much.
        if solver_body.reach_m > farthest {
            farthest = solver_body.reach_m;
        }
    }
    // A body that is hit by a fast one moves within the tick, so the pieces around it are needed too.
    let after_impact = (MARGIN_M + capped(farthest)) / 2.0;
    for &body in &scene.dynamic_bodies {
        let solver_body = &solver_bodies.all[body];
        if solver_body.reach_m > FAST_M {
            require_aabbs_of_fast_body(scene, state, look_ups, body, solver_body, after_impact);
            continue;
        }
        for index in scene.bodies[body].pieces.clone() {
            let margin = scene.pieces[index].radius_m + after_impact + (MARGIN_FACTOR - 1.0) * solver_body.reach_m;
            let needed = Aabb::around(&state.placed[index], margin).swept(solver_body.velocity * TICK_S);
            state.broad_phase.require_aabb(look_ups, index, &needed);
        }
    }
    if !update_pairs::<P>(scene, state, workspace) {
        update_least_pairs(scene, state, workspace, |state, moved, piece| {
            let fraction = (FAST_M / moved.reach_m).min(1.0);
            needed_aabb(scene, &state.placed, piece, moved, after_impact, fraction)
        });
    }
    let bodies = &mut workspace.solver_bodies.all;
    for pair in state.broad_phase.table.pairs() {
        let [a, b] = pair.bodies.map(|body| body as usize);
        let (reach_a, reach_b) = (bodies[a].reach_m, bodies[b].reach_m);
        // A fixed body has no reach, and no impact moves it.
        if reach_b > bodies[a].neighbour_reach_m && bodies[a].inverse_mass > 0.0 {
            bodies[a].neighbour_reach_m = reach_b;
        }
        if reach_a > bodies[b].neighbour_reach_m && bodies[b].inverse_mass > 0.0 {
            bodies[b].neighbour_reach_m = reach_a;
        }
    }
}

/// Requires the boxes of a fast body, as far along its motion as can be looked up.
#[cold]
fn require_aabbs_of_fast_body(
    scene: &Scene,
    state: &mut State,
    look_ups: &mut LookUps,
    body: usize,
    solver_body: &SolverBody,
    after_impact_m: f64,
) {
    let State { placed, broad_phase, .. } = state;
    let needed = |index: usize, fraction: f64| needed_aabb(scene, placed, index, solver_body, after_impact_m, fraction);
    let fraction = broad_phase.searchable_fraction(look_ups, scene, body, solver_body.reach_m, needed);
    for index in scene.bodies[body].pieces.clone() {
        broad_phase.require_aabb(look_ups, index, &needed(index, fraction));
    }
}

/// Returns the box that a piece needs for a fraction of its body's motion.
#[inline(always)]
fn needed_aabb(
    scene: &Scene,
    placed: &[PlacedPiece],
    index: usize,
    solver_body: &SolverBody,
    after_impact_m: f64,
    fraction: f64,
) -> Aabb {
    let reach_m = fraction * solver_body.reach_m;
    let margin = scene.pieces[index].radius_m + after_impact_m + (MARGIN_FACTOR - 1.0) * reach_m;
    Aabb::around(&placed[index], margin).swept(solver_body.velocity * (fraction * TICK_S))
}

/// Returns a neighbour's reach, at most [`MAX_NEIGHBOUR_REACH_M`].
#[inline]
fn capped(reach_m: f64) -> f64 {
    smaller(reach_m, MAX_NEIGHBOUR_REACH_M)
}

/// Returns the part of the contact margin that covers the motion of one body, m. A body may move farther than that: the
/// margin follows from the velocity that the coupling leaves at the end of the tick, which can be much lower than the
/// mean velocity of a light tool that a stiff coupling stops.
#[inline]
pub(super) fn searched_m(body: &SolverBody) -> f64 {
    MIN_SEARCHED_M + larger(MARGIN_FACTOR * body.reach_m, capped(body.neighbour_reach_m))
}

/// Updates the near pairs for the required boxes. Returns false if some do not fit into the table; then
/// [`update_least_pairs`] must follow.
pub(super) fn update_pairs<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) -> bool {
    let fit = state.broad_phase.update_pairs(&mut workspace.look_ups, scene, 0) == 0;
    if P::FORCED {
        worst_case::load_pairs(scene, state, &workspace.forced_pairs);
        state.broad_phase.slowest_look_ups(&mut workspace.look_ups, scene);
    }
    fit || P::FORCED
}

/// Updates the near pairs for the smallest boxes with which every body can move by [`FAST_M`]. Sweeps of fast bodies,
/// and boxes that were swept in earlier ticks, are the reason why pairs do not fit into the table. `least` returns the
/// box of a piece. Pairs that still do not fit are dropped; those with a fixed piece are the last. Real-time: one
/// look-up for each dynamic piece.
#[cold]
pub(super) fn update_least_pairs(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    least: impl Fn(&State, &SolverBody, usize) -> Aabb,
) {
    let Workspace { solver_bodies, look_ups, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        for index in scene.bodies[body].pieces.clone() {
            let around = least(state, &solver_bodies.all[body], index);
            state.broad_phase.replace_aabb(look_ups, index, around);
        }
    }
    look_ups.dropped += state.broad_phase.update_pairs(look_ups, scene, MAX_REPLACEMENTS);
}

/// Tracks the features of every near pair and creates a manifold for each contact.
#[inline(never)]
pub(super) fn find_manifolds<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    workspace.manifolds.clear();
    let mut budget = ToiBudget::before_impacts();
    let State { bodies, placed, broad_phase, had_contact_load, .. } = state;
    let solver_bodies = &workspace.solver_bodies;
    let loaded_tool = scene.tool.map(|tool| tool.body).filter(|&tool| had_contact_load[tool]).map(|tool| tool as u32);
    for (index, pair) in broad_phase.table.pairs_mut().iter_mut().enumerate() {
        let [body_a, body_b] = pair.bodies.map(|body| &solver_bodies.all[body as usize]);
        let side = |which: usize, body: &SolverBody| {
            PairSide::new(pair, which, scene, placed, bodies, (body.velocity, body.angular_velocity))
        };
        let (a, b) = (side(0, body_a), side(1, body_b));
        let reach = body_a.reach_m + body_b.reach_m;
        let neighbour_reach = capped(larger(body_a.neighbour_reach_m, body_b.neighbour_reach_m));
        let margin_m = MARGIN_M + larger(MARGIN_FACTOR * smaller(reach, FAST_M), neighbour_reach);
        // Contact loads that are not known yet can push a body in a pile sideways.
        let is_in_pile = body_a.had_contact_load || body_b.had_contact_load;
        let aside_m = if is_in_pile { neighbour_reach } else { 0.0 };
        let mut near = Near { aside_m, had_contact_load: is_in_pile, ..Near::within(margin_m) };
        if is_in_pile {
            near.forced = pair.bodies.map(|body| {
                let (forced, start) = (&solver_bodies.all[body as usize], &bodies[body as usize]);
                VelocityChange {
                    linear_m_per_s: forced.velocity - start.velocity_m_per_s,
                    angular_rad_per_s: forced.angular_velocity - start.angular_velocity_rad_per_s,
                }
            });
        }
        let is_held_back = loaded_tool.is_some_and(|tool| pair.bodies.contains(&tool));
        let mut centres = [a.centre_m, b.centre_m];
        let mut found = if P::FORCED {
            worst_case::slowest_geometry(&a, &b, &mut budget)
        } else {
            find_geometry(&a, &b, (&near, reach), is_held_back, &mut pair.features, &mut budget, &mut centres)
        };
        match &mut found {
            Some(geometry) => {
                let face = usize::from(geometry.id.face_of == 2);
                let mut rotation_rad = [&a, &b][face].angular_velocity_rad_per_s * TICK_S;
                if is_in_pile {
                    // Contacts that are not solved yet keep a body under load from rotating with these forces.
                    let before_rad = rotation_rad - near.forced[face].angular_rad_per_s * TICK_S;
                    rotation_rad = if before_rad.abs() < rotation_rad.abs() { before_rad } else { rotation_rad };
                }
                let relief_m = lower_by_rotation(geometry, centres[face], rotation_rad);
                // Unlike `push`, this writes the manifold, which is large, straight into its place.
                workspace.manifolds.extend(once_with(|| Manifold::new(index, pair, geometry, centres, relief_m)));
                workspace.manifolds.last_mut().into_iter().for_each(|manifold| manifold.set_mass(solver_bodies));
            }
            None => pair.warm_start = Default::default(),
        }
    }
    workspace.work.near_pairs = broad_phase.table.pairs().len() as u32;
    budget.count(&mut workspace.work);
}

/// Returns the contact of a pair. If it is found in later poses than those of the start of the tick, sets `centres` to
/// the centres of mass of the bodies in these poses. In this tick, the pair can close by `reach_m`; the margin in
/// `near` also covers what an impact can add.
///
/// `is_held_back` marks the pairs of a tool that carried load in the last tick. Its velocity is that without contacts,
/// in which a stiff coupling moves it by centimetres, while the contacts hold it back. The poses along that motion are
/// never reached: they give wrong faces and penetrations that do not exist. The poses at the start of the tick are used
/// instead; if the tool does move fast, its displacement is shortened after the solve.
#[inline]
fn find_geometry(
    a: &PairSide,
    b: &PairSide,
    (near, reach_m): (&Near, f64),
    is_held_back: bool,
    features: &mut FeatureCache,
    budget: &mut ToiBudget,
    centres: &mut [Vector2<f64>; 2],
) -> Option<ContactGeometry> {
    if reach_m > FAST_M
        && !is_held_back
        && let Some((ahead, centres_then)) = collide_ahead(a, b, (MARGIN_M, MARGIN_FACTOR * reach_m), features, budget)
    {
        *centres = centres_then;
        return Some(ahead);
    }
    let mut geometry = collide(a, b, near, features);
    // A fast pair that stays apart may still close in the linear gaps of the start of the tick.
    if !is_held_back
        && let Some((later, centres_then)) =
            collide_after_rotation(a, b, geometry.as_ref(), (near, reach_m), features, budget)
    {
        (geometry, *centres) = (Some(later), centres_then);
    }
    geometry
}

/// Reduces the gaps of a face that rotates quickly. A rotation by θ brings the plane of the face closer to a point
/// above it by ½ θ² times the height of the point over the centre of mass. A linear gap ignores this. Returns the part
/// of the reduction of each gap that makes a penetration deeper by more than [`MAX_ROTATION_DEPTH_M`], m.
#[inline]
fn lower_by_rotation(geometry: &mut ContactGeometry, centre: Vector2<f64>, rotation_rad: f64) -> [f64; 2] {
    let mut relief_m = [0.0; 2];
    if rotation_rad.abs() < MAX_LINEAR_ROTATION_RAD || geometry.id.face_of == 0 || geometry.includes_rotation {
        return relief_m;
    }
    for (point, relief_m) in relief_m.iter_mut().enumerate().take(geometry.count) {
        let height = geometry.normal.dot(&(geometry.at_m[point] - centre)).abs();
        let deepest = geometry.gap_m[point].min(0.0) - MAX_ROTATION_DEPTH_M;
        geometry.gap_m[point] -= 0.5 * rotation_rad * rotation_rad * height;
        *relief_m = (deepest - geometry.gap_m[point]).max(0.0);
    }
    relief_m
}
