//! Energy that the islands of a tick gain, and its removal.
//!
//! A tick that satisfies all its laws gains nothing. Four things can add energy nevertheless: loads whose sweeps ended
//! before they converged; the position correction, which lifts bodies against gravity and stretches the coupling
//! without doing so by a force; impacts on bodies that carry load; and a coupling force that does not fit the motion,
//! at the force limit or at a handle off the centre of a tool that rotates by radians in a tick. What an island of
//! touching bodies gained is taken off its kinetic energy at the end of the tick. Where the kinetic energy is not
//! enough, the tick of the island ends early, as in [`clamp_to_toi`](super::clamp::clamp_to_toi): a short enough motion
//! under a force that does not fit gains nothing. Loads that are too large lift an island at rest however short the
//! motion is; such an island stays where it is.

use crate::math::rotate;
use crate::scene::body_state::BodyState;
use crate::scene::{Body, Scene};
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::islands::Islands;
use crate::solve::policy::Policy;
use crate::solve::position_correction::{BodyCorrection, Correction};
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Energy that an island can gain in a tick before its velocities are reduced, J.
const MIN_GAIN_J: f64 = 1e-13;
/// Additional gain permitted before velocities are reduced, as a fraction of the energy exchanged in the island: a
/// hundred times the rounding error of the balance.
const GAIN_FRACTION: f64 = 1e-13;

/// Correction of a body in one tick that an island at rest need not pay for, m, so that bodies that a scene puts into
/// each other are pushed apart.
const FREE_CORRECTION_M: f64 = 5e-6;
/// Distance from where the scene put a body, m, and depth below it, m, up to which its correction may be free. A body
/// that has moved farther overlaps because of its own motion, and the energy to lift it would come from nowhere.
const AT_START_M: (f64, f64) = (2e-3, 1e-6);
/// Energy that an island has available in a tick below which it is at rest, J.
const REST_J: f64 = 1e-12;

/// Fraction of its motion below which a body counts as held by the position correction.
const HELD_FRACTION: f64 = 1.0 / 32.0;

/// Maximum number of times that the tick of an island is halved because its kinetic energy cannot pay for its gain.
const MAX_HALVINGS: usize = 6;

/// Energy balance of one body in this tick.
#[derive(Clone, Copy, Debug)]
pub(super) struct BodyBalance {
    /// Energy gained, J: the change of kinetic and potential energy and, for the tool, of the energy stored in the
    /// coupling, less the work of the hand.
    pub gain_j: f64,
    /// Energy exchanged, J: the sum of the magnitudes of these terms.
    pub turnover_j: f64,
    /// Kinetic energy at the end of the tick, J.
    pub kinetic_j: f64,
}

/// Returns the energy balance of a body for the displacement and end velocity it has at present. `force` is the
/// coupling force on the tool, world, N.
pub(super) fn balance(
    scene: &Scene,
    state: &State,
    solver_bodies: &[SolverBody],
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
    index: usize,
) -> BodyBalance {
    let (body, start, end) = (&scene.bodies[index], &state.bodies[index], &solver_bodies[index]);
    let kinetic = |v: Vector2<f64>, w: f64| 0.5 * (body.mass_kg * v.norm_squared() + body.inertia_kg_m2 * w * w);
    let before = kinetic(start.velocity_m_per_s, start.angular_velocity_rad_per_s);
    let fallen = body.mass_kg * body.gravity_m_per_s2.dot(&end.displacement);
    let after = kinetic(end.velocity, end.angular_velocity);
    let mut sum =
        BodyBalance { gain_j: after - before - fallen, turnover_j: after + before + fallen.abs(), kinetic_j: after };
    if let Some(coupling) = coupling.filter(|coupling| coupling.body() == index) {
        let (stored, work) = (coupling.gain_j(start, end), force.dot(&coupling.hand_displacement_m()));
        sum.gain_j += stored - work;
        sum.turnover_j += stored.abs() + work.abs();
    }
    sum
}

/// Whether an island can have gained energy in this tick: there was an impact, a correction or a time of impact, the
/// contacts were not solved exactly, the coupling force may not fit the motion of the tool, or the solves of its free
/// motions were used up. A tick without any of these satisfies all its laws. `force` is the coupling force on the tool,
/// world, N.
#[inline(always)]
pub(super) fn can_gain(workspace: &Workspace, coupling: Option<&ImplicitCoupling>, force: Vector2<f64>) -> bool {
    let Workspace { impacts, work, contact_solver, solver_bodies, solves_left, manifolds, .. } = workspace;
    impacts.count > 0
        || *solves_left == 0
        || work.corrections > 0
        || work.advances > 0
        || !contact_solver.is_exact
        || coupling.is_some_and(|coupling| coupling.may_not_fit(&solver_bodies.all, manifolds, force))
}

