//! One step: advances the world by one tick and computes the force on the hand from the hand's position.
//!
//! The phases follow the order of *One tick* in `docs/physics.md`.

mod displacement;
mod events;
mod flight;
mod gain;
pub mod worst_case;

use crate::collide::broad_phase::LookUps;
use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide};
use crate::collide::toi::{FAST_M, ToiBudget, collide_after_rotation, collide_ahead};
use crate::impact_states;
use crate::input::CouplingInput;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::shape::aabb::Aabb;
use crate::shape::features::{FeatureCache, FeatureId};
use crate::solve::contact_work::limit_work;
use crate::solve::coupling::{ImplicitCoupling, MAX_REPEATS, MAX_SOLVES, REPEAT_SWEEPS, Refinement, clear_coupling};
use crate::solve::impact_queue::{ImpactTotals, Rules};
use crate::solve::manifold::Manifold;
use crate::solve::policy::{Ordinary, Policy};
use crate::solve::position_correction::penetrates;
use crate::solve::solver_body::SolverBody;
use crate::state::{State, TickEnergy};
use crate::tick::TICK_S;
use crate::work::Work;
use crate::workspace::Workspace;
use displacement::{clamp_to_toi, integrate_displacements};
use flight::{Flight, fly};
use gain::{balance, can_gain, limit_correction, limit_gain};
use nalgebra::Vector2;
use std::iter::once_with;

/// Constant part of the contact margin, m: the gap below which even a pair at rest is tracked as a contact.
const MARGIN_M: f64 = 5e-4;
/// Part of the contact margin that grows with the speed, as a multiple of the distance the pair can close in a tick.
const MARGIN_FACTOR: f64 = 1.5;
/// Rotation of a face in one tick below which its gaps count as linear, rad.
const MAX_LINEAR_ROTATION_RAD: f64 = 0.05;
/// Largest penetration by the rotation of a face that is corrected and reported, m. The rotation is only predicted, and
/// at 1,000 rad/s it lowers gaps by millimetres; with no limit, bodies that touch would be pushed apart by as much. With
/// zero, a gas of elastic boxes would lose 1e-6 of its energy.
const MAX_ROTATION_DEPTH_M: f64 = 2e-4;
/// Error of a reported gap above which it is found in the poses at the end of the tick, m. A gap extrapolated from the
/// start of the tick ignores ½ θ² r.
const MAX_GAP_ERROR_M: f64 = 5e-6;
/// Displacement in one tick above which a reported gap is found in the poses at the end of the tick, m.
const MAX_LINEAR_MOTION_M: f64 = FAST_M / 2.0;
/// Largest distance within which the contacts of a body that a neighbour may hit in this tick are searched for, m. A
/// body that moves farther has its displacement shortened instead.
const MAX_NEIGHBOUR_REACH_M: f64 = 5e-3;
/// Energy that an island can gain in a tick with impacts before the tick is recomputed without restitution in that
/// island, J.
const GAIN_J: f64 = 1e-10;
/// Additional gain permitted before the tick is recomputed, as a fraction of the energy exchanged in the island: a
/// hundred times the rounding error of the balance. Without it, heavy or fast bodies would lose their restitution to
/// rounding.
const GAIN_FRACTION: f64 = 1e-13;

impl State {
    /// Advances the world by one tick. Without an input, the tool is free. Real-time: bounded by the scene's
    /// capacities.
    pub fn advance(&mut self, scene: &Scene, workspace: &mut Workspace, input: Option<&CouplingInput>) -> StepOutput {
        match &mut workspace.impact_states {
            None => step::<Ordinary>(scene, self, workspace, input),
            Some(scratch) => impact_states::step(scene, self, scratch, input),
        }
    }
}

