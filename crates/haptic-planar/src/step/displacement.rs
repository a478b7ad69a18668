//! Displacement of each body over the tick: backward Euler for bodies under contact load, the midpoint rule for free
//! ones.
//!
//! The position at the end of the tick is q₁ = q₀ + d + T v₁ under contact load and q₁ = q₀ + d + T v₁ − ½ T² a in free
//! motion, where d is the shift by the impacts. The tool in free motion under the coupling moves by T (v₀ + v₁)/2.

use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::solve::coupling::{FreeMotion, ImplicitCoupling};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::{Vector2, Vector3};

/// Maximum number of passes over the tool's contacts in which a free motion that would graze a fixed body is corrected.
const SLIDE_PASSES: usize = 4;
/// Change of a velocity below which the loads of such a motion count as exact, m/s.
const EXACT_M_PER_S: f64 = 1e-10;
/// Work of these loads above which the motion is not used, J.
const MAX_WORK_J: f64 = 1e-11;

/// Sets the displacement of each body and returns the coupling force on the tool, world, N.
#[inline(always)]
pub(super) fn integrate_displacements<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
) -> Vector2<f64> {
    // That of the held tool is set below.
    let held = coupling.map_or(usize::MAX, ImplicitCoupling::body);
    for &body in &scene.dynamic_bodies {
        if body != held {
            workspace.solver_bodies.all[body].set_displacement();
        }
    }
    let Some(coupling) = coupling else {
        use_end_velocity_where_penetrating(workspace);
        return Vector2::zeros();
    };
    let free_force = move_tool_freely::<P>(scene, state, workspace, coupling);
    let Workspace { solver_bodies, manifolds, .. } = workspace;
    solver_bodies.all[coupling.body()].is_free_motion = free_force.is_some();
    let force = match free_force {
        Some(force) if !P::FORCED => force,
        _ => {
            let force = coupling.finish(solver_bodies);
            coupling.set_displacement(&mut solver_bodies.all, manifolds);
            force
        }
    };
    use_end_velocity_where_penetrating(workspace);
    force
}

/// Moves the tool by the midpoint rule if the rule can be used: the tool carries no contact load and had no impact, and
/// the motion does not enter a dynamic body. Returns the coupling force, world, N; `None` if the rule cannot be used.
#[inline(always)]
fn move_tool_freely<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
) -> Option<Vector2<f64>> {
    let tool = &workspace.solver_bodies.all[coupling.body()];
    if (tool.has_contact_load || tool.had_impact) && !P::FORCED {
        return None;
    }
    let body = &scene.bodies[coupling.body()];
    let weight = body.gravity_m_per_s2 * (body.mass_kg * TICK_S);
    let impulse = Vector3::new(weight.x, weight.y, 0.0);
    let start = &state.bodies[coupling.body()];
    // Used in place: the motion is large, and `?` would copy it.
    let mut motion = coupling.free_motion::<P>(start, impulse, &mut workspace.solves_left);
    let free = motion.as_mut()?;
    slide_off_fixed_bodies::<P>(workspace, coupling, start, free)?;
    if !P::FORCED {
        let tool = &mut workspace.solver_bodies.all[coupling.body()];
        (tool.velocity, tool.angular_velocity) = (free.end.xy(), free.end.z);
        (tool.displacement, tool.rotation_step_rad) = (free.displacement(), free.rotation_step_rad());
    }
    Some(free.force)
}

/// Makes a free motion that would graze a fixed body slide along it. In the tick in which the hand pulls the tool away,
/// the mean force of the tick still presses it onto the body, although the force at the end of the tick pulls. Returns
/// `None` for a free motion into a dynamic body, which is left to the contact solve.
#[inline(always)]
fn slide_off_fixed_bodies<P: Policy>(
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
    start: &BodyState,
    free_motion: &mut FreeMotion,
) -> Option<()> {
    if !grazes_any(workspace, coupling, free_motion) && !P::FORCED {
        return Some(());
    }
    let slid = slide_off::<P>(workspace, coupling, start, free_motion);
    if slid.is_none() {
        for manifold in workspace.manifolds.iter_mut().filter(|manifold| manifold.involves(coupling.body())) {
            (manifold.impulse, manifold.mode) = Default::default();
        }
    }
    slid
}