/// Reduces the position correction of each island to what the island can pay for: with its kinetic energy and with the
/// energy that it lost in this tick. Without this, a pile that a hand presses would gain what the correction lifts.
/// Only an island at rest, without the held tool, whose bodies are where the scene put them need not pay for
/// [`FREE_CORRECTION_M`]. Real-time: one pass over the manifolds and three over the dynamic bodies.
pub(super) fn limit_correction(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
) {
    let Workspace { islands, manifolds, solver_bodies, correction, .. } = workspace;
    islands.find(manifolds.iter(), &solver_bodies.all, &scene.dynamic_bodies);
    for &body in &scene.dynamic_bodies {
        let after = balance(scene, state, &solver_bodies.all, coupling, force, body);
        move_back(&mut solver_bodies.all[body], correction.of(body), 1.0);
        let before = balance(scene, state, &solver_bodies.all, coupling, force, body);
        move_back(&mut solver_bodies.all[body], correction.of(body), -1.0);
        islands.add(body, [before.kinetic_j - before.gain_j, after.gain_j - before.gain_j]);
    }
    for &body in &scene.dynamic_bodies {
        let [available, rise] = islands.sums(body);
        if rise > available.max(0.0) {
            let size =
                correction.of(body).displacement.norm() + correction.of(body).angle.abs() * scene.bodies[body].reach_m;
            if size > 0.0 {
                let held = coupling.map(|coupling| islands.root(coupling.body()));
                let is_at_rest = available < REST_J && held != Some(islands.root(body));
                let is_free = is_at_rest && is_at_start(&scene.bodies[body], &state.bodies[body]);
                let free = if is_free { (FREE_CORRECTION_M / size).min(1.0) } else { 0.0 };
                islands.limit(body, (available.max(0.0) / rise).max(free));
            }
        }
    }
    for &body in &scene.dynamic_bodies {
        let fraction = islands.fraction(body);
        if fraction < 1.0 {
            move_back(&mut solver_bodies.all[body], correction.of(body), 1.0 - fraction);
            correction.scale(body, fraction);
        }
    }
    slow_held_bodies(scene, &mut solver_bodies.all, correction);
}

/// Whether a body is still where the scene put it, except for the correction of its initial overlap.
fn is_at_start(body: &Body, state: &BodyState) -> bool {
    let (distance_m, depth_m) = AT_START_M;
    let moved = state.centre_m - rotate(state.rotation, body.centre_m) - body.position_m;
    let gravity = body.gravity_m_per_s2;
    moved.norm() <= distance_m && gravity.dot(&moved) <= gravity.norm() * depth_m
}

/// Slows each body that the position correction holds back by what it holds back. The contact loads leave such a body
/// the velocity of a motion that the correction takes back in every tick: without this, a body that is wedged in would
/// stand still with a velocity for ever.
fn slow_held_bodies(scene: &Scene, solver_bodies: &mut [SolverBody], correction: &Correction) {
    for &body in &scene.dynamic_bodies {
        let (moved, reach_m) = (&mut solver_bodies[body], scene.bodies[body].reach_m);
        let change = correction.of(body);
        let made_m = moved.displacement.norm() + moved.rotation_step_rad.abs() * reach_m;
        let (step, angle) = (moved.displacement - change.displacement, moved.rotation_step_rad - change.angle);
        let demanded_m = step.norm() + angle.abs() * reach_m;
        if made_m < HELD_FRACTION * demanded_m {
            moved.velocity *= made_m / demanded_m;
            moved.angular_velocity *= made_m / demanded_m;
        }
    }
}

/// Moves a body back by a part of its correction.
fn move_back(body: &mut SolverBody, correction: BodyCorrection, part: f64) {
    body.displacement -= correction.displacement * part;
    body.rotation_step_rad -= correction.angle * part;
}

