//! The other impact states of Chang & Colgate 1997, section 4.3, for comparison with the default one.
//!
//! The framework is that of the paper. In a fixed step, every body moves freely by the trapezoidal rule, and the
//! closest features are tracked. A pair that overlaps in this tentative state is moved to an *impact state*, receives
//! one impulse at its closest point, and stays there. Several collisions of a tick are processed one after the other,
//! each in the state that the previous ones left. The choices differ only in the impact state:
//!
//! | choice | position | velocity | rest of the tick |
//! |---|---|---|---|
//! | 1 exact | at the time of contact | at that time | integrated |
//! | 2 previous | q₀ | v₀ | lost |
//! | 3 previous position | q₀ | v₁ | lost |
//! | 4 limited search | q₀⁺, the last free position of a few bisections | at that time | lost |
//! | 5 as printed | q₀⁺ | v₁ | lost |
//! | 6 force and impulse | q₀ + T (v₀ + v₁)/2 | v₀ and v₁ | – |
//!
//! The coupling is solved inside the free motion by the same trapezoidal rule, so a free tool gains no energy. The
//! coupling force is computed from the displacement that is finally accepted. The default impact state does not use
//! this module.

mod exact;
mod hit;
mod spread;

use crate::collide::broad_phase::{LookUps, MAX_REPLACEMENTS};
use crate::input::CouplingInput;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::scene::description::ImpactState;
use crate::shape::aabb::Aabb;
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::impact_queue::ImpactTotals;
use crate::solve::solver_body::SolverBodies;
use crate::state::{State, TickEnergy};
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Maximum number of rounds over the collisions of a tick; pairs that still collide afterwards stay at q₀.
const MAX_ROUNDS: usize = 16;
/// Number of bisections in the search for the last free position of a tick (choices 4 and 5), which is found to within
/// a sixteenth of the tick.
const SEARCH_HALVINGS: usize = 4;
/// Margin within which two pieces count as near, in addition to their motion in the tick, m.
const NEAR_M: f64 = 1e-3;

/// Sums over the collisions of one tick.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    impacts: ImpactTotals,
    /// Number of impacts of the tool.
    tool_hits: u32,
    /// Sum of the normal impulses on the tool, N·s.
    tool_normal: f64,
    /// Sum of the tangential impulses on the tool, N·s.
    tool_tangent: f64,
    /// Deepest remaining overlap of any pair, m.
    depth_m: f64,
    /// Deepest remaining overlap of the tool's pairs, m.
    tool_depth_m: f64,
}

/// Scratch memory of a step with one of these impact states.
#[derive(Clone, Debug)]
pub struct Scratch {
    solver_bodies: SolverBodies,
    look_ups: LookUps,
}

impl Scratch {
    /// Preallocates memory for a scene.
    pub fn new(scene: &Scene) -> Self {
        Self { solver_bodies: SolverBodies::new(scene), look_ups: LookUps::new(scene) }
    }
}

/// One tick in progress.
struct Tick<'a> {
    scene: &'a Scene,
    state: &'a mut State,
    solver_bodies: &'a mut SolverBodies,
    look_ups: &'a mut LookUps,
}

/// Performs one step with the scene's impact state. Real-time: one pass over the near pairs per round, with at most
/// [`MAX_ROUNDS`] + 1 rounds plus one for each dynamic body. Choice 1 is for simulation only.
pub fn step(scene: &Scene, state: &mut State, scratch: &mut Scratch, input: Option<&CouplingInput>) -> StepOutput {
    let Scratch { solver_bodies, look_ups } = scratch;
    let mut tick = Tick { scene, state, solver_bodies, look_ups };
    let coupling = tick.move_freely(input);
    let tally = match scene.impact_state {
        ImpactState::Exact => tick.advance_to_contacts(),
        ImpactState::ForceImpulse => tick.spread_impulses(),
        choice => tick.collide(choice),
    };
    let coupling = coupling.as_ref().zip(input);
    let force_on_tool = coupling.map_or_else(Vector2::zeros, |(coupling, input)| tick.pull(coupling, input));
    let energy = TickEnergy {
        bodies: tick.state.body_energy(scene),
        solver_bodies: &tick.solver_bodies.all,
        manifolds: &[],
        coupling,
        impacts: &tally.impacts,
        force_on_tool,
    };
    tick.state.update_energy(scene, &energy);
    StepOutput {
        force_on_hand_n: -force_on_tool,
        tool_contacts: tally.tool_hits,
        tool_penetration_m: tally.tool_depth_m,
        tool_normal_n: tally.tool_normal / TICK_S,
        tool_tangent_n: tally.tool_tangent / TICK_S,
        contacts: tally.impacts.count,
        penetration_m: tally.depth_m,
        impacts: tally.impacts.count,
        pairs_dropped: tick.look_ups.dropped,
        energy: tick.state.energy,
    }
}

