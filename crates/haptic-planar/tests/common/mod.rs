//! Small worlds and hands shared by the behaviour tests.
#![allow(dead_code)]

use haptic_planar::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
use haptic_planar::grip::{Felt, Grip};
use haptic_planar::scene::{Scene, TICK_S};
use haptic_planar::state::State;
use nalgebra::{Vector2, vector};

pub fn box_shape(width: f64, height: f64) -> ShapeDescription {
    ShapeDescription::Box { size_m: vector![width, height] }
}

pub fn disc(radius_m: f64) -> ShapeDescription {
    ShapeDescription::Disc { radius_m }
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

pub fn scene(gravity: f64, bodies: Vec<BodyDescription>, tool: Option<&str>) -> SceneDescription {
    SceneDescription {
        gravity_m_per_s2: vector![0.0, -gravity],
        bodies,
        tool: tool.map(|t| ToolDescription { body: t.to_owned(), handle_m: vector![0.0, 0.0] }),
        ..SceneDescription::default()
    }
}

/// A world with a hand that holds its tool.
pub struct Lab {
    pub scene: Scene,
    pub state: State,
    pub grip: Grip,
    pub tick: u64,
    pub penetration_m: f64,
}

impl Lab {
    pub fn new(description: &SceneDescription) -> Self {
        let scene = Scene::build(description).unwrap_or_else(|e| panic!("{e}"));
        let state = State::new(&scene);
        let hand = state.handle_m(&scene);
        let grip = Grip {
            hand_m: hand,
            hand_before_m: hand,
            stiffness_n_per_m: 1000.0,
            damping_n_s_per_m: 5.0,
            angular_stiffness_n_m_per_rad: 0.0,
            angular_damping_n_m_s_per_rad: 0.0,
            max_force_n: f64::INFINITY,
            rail: None,
        };
        Self { scene, state, grip, tick: 0, penetration_m: 0.0 }
    }

    pub fn gains(mut self, stiffness: f64, damping: f64) -> Self {
        self.grip.stiffness_n_per_m = stiffness;
        self.grip.damping_n_s_per_m = damping;
        self
    }

    /// One tick with nobody holding anything.
    pub fn free(&mut self) -> Felt {
        self.tick += 1;
        let felt = self.state.advance(&self.scene, None);
        self.penetration_m = self.penetration_m.max(felt.penetration_m);
        felt
    }

    /// One tick with the hand at a place.
    pub fn hand(&mut self, at: Vector2<f64>) -> Felt {
        self.grip.hand_before_m = if self.tick == 0 { at } else { self.grip.hand_m };
        self.grip.hand_m = at;
        self.tick += 1;
        let felt = self.state.advance(&self.scene, Some(&self.grip));
        self.penetration_m = self.penetration_m.max(felt.penetration_m);
        felt
    }

    pub fn time_s(&self) -> f64 {
        self.tick as f64 * TICK_S
    }

    /// Kinetic and potential energy now, J.
    pub fn energy_j(&self) -> f64 {
        self.state.ledger.kinetic_j + self.state.ledger.potential_j
    }
}
