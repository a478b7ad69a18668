//! Scene message: everything about a world that does not change while it runs.

use haptic_planar::math::rotate;
use haptic_planar::scene::description::{BodyDescription, PlacedShape, SceneDescription, ShapeDescription};
use haptic_planar::scene::walls::Walls;
use haptic_planar::scene::{Body, Scene};
use nalgebra::Vector2;
use serde::Serialize;

/// A scene, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SceneMessage {
    /// Number of the scene within a run, counted from 1. Each state carries the number of its scene.
    pub scene_id: u64,
    /// Name of the scene, from the profile or the viewer.
    pub name: String,
    /// Gravity, m/s².
    pub gravity_m_per_s2: [f64; 2],
    /// Bodies, in the order of the scene file.
    pub bodies: Vec<BodyMessage>,
    /// Indices of the dynamic bodies. The state lists their poses in this order.
    pub moving: Vec<usize>,
    /// The tool, if the scene has one.
    pub tool: Option<ToolMessage>,
    /// Bounding box of all bodies at the start: lower left and upper right corners, world frame, m.
    pub bounds_m: [[f64; 2]; 2],
    /// Time after the hand is released until its own path resumes, s; null if it has none.
    pub hand_resumes_s: Option<f64>,
}

/// A body of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct BodyMessage {
    /// Unique name of the body.
    pub name: String,
    /// Whether the body is fixed.
    pub fixed: bool,
    /// Outline in the body's frame, of a body with one shape whose frame is that of the body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shape: Option<ShapeMessage>,
    /// Shapes of any other body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shapes: Option<Vec<PlacedShapeMessage>>,
    /// Radius by which the outline of `shape` is grown, m.
    pub rounding_m: f64,
    /// Initial position of the body's frame, world frame, m.
    pub position_m: [f64; 2],
    /// Initial angle of the body, rad, anticlockwise.
    pub angle_rad: f64,
    /// Colour, `#rrggbb`.
    pub colour: String,
    /// Collision layer. Bodies in different layers do not collide.
    pub layer: i32,
    /// Coulomb friction coefficient.
    pub friction: f64,
    /// Coefficient of restitution.
    pub restitution: f64,
    /// Mass, kg; null if the body is fixed.
    pub mass_kg: Option<f64>,
}

/// One of several shapes of a body.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlacedShapeMessage {
    /// Outline in the frame of the shape.
    #[serde(flatten)]
    pub shape: ShapeMessage,
    /// Position of the shape's frame in the body's frame, m.
    pub position_m: [f64; 2],
    /// Angle of the shape's frame in the body's frame, rad, anticlockwise.
    pub angle_rad: f64,
    /// Radius by which the outline is grown, m.
    pub rounding_m: f64,
}

/// Outline of a body, with the keys of a scene file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ShapeMessage {
    /// Box: full width and height, centred on the origin, m.
    BoxM([f64; 2]),
    /// Disc: radius, m.
    DiscRadiusM(f64),
    /// Polygon: corners, m.
    PolygonM(Vec<[f64; 2]>),
    /// Capsule along the x axis.
    CapsuleM {
        /// Distance between the centres of the two ends, m.
        length_m: f64,
        /// Radius of the ends, m.
        radius_m: f64,
    },
    /// Walls along a line.
    WallsM {
        /// Points of the line, m.
        points_m: Vec<[f64; 2]>,
        /// Thickness of the walls, m.
        thickness_m: f64,
        /// Whether a wall joins the last point to the first.
        closed: bool,
        /// Outlines of the walls, with the material on the left, m: one, or the outer and the inner one of a closed
        /// line.
        outlines_m: Vec<Vec<[f64; 2]>>,
    },
}

/// The tool of a scene.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ToolMessage {
    /// Index of the tool's body.
    pub body: usize,
    /// Name of the tool's body.
    pub name: String,
    /// Position of the handle in the body's frame, m.
    pub handle_m: [f64; 2],
}

