//! Displacement of each body over the tick: backward Euler for bodies under contact load, the midpoint rule for free
//! ones.
//!
//! The position at the end of the tick is q₁ = q₀ + d + T v₁ under contact load and q₁ = q₀ + d + T v₁ − ½ T² a in free
//! motion, where d is the shift by the impacts. The tool in free motion under the coupling moves by T (v₀ + v₁)/2.

use super::{update_pairs, worst_case};
use crate::collide::narrow::PairSide;
use crate::collide::toi::{FAST_M, ToiBudget, safe_fraction};
use crate::scene::Scene;
use crate::shape::aabb::Aabb;
use crate::solve::coupling::{FreeMotion, ImplicitCoupling};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Rotation in one tick above which the linear gaps of a body that had an impact are too inaccurate, rad.
const FAST_ROTATION_RAD: f64 = 0.03;
/// Reach above which a body that had an impact and rotates by more than [`FAST_ROTATION_RAD`] needs its time of impact,
/// m.
const FAST_ROTATION_M: f64 = 1.5e-3;
/// Maximum number of passes over the tool's contacts in which a free motion that would graze a fixed body is corrected.
const SLIDE_PASSES: usize = 2;

/// Sets the displacement of each body and returns the coupling force on the tool, world, N.
#[inline(never)]
pub(super) fn integrate_displacements<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
) -> Vector2<f64> {
    let force = coupling.map_or_else(Vector2::zeros, |coupling| coupling.finish(&mut workspace.solver_bodies));
    for &body in &scene.dynamic_bodies {
        workspace.solver_bodies.all[body].set_displacement();
    }
    let Some(coupling) = coupling else {
        use_end_velocity_where_penetrating(workspace);
        return force;
    };
    let free_motion = tool_free_motion::<P>(scene, state, workspace, coupling);
    let tool = &mut workspace.solver_bodies.all[coupling.body()];
    match free_motion {
        Some(free) => {
            (tool.velocity, tool.angular_velocity) = (free.velocity, free.angular_velocity);
            (tool.displacement, tool.rotation_step_rad) = (free.displacement, free.rotation_step_rad);
        }
        None => {
            tool.has_contact_load = true;
            tool.set_displacement();
        }
    }
    use_end_velocity_where_penetrating(workspace);
    free_motion.map_or(force, |free| coupling.midpoint_force(free.handle_displacement))
}

/// Returns the tool's free motion by the midpoint rule if the rule can be used: the tool carries no contact load and
/// had no impact, the motion does not enter a dynamic body, and the force is within the limit.
#[inline(always)]
fn tool_free_motion<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
) -> Option<FreeMotion> {
    let tool = &workspace.solver_bodies.all[coupling.body()];
    if (!coupling.allows_midpoint() || tool.has_contact_load || tool.had_impact) && !P::FORCED {
        return None;
    }
    let free = coupling.midpoint(&state.bodies[coupling.body()], scene.gravity_m_per_s2);
    let free = slide_off_fixed_bodies(workspace, coupling, free)?;
    coupling.within_limit(coupling.midpoint_force(free.handle_displacement)).then_some(free)
}

/// Makes a free motion that would graze a fixed body slide along it. In the tick in which the hand pulls the tool away,
/// the mean force of the tick still presses it onto the body, although the force at the end of the tick pulls. The
/// impulses act on the mean velocity, so they never add energy. Returns `None` for a free motion into a dynamic body,
/// which is left to the contact solve.
#[inline(always)]
fn slide_off_fixed_bodies(
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
    mut free_motion: FreeMotion,
) -> Option<FreeMotion> {
    for _ in 0..SLIDE_PASSES {
        let mut grazed = false;
        for manifold in &mut workspace.manifolds {
            if manifold.involves(coupling.body()) {
                grazed |= slide_off(manifold, &workspace.solver_bodies.all, coupling, &mut free_motion)?;
            }
        }
        if !grazed {
            break;
        }
    }
    Some(free_motion)
}

