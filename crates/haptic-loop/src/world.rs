//! A scene and its state, and the energy that they could deliver to the hand.

use crate::scene_hand::{Demonstration, SceneHand};
use haptic_coupling::coupling::Deformation;
use haptic_coupling::tank::StoredEnergy;
use haptic_planar::input::CouplingInput;
use haptic_planar::output::StepOutput;
use haptic_planar::scene::{Body, Scene};
use haptic_planar::solve::energy::EnergyBalance;
use haptic_planar::state::State;
use haptic_planar::workspace::Workspace;
use nalgebra::Vector2;

/// Minimum descent from its start for which the potential energy of a body is counted, m: about the reach of an arm.
/// The tank holds no energy for a greater descent, so the weight of a tool carried lower fades gradually; it never
/// grows.
const REACH_M: f64 = 0.5;

/// The world of the loop, with the constants that the energy tank needs.
#[derive(Clone, Debug)]
pub struct World {
    /// Constant description of the world.
    pub scene: Scene,
    /// State of the world.
    pub state: State,
    /// Scratch memory of a step. Its contacts can be read after the step.
    pub workspace: Workspace,
    /// Number of the world within a run; the first world has number zero.
    number: u64,
    /// Indices of the dynamic bodies.
    moving: Vec<u32>,
    /// Energy that all bodies together would release by descending from their initial to their lowest positions, J,
    /// zero or more.
    drop_j: f64,
    /// Kinetic energy of all bodies at the start, J.
    start_kinetic_j: f64,
    /// Weight of the tool, N.
    tool_weight_n: Vector2<f64>,
    /// Motion of the scene's simulated hand.
    pub(crate) hand: Demonstration,
}

impl World {
    /// Creates a world at its start, with a simulated hand that rests at the handle of the tool.
    pub fn new(scene: Scene) -> Self {
        let (state, workspace) = (State::new(&scene), Workspace::new(&scene));
        let drop_j = scene.bodies.iter().map(|body| drop_j(&scene, body)).sum();
        let start_kinetic_j = scene.bodies.iter().map(kinetic_j).sum();
        let tool_weight_n = scene.tool.map_or(Vector2::zeros(), |tool| scene.bodies[tool.body].weight_n());
        let can_move = |(index, body): (usize, &Body)| (!body.fixed).then_some(index as u32);
        let moving = scene.bodies.iter().enumerate().filter_map(can_move).collect();
        let hand = demonstration(&scene, &state, SceneHand::default());
        Self { scene, state, workspace, number: 0, moving, drop_j, start_kinetic_j, tool_weight_n, hand }
    }

    /// Sets the simulated hand of the scene.
    pub fn with_hand(self, hand: SceneHand) -> Self {
        Self { hand: demonstration(&self.scene, &self.state, hand), ..self }
    }

    /// Advances the world by one tick and writes the output. Real-time: bounded by the scene's capacities.
    pub fn advance(&mut self, input: Option<&CouplingInput>, output: &mut StepOutput) {
        self.state.advance_into(&self.scene, &mut self.workspace, input, output);
    }

    /// Whether the tool has room if it is displaced by `displacement_m`. Real-time: bounded by the scene.
    pub fn has_room(&mut self, displacement_m: Vector2<f64>) -> bool {
        self.state.has_room(&self.scene, &mut self.workspace, displacement_m)
    }

    /// Displaces the tool and brings it to rest. Gains of energy are measured from the next tick. Returns the potential
    /// energy that this adds, J. Real-time: bounded by the scene.
    pub fn place_tool(&mut self, displacement_m: Vector2<f64>) -> f64 {
        self.state.place_tool(&self.scene, displacement_m);
        -self.tool_weight_n.dot(&displacement_m)
    }

    /// Sets the number of the world. Recordings refer to worlds by number; the first world of a run has number zero.
    pub fn numbered(self, number: u64) -> Self {
        Self { number, ..self }
    }

    /// Number of the world within a run; the first world has number zero.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Energy stored in the world at the start.
    pub fn stored_at_start(&self) -> StoredEnergy {
        StoredEnergy { total_j: self.drop_j + self.start_kinetic_j, height_j: self.drop_j }
    }

    /// Energy stored in the world after a tick, with heights measured from the lowest positions of the bodies.
    /// Real-time: constant.
    pub fn stored(&self, ledger: &EnergyBalance) -> StoredEnergy {
        StoredEnergy { total_j: ledger.stored_j() + self.drop_j, height_j: ledger.potential_j + self.drop_j }
    }

    /// Indices of the dynamic bodies, in file order.
    pub fn moving(&self) -> &[u32] {
        &self.moving
    }

    /// Weight of the tool, N; zero without a tool and for a weightless one.
    pub fn tool_weight_n(&self) -> Vector2<f64> {
        self.tool_weight_n
    }

    /// Returns the stretch and twist of the coupling for a hand at `hand_m`. Real-time: constant.
    pub fn deformation(&self, hand_m: Vector2<f64>) -> Deformation {
        let twist_rad = self.scene.tool.map_or(0.0, |tool| {
            self.state.bodies.get(tool.body).map_or(0.0, |motion| motion.angle_rad)
                - self.scene.bodies[tool.body].angle_rad
        });
        Deformation { stretch_m: (hand_m - self.state.handle_m(&self.scene)).norm(), twist_rad }
    }
}

/// Returns the motion of a scene's hand from its start: as given, or at the handle of the tool.
fn demonstration(scene: &Scene, state: &State, hand: SceneHand) -> Demonstration {
    let handle_m = || if scene.tool.is_some() { state.handle_m(scene) } else { Vector2::zeros() };
    let start_m = hand.start_m.unwrap_or_else(handle_m);
    Demonstration::new(hand, start_m)
}

/// Energy that a body would release by descending from its initial to its lowest position, J. The lowest position is
/// the lowest point of the fixed bodies or [`REACH_M`] below the start, whichever is lower.
fn drop_j(scene: &Scene, body: &Body) -> f64 {
    let pull = body.gravity_m_per_s2.norm();
    if body.fixed || pull == 0.0 {
        return 0.0;
    }
    let down = body.gravity_m_per_s2 / pull;
    let floor_m = lowest_fixed_point_m(scene, down);
    let drop_m = (floor_m - down.dot(&body.position_m)).max(REACH_M);
    body.mass_kg * pull * drop_m
}

/// Depth below which no fixed body extends, m along `down`; minus infinity if there are none.
fn lowest_fixed_point_m(scene: &Scene, down: Vector2<f64>) -> f64 {
    let fixed = scene.bodies.iter().filter(|body| body.fixed);
    let depths = fixed.map(|body| {
        let reach_m = scene.pieces[body.pieces.clone()].iter().map(|piece| piece.reach_m).fold(0.0, f64::max);
        down.dot(&body.position_m) + reach_m
    });
    depths.fold(f64::NEG_INFINITY, f64::max)
}

fn kinetic_j(body: &Body) -> f64 {
    if body.fixed {
        return 0.0;
    }
    let straight = body.mass_kg * body.velocity_m_per_s.norm_squared();
    0.5 * (straight + body.inertia_kg_m2 * body.angular_velocity_rad_per_s.powi(2))
}