/// Performs one step. The phases that every tick runs through are inlined: calls between them would cost a twentieth of
/// the step of a small world.
#[inline(always)]
fn step<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    input: Option<&CouplingInput>,
) -> StepOutput {
    workspace.work = Work::default();
    workspace.solves_left = MAX_SOLVES;
    workspace.solver_bodies.integrate_forces(scene, &state.bodies);
    // Created in place: the coupling is large, and returning it from a function would copy it.
    let mut coupling = scene.tool.zip(input).map(|(tool, input)| {
        let forced = &workspace.solver_bodies.all[tool.body];
        ImplicitCoupling::new(scene, tool, &state.bodies[tool.body], input, forced)
    });
    couple(scene, workspace, coupling.as_ref());
    find_near_pairs::<P>(scene, state, workspace);
    find_manifolds::<P>(scene, state, workspace);
    let (mut impacts, force_on_tool) = resolve::<P>(scene, state, workspace, coupling.as_mut());
    correct::<P>(scene, workspace);
    if workspace.work.corrections > 0 || P::FORCED {
        limit_correction(scene, state, workspace, coupling.as_ref(), force_on_tool);
    }
    let force_on_tool = clamp_to_toi::<P>(scene, state, workspace, coupling.as_ref(), force_on_tool, &mut impacts);
    let force_on_tool = if can_gain(workspace, &impacts, coupling.as_ref(), force_on_tool) || P::FORCED {
        limit_gain::<P>(scene, state, workspace, coupling.as_ref(), force_on_tool)
    } else {
        force_on_tool
    };
    let bodies = state.integrate_positions(scene, &workspace.solver_bodies.all);
    let (solver_bodies, manifolds) = (&workspace.solver_bodies.all, &workspace.manifolds);
    let coupling = coupling.as_ref().zip(input);
    let energy = TickEnergy { bodies, solver_bodies, manifolds, coupling, impacts: &impacts, force_on_tool };
    state.update_energy(scene, &energy);
    output::<P>(scene, state, workspace, force_on_tool, &impacts)
}

/// Adds the coupling to the tool's velocity and mass. Without a coupling, the tool is free.
#[inline(always)]
fn couple(scene: &Scene, workspace: &mut Workspace, coupling: Option<&ImplicitCoupling>) {
    if let Some(coupling) = coupling {
        coupling.apply(&mut workspace.solver_bodies);
    } else if let Some(tool) = scene.tool {
        clear_coupling(&mut workspace.solver_bodies, tool.body);
    }
}

/// Finds the near pairs of this tick and the reach of each body and of its neighbours.
#[inline(always)]
fn find_near_pairs<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { solver_bodies, look_ups, .. } = workspace;
    look_ups.start_tick();
    if P::FORCED {
        state.broad_phase.clear(scene);
    }
    let mut farthest: f64 = 0.0;
    for &body in &scene.dynamic_bodies {
        let solver_body = &mut solver_bodies.all[body];
        solver_body.set_reach(scene.bodies[body].reach_m);
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
    update_pairs::<P>(scene, state, workspace);
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
    let reach_m = solver_body.reach_m;
    let needed = |index: usize, fraction: f64| {
        let margin = scene.pieces[index].radius_m + after_impact_m + (MARGIN_FACTOR - 1.0) * (fraction * reach_m);
        Aabb::around(&placed[index], margin).swept(solver_body.velocity * (fraction * TICK_S))
    };
    let fraction = broad_phase.searchable_fraction(look_ups, scene, body, reach_m, needed);
    for index in scene.bodies[body].pieces.clone() {
        broad_phase.require_aabb(look_ups, index, &needed(index, fraction));
    }
}

/// Returns a neighbour's reach, at most [`MAX_NEIGHBOUR_REACH_M`].
#[inline]
fn capped(reach_m: f64) -> f64 {
    if reach_m < MAX_NEIGHBOUR_REACH_M { reach_m } else { MAX_NEIGHBOUR_REACH_M }
}

/// Updates the near pairs for the required boxes.
fn update_pairs<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    state.broad_phase.update_pairs(&mut workspace.look_ups, scene);
    if P::FORCED {
        worst_case::load_pairs(scene, state, &workspace.forced_pairs);
        state.broad_phase.slowest_look_ups(&mut workspace.look_ups, scene);
    }
}