/// Shortens the displacement of fast bodies that would penetrate an obstacle, for example because an impact of this
/// tick changed their path. The velocity is kept, so the next tick starts at the obstacle with an impact.
pub(super) fn clamp_to_toi<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let mut any = P::FORCED;
    for &body in &scene.dynamic_bodies {
        let moved = &mut workspace.solver_bodies.all[body];
        let reach = moved.displacement.norm() + moved.rotation_step_rad.abs() * scene.bodies[body].reach_m;
        let rotates_fast =
            moved.had_impact && moved.rotation_step_rad.abs() > FAST_ROTATION_RAD && reach > FAST_ROTATION_M;
        moved.is_fast = reach > FAST_M || rotates_fast || P::FORCED;
        any |= moved.is_fast;
    }
    if any {
        if !P::FORCED {
            exempt_pressing_bodies(workspace);
        }
        require_aabbs_of_fast_bodies::<P>(scene, state, workspace);
        shorten_displacements::<P>(scene, state, workspace);
    }
}

/// Exempts bodies that press on another dynamic body from the shortening: if they stopped, the other body would run
/// into them.
#[cold]
fn exempt_pressing_bodies(workspace: &mut Workspace) {
    let bodies = &mut workspace.solver_bodies.all;
    for manifold in &workspace.manifolds {
        let [a, b] = manifold.bodies;
        let both_dynamic = bodies[a].inverse_mass > 0.0 && bodies[b].inverse_mass > 0.0;
        if both_dynamic && manifold.normal_impulse() > 0.0 {
            bodies[a].is_fast = false;
            bodies[b].is_fast = false;
        }
    }
}

/// Finds the near pairs along the whole displacement of each fast body.
#[cold]
fn require_aabbs_of_fast_bodies<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    for &body in &scene.dynamic_bodies {
        let moved = &workspace.solver_bodies.all[body];
        if moved.is_fast {
            for index in scene.bodies[body].pieces.clone() {
                let margin = scene.pieces[index].radius_m + moved.rotation_step_rad.abs() * scene.bodies[body].reach_m;
                let needed = Aabb::around(&state.placed[index], margin).swept(moved.displacement);
                state.broad_phase.require_aabb(&mut workspace.look_ups, index, &needed);
            }
        }
    }
    update_pairs::<P>(scene, state, workspace);
}

#[cold]
fn shorten_displacements<P: Policy>(scene: &Scene, state: &State, workspace: &mut Workspace) {
    let mut budget = ToiBudget::new();
    let Workspace { solver_bodies, fractions, .. } = workspace;
    for &body in &scene.dynamic_bodies {
        fractions[body] = 1.0;
    }
    for pair in state.broad_phase.table.pairs() {
        let [a, b] = pair.bodies.map(|body| body as usize);
        // A body that only an impact of this tick made fast is left to the next tick: if it stopped, other bodies would
        // run into it.
        let is_fast = |body: usize| {
            let moved = &solver_bodies.all[body];
            moved.is_fast && (moved.reach_m > FAST_M || P::FORCED)
        };
        if !(is_fast(a) || is_fast(b)) {
            continue;
        }
        let side = |which: usize| {
            let moved = &solver_bodies.all[pair.bodies[which] as usize];
            let mean_velocity = (moved.displacement / TICK_S, moved.rotation_step_rad / TICK_S);
            PairSide::new(pair, which, scene, &state.placed, &state.bodies, mean_velocity)
        };
        let fraction = if P::FORCED {
            worst_case::slowest_fraction(&side(0), &side(1), &mut budget)
        } else {
            safe_fraction(&side(0), &side(1), &mut budget)
        };
        for body in [a, b] {
            if is_fast(body) {
                fractions[body] = fractions[body].min(fraction);
            }
        }
    }
    for &body in &scene.dynamic_bodies {
        let moved = &mut solver_bodies.all[body];
        moved.displacement *= fractions[body];
        moved.rotation_step_rad *= fractions[body];
    }
}

/// Replaces midpoint displacements that would penetrate another body with those of backward Euler. The midpoint
/// displacement lags behind that for which the contacts were solved.
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
        let closing = direction.dot(&(free_motion.displacement - other.displacement))
            + arm * free_motion.rotation_step_rad
            - other_arm * other.rotation_step_rad;
        let gap = manifold.gap_m[point] + closing;
        if gap >= manifold.gap_m[point].min(0.0) {
            continue;
        }
        if other.inverse_mass > 0.0 {
            return None;
        }
        manifold.impulse.normal[point] += coupling.displace(free_motion, direction, arm, -gap);
        grazed = true;
    }
    Some(grazed)
}