/// The built-in scenes, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ScenesMessage {
    /// All built-in scenes.
    pub scenes: Vec<SceneEntry>,
    /// Name of the running scene.
    pub current: String,
}

/// A built-in scene.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SceneEntry {
    /// Name of the scene.
    pub name: String,
    /// Title of the scene; its name if it has none.
    pub title: String,
    /// What there is to feel in the scene; empty if the scene does not say.
    pub description: String,
    /// URL path of the scene's picture.
    pub thumbnail: String,
}

impl SceneMessage {
    /// Creates a message from a scene and its description, for a hand without a path of its own.
    pub fn new(scene_id: u64, name: &str, description: &SceneDescription, scene: &Scene) -> Self {
        let bodies =
            description.bodies.iter().zip(&scene.bodies).map(|(description, built)| body(description, built)).collect();
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
            hand_resumes_s: None,
        }
    }
}

fn body(description: &BodyDescription, built: &Body) -> BodyMessage {
    let only = match &description.shapes[..] {
        [only] if only.is_at_origin() => Some(only),
        _ => None,
    };
    let all = || description.shapes.iter().map(|placed| placed_shape(placed, description.rounding_m)).collect();
    BodyMessage {
        name: built.name.clone(),
        fixed: built.fixed,
        shape: only.map(|only| shape(&only.shape)),
        shapes: if only.is_none() { Some(all()) } else { None },
        rounding_m: only.and_then(|only| only.rounding_m).unwrap_or(description.rounding_m),
        position_m: built.position_m.into(),
        angle_rad: built.angle_rad,
        colour: built.colour.clone(),
        layer: built.layer,
        friction: built.friction,
        restitution: built.restitution,
        mass_kg: (!built.fixed).then_some(built.mass_kg),
    }
}

fn placed_shape(placed: &PlacedShape, rounding_m: f64) -> PlacedShapeMessage {
    PlacedShapeMessage {
        shape: shape(&placed.shape),
        position_m: placed.position_m.into(),
        angle_rad: placed.angle_rad,
        rounding_m: placed.rounding_m.unwrap_or(rounding_m),
    }
}

fn shape(shape: &ShapeDescription) -> ShapeMessage {
    match shape {
        ShapeDescription::Box { size_m } => ShapeMessage::BoxM((*size_m).into()),
        ShapeDescription::Disc { radius_m } => ShapeMessage::DiscRadiusM(*radius_m),
        ShapeDescription::Polygon { corners_m } => ShapeMessage::PolygonM(arrays(corners_m)),
        ShapeDescription::Capsule { length_m, radius_m } => {
            ShapeMessage::CapsuleM { length_m: *length_m, radius_m: *radius_m }
        }
        ShapeDescription::Walls { points_m, thickness_m, closed } => {
            // The scene has been built from this description, so these are valid walls.
            let outlines = Walls::new(points_m, *thickness_m, *closed).map(|walls| walls.outlines).unwrap_or_default();
            ShapeMessage::WallsM {
                points_m: arrays(points_m),
                thickness_m: *thickness_m,
                closed: *closed,
                outlines_m: outlines.iter().map(|outline| arrays(outline)).collect(),
            }
        }
    }
}

fn arrays(points_m: &[Vector2<f64>]) -> Vec<[f64; 2]> {
    points_m.iter().map(|&point_m| point_m.into()).collect()
}

fn bounds_m(scene: &Scene) -> [[f64; 2]; 2] {
    let (mut low, mut high) = (Vector2::repeat(f64::INFINITY), Vector2::repeat(f64::NEG_INFINITY));
    for piece in &scene.pieces {
        let (centre_m, rotation) = scene.bodies[piece.body as usize].start_pose();
        for corner in piece.outline() {
            let corner = centre_m + rotate(rotation, *corner);
            low = low.inf(&corner.add_scalar(-piece.radius_m));
            high = high.sup(&corner.add_scalar(piece.radius_m));
        }
    }
    [low.into(), high.into()]
}