/// Tracks the features of every near pair and creates a manifold for each contact.
#[inline(never)]
fn find_manifolds<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    workspace.manifolds.clear();
    let mut budget = ToiBudget::before_impacts();
    let State { bodies, placed, broad_phase, had_contact_load, .. } = state;
    let solver_bodies = &workspace.solver_bodies;
    let loaded_tool = scene.tool.map(|tool| tool.body).filter(|&tool| had_contact_load[tool]).map(|tool| tool as u32);
    for (index, pair) in broad_phase.table.pairs_mut().iter_mut().enumerate() {
        let side = |which: usize| {
            let body = &solver_bodies.all[pair.bodies[which] as usize];
            PairSide::new(pair, which, scene, placed, bodies, (body.velocity, body.angular_velocity))
        };
        let (a, b) = (side(0), side(1));
        let [body_a, body_b] = pair.bodies.map(|body| &solver_bodies.all[body as usize]);
        let reach = body_a.reach_m + body_b.reach_m;
        let (reach_a, reach_b) = (body_a.neighbour_reach_m, body_b.neighbour_reach_m);
        let neighbour_reach = capped(if reach_a > reach_b { reach_a } else { reach_b });
        // Contact loads that are not known yet can push a body in a pile sideways.
        let is_in_pile = pair.bodies.iter().any(|&body| had_contact_load[body as usize]);
        let aside_m = if is_in_pile { neighbour_reach } else { 0.0 };
        let forced_m_per_s = if is_in_pile {
            let forced = |which: usize| {
                let body = pair.bodies[which] as usize;
                solver_bodies.all[body].velocity - bodies[body].velocity_m_per_s
            };
            forced(1) - forced(0)
        } else {
            Vector2::zeros()
        };
        let margin_m = MARGIN_M + neighbour_reach;
        let near = Near { margin_m, aside_m, had_contact_load: is_in_pile, forced_m_per_s };
        let is_held_back = loaded_tool.is_some_and(|tool| pair.bodies.contains(&tool));
        let mut centres = [a.centre_m, b.centre_m];
        let mut found = if P::FORCED {
            worst_case::slowest_geometry(&a, &b, &mut budget)
        } else {
            find_geometry(&a, &b, (near, reach), is_held_back, &mut pair.features, &mut budget, &mut centres)
        };
        match &mut found {
            Some(geometry) => {
                let face = usize::from(geometry.id.face_of == 2);
                let rotation_rad = [&a, &b][face].angular_velocity_rad_per_s * TICK_S;
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

/// Resolves impacts, then contacts. If an impact on a body that carries load elsewhere added energy, the tick is
/// recomputed without restitution in the island of that body. Returns the totals over the impacts and the coupling
/// force on the tool, world, N.
#[inline(always)]
fn resolve<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&mut ImplicitCoupling>,
) -> (ImpactTotals, Vector2<f64>) {
    let has_impacts = workspace.impact_queue.fill(&workspace.manifolds, &workspace.solver_bodies);
    if let Some(coupling) = coupling.as_deref()
        && (has_impacts || coupling.needs_parts() || P::FORCED)
        && let Some(flight) = fly::<P>(scene, state, workspace, coupling)
    {
        return (resolve_around_flight::<P>(scene, state, workspace, coupling.body(), &flight), flight.force);
    }
    resolve_at_once::<P>(scene, state, workspace, coupling, has_impacts)
}

/// Resolves a tick in which the flight of the tool has resolved its contacts, which are therefore out of the solve.
/// Returns the totals over the impacts.
#[inline(never)]
fn resolve_around_flight<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    tool: usize,
    flight: &Flight,
) -> ImpactTotals {
    let has_impacts = workspace.impact_queue.fill(&workspace.manifolds, &workspace.solver_bodies);
    let (mut impacts, _) = resolve_at_once::<P>(scene, state, workspace, None, has_impacts);
    flight.finish(&mut workspace.solver_bodies.all[tool]);
    workspace.manifolds.iter_mut().filter(|manifold| manifold.involves(tool)).for_each(Manifold::restore);
    impacts.count += flight.impacts.count;
    impacts.lost_j += flight.impacts.lost_j;
    impacts
}

/// Resolves impacts, then contacts, of a tick in which the tool does not fly in parts. `has_impacts` tells whether there
/// are any impacts in the queue.
#[inline(always)]
fn resolve_at_once<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    mut coupling: Option<&mut ImplicitCoupling>,
    has_impacts: bool,
) -> (ImpactTotals, Vector2<f64>) {
    if !has_impacts || P::FORCED {
        let force = solve_without_impacts::<P>(scene, state, workspace, coupling.as_deref_mut());
        if !P::FORCED {
            return (ImpactTotals::default(), force);
        }
    }
    let coupling = coupling.as_deref();
    for (saved, &body) in workspace.saved_bodies.iter_mut().zip(&scene.dynamic_bodies) {
        *saved = workspace.solver_bodies.all[body];
    }
    let first = resolve_impacts_and_contacts::<P>(scene, state, workspace, coupling);
    if !drop_restitution_of_gaining_islands(scene, state, workspace, coupling, first.1) && !P::FORCED {
        return first;
    }
    for (saved, &body) in workspace.saved_bodies.iter().zip(&scene.dynamic_bodies) {
        workspace.solver_bodies.all[body] = *saved;
    }
    for manifold in &mut workspace.manifolds {
        (manifold.impulse, manifold.mode) = (manifold.last, manifold.last_mode);
    }
    workspace.impact_queue.fill(&workspace.manifolds, &workspace.solver_bodies);
    resolve_impacts_and_contacts::<P>(scene, state, workspace, coupling)
}

