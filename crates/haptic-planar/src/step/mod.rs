//! One step: advances the world by one tick and computes the force on the hand from the hand's position.
//!
//! The phases follow the order of *One tick* in `docs/physics.md`.

mod clamp;
mod contacts;
mod displacement;
mod events;
mod flight;
mod gain;
mod output;
pub mod worst_case;

use crate::impact_states;
use crate::input::CouplingInput;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::solve::contact_work::limit_work;
use crate::solve::coupling::{ImplicitCoupling, MAX_REPEATS, MAX_SOLVES, REPEAT_SWEEPS, Refinement, clear_coupling};
use crate::solve::impact_queue::{ImpactTotals, Rules};
use crate::solve::manifold::Manifold;
use crate::solve::policy::{Ordinary, Policy};
use crate::solve::position_correction::penetrates;
use crate::state::{State, TickEnergy};
use crate::work::Work;
use crate::workspace::Workspace;
use clamp::clamp_to_toi;
use contacts::{find_manifolds, find_near_pairs};
use displacement::integrate_displacements;
use flight::{Flight, fly};
use gain::{balance, can_gain, limit_correction, limit_gain};
use nalgebra::Vector2;
use output::write_output;

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
        let mut output = StepOutput::default();
        self.advance_into(scene, workspace, input, &mut output);
        output
    }

    /// Does what [`Self::advance`] does and writes the output in place, because it is large. Real-time: bounded by the
    /// scene's capacities.
    pub fn advance_into(
        &mut self,
        scene: &Scene,
        workspace: &mut Workspace,
        input: Option<&CouplingInput>,
        output: &mut StepOutput,
    ) {
        match &mut workspace.impact_states {
            None => step::<Ordinary>(scene, self, workspace, input, output),
            Some(scratch) => *output = impact_states::step(scene, self, scratch, input),
        }
        if let Some(bounds) = &scene.bounds {
            self.keep_in_bounds(scene, bounds, workspace);
            output.energy = self.energy;
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
    output: &mut StepOutput,
) {
    workspace.work = Work::default();
    workspace.solves_left = MAX_SOLVES;
    workspace.impacts = ImpactTotals::default();
    workspace.has_unfinished_impacts = false;
    workspace.solver_bodies.integrate_forces(scene, &state.bodies, &state.broad_phase.left);
    // Created in place: the coupling is large, and returning it from a function would copy it.
    let mut coupling = scene.tool.zip(input).map(|(tool, input)| {
        let forced = &workspace.solver_bodies.all[tool.body];
        ImplicitCoupling::new(scene, tool, &state.bodies[tool.body], input, forced)
    });
    couple(scene, workspace, coupling.as_ref());
    find_near_pairs::<P>(scene, state, workspace);
    find_manifolds::<P>(scene, state, workspace);
    let force_on_tool = resolve::<P>(scene, state, workspace, coupling.as_mut());
    correct::<P>(scene, workspace);
    if workspace.work.corrections > 0 || P::FORCED {
        limit_correction(scene, state, workspace, coupling.as_ref(), force_on_tool);
    }
    let force_on_tool = clamp_to_toi::<P>(scene, state, workspace, coupling.as_ref(), force_on_tool);
    let force_on_tool = if can_gain(workspace, coupling.as_ref(), force_on_tool) || P::FORCED {
        limit_gain::<P>(scene, state, workspace, coupling.as_ref(), force_on_tool)
    } else {
        force_on_tool
    };
    let bodies = state.integrate_positions(scene, &workspace.solver_bodies.all);
    let Workspace { solver_bodies, manifolds, impacts, .. } = &*workspace;
    let (solver_bodies, coupling) = (&solver_bodies.all, coupling.as_ref().zip(input));
    let energy = TickEnergy { bodies, solver_bodies, manifolds, coupling, impacts, force_on_tool };
    state.update_energy(scene, &energy);
    write_output::<P>(scene, state, workspace, force_on_tool, output);
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

/// Resolves impacts, then contacts. If an impact on a body that carries load elsewhere added energy, the tick is
/// recomputed without restitution in the island of that body. Returns the coupling force on the tool, world, N.
#[inline(always)]
fn resolve<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    coupling: Option<&mut ImplicitCoupling>,
) -> Vector2<f64> {
    let has_impacts = workspace.impact_queue.fill(&workspace.manifolds, &workspace.solver_bodies);
    let may_fly = has_impacts || coupling.as_deref().is_some_and(ImplicitCoupling::needs_parts) || P::FORCED;
    if let Some(coupling) = coupling.as_deref()
        && may_fly
        && let Some(flight) = fly::<P>(scene, state, workspace, coupling)
    {
        resolve_around_flight::<P>(scene, state, workspace, coupling.body(), &flight);
        return flight.force;
    }
    let Some(coupling) = coupling else {
        return resolve_at_once::<P>(scene, state, workspace, None, has_impacts);
    };
    let force = resolve_at_once::<P>(scene, state, workspace, Some(&mut *coupling), has_impacts);
    // A coupling that slows an approach can make the end velocity too slow for an impact in the queue; then the free
    // motion of the tool, which has the mean velocity, grazes.
    if !may_fly
        && workspace.solver_bodies.all[coupling.body()].starts_to_graze()
        && let Some(flight) = fly::<P>(scene, state, workspace, coupling)
    {
        land(workspace, coupling.body(), &flight);
        return flight.force;
    }
    force
}

/// Resolves a tick in which the flight of the tool has resolved its contacts, which are therefore out of the solve.
#[inline(never)]
fn resolve_around_flight<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    tool: usize,
    flight: &Flight,
) {
    let has_impacts = workspace.impact_queue.fill(&workspace.manifolds, &workspace.solver_bodies);
    resolve_at_once::<P>(scene, state, workspace, None, has_impacts);
    land(workspace, tool, flight);
}

