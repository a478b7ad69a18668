//! Appearance of a scene, computed once.

use crate::bounds::Bounds;
use crate::colour::Rgb;
use crate::outline;
use crate::placement::{Placement, at_start};
use haptic_planar::scene::{Body, Scene};
use haptic_planar::shape::piece::Piece;
use nalgebra::Vector2;

/// Appearance of a scene.
#[derive(Clone, Debug)]
pub struct SceneView {
    /// Bodies, in file order.
    pub bodies: Vec<BodyView>,
    /// Tool, if any: index of its body, and the handle relative to the centre of mass, m.
    pub tool: Option<(usize, Vector2<f64>)>,
    /// Weight of the tool, N; zero without a tool and for a weightless one.
    pub tool_weight_n: f64,
    /// Extent of all bodies at their start poses.
    pub bounds: Bounds,
    /// Gravity, m/s².
    pub gravity_m_per_s2: Vector2<f64>,
    start: Vec<Placement>,
}

/// Appearance of a body.
#[derive(Clone, Debug)]
pub struct BodyView {
    /// Name of the body.
    pub name: String,
    /// Whether the body is fixed.
    pub fixed: bool,
    /// Colour of the body.
    pub colour: Rgb,
    /// Collision layer. Bodies in different layers do not touch.
    pub layer: i32,
    /// Centre of mass in the body's frame, m.
    pub centre_m: Vector2<f64>,
    /// Pieces of the body, relative to the centre of mass.
    pub pieces: Vec<Piece>,
    /// Shapes of the body.
    pub shapes: Vec<ShapeView>,
    /// Coefficient of friction with the tool; zero if there is no tool.
    pub friction_with_tool: f64,
}

/// Appearance of a shape of a body.
#[derive(Clone, Debug)]
pub struct ShapeView {
    /// Closed outlines of the cores, relative to the centre of mass of the body, m.
    pub outlines: Vec<Vec<Vector2<f64>>>,
    /// Radius by which the cores are grown, m.
    pub radius_m: f64,
}

impl ShapeView {
    fn new(pieces: &[Piece]) -> Self {
        let radius_m = pieces.iter().map(|piece| piece.radius_m).fold(0.0, f64::max);
        Self { outlines: outline::cores(pieces), radius_m }
    }

    /// Returns the outlines of the cores at a pose of the body, world frame, m.
    pub fn outlines_in_world(&self, placement: &Placement) -> Vec<Vec<Vector2<f64>>> {
        let placed = |outline: &Vec<Vector2<f64>>| outline.iter().map(|&corner| placement.to_world(corner)).collect();
        self.outlines.iter().map(placed).collect()
    }
}

impl SceneView {
    /// Computes the appearance of a scene.
    pub fn new(scene: &Scene) -> Self {
        let bodies = scene.bodies.iter().enumerate().map(|(index, body)| body_view(scene, index, body)).collect();
        let mut view = Self {
            bodies,
            tool: scene.tool.map(|tool| (tool.body, tool.handle_m)),
            tool_weight_n: scene.tool.map_or(0.0, |tool| scene.bodies[tool.body].weight_n().norm()),
            bounds: Bounds::empty(),
            gravity_m_per_s2: scene.gravity_m_per_s2,
            start: at_start(scene),
        };
        view.bounds = view.bounds_of(&view.start);
        view
    }

    /// Returns the start poses of all bodies.
    pub fn start(&self) -> &[Placement] {
        &self.start
    }

    /// Returns the extent of the bodies that are drawn at the given poses.
    pub fn bounds_of(&self, placements: &[Placement]) -> Bounds {
        let drawn = self.bodies.iter().zip(placements).filter(|(_, placement)| !placement.is_removed);
        let each = drawn.map(|(body, placement)| body.bounds(placement));
        each.fold(Bounds::empty(), |all, one| all.joined(&one))
    }

    /// Returns the position of the tool's handle, world frame, m; `None` without a tool.
    pub fn handle_m(&self, placements: &[Placement]) -> Option<Vector2<f64>> {
        let (body, handle_m) = self.tool?;
        placements.get(body).map(|placement| placement.to_world(handle_m))
    }

    /// Whether a body is the tool.
    pub fn is_tool(&self, body: usize) -> bool {
        self.tool.is_some_and(|(tool, _)| tool == body)
    }
}

impl BodyView {
    /// Returns the extent of the body at a pose, world frame.
    pub fn bounds(&self, placement: &Placement) -> Bounds {
        let mut bounds = Bounds::empty();
        for shape in &self.shapes {
            for &corner_m in shape.outlines.iter().flatten() {
                bounds.add(placement.to_world(corner_m), shape.radius_m);
            }
        }
        bounds
    }
}

fn body_view(scene: &Scene, index: usize, body: &Body) -> BodyView {
    let pieces = scene.pieces[body.pieces.clone()].to_vec();
    BodyView {
        name: body.name.clone(),
        fixed: body.fixed,
        colour: Rgb::from_hexadecimal(&body.colour),
        layer: body.layer,
        centre_m: body.centre_m,
        shapes: body.shapes.iter().map(|shape| ShapeView::new(&scene.pieces[shape.clone()])).collect(),
        friction_with_tool: scene.tool.map_or(0.0, |tool| scene.friction_of(tool.body, index)),
        pieces,
    }
}