/// Solves the contacts of a tick without impacts. The tool's coupling constrains only the directions that carry load; if
/// the result differs from what the coupling assumed about the handle's arm and the force limit, it is solved again.
/// Returns the coupling force on the tool, world, N. A repetition is started only after at most [`REPEAT_SWEEPS`] sweeps,
/// so all solves together cost less than the two of a tick with impacts.
#[inline(always)]
fn solve_without_impacts<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&mut ImplicitCoupling>,
) -> Vector2<f64> {
    let Some(coupling) = coupling else {
        solve_contacts::<P>(scene, workspace);
        finish_contacts::<P>(scene, state, workspace);
        return integrate_displacements::<P>(scene, state, workspace, None);
    };
    // Rolling friction stops a rotation within the tick, which is no row of a contact: backward Euler.
    if scene.rolling_friction_m == 0.0 && coupling.constrain(&workspace.manifolds) {
        recouple(workspace, coupling);
    }
    let mut sweeps = if P::FORCED { 0 } else { solve_contacts::<P>(scene, workspace) };
    for _ in 0..MAX_REPEATS {
        if !P::FORCED && (sweeps > REPEAT_SWEEPS || !(coupling.is_saturated() || is_loaded(workspace, coupling.body())))
        {
            break;
        }
        let refinement = coupling.refine(&workspace.solver_bodies.all[coupling.body()]);
        match if P::FORCED { Refinement::Coupling } else { refinement } {
            Refinement::None => break,
            Refinement::Force { change_n, is_final } => {
                coupling.apply_force(&mut workspace.solver_bodies, change_n);
                sweeps += resume_contacts::<P>(scene, workspace);
                if is_final {
                    break;
                }
            }
            Refinement::Coupling => {
                workspace.solver_bodies.integrate_forces(scene, &state.bodies);
                recouple(workspace, coupling);
                sweeps += if P::FORCED { 0 } else { solve_contacts::<P>(scene, workspace) };
            }
        }
    }
    if P::FORCED {
        return Vector2::zeros();
    }
    finish_contacts::<P>(scene, state, workspace);
    integrate_displacements::<P>(scene, state, workspace, Some(coupling))
}

