//! The state of a world: everything that lasts from tick to tick.

use crate::bits::{OFFSET_BASIS, mix, number_bits};
use crate::collide::broad_phase::BroadPhase;
use crate::input::CouplingInput;
use crate::math::{integrate_rotation, rotate};
use crate::scene::body_state::BodyState;
use crate::scene::description::Leave;
use crate::scene::{Body, Scene};
use crate::shape::piece::PlacedPiece;
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::energy::EnergyBalance;
use crate::solve::impact_queue::ImpactTotals;
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;
use nalgebra::Vector2;

/// State of a world. Together with the scene and the later inputs, it determines every bit of all later states.
#[derive(Clone, Debug)]
pub struct State {
    /// Pose and velocity of each body, in file order.
    pub bodies: Vec<BodyState>,
    /// Energy balance since the start.
    pub energy: EnergyBalance,
    /// Pieces in world coordinates, computed from the poses.
    pub(crate) placed: Vec<PlacedPiece>,
    /// Boxes and near pairs, with the features and impulses stored for each pair.
    pub(crate) broad_phase: BroadPhase,
    /// For each body, whether it was under contact load in the last tick, or its displacement was integrated as if it
    /// were. Always false for fixed bodies.
    pub(crate) had_contact_load: Vec<bool>,
    /// Index of the body that is next to be put back to its start if it has left the bounds, so that all of them get
    /// their turn. Zero without bounds.
    pub(crate) next_respawn: u32,
}

impl State {
    /// Creates the initial state of a scene. Allocates all memory that the state will ever need.
    pub fn new(scene: &Scene) -> Self {
        let placed = scene.placed_at_start();
        let mut state = Self {
            bodies: scene.bodies.iter().map(BodyState::at_start).collect(),
            energy: EnergyBalance::default(),
            broad_phase: BroadPhase::new(scene, &placed),
            placed,
            had_contact_load: vec![false; scene.bodies.len()],
            next_respawn: 0,
        };
        state.restart_energy(scene);
        state
    }

    /// Sets the stored energies to those of the bodies, with a relaxed coupling, after a change that no step has made.
    /// Gains are measured from the next step. Real-time: one pass over the dynamic bodies.
    pub(crate) fn restart_energy(&mut self, scene: &Scene) {
        self.set_body_energy(scene);
        self.energy.coupling_j = 0.0;
        self.energy.restart_gain();
    }

    /// Sets the stored energies of the bodies, after a change that no step has made. Real-time: one pass over the
    /// dynamic bodies.
    pub(crate) fn set_body_energy(&mut self, scene: &Scene) {
        let BodyEnergy { kinetic_j, potential_j } = self.body_energy(scene);
        (self.energy.kinetic_j, self.energy.potential_j) = (kinetic_j, potential_j);
    }

    /// Returns the position of the handle, world, m; zero if the scene has no tool.
    pub fn handle_m(&self, scene: &Scene) -> Vector2<f64> {
        scene.tool.map_or_else(Vector2::zeros, |tool| {
            let body = &self.bodies[tool.body];
            body.centre_m + rotate(body.rotation, tool.handle_m)
        })
    }

    /// Returns the position of the origin of a body's shape frame, world, m. It can differ from the centre of mass.
    pub fn origin_m(&self, scene: &Scene, body: usize) -> Vector2<f64> {
        let state = &self.bodies[body];
        state.centre_m - rotate(state.rotation, scene.bodies[body].centre_m)
    }

    /// Whether a body has left the bounds of the scene and stands still.
    pub fn has_left(&self, body: usize) -> bool {
        self.broad_phase.left.get(body).is_some_and(|&has_left| has_left)
    }

    /// Whether a body has left the bounds of the scene and touches nothing any more.
    pub fn is_removed(&self, scene: &Scene, body: usize) -> bool {
        scene.bounds.is_some_and(|bounds| bounds.leave == Leave::Remove) && self.has_left(body)
    }

    /// Returns a 64-bit hash over the pose and velocity bits of all bodies in file order, with −0 hashed as +0, and over
    /// what the bounds of the scene add to the state.
    pub fn hash(&self) -> u64 {
        let mut hash = OFFSET_BASIS;
        for body in &self.bodies {
            for value in [
                body.centre_m.x,
                body.centre_m.y,
                body.angle_rad,
                body.velocity_m_per_s.x,
                body.velocity_m_per_s.y,
                body.angular_velocity_rad_per_s,
            ] {
                hash = mix(hash, number_bits(value));
            }
        }
        let left = &self.broad_phase.left;
        if !left.is_empty() {
            hash = mix(hash, u64::from(self.next_respawn));
            hash = left.iter().fold(hash, |hash, &has_left| mix(hash, u64::from(has_left)));
        }
        hash
    }

