//! What there is in a world, and what does not change while it runs.

use haptic_planar::math::rotate;
use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
use haptic_planar::scene::{Body, Scene};
use nalgebra::Vector2;
use serde::Serialize;

/// A whole scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SceneMessage {
    /// Counts the scenes of a run from 1; the state tells which one it belongs to.
    pub scene_id: u64,
    /// As the profile or the viewer named it.
    pub name: String,
    /// m/s².
    pub gravity_m_per_s2: [f64; 2],
    /// In file order.
    pub bodies: Vec<BodyMessage>,
    /// Which of them move; the state lists their poses in this order.
    pub moving: Vec<usize>,
    /// What the hand holds.
    pub tool: Option<ToolMessage>,
    /// What everything covers at its start: lower left and upper right corner, m.
    pub bounds_m: [[f64; 2]; 2],
}

/// One body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BodyMessage {
    /// Unique name.
    pub name: String,
    /// Whether it never moves.
    pub fixed: bool,
    /// Outline in the body's frame.
    pub shape: ShapeMessage,
    /// Radius by which the outline is grown all round, m.
    pub rounding_m: f64,
    /// Start of its frame in the world, m.
    pub position_m: [f64; 2],
    /// Start angle, rad, anticlockwise.
    pub angle_rad: f64,
    /// `#rrggbb`.
    pub colour: String,
    /// Bodies of different layers do not touch.
    pub layer: i32,
    /// Coulomb coefficient.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// kg; none if fixed.
    pub mass_kg: Option<f64>,
}

/// An outline, with the keys of a scene file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeMessage {
    /// Full width and height, centred.
    BoxM([f64; 2]),
    /// A disc.
    DiscRadiusM(f64),
    /// Corners.
    PolygonM(Vec<[f64; 2]>),
    /// Along x.
    CapsuleM {
        /// Between the centres of its ends.
        length_m: f64,
        /// Of its ends.
        radius_m: f64,
    },
}

/// What the hand holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolMessage {
    /// Index of the body.
    pub body: usize,
    /// Its name.
    pub name: String,
    /// Where the hand holds it, in the body's frame, m.
    pub handle_m: [f64; 2],
}

/// The scenes that can be switched to by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenesMessage {
    /// Those that are built in.
    pub scenes: Vec<SceneEntry>,
    /// The one that runs.
    pub current: String,
}

/// A scene that can be switched to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SceneEntry {
    /// Its name.
    pub name: String,
    /// What it is, in a line.
    pub title: String,
    /// Where its picture is.
    pub thumbnail: String,
}

impl SceneMessage {
    /// The message of a scene, from what was written and what was worked out of it.
    pub fn of(scene_id: u64, name: &str, description: &SceneDescription, scene: &Scene) -> Self {
        let bodies =
            description.bodies.iter().zip(&scene.bodies).map(|(written, built)| body(written, built)).collect();
        let tool = scene.tool.map(|tool| ToolMessage {
            body: tool.body,
            name: scene.bodies[tool.body].name.clone(),
            handle_m: (tool.handle_m + scene.bodies[tool.body].centre_m).into(),
        });
        Self {
            scene_id,
            name: name.to_owned(),
            gravity_m_per_s2: scene.gravity_m_per_s2.into(),
            bodies,
            moving: (0..scene.bodies.len()).filter(|&index| !scene.bodies[index].fixed).collect(),
            tool,
            bounds_m: bounds_m(scene),
        }
    }
}

fn body(written: &BodyDescription, built: &Body) -> BodyMessage {
    BodyMessage {
        name: built.name.clone(),
        fixed: built.fixed,
        shape: shape(&written.shape),
        rounding_m: written.rounding_m,
        position_m: built.position_m.into(),
        angle_rad: built.angle_rad,
        colour: built.colour.clone(),
        layer: built.layer,
        friction: built.friction,
        restitution: built.restitution,
        mass_kg: (!built.fixed).then_some(built.mass_kg),
    }
}

fn shape(shape: &ShapeDescription) -> ShapeMessage {
    match shape {
        ShapeDescription::Box { size_m } => ShapeMessage::BoxM((*size_m).into()),
        ShapeDescription::Disc { radius_m } => ShapeMessage::DiscRadiusM(*radius_m),
        ShapeDescription::Polygon { corners_m } => {
            ShapeMessage::PolygonM(corners_m.iter().map(|&corner| corner.into()).collect())
        }
        ShapeDescription::Capsule { length_m, radius_m } => {
            ShapeMessage::CapsuleM { length_m: *length_m, radius_m: *radius_m }
        }
    }
}

fn bounds_m(scene: &Scene) -> [[f64; 2]; 2] {
    let (mut low, mut high) = (Vector2::repeat(f64::INFINITY), Vector2::repeat(f64::NEG_INFINITY));
    for piece in &scene.pieces {
        let (centre_m, turn) = scene.bodies[piece.body as usize].start_pose();
        for corner in piece.outline() {
            let place = centre_m + rotate(turn, *corner);
            low = low.inf(&place.add_scalar(-piece.radius_m));
            high = high.sup(&place.add_scalar(piece.radius_m));
        }
    }
    [low.into(), high.into()]
}