/// Whether a body carries contact load in the present solution.
fn is_loaded(workspace: &Workspace, body: usize) -> bool {
    workspace.manifolds.iter().any(|manifold| manifold.involves(body) && manifold.normal_impulse() > 0.0)
}

/// Applies a changed coupling to the velocities before the contact solve, and to the masses of the tool's manifolds.
#[inline(never)]
fn recouple(workspace: &mut Workspace, coupling: &ImplicitCoupling) {
    let Workspace { solver_bodies, manifolds, .. } = workspace;
    coupling.apply(solver_bodies);
    for manifold in manifolds.iter_mut().filter(|manifold| manifold.involves(coupling.body())) {
        manifold.renew_mass(solver_bodies);
    }
}

fn resolve_impacts_and_contacts<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
) -> (ImpactTotals, Vector2<f64>) {
    let rules = Rules { law: scene.restitution_law, coupling };
    let Workspace { impact_queue, manifolds, solver_bodies, .. } = workspace;
    let impacts = impact_queue.run::<P>(manifolds, solver_bodies, &rules);
    workspace.work.impacts += impacts.events;
    workspace.work.group_relaxations += impacts.group_relaxations;
    solve_contacts::<P>(scene, workspace);
    finish_contacts::<P>(scene, state, workspace);
    (impacts, integrate_displacements::<P>(scene, state, workspace, coupling))
}

/// Sets the restitution of the manifolds of every island that gained energy in this tick to zero. Returns whether any
/// restitution was changed.
fn drop_restitution_of_gaining_islands(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
    force: Vector2<f64>,
) -> bool {
    let Workspace { islands, manifolds, solver_bodies, .. } = workspace;
    islands.find(manifolds.iter(), &solver_bodies.all, &scene.dynamic_bodies);
    for &index in &scene.dynamic_bodies {
        let balance = balance(scene, state, &solver_bodies.all, coupling, force, index);
        islands.add(index, [balance.gain_j, balance.turnover_j]);
    }
    let mut any = false;
    for manifold in manifolds {
        let [gain, turnover] = islands.sums(manifold.dynamic_body(&solver_bodies.all));
        if manifold.restitution > 0.0 && gain > GAIN_J + GAIN_FRACTION * turnover {
            manifold.restitution = 0.0;
            any = true;
        }
    }
    any
}

/// Solves the contact law of all manifolds. Returns the number of sweeps.
#[inline]
fn solve_contacts<P: Policy>(scene: &Scene, workspace: &mut Workspace) -> usize {
    if workspace.manifolds.is_empty() && scene.rolling_friction_m == 0.0 && !P::FORCED {
        workspace.contact_solver.is_exact = true;
        return 1;
    }
    solve_manifolds::<P>(scene, workspace)
}

#[inline(never)]
fn solve_manifolds<P: Policy>(scene: &Scene, workspace: &mut Workspace) -> usize {
    let Workspace { contact_solver, manifolds, solver_bodies, work, .. } = workspace;
    for manifold in manifolds.iter_mut() {
        manifold.set_bias(&solver_bodies.all);
    }
    let sweeps = if scene.rolling_friction_m > 0.0 {
        contact_solver.run_rolling::<P>(manifolds, solver_bodies, scene.rolling_friction_m)
    } else {
        contact_solver.run::<P>(manifolds, solver_bodies, &scene.dynamic_bodies)
    };
    work.relaxations += (sweeps * manifolds.len()) as u32;
    sweeps
}

/// Solves the contact law again after a change of the velocities. Returns the number of sweeps.
fn resume_contacts<P: Policy>(scene: &Scene, workspace: &mut Workspace) -> usize {
    let Workspace { contact_solver, manifolds, solver_bodies, work, .. } = workspace;
    let sweeps = contact_solver.resume::<P>(manifolds, solver_bodies, &scene.dynamic_bodies);
    work.relaxations += (sweeps * manifolds.len()) as u32;
    sweeps
}