/// Solves the contact laws of the tool on the mean velocity of a free motion, as those of a tick under contact load
/// are. Such loads never add energy. If they do not converge and would do work, the free motion is not used.
#[inline(never)]
fn slide_off<P: Policy>(
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
    start: &BodyState,
    free_motion: &mut FreeMotion,
) -> Option<()> {
    let tool = coupling.body();
    workspace.solver_bodies.all[tool].has_contact_load = true;
    for _ in 0..SLIDE_PASSES {
        let bodies = &workspace.solver_bodies.all;
        let mut change: f64 = 0.0;
        for manifold in workspace.manifolds.iter_mut().filter(|manifold| manifold.involves(tool)) {
            if manifold.bodies.iter().all(|&body| bodies[body].inverse_mass > 0.0) && !P::FORCED {
                if grazes(manifold, bodies, coupling, free_motion) {
                    return None;
                }
            } else {
                change = change.max(free_motion.relax::<P>(manifold, tool));
            }
        }
        *free_motion = coupling.free_motion::<P>(start, free_motion.impulse, &mut workspace.solves_left)?;
        if change < EXACT_M_PER_S && !P::FORCED {
            break;
        }
    }
    let loads = workspace.manifolds.iter().filter(|manifold| manifold.involves(tool));
    if loads.map(|manifold| free_motion.work_j(manifold, tool)).sum::<f64>() > MAX_WORK_J && !P::FORCED {
        return None;
    }
    coupling.settle_free(free_motion, &workspace.manifolds, &workspace.solver_bodies.all);
    Some(())
}

/// Whether a free motion of the tool would end with a penetration.
#[inline(always)]
fn grazes_any(workspace: &Workspace, coupling: &ImplicitCoupling, free_motion: &FreeMotion) -> bool {
    let bodies = &workspace.solver_bodies.all;
    for manifold in &workspace.manifolds {
        if manifold.involves(coupling.body()) && grazes(manifold, bodies, coupling, free_motion) {
            return true;
        }
    }
    false
}

/// Replaces midpoint displacements that would penetrate another body with those of backward Euler. The midpoint
/// displacement lags behind that for which the contacts were solved.
#[inline(always)]
fn use_end_velocity_where_penetrating(workspace: &mut Workspace) {
    let bodies = &mut workspace.solver_bodies.all;
    for manifold in &workspace.manifolds {
        let is_free = |body: usize| bodies[body].inverse_mass > 0.0 && !bodies[body].has_contact_load;
        let [a, b] = manifold.bodies;
        if !(is_free(a) || is_free(b)) {
            continue;
        }
        if (0..manifold.count).any(|i| manifold.gap_after(bodies, i) < manifold.gap_m[i].min(0.0)) {
            for body in [a, b] {
                if bodies[body].inverse_mass > 0.0 && !bodies[body].has_contact_load {
                    bodies[body].has_contact_load = true;
                    bodies[body].set_displacement();
                }
            }
        }
    }
}

/// Whether a free motion of the tool would end with a penetration at one manifold.
#[inline(always)]
fn grazes(
    manifold: &Manifold,
    solver_bodies: &[SolverBody],
    coupling: &ImplicitCoupling,
    free_motion: &FreeMotion,
) -> bool {
    let side = usize::from(manifold.bodies[1] == coupling.body());
    let outward = if side == 1 { 1.0 } else { -1.0 };
    let other = &solver_bodies[manifold.bodies[1 - side]];
    let direction = manifold.normal * outward;
    (0..manifold.count).any(|point| {
        let (arm, other_arm) = (manifold.arm[side][point] * outward, manifold.arm[1 - side][point] * outward);
        let closing = direction.dot(&(free_motion.displacement() - other.displacement))
            + arm * free_motion.rotation_step_rad()
            - other_arm * other.rotation_step_rad;
        manifold.gap_m[point] + closing < manifold.gap_m[point].min(0.0)
    })
}

/// Returns an upper bound of the displacement of any point of a body in this tick, m.
pub(super) fn motion_reach_m(scene: &Scene, body: usize, moved: &SolverBody) -> f64 {
    moved.displacement.norm() + moved.rotation_step_rad.abs() * scene.bodies[body].reach_m
}
