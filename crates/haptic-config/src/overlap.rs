//! Bodies that are inside each other at the start. No motion leads there, so it is a slip of the author, and the world
//! would answer with a jump.

use haptic_planar::scene::Scene;
use haptic_planar::shape::closest::{Seed, track};
use haptic_planar::shape::piece::{Piece, PlacedPiece};
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// Deepest overlap that is let pass, m: what rounded figures in a file come to.
const ALLOWED_M: f64 = 1e-4;

/// Two bodies that are inside each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// The earlier body in the file.
    pub first: usize,
    /// The later body in the file.
    pub second: usize,
    /// How deep, m.
    pub depth_m: f64,
}

/// A piece with where it stands and how far along x it reaches.
struct Standing<'s> {
    piece: &'s Piece,
    placed: PlacedPiece,
    from_x: f64,
    to_x: f64,
}

/// Bodies that start too deep in each other, in file order, at most so many pairs; each pair of bodies once.
///
/// Pieces are swept along x, so that only neighbours are compared.
pub fn find(scene: &Scene, most: usize) -> Vec<Overlap> {
    let mut standing: Vec<Standing<'_>> = scene.pieces.iter().map(|piece| stand(scene, piece)).collect();
    standing.sort_by(|a, b| a.from_x.total_cmp(&b.from_x));
    let mut depths: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (index, a) in standing.iter().enumerate() {
        for b in standing[index + 1..].iter().take_while(|b| b.from_x <= a.to_x).filter(|b| may_touch(scene, a, b)) {
            let depth_m = depth_m(a, b);
            if depth_m > ALLOWED_M {
                let (one, other) = (a.piece.body as usize, b.piece.body as usize);
                let deepest = depths.entry((one.max(other), one.min(other))).or_default();
                *deepest = deepest.max(depth_m);
            }
            if depths.len() >= most {
                return listed(depths);
            }
        }
    }
    listed(depths)
}

fn listed(depths: BTreeMap<(usize, usize), f64>) -> Vec<Overlap> {
    depths.into_iter().map(|((second, first), depth_m)| Overlap { first, second, depth_m }).collect()
}

fn stand<'s>(scene: &'s Scene, piece: &'s Piece) -> Standing<'s> {
    let (centre, rotation) = scene.bodies[piece.body as usize].start_pose();
    let placed = PlacedPiece::new(piece, centre, rotation);
    let xs = placed.corners[..placed.count].iter().map(|corner| corner.x);
    let from_x = xs.clone().fold(f64::INFINITY, f64::min) - piece.radius_m;
    let to_x = xs.fold(f64::NEG_INFINITY, f64::max) + piece.radius_m;
    Standing { piece, placed, from_x, to_x }
}

fn may_touch(scene: &Scene, a: &Standing<'_>, b: &Standing<'_>) -> bool {
    let (first, second) = (&scene.bodies[a.piece.body as usize], &scene.bodies[b.piece.body as usize]);
    a.piece.body != b.piece.body && first.layer == second.layer && !(first.fixed && second.fixed)
}

/// How deep two pieces are in each other, m; negative: how far apart.
fn depth_m(a: &Standing<'_>, b: &Standing<'_>) -> f64 {
    let radii_m = a.piece.radius_m + b.piece.radius_m;
    match track(&a.placed, &b.placed, &mut Seed::default()) {
        Some(closest) => radii_m - closest.distance_m,
        None => radii_m + core_depth_m(&a.placed, &b.placed).min(core_depth_m(&b.placed, &a.placed)),
    }
}

/// The least way out through an edge of the first core, m; cores that overlap have it on one of the two.
fn core_depth_m(a: &PlacedPiece, b: &PlacedPiece) -> f64 {
    let way_out = |edge: usize| {
        let reach = |corner: &Vector2<f64>| (a.corners[edge] - corner).dot(&a.normals[edge]);
        b.corners[..b.count].iter().map(reach).fold(f64::NEG_INFINITY, f64::max)
    };
    let edges = if a.count > 1 { a.count } else { 0 };
    let least = (0..edges).map(way_out).fold(f64::INFINITY, f64::min);
    // Two points in one place have no edge to leave through; their radii say it all.
    if a.count == 1 && b.count == 1 { 0.0 } else { least }
}