impl Tick<'_> {
    fn integrate_positions(&mut self) {
        self.state.integrate_positions(self.scene, &self.solver_bodies.all);
    }

    /// Sets the velocities and accelerations of free motion over the tick, v₁ and a = (v₁ − v₀)/T. Returns the
    /// coupling, if the tool is held.
    fn move_freely(&mut self, input: Option<&CouplingInput>) -> Option<ImplicitCoupling> {
        self.solver_bodies.integrate_forces(self.scene, &self.state.bodies, &self.state.broad_phase.left);
        let (tool, input) = (self.scene.tool?, input?);
        let body_state = &self.state.bodies[tool.body];
        let coupling = ImplicitCoupling::new(self.scene, tool, body_state, input, &self.solver_bodies.all[tool.body]);
        let end = coupling.midpoint_velocity(body_state, self.scene.bodies[tool.body].gravity_m_per_s2);
        let solver_body = &mut self.solver_bodies.all[tool.body];
        (solver_body.velocity, solver_body.angular_velocity) = (end.xy(), end.z);
        solver_body.acceleration = (solver_body.velocity - body_state.velocity_m_per_s) / TICK_S;
        solver_body.angular_acceleration =
            (solver_body.angular_velocity - body_state.angular_velocity_rad_per_s) / TICK_S;
        Some(coupling)
    }

    /// Returns the coupling force on the tool for the displacement that was finally accepted, world, N. With a rail,
    /// the force is not limited.
    fn pull(&self, coupling: &ImplicitCoupling, input: &CouplingInput) -> Vector2<f64> {
        let solver_body = &self.solver_bodies.all[coupling.body()];
        let force = coupling.midpoint_force(solver_body.displacement, solver_body.rotation_step_rad);
        let size = force.norm();
        if size <= input.max_force_n || input.rail.is_some() { force } else { force * (input.max_force_n / size) }
    }

    /// Resolves the collisions for choices 2 to 5: colliding pairs retreat to their impact state, one after the other.
    fn collide(&mut self, choice: ImpactState) -> Tally {
        self.displace_all(TICK_S);
        self.find_near_pairs();
        let mut tally = Tally::default();
        // After `MAX_ROUNDS`, every round returns at least one more body to its start, where nothing overlaps.
        for round in 0..=MAX_ROUNDS + self.scene.dynamic_bodies.len() {
            let choice = if round < MAX_ROUNDS { choice } else { ImpactState::Previous };
            if !self.each_overlap(&mut tally, |state, index, tally| {
                state.retreat_and_resolve(index, choice, tally);
            }) {
                break;
            }
        }
        self.integrate_positions();
        tally
    }

    /// Sets the tentative displacements and velocities after a free motion of `time_s`.
    fn displace_all(&mut self, time_s: f64) {
        for &body in &self.scene.dynamic_bodies {
            let (solver_body, body_state) = (&mut self.solver_bodies.all[body], &self.state.bodies[body]);
            solver_body.velocity = body_state.velocity_m_per_s + solver_body.acceleration * time_s;
            solver_body.angular_velocity =
                body_state.angular_velocity_rad_per_s + solver_body.angular_acceleration * time_s;
            solver_body.displacement = (body_state.velocity_m_per_s + solver_body.velocity) * (time_s / 2.0);
            solver_body.rotation_step_rad =
                (body_state.angular_velocity_rad_per_s + solver_body.angular_velocity) * (time_s / 2.0);
            solver_body.had_impact = false;
        }
    }

    /// Finds the near pairs along the displacements of all bodies.
    fn find_near_pairs(&mut self) {
        self.look_ups.start_tick();
        for &body in &self.scene.dynamic_bodies {
            let solver_body = &self.solver_bodies.all[body];
            for index in self.scene.bodies[body].pieces.clone() {
                let piece = &self.scene.pieces[index];
                let margin = piece.radius_m + NEAR_M + solver_body.rotation_step_rad.abs() * piece.reach_m;
                let needed = Aabb::around(&self.state.placed[index], margin).swept(solver_body.displacement);
                self.state.broad_phase.require_aabb(self.look_ups, index, &needed);
            }
        }
        self.look_ups.dropped += self.state.broad_phase.update_pairs(self.look_ups, self.scene, MAX_REPLACEMENTS);
    }

    /// Calls `solve` in turn for every pair that overlaps at its present displacements, and records the depth of every
    /// other pair. Returns whether any pair overlapped.
    fn each_overlap(&mut self, tally: &mut Tally, mut solve: impl FnMut(&mut Self, usize, &mut Tally)) -> bool {
        let mut any = false;
        (tally.depth_m, tally.tool_depth_m) = (0.0, 0.0);
        for index in 0..self.state.broad_phase.table.pairs().len() {
            let depth_m = self.depth_now(index);
            if self.is_overlap(index, depth_m) {
                any = true;
                solve(self, index, tally);
            } else {
                self.record_depth(index, depth_m, tally);
            }
        }
        any
    }

    fn record_depth(&self, index: usize, depth_m: f64, tally: &mut Tally) {
        tally.depth_m = tally.depth_m.max(depth_m);
        let bodies = self.state.broad_phase.table.pairs()[index].bodies;
        if self.scene.tool.is_some_and(|tool| bodies.contains(&(tool.body as u32))) {
            tally.tool_depth_m = tally.tool_depth_m.max(depth_m);
        }
    }
}
