//! Energy that the islands of a tick gain, and its removal.
//!
//! A tick that satisfies all its laws gains nothing. Three things can add energy nevertheless: loads whose sweeps ended
//! before they converged, the position correction, which lifts bodies against gravity and stretches the coupling without
//! doing so by a force, and impacts on bodies that carry load. What an island of touching bodies gained is taken off its
//! kinetic energy at the end of the tick.

use crate::scene::Scene;
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::impact_queue::ImpactTotals;
use crate::solve::position_correction::BodyCorrection;
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Energy that an island can gain in a tick before its velocities are reduced, J.
const MIN_GAIN_J: f64 = 1e-13;
/// Additional gain permitted before velocities are reduced, as a fraction of the energy exchanged in the island: a
/// hundred times the rounding error of the balance.
const GAIN_FRACTION: f64 = 1e-13;

/// Correction of a body in one tick that need not be paid for, m, so that bodies that overlap at rest are pushed apart.
const FREE_CORRECTION_M: f64 = 5e-6;

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

/// Returns the energy balance of a body for the displacement and end velocity it has at present. `force` is the coupling
/// force on the tool, world, N.
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
    let fallen = body.mass_kg * scene.gravity_m_per_s2.dot(&end.displacement);
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

/// Whether an island can have gained energy in this tick: there was an impact, a correction or a time of impact, or the
/// contacts were not solved exactly. A tick without any of these satisfies all its laws.
pub(super) fn can_gain(workspace: &Workspace, impacts: &ImpactTotals) -> bool {
    let Workspace { work, contact_solver, .. } = workspace;
    impacts.count > 0 || work.corrections > 0 || work.advances > 0 || !contact_solver.is_exact
}

/// Reduces the position correction of each island to what the island can pay for: with its kinetic energy and with the
/// energy that it lost in this tick. Real-time: one pass over the manifolds and two over the dynamic bodies.
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
                islands.limit(body, (available.max(0.0) / rise).max((FREE_CORRECTION_M / size).min(1.0)));
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
}

/// Moves a body back by a part of its correction.
fn move_back(body: &mut SolverBody, correction: BodyCorrection, part: f64) {
    body.displacement -= correction.displacement * part;
    body.rotation_step_rad -= correction.angle * part;
}

/// Takes the energy that each island gained in this tick off its kinetic energy. Real-time: one pass over the manifolds
/// and two over the dynamic bodies.
#[inline(never)]
pub(super) fn limit_gain(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
) {
    let Workspace { islands, manifolds, solver_bodies, .. } = workspace;
    islands.find(manifolds.iter(), &solver_bodies.all, &scene.dynamic_bodies);
    for &body in &scene.dynamic_bodies {
        let sum = balance(scene, state, &solver_bodies.all, coupling, force, body);
        islands.add(body, [sum.gain_j - GAIN_FRACTION * sum.turnover_j, sum.kinetic_j]);
    }
    for &body in &scene.dynamic_bodies {
        let [gain, kinetic] = islands.sums(body);
        if gain > MIN_GAIN_J {
            let slowed = if gain < kinetic { (1.0 - gain / kinetic).sqrt() } else { 0.0 };
            solver_bodies.all[body].velocity *= slowed;
            solver_bodies.all[body].angular_velocity *= slowed;
        }
    }
}