/// Bounds the work of the contact loads, marks the bodies that carry load, and keeps the impulses for the next tick.
#[inline(never)]
fn finish_contacts<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { manifolds, solver_bodies, islands, contact_solver, .. } = workspace;
    if manifolds.is_empty() && !P::FORCED {
        return;
    }
    // A single manifold satisfies its contact law exactly, and then its loads do no work.
    if manifolds.len() > 1 || !contact_solver.is_exact || P::FORCED {
        limit_work::<P>(manifolds, solver_bodies, islands, &scene.dynamic_bodies);
    }
    for manifold in manifolds.iter() {
        if manifold.normal_impulse() > 0.0 {
            solver_bodies.all[manifold.bodies[0]].has_contact_load = true;
            solver_bodies.all[manifold.bodies[1]].has_contact_load = true;
        }
        state.broad_phase.table.pairs_mut()[manifold.pair].warm_start = manifold.warm_start();
    }
}

/// Adds the position correction, which removes the remaining penetration, to the displacements.
#[inline]
fn correct<P: Policy>(scene: &Scene, workspace: &mut Workspace) {
    let Workspace { correction, manifolds, solver_bodies, .. } = workspace;
    if P::FORCED || manifolds.iter().any(|manifold| penetrates(manifold, &solver_bodies.all)) {
        correct_manifolds::<P>(scene, workspace);
    } else {
        correction.is_active = false;
    }
}

#[inline(never)]
fn correct_manifolds<P: Policy>(scene: &Scene, workspace: &mut Workspace) {
    let Workspace { correction, manifolds, solver_bodies, work, .. } = workspace;
    if correction.run::<P>(manifolds, solver_bodies, &scene.dynamic_bodies) {
        for &body in &scene.dynamic_bodies {
            let change = correction.of(body);
            let solver_body = &mut solver_bodies.all[body];
            solver_body.displacement += change.displacement;
            solver_body.rotation_step_rad += change.angle;
        }
        work.corrections = (correction.sweeps * manifolds.len()) as u32;
    }
}

/// Returns the output of the step: force on the hand, contacts, penetration and energy balance.
#[inline]
fn output<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    force_on_tool: Vector2<f64>,
    impacts: &ImpactTotals,
) -> StepOutput {
    let (mut all, mut of_tool) = (ContactTotals::default(), ContactTotals::default());
    let (mut tool_normal, mut tool_tangent) = (0.0, 0.0);
    let any_curved = find_curved_motions(scene, workspace) || P::FORCED;
    let bodies = &workspace.solver_bodies.all;
    let tool = scene.tool.map(|tool| tool.body);
    for manifold in &workspace.manifolds {
        let is_curved = any_curved && manifold.bodies.iter().any(|&body| bodies[body].has_curved_motion);
        let mut loaded = 0;
        let mut penetration: f64 = 0.0;
        for point in 0..manifold.count {
            loaded += u32::from(manifold.impulse.normal[point] > 0.0);
            if !is_curved {
                // A plain comparison here and below: a maximum that handles NaN costs three times as much.
                let depth = -manifold.penetration_gap_after(bodies, point);
                if depth > penetration {
                    penetration = depth;
                }
            }
        }
        all.add(loaded, penetration);
        if tool.is_some_and(|tool| manifold.involves(tool)) {
            of_tool.add(loaded, penetration);
            tool_normal += manifold.normal_impulse() / TICK_S;
            tool_tangent += manifold.impulse.tangent / TICK_S;
        }
    }
    if any_curved {
        add_true_penetration::<P>(scene, state, workspace, &mut all, &mut of_tool);
    }
    // Created last: the output is large, and changing it after its creation would copy it.
    StepOutput {
        force_on_hand_n: -force_on_tool,
        tool_contacts: of_tool.loaded,
        tool_penetration_m: of_tool.penetration_m,
        tool_normal_n: tool_normal,
        tool_tangent_n: tool_tangent,
        contacts: all.loaded,
        penetration_m: all.penetration_m,
        impacts: impacts.count,
        pairs_dropped: workspace.look_ups.dropped,
        energy: state.energy,
    }
}