    /// Moves the dynamic bodies by the displacements of a tick and sets their velocities. Returns their energy.
    /// Real-time: one pass over the dynamic bodies and their pieces.
    #[inline(always)]
    pub(crate) fn integrate_positions(&mut self, scene: &Scene, solver_bodies: &[SolverBody]) -> BodyEnergy {
        let mut energy = BodyEnergy::default();
        for &index in &scene.dynamic_bodies {
            let (body, solved) = (&scene.bodies[index], &solver_bodies[index]);
            let state = &mut self.bodies[index];
            state.centre_m += solved.displacement;
            state.angle_rad += solved.rotation_step_rad;
            state.rotation = integrate_rotation(state.rotation, solved.rotation_step_rad);
            state.velocity_m_per_s = solved.velocity;
            state.angular_velocity_rad_per_s = solved.angular_velocity;
            self.had_contact_load[index] = solved.has_contact_load;
            for piece in body.pieces.clone() {
                self.placed[piece].place(&scene.pieces[piece], state.centre_m, state.rotation);
            }
            energy.add(body, state);
        }
        energy
    }

    /// Returns the energy of the dynamic bodies. Real-time: one pass over the dynamic bodies.
    pub(crate) fn body_energy(&self, scene: &Scene) -> BodyEnergy {
        let mut energy = BodyEnergy::default();
        for &index in &scene.dynamic_bodies {
            energy.add(&scene.bodies[index], &self.bodies[index]);
        }
        energy
    }

    /// Updates the energy balance after the bodies have moved. Real-time: one pass over the manifolds.
    #[inline(always)]
    pub(crate) fn update_energy(&mut self, scene: &Scene, tick: &TickEnergy) {
        let TickEnergy { bodies, solver_bodies, manifolds, coupling, impacts, force_on_tool } = *tick;
        for manifold in manifolds {
            self.energy.friction_j -= manifold.impulse.tangent * manifold.slip_speed(solver_bodies);
        }
        self.energy.impact_j += impacts.lost_j;
        let (mut stored_in_coupling, mut work_in) = (0.0, 0.0);
        if let Some((coupling, input)) = coupling {
            let tool = coupling.body();
            let moved = &solver_bodies[tool];
            let (body, state) = (&scene.bodies[tool], &self.bodies[tool]);
            let twist = body.angle_rad - state.angle_rad;
            stored_in_coupling = coupling.stored_j(input.hand_m, coupling.handle_m(state), twist);
            work_in = force_on_tool.dot(&coupling.hand_displacement_m());
            let handle_displacement = coupling.handle_displacement(moved.displacement, moved.rotation_step_rad);
            self.energy.damping_j += coupling.damped_j(handle_displacement, moved.rotation_step_rad);
        }
        self.energy.update(bodies.kinetic_j, bodies.potential_j, stored_in_coupling, work_in);
    }
}

/// Energy of all dynamic bodies.
#[derive(Clone, Copy, Default)]
pub(crate) struct BodyEnergy {
    /// Kinetic energy, J.
    pub kinetic_j: f64,
    /// Potential energy relative to the initial positions, J.
    pub potential_j: f64,
}

impl BodyEnergy {
    #[inline(always)]
    fn add(&mut self, body: &Body, state: &BodyState) {
        self.kinetic_j += 0.5 * body.mass_kg * state.velocity_m_per_s.norm_squared()
            + 0.5 * body.inertia_kg_m2 * state.angular_velocity_rad_per_s * state.angular_velocity_rad_per_s;
        self.potential_j -= body.mass_kg * body.gravity_m_per_s2.dot(&(state.centre_m - body.position_m));
    }
}

/// Inputs of the energy balance for one tick.
#[derive(Clone, Copy)]
pub(crate) struct TickEnergy<'a> {
    /// Energy of the bodies after they have moved.
    pub bodies: BodyEnergy,
    /// Solver bodies at the end of the tick.
    pub solver_bodies: &'a [SolverBody],
    /// Manifolds with their final impulses.
    pub manifolds: &'a [Manifold],
    /// The coupling and its input, if the tool is held.
    pub coupling: Option<(&'a ImplicitCoupling, &'a CouplingInput)>,
    /// Totals over the impacts of the tick.
    pub impacts: &'a ImpactTotals,
    /// Coupling force on the tool, world, N.
    pub force_on_tool: Vector2<f64>,
}
