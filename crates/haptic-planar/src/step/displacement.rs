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
const SLIDE_PASSES: usize = 2;

/// Sets the displacement of each body and returns the coupling force on the tool, world, N.
#[inline(always)]
pub(super) fn integrate_displacements<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
) -> Vector2<f64> {
    for &body in &scene.dynamic_bodies {
        workspace.solver_bodies.all[body].set_displacement();
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
/// the mean force of the tick still presses it onto the body, although the force at the end of the tick pulls. The
/// impulses act on the mean velocity, so they never add energy. Returns `None` for a free motion into a dynamic body,
/// which is left to the contact solve.
#[inline(always)]
fn slide_off_fixed_bodies<P: Policy>(
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
    start: &BodyState,
    free_motion: &mut FreeMotion,
) -> Option<()> {
    for _ in 0..SLIDE_PASSES {
        let mut grazed = false;
        for manifold in &mut workspace.manifolds {
            if manifold.involves(coupling.body()) {
                grazed |= slide_off(manifold, &workspace.solver_bodies.all, coupling, free_motion)?;
            }
        }
        if !grazed && !P::FORCED {
            break;
        }
        workspace.solver_bodies.all[coupling.body()].has_contact_load = true;
        *free_motion = coupling.free_motion::<P>(start, free_motion.impulse, &mut workspace.solves_left)?;
    }
    Some(())
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

/// Changes a free motion so that it ends without penetration at one manifold. Returns whether a change was needed, or
/// `None` if the tool would penetrate a dynamic body.
fn slide_off(
    manifold: &mut Manifold,
    solver_bodies: &[SolverBody],
    coupling: &ImplicitCoupling,
    free_motion: &mut FreeMotion,
) -> Option<bool> {
    let side = usize::from(manifold.bodies[1] == coupling.body());
    let outward = if side == 1 { 1.0 } else { -1.0 };
    let other = &solver_bodies[manifold.bodies[1 - side]];
    let direction = manifold.normal * outward;
    let mut grazed = false;
    for point in 0..manifold.count {
        let (arm, other_arm) = (manifold.arm[side][point] * outward, manifold.arm[1 - side][point] * outward);
        let closing = direction.dot(&(free_motion.displacement() - other.displacement))
            + arm * free_motion.rotation_step_rad()
            - other_arm * other.rotation_step_rad;
        let gap = manifold.gap_m[point] + closing;
        if gap >= manifold.gap_m[point].min(0.0) {
            continue;
        }
        if other.inverse_mass > 0.0 {
            return None;
        }
        manifold.impulse.normal[point] += free_motion.displace(Vector3::new(direction.x, direction.y, arm), -gap);
        grazed = true;
    }
    Some(grazed)
}
