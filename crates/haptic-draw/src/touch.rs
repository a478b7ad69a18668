//! Finds the bodies that the tool touches, and the contact points, from geometry alone.

use crate::placement::Placement;
use crate::view::{BodyView, SceneView};
use haptic_planar::shape::closest::{Seed, track};
use haptic_planar::shape::piece::{Piece, PlacedPiece};
use nalgebra::Vector2;

/// Largest distance that counts as touching, m. The gap of a loaded contact is a few µm; a tool held next to a body
/// without load is rarely this close.
pub const TOUCHING_M: f64 = 5e-5;

/// Returns the indices of the bodies that the tool touches, in file order.
pub fn touched(view: &SceneView, placements: &[Placement]) -> Vec<usize> {
    let Some((tool, _)) = view.tool else { return Vec::new() };
    let can_touch = |other: &usize| {
        let (body, placement) = (&view.bodies[*other], &placements[*other]);
        *other != tool && body.layer == view.bodies[tool].layer && !placement.is_removed
    };
    let others = (0..view.bodies.len()).filter(can_touch);
    others.filter(|&other| distance_m(view, placements, tool, other) < TOUCHING_M).collect()
}

/// Returns the visible contact points, world frame, m: corners of the tool on bodies it touches, and corners of these
/// bodies on the tool.
pub fn contact_points_m(view: &SceneView, placements: &[Placement]) -> Vec<Vector2<f64>> {
    let Some((tool, _)) = view.tool else { return Vec::new() };
    let touched = touched(view, placements);
    let mut points: Vec<Vector2<f64>> = Vec::new();
    for &other in &touched {
        let pairs = [(tool, other), (other, tool)];
        for (of, on) in pairs {
            let near = corners_near(view, placements, of, on);
            points.extend(
                near.filter(|point| points.iter().all(|known| (known - point).norm() > TOUCHING_M)).collect::<Vec<_>>(),
            );
        }
    }
    points
}

/// Returns the contact points at the corners of body `of` on body `on`, world frame, m.
fn corners_near<'v>(
    view: &'v SceneView,
    placements: &'v [Placement],
    of: usize,
    on: usize,
) -> impl Iterator<Item = Vector2<f64>> + 'v {
    let (body, surface) = (&view.bodies[of], &view.bodies[on]);
    let corners = body.shapes.iter().flat_map(move |shape| {
        let outlines = shape.outlines_in_world(&placements[of]).into_iter().flatten();
        outlines.map(|corner_m| (corner_m, shape.radius_m))
    });
    corners.filter_map(move |(corner_m, radius_m)| {
        let (distance_m, towards_m) = nearest_on(surface, &placements[on], corner_m)?;
        let reach_m = radius_m + TOUCHING_M;
        let along = (towards_m - corner_m).try_normalize(1e-9).unwrap_or_default();
        (distance_m < reach_m).then_some(corner_m + along * radius_m.min(distance_m.max(0.0)))
    })
}

/// Returns the distance from a point to a body's surface, m, and the nearest point on its cores. For a point inside a
/// core, the distance is minus the radius and the nearest point is the point itself.
fn nearest_on(body: &BodyView, placement: &Placement, point_m: Vector2<f64>) -> Option<(f64, Vector2<f64>)> {
    let point = PlacedPiece::new(&Piece::new(0, &[point_m], 0.0), Vector2::zeros(), Vector2::x());
    let each = body.pieces.iter().map(|piece| {
        let placed = PlacedPiece::new(piece, placement.centre_m, placement.rotation);
        match track(&point, &placed, &mut Seed::default()) {
            Some(closest) => (closest.distance_m - piece.radius_m, closest.on_b),
            None => (-piece.radius_m, point_m),
        }
    });
    each.min_by(|a, b| a.0.total_cmp(&b.0))
}

fn distance_m(view: &SceneView, placements: &[Placement], a: usize, b: usize) -> f64 {
    let placed = |body: usize| {
        let Placement { centre_m, rotation, .. } = placements[body];
        view.bodies[body].pieces.iter().map(move |piece| (PlacedPiece::new(piece, centre_m, rotation), piece.radius_m))
    };
    let others: Vec<(PlacedPiece, f64)> = placed(b).collect();
    let mut min_m = f64::INFINITY;
    for (one, radius_m) in placed(a) {
        for (other, other_radius_m) in &others {
            let cores_m = track(&one, other, &mut Seed::default()).map_or(0.0, |closest| closest.distance_m);
            min_m = min_m.min(cores_m - radius_m - other_radius_m);
        }
    }
    min_m
}
