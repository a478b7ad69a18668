//! One step: advances the world by one tick and computes the force on the hand from the hand's position.
//!
//! The phases follow the order of *One tick* in `docs/physics.md`.

mod displacement;
pub mod worst_case;

use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide};
use crate::collide::toi::{FAST_M, ToiBudget, collide_ahead};
use crate::impact_states;
use crate::input::CouplingInput;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::shape::aabb::Aabb;
use crate::shape::features::FeatureCache;
use crate::solve::coupling::{ImplicitCoupling, clear_coupling};
use crate::solve::energy::EnergyBalance;
use crate::solve::impact_queue::{ImpactTotals, Rules};
use crate::solve::manifold::Manifold;
use crate::solve::policy::{Ordinary, Policy};
use crate::state::{State, TickEnergy};
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use displacement::{clamp_to_toi, integrate_displacements};
use nalgebra::Vector2;

/// Constant part of the contact margin, m: the gap below which even a pair at rest is tracked as a contact.
const MARGIN_M: f64 = 5e-4;
/// Part of the contact margin that grows with the speed, as a multiple of the distance the pair can close in a tick.
const MARGIN_FACTOR: f64 = 1.5;
/// Rotation of a face in one tick below which its gaps count as linear, rad.
const MAX_LINEAR_ROTATION_RAD: f64 = 0.05;
/// Largest distance within which the contacts of a body that a neighbour may hit in this tick are searched for, m. A
/// body that moves farther has its displacement shortened instead.
const MAX_NEIGHBOUR_REACH_M: f64 = 5e-3;
/// Energy that an island can gain in a tick with impacts before the tick is recomputed without restitution in that
/// island, J.
const GAIN_J: f64 = 1e-10;

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

/// Performs one step.
fn step<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    input: Option<&CouplingInput>,
) -> StepOutput {
    workspace.solver_bodies.integrate_forces(scene, &state.bodies);
    let coupling = couple(scene, state, workspace, input);
    find_near_pairs::<P>(scene, state, workspace);
    find_manifolds::<P>(scene, state, workspace);
    let (impacts, force_on_tool) = resolve::<P>(scene, state, workspace, coupling.as_ref());
    correct::<P>(scene, workspace);
    clamp_to_toi::<P>(scene, state, workspace);
    state.integrate_positions(scene, &workspace.solver_bodies.all);
    let (solver_bodies, manifolds) = (&workspace.solver_bodies.all, &workspace.manifolds);
    let coupling = coupling.as_ref().zip(input);
    state.update_energy(scene, &TickEnergy { solver_bodies, manifolds, coupling, impacts: &impacts, force_on_tool });
    output(scene, workspace, &state.energy, force_on_tool, &impacts)
}

/// Adds the coupling to the tool's velocity and mass and returns it; `None` if the tool is not held.
#[inline(never)]
fn couple(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    input: Option<&CouplingInput>,
) -> Option<ImplicitCoupling> {
    let tool = scene.tool?;
    let Some(input) = input else {
        clear_coupling(&mut workspace.solver_bodies, tool.body);
        return None;
    };
    let body = &state.bodies[tool.body];
    let coupling = ImplicitCoupling::new(scene, tool, body, input, scene.bodies[tool.body].angle_rad);
    coupling.apply(&mut workspace.solver_bodies, body);
    Some(coupling)
}

/// Finds the near pairs of this tick and the reach of each body and of its neighbours.
#[inline(never)]
fn find_near_pairs<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { solver_bodies, look_ups, .. } = workspace;
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
    }
}

/// Tracks the features of every near pair and creates a manifold for each contact.
#[inline(never)]
fn find_manifolds<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    workspace.manifolds.clear();
    let mut budget = ToiBudget::new();
    let State { bodies, placed, broad_phase, had_contact_load, .. } = state;
    let solver_bodies = &workspace.solver_bodies;
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
        let aside = if is_in_pile { neighbour_reach } else { 0.0 };
        let found = if P::FORCED {
            worst_case::slowest_geometry(&a, &b, &mut budget)
        } else {
            find_geometry(&a, &b, reach, (neighbour_reach, aside), &mut pair.features, &mut budget)
        };
        match found {
            Some((mut geometry, centres)) => {
                let face = usize::from(geometry.id.face_of == 2);
                let rotation_rad = [&a, &b][face].angular_velocity_rad_per_s * TICK_S;
                lower_by_rotation(&mut geometry, centres[face], rotation_rad);
                workspace.manifolds.push(Manifold::new(index, pair, &geometry, centres, solver_bodies));
            }
            None => pair.warm_start = Default::default(),
        }
    }
}

