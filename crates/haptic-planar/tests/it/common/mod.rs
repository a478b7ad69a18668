//! Small scenes and hand motions shared by the behaviour tests.

pub mod measure;

use haptic_planar::input::CouplingInput;
use haptic_planar::output::StepOutput;
use haptic_planar::scene::Scene;
use haptic_planar::scene::body_state::BodyState;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
use haptic_planar::state::State;
use haptic_planar::tick::TICK_S;
use haptic_planar::workspace::Workspace;
use nalgebra::{Vector2, vector};

/// Gravity in the tests, m/s².
pub const GRAVITY: f64 = 9.81;

pub fn box_shape(width: f64, height: f64) -> ShapeDescription {
    ShapeDescription::Box { size_m: vector![width, height] }
}

pub fn disc(radius_m: f64) -> ShapeDescription {
    ShapeDescription::Disc { radius_m }
}

pub fn capsule(length_m: f64, radius_m: f64) -> ShapeDescription {
    ShapeDescription::Capsule { length_m, radius_m }
}

pub fn polygon(corners: &[[f64; 2]]) -> ShapeDescription {
    ShapeDescription::Polygon { corners_m: corners.iter().map(|&[x, y]| vector![x, y]).collect() }
}

pub fn hexagon(radius: f64) -> ShapeDescription {
    let corner = |i: usize| {
        let (sine, cosine) = libm::sincos(i as f64 * std::f64::consts::FRAC_PI_3);
        [radius * cosine, radius * sine]
    };
    polygon(&std::array::from_fn::<_, 6, _>(corner))
}

pub fn body(name: &str, shape: ShapeDescription, x: f64, y: f64) -> BodyDescription {
    BodyDescription { position_m: vector![x, y], ..BodyDescription::new(name, shape) }
}

pub fn fixed(name: &str, shape: ShapeDescription, x: f64, y: f64) -> BodyDescription {
    BodyDescription { fixed: true, ..body(name, shape, x, y) }
}

pub fn with(mut one: BodyDescription, mass: f64, friction: f64, restitution: f64) -> BodyDescription {
    one.mass_kg = Some(mass);
    one.friction = friction;
    one.restitution = restitution;
    one
}

/// Returns a floor 2 m wide whose top is at y = 0.
pub fn floor(friction: f64, restitution: f64) -> BodyDescription {
    with(fixed("floor", box_shape(2.0, 0.1), 0.0, -0.05), 1.0, friction, restitution)
}

/// Returns four walls around a square room of this half-width, centred on the origin.
pub fn room(half: f64, friction: f64, restitution: f64) -> Vec<BodyDescription> {
    let thick = 0.02;
    let (long, out) = (2.0 * half + 4.0 * thick, half + thick / 2.0);
    let wall =
        |name: &str, width, height, x, y| with(fixed(name, box_shape(width, height), x, y), 1.0, friction, restitution);
    vec![
        wall("left", thick, long, -out, 0.0),
        wall("right", thick, long, out, 0.0),
        wall("top", long, thick, 0.0, out),
        wall("bottom", long, thick, 0.0, -out),
    ]
}

pub fn scene(gravity: f64, bodies: Vec<BodyDescription>, tool: Option<&str>) -> SceneDescription {
    SceneDescription {
        gravity_m_per_s2: vector![0.0, -gravity],
        bodies,
        tool: tool.map(|t| ToolDescription { body: t.to_owned(), handle_m: vector![0.0, 0.0], weightless: false }),
        ..SceneDescription::default()
    }
}

/// A world with a hand that holds its tool, and the maxima over the run.
#[derive(Clone)]
pub struct Lab {
    pub scene: Scene,
    pub state: State,
    pub workspace: Workspace,
    pub input: CouplingInput,
    pub tick: u64,
    pub penetration_m: f64,
    pub dropped: u32,
}

impl Lab {
    pub fn new(description: &SceneDescription) -> Self {
        let scene = Scene::build(description).unwrap_or_else(|e| panic!("{e}"));
        let (state, workspace) = (State::new(&scene), Workspace::new(&scene));
        let hand = state.handle_m(&scene);
        let input = CouplingInput {
            hand_m: hand,
            hand_before_m: hand,
            stiffness_n_per_m: 1000.0,
            damping_n_s_per_m: 5.0,
            angular_stiffness_n_m_per_rad: 0.0,
            angular_damping_n_m_s_per_rad: 0.0,
            max_force_n: f64::INFINITY,
            rail: None,
        };
        Self { scene, state, workspace, input, tick: 0, penetration_m: 0.0, dropped: 0 }
    }

    pub fn gains(mut self, stiffness: f64, damping: f64) -> Self {
        self.input.stiffness_n_per_m = stiffness;
        self.input.damping_n_s_per_m = damping;
        self
    }

    /// Adds an angular spring-damper to the coupling.
    pub fn upright(mut self, stiffness: f64, damping: f64) -> Self {
        self.input.angular_stiffness_n_m_per_rad = stiffness;
        self.input.angular_damping_n_m_s_per_rad = damping;
        self
    }

    /// Runs one tick without a hand.
    pub fn free(&mut self) -> StepOutput {
        self.tick += 1;
        let output = self.state.advance(&self.scene, &mut self.workspace, None);
        self.record(&output);
        output
    }

    /// Runs this many seconds without a hand.
    pub fn run_s(&mut self, seconds: f64) {
        for _ in 0..(seconds / TICK_S).round() as usize {
            self.free();
        }
    }

    /// Runs one tick with the hand at a position.
    pub fn hand(&mut self, at: Vector2<f64>) -> StepOutput {
        self.input.hand_before_m = if self.tick == 0 { at } else { self.input.hand_m };
        self.input.hand_m = at;
        self.tick += 1;
        let output = self.state.advance(&self.scene, &mut self.workspace, Some(&self.input));
        self.record(&output);
        output
    }

    /// Moves the hand to a position in a straight line within this many ticks; calls `check` after each tick.
    pub fn lead(&mut self, to: Vector2<f64>, ticks: usize, mut check: impl FnMut(&Self, StepOutput)) {
        let from = self.input.hand_m;
        for i in 1..=ticks {
            let output = self.hand(from + (to - from) * (i as f64 / ticks as f64));
            check(self, output);
        }
    }

    fn record(&mut self, output: &StepOutput) {
        self.penetration_m = self.penetration_m.max(output.penetration_m);
        self.dropped += output.pairs_dropped;
    }

    pub fn time_s(&self) -> f64 {
        self.tick as f64 * TICK_S
    }

    /// Returns the state of the body with this name.
    pub fn body(&self, name: &str) -> &BodyState {
        let index = self.scene.bodies.iter().position(|body| body.name == name);
        &self.state.bodies[index.unwrap_or_else(|| panic!("no body {name}"))]
    }

    /// Returns the kinetic and potential energy now, J.
    pub fn energy_j(&self) -> f64 {
        self.state.energy.kinetic_j + self.state.energy.potential_j
    }

    /// Returns the maximum energy gain, J.
    pub fn gain_j(&self) -> f64 {
        self.state.energy.gain_max_j
    }
}
