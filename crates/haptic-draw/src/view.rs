//! What a scene looks like; worked out once.

use crate::bounds::Bounds;
use crate::colour::Rgb;
use crate::outline::outlines;
use crate::placement::{Placement, at_start};
use haptic_planar::scene::{Body, Scene};
use haptic_planar::shape::piece::Piece;
use nalgebra::Vector2;

/// What a scene looks like.
#[derive(Clone, Debug)]
pub struct SceneView {
    /// In file order.
    pub bodies: Vec<BodyView>,
    /// What the hand holds: which body, and where, relative to its centre of mass, m.
    pub tool: Option<(usize, Vector2<f64>)>,
    /// Everything at its start.
    pub bounds: Bounds,
    /// m/s².
    pub gravity_m_per_s2: Vector2<f64>,
    start: Vec<Placement>,
}

/// What a body looks like.
#[derive(Clone, Debug)]
pub struct BodyView {
    /// Its name.
    pub name: String,
    /// Whether it never moves.
    pub fixed: bool,
    /// Its colour.
    pub colour: Rgb,
    /// Which bodies it can touch.
    pub layer: i32,
    /// Centre of mass in the shape's frame, m.
    pub centre_m: Vector2<f64>,
    /// Convex parts, relative to the centre of mass.
    pub pieces: Vec<Piece>,
    /// Closed outlines of the cores, relative to the centre of mass, m.
    pub outlines: Vec<Vec<Vector2<f64>>>,
    /// By how much the cores are grown, m.
    pub radius_m: f64,
    /// Friction between it and the tool.
    pub friction_with_tool: f64,
}

impl SceneView {
    /// The view of a scene.
    pub fn of(scene: &Scene) -> Self {
        let bodies = scene.bodies.iter().enumerate().map(|(index, body)| body_view(scene, index, body)).collect();
        let mut view = Self {
            bodies,
            tool: scene.tool.map(|tool| (tool.body, tool.handle_m)),
            bounds: Bounds::empty(),
            gravity_m_per_s2: scene.gravity_m_per_s2,
            start: at_start(scene),
        };
        view.bounds = view.bounds_of(&view.start);
        view
    }

    /// Where everything starts.
    pub fn start(&self) -> &[Placement] {
        &self.start
    }

    /// What bodies cover.
    pub fn bounds_of(&self, placements: &[Placement]) -> Bounds {
        let each = self.bodies.iter().zip(placements).map(|(body, placement)| body.bounds(placement));
        each.fold(Bounds::empty(), |all, one| all.joined(&one))
    }

    /// Where the hand holds the tool, world, m.
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
    /// What it covers, m.
    pub fn bounds(&self, placement: &Placement) -> Bounds {
        let mut bounds = Bounds::empty();
        for &corner_m in self.outlines.iter().flatten() {
            bounds.take_in(placement.to_world(corner_m), self.radius_m);
        }
        bounds
    }

    /// Its outlines in the world, m.
    pub fn outlines_in_world(&self, placement: &Placement) -> Vec<Vec<Vector2<f64>>> {
        let placed = |outline: &Vec<Vector2<f64>>| outline.iter().map(|&corner| placement.to_world(corner)).collect();
        self.outlines.iter().map(placed).collect()
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
        outlines: outlines(&pieces),
        radius_m: pieces.iter().map(|piece| piece.radius_m).fold(0.0, f64::max),
        friction_with_tool: scene.tool.map_or(0.0, |tool| scene.friction_of(tool.body, index)),
        pieces,
    }
}