/// Takes the energy that each island gained in this tick off its kinetic energy, and shortens the tick of the islands
/// that have too little. Returns the coupling force on the tool, world, N, which is `force` unless the tool's motion is
/// shortened. Real-time: one pass over the manifolds, and at most 4 [`MAX_HALVINGS`] + 12 over the dynamic bodies.
#[inline(never)]
pub(super) fn limit_gain<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    mut force: Vector2<f64>,
) -> Vector2<f64> {
    let Workspace { islands, manifolds, solver_bodies, .. } = workspace;
    islands.find(manifolds.iter(), &solver_bodies.all, &scene.dynamic_bodies);
    add_balances(scene, state, workspace, coupling, force);
    if has_any_unpaid_gain(scene, workspace) || P::FORCED {
        force = shorten_unpaid::<P>(scene, state, workspace, coupling, force);
    }
    let Workspace { islands, solver_bodies, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        let [gain, kinetic] = islands.sums(body);
        if gain > MIN_GAIN_J {
            let slowed = if gain < kinetic { (1.0 - gain / kinetic).sqrt() } else { 0.0 };
            solver_bodies.all[body].velocity *= slowed;
            solver_bodies.all[body].angular_velocity *= slowed;
        }
    }
    force
}

/// Adds the gain of each body beyond rounding and its kinetic energy, J, to the sums of its island.
fn add_balances(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
) {
    let Workspace { islands, solver_bodies, events, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        // Impacts of pairs without a manifold exchange energy between islands.
        if events.moved(body) {
            continue;
        }
        let sum = balance(scene, state, &solver_bodies.all, coupling, force, body);
        islands.add(body, [sum.gain_j - GAIN_FRACTION * sum.turnover_j, sum.kinetic_j]);
    }
}

/// Shortens the tick of the islands whose kinetic energy cannot pay for what they gained without the position
/// correction, if need be to nothing, and renews the sums of all islands. The correction has a limit of its own,
/// [`limit_correction`]. Returns the coupling force on the tool, world, N.
#[cold]
fn shorten_unpaid<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    mut force: Vector2<f64>,
) -> Vector2<f64> {
    move_all(scene, workspace, 1.0);
    for _ in 0..MAX_HALVINGS {
        workspace.islands.clear_sums(&scene.dynamic_bodies);
        add_balances(scene, state, workspace, coupling, force);
        if !has_any_unpaid_gain(scene, workspace) && !P::FORCED {
            break;
        }
        force = shorten_motions::<P>(scene, state, workspace, coupling, force, 0.5);
    }
    workspace.islands.clear_sums(&scene.dynamic_bodies);
    add_balances(scene, state, workspace, coupling, force);
    if has_any_unpaid_gain(scene, workspace) || P::FORCED {
        force = shorten_motions::<P>(scene, state, workspace, coupling, force, 0.0);
    }
    move_all(scene, workspace, -1.0);
    workspace.islands.clear_sums(&scene.dynamic_bodies);
    add_balances(scene, state, workspace, coupling, force);
    force
}

/// Moves all bodies back by a part of their corrections.
fn move_all(scene: &Scene, workspace: &mut Workspace, part: f64) {
    let Workspace { solver_bodies, correction, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        move_back(&mut solver_bodies.all[body], correction.of(body), part);
    }
}

fn has_any_unpaid_gain(scene: &Scene, workspace: &mut Workspace) -> bool {
    scene.dynamic_bodies.iter().any(|&body| has_unpaid_gain(&mut workspace.islands, body))
}

/// Whether the island of a body gained more than its kinetic energy.
fn has_unpaid_gain(islands: &mut Islands, body: usize) -> bool {
    let [gain, kinetic] = islands.sums(body);
    gain > MIN_GAIN_J && gain > kinetic
}

/// Shortens the motion of the islands that gained more than their kinetic energy to a fraction of it: displacement and
/// change of velocity. With the fraction 0, they come to rest where they are. Returns the coupling force on the tool for
/// its present motion, world, N.
#[cold]
fn shorten_motions<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    mut force: Vector2<f64>,
    fraction: f64,
) -> Vector2<f64> {
    let Workspace { islands, solver_bodies, correction, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        if !has_unpaid_gain(islands, body) && !P::FORCED {
            continue;
        }
        let (start, moved) = (&state.bodies[body], &mut solver_bodies.all[body]);
        if let Some(coupling) = coupling.filter(|coupling| coupling.body() == body) {
            let whole = coupling.handle_displacement(moved.displacement, moved.rotation_step_rad);
            let part = coupling.handle_displacement(moved.displacement * fraction, moved.rotation_step_rad * fraction);
            force = coupling.force_of_shorter_motion(force, [whole, part], moved.is_free_motion);
        }
        let kept = if fraction > 0.0 { 1.0 - fraction } else { 0.0 };
        moved.displacement *= fraction;
        moved.rotation_step_rad *= fraction;
        moved.velocity = start.velocity_m_per_s * kept + moved.velocity * fraction;
        moved.angular_velocity = start.angular_velocity_rad_per_s * kept + moved.angular_velocity * fraction;
        correction.scale(body, fraction);
    }
    force
}