/// Gives the tool the motion of its flight, and its contacts their points. Adds the impacts of the flight.
fn land(workspace: &mut Workspace, tool: usize, flight: &Flight) {
    flight.finish(&mut workspace.solver_bodies.all[tool]);
    workspace.manifolds.iter_mut().filter(|manifold| manifold.involves(tool)).for_each(Manifold::restore);
    workspace.impacts.add(flight.impacts.count, flight.impacts.lost_j);
}

/// Resolves impacts, then contacts, of a tick in which the tool does not fly in parts. `has_impacts` tells whether
/// there are any impacts in the queue. Returns the coupling force on the tool, world, N.
#[inline(always)]
fn resolve_at_once<P: Policy>(
    scene: &Scene,
    state: &mut State,
    workspace: &mut Workspace,
    mut coupling: Option<&mut ImplicitCoupling>,
    has_impacts: bool,
) -> Vector2<f64> {
    if !has_impacts || P::FORCED {
        let force = solve_without_impacts::<P>(scene, state, workspace, coupling.as_deref_mut());
        if !P::FORCED {
            return force;
        }
    }
    let coupling = coupling.as_deref();
    for (saved, &body) in workspace.saved_bodies.iter_mut().zip(&scene.dynamic_bodies) {
        *saved = workspace.solver_bodies.all[body];
    }
    let force = resolve_impacts_and_contacts::<P>(scene, state, workspace, coupling);
    let has_gained = drop_restitution_of_gaining_islands(scene, state, workspace, coupling, force);
    workspace.has_unfinished_impacts = has_gained || workspace.impact_queue.is_exhausted;
    if !has_gained && !P::FORCED {
        return force;
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

/// Solves the contacts of a tick without impacts. The tool's coupling constrains only the directions that carry load;
/// if the result differs from what the coupling assumed about the handle's arm and the force limit, it is solved again.
/// Returns the coupling force on the tool, world, N. A repetition is started only after at most [`REPEAT_SWEEPS`]
/// sweeps, so all solves together cost less than the two of a tick with impacts.
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
                workspace.solver_bodies.integrate_forces(scene, &state.bodies, &state.broad_phase.left);
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
) -> Vector2<f64> {
    let rules = Rules { law: scene.restitution_law, coupling };
    let Workspace { impact_queue, manifolds, solver_bodies, impacts, work, .. } = workspace;
    *impacts = impact_queue.run::<P>(manifolds, solver_bodies, &rules);
    work.impacts += impacts.events;
    work.group_relaxations += impacts.group_relaxations;
    solve_contacts::<P>(scene, workspace);
    finish_contacts::<P>(scene, state, workspace);
    integrate_displacements::<P>(scene, state, workspace, coupling)
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
#[inline]
fn finish_contacts<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    if !workspace.manifolds.is_empty() || P::FORCED {
        finish_manifolds::<P>(scene, state, workspace);
    }
}

#[inline(never)]
fn finish_manifolds<P: Policy>(scene: &Scene, state: &mut State, workspace: &mut Workspace) {
    let Workspace { manifolds, solver_bodies, islands, contact_solver, .. } = workspace;
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
    let Workspace { correction, contact_solver, manifolds, solver_bodies, work, .. } = workspace;
    if correction.run::<P>(manifolds, solver_bodies, &scene.dynamic_bodies) {
        if !P::FORCED {
            let dynamic_bodies = &scene.dynamic_bodies;
            let spent = work.relaxations as usize;
            let cost = correction.finish_directly(manifolds, solver_bodies, dynamic_bodies, contact_solver, spent);
            work.relaxations += cost as u32;
        }
        for &body in &scene.dynamic_bodies {
            let change = correction.of(body);
            let solver_body = &mut solver_bodies.all[body];
            solver_body.displacement += change.displacement;
            solver_body.rotation_step_rad += change.angle;
        }
        work.corrections = (correction.sweeps * manifolds.len()) as u32;
    }
}