/// Resolves impacts, then contacts. If an impact on a body that carries load elsewhere added energy, the tick is
/// recomputed without restitution in the island of that body. Returns the totals over the impacts and the coupling
/// force on the tool, world, N.
#[inline(never)]
fn resolve<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
) -> (ImpactTotals, Vector2<f64>) {
    if !workspace.impact_queue.fill(&workspace.manifolds, &workspace.solver_bodies) && !P::FORCED {
        solve_contacts::<P>(scene, state, workspace);
        return (ImpactTotals::default(), integrate_displacements::<P>(scene, state, workspace, coupling));
    }
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

fn resolve_impacts_and_contacts<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&ImplicitCoupling>,
) -> (ImpactTotals, Vector2<f64>) {
    let rules = Rules { law: scene.restitution_law, coupling };
    let Workspace { impact_queue, manifolds, solver_bodies, .. } = workspace;
    let impacts = impact_queue.run::<P>(manifolds, solver_bodies, &rules);
    solve_contacts::<P>(scene, state, workspace);
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
    islands.find(manifolds, &solver_bodies.all, &scene.dynamic_bodies);
    for &index in &scene.dynamic_bodies {
        let (body, start, end) = (&scene.bodies[index], &state.bodies[index], &solver_bodies.all[index]);
        let kinetic = |v: Vector2<f64>, w: f64| 0.5 * (body.mass_kg * v.norm_squared() + body.inertia_kg_m2 * w * w);
        let before = kinetic(start.velocity_m_per_s, start.angular_velocity_rad_per_s);
        let fallen = body.mass_kg * scene.gravity_m_per_s2.dot(&end.displacement);
        let coupled = match coupling {
            Some(coupling) if coupling.body() == index => {
                coupling.gain_j(start, end) - force.dot(&coupling.hand_displacement_m())
            }
            _ => 0.0,
        };
        islands.add(index, kinetic(end.velocity, end.angular_velocity) - before - fallen + coupled);
    }
    let mut any = false;
    for manifold in manifolds {
        let dynamic = usize::from(solver_bodies.all[manifold.bodies[0]].inverse_mass == 0.0);
        if manifold.restitution > 0.0 && islands.gain_j(manifold.bodies[dynamic]) > GAIN_J {
            manifold.restitution = 0.0;
            any = true;
        }
    }
    any
}

/// Solves the contact law of all manifolds.
#[inline(never)]
fn solve_contacts<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { contact_solver, manifolds, solver_bodies, .. } = workspace;
    for manifold in manifolds.iter_mut() {
        manifold.set_bias(&solver_bodies.all);
    }
    if scene.rolling_friction_m > 0.0 {
        contact_solver.run_rolling::<P>(manifolds, solver_bodies, scene.rolling_friction_m);
    } else {
        contact_solver.run::<P>(manifolds, solver_bodies, &scene.dynamic_bodies);
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
#[inline(never)]
fn correct<P: Policy>(scene: &Scene, workspace: &mut Workspace) {
    let Workspace { correction, manifolds, solver_bodies, .. } = workspace;
    if correction.run::<P>(manifolds, &solver_bodies.all, &scene.dynamic_bodies) {
        for &body in &scene.dynamic_bodies {
            let change = correction.corrections[body];
            let solver_body = &mut solver_bodies.all[body];
            solver_body.displacement += change.displacement;
            solver_body.rotation_step_rad += change.angle;
        }
    }
}

/// Returns the output of the step: force on the hand, contacts, penetration and energy balance.
#[inline(never)]
fn output(
    scene: &Scene,
    workspace: &Workspace,
    energy: &EnergyBalance,
    force_on_tool: Vector2<f64>,
    impacts: &ImpactTotals,
) -> StepOutput {
    let mut output = StepOutput {
        force_on_hand_n: -force_on_tool,
        impacts: impacts.count,
        pairs_dropped: workspace.look_ups.dropped,
        energy: *energy,
        ..StepOutput::default()
    };
    let tool = scene.tool.map(|tool| tool.body);
    for manifold in &workspace.manifolds {
        let mut loaded = 0;
        let mut penetration: f64 = 0.0;
        for point in 0..manifold.count {
            loaded += u32::from(manifold.impulse.normal[point] > 0.0);
            penetration = penetration.max(-manifold.gap_after(&workspace.solver_bodies.all, point));
        }
        output.contacts += loaded;
        output.penetration_m = output.penetration_m.max(penetration);
        if tool.is_some_and(|tool| manifold.involves(tool)) {
            output.tool_contacts += loaded;
            output.tool_penetration_m = output.tool_penetration_m.max(penetration);
            output.tool_normal_n += manifold.normal_impulse() / TICK_S;
            output.tool_tangent_n += manifold.impulse.tangent / TICK_S;
        }
    }
    output
}

/// Returns the contact of a pair, with the centres of mass of its bodies in the poses of the contact. In this tick, the
/// pair can close by `reach_m`, or by `neighbour_reach_m` after an impact, and a corner that is up to `aside_m` beside
/// a face can move in front of it.
#[inline]
fn find_geometry(
    a: &PairSide,
    b: &PairSide,
    reach_m: f64,
    (neighbour_reach_m, aside_m): (f64, f64),
    features: &mut FeatureCache,
    budget: &mut ToiBudget,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    if reach_m > FAST_M
        && let Some(ahead) = collide_ahead(a, b, MARGIN_M, features, budget)
    {
        return Some(ahead);
    }
    let closing_m = MARGIN_FACTOR * if reach_m < FAST_M { reach_m } else { FAST_M };
    let margin = MARGIN_M + if closing_m > neighbour_reach_m { closing_m } else { neighbour_reach_m };
    collide(a, b, Near { margin_m: margin, aside_m }, features).map(|geometry| (geometry, [a.centre_m, b.centre_m]))
}

/// Reduces the gaps of a face that rotates quickly. A rotation by θ brings the plane of the face closer to a point
/// above it by ½ θ² times the height of the point over the centre of mass. A linear gap ignores this.
#[inline]
fn lower_by_rotation(geometry: &mut ContactGeometry, centre: Vector2<f64>, rotation_rad: f64) {
    if rotation_rad.abs() < MAX_LINEAR_ROTATION_RAD || geometry.id.face_of == 0 {
        return;
    }
    for point in 0..geometry.count {
        let height = geometry.normal.dot(&(geometry.at_m[point] - centre)).abs();
        geometry.gap_m[point] -= 0.5 * rotation_rad * rotation_rad * height;
    }
}