/// Totals over the contacts of the world or of the tool.
#[derive(Clone, Copy, Default)]
struct ContactTotals {
    /// Number of points that carry load.
    loaded: u32,
    /// Deepest penetration, m, zero or more.
    penetration_m: f64,
}

impl ContactTotals {
    #[inline]
    fn add(&mut self, loaded: u32, penetration_m: f64) {
        self.loaded += loaded;
        if penetration_m > self.penetration_m {
            self.penetration_m = penetration_m;
        }
    }
}

/// Finds the bodies for which a gap at the end of the tick cannot be extrapolated from its start. Returns whether there
/// are any.
#[inline]
fn find_curved_motions(scene: &Scene, workspace: &mut Workspace) -> bool {
    let mut any = false;
    for &body in &scene.dynamic_bodies {
        let moved = &mut workspace.solver_bodies.all[body];
        let rotation_squared = moved.rotation_step_rad * moved.rotation_step_rad;
        moved.has_curved_motion = 0.5 * rotation_squared * scene.bodies[body].reach_m > MAX_GAP_ERROR_M
            || moved.displacement.norm_squared() > MAX_LINEAR_MOTION_M * MAX_LINEAR_MOTION_M;
        any |= moved.has_curved_motion;
    }
    any
}

/// Adds the penetration of the near pairs whose motion was curved, found in their poses at the end of the tick.
#[cold]
fn add_true_penetration<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &Workspace,
    all: &mut ContactTotals,
    of_tool: &mut ContactTotals,
) {
    let tool = scene.tool.map(|tool| tool.body);
    for pair in state.broad_phase.table.pairs() {
        let bodies = pair.bodies.map(|body| body as usize);
        if !P::FORCED && !bodies.iter().any(|&body| workspace.solver_bodies.all[body].has_curved_motion) {
            continue;
        }
        let side =
            |which: usize| PairSide::new(pair, which, scene, &state.placed, &state.bodies, (Vector2::zeros(), 0.0));
        let penetration = if P::FORCED {
            worst_case::slowest_penetration_m(&side(0), &side(1))
        } else {
            penetration_m(&side(0), &side(1), pair.features)
        };
        all.add(0, penetration);
        if tool.is_some_and(|tool| bodies.contains(&tool)) {
            of_tool.add(0, penetration);
        }
    }
}

/// Returns the penetration of a pair in its present poses, m: the depth along the face where it is least, not along the
/// face of the last tick.
fn penetration_m(a: &PairSide, b: &PairSide, mut features: FeatureCache) -> f64 {
    features.face = FeatureId::default();
    collide(a, b, Near::within(0.0), &mut features).map_or(0.0, |geometry| -geometry.apart_m)
}

/// Returns the contact of a pair. If it is found in later poses than those of the start of the tick, sets `centres` to
/// the centres of mass of the bodies in these poses. In this tick, the pair can close by `reach_m`; the margin in `near`
/// covers what an impact can add.
///
/// `is_held_back` marks the pairs of a tool that carried load in the last tick. Its velocity is that without contacts, in
/// which a stiff coupling moves it by centimetres, while the contacts hold it back. The poses along that motion are never
/// reached: they give wrong faces and penetrations that do not exist. The poses at the start of the tick are used instead;
/// if the tool does move fast, its displacement is shortened after the solve.
#[inline]
fn find_geometry(
    a: &PairSide,
    b: &PairSide,
    (mut near, reach_m): (Near, f64),
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
    let margin_m = MARGIN_M + MARGIN_FACTOR * if reach_m < FAST_M { reach_m } else { FAST_M };
    if margin_m > near.margin_m {
        near.margin_m = margin_m;
    }
    let mut geometry = collide(a, b, near, features);
    // A fast pair that stays apart may still close in the linear gaps of the start of the tick.
    if !(is_held_back && reach_m > FAST_M)
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
