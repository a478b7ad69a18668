//! Finds bodies that overlap at the start. No motion leads to such a state, so an overlap is a mistake in the file. The
//! bodies would jump apart.

use haptic_planar::scene::Scene;
use haptic_planar::shape::aabb::Aabb;
use haptic_planar::shape::closest::{Seed, penetration_m, track};
use haptic_planar::shape::piece::{Piece, PlacedPiece};
use std::collections::BTreeMap;

/// Largest permitted overlap, m. Allows for rounded numbers in a file.
const ALLOWED_M: f64 = 1e-4;

/// A pair of overlapping bodies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Overlap {
    /// Index of the earlier body in the file.
    pub first: usize,
    /// Index of the later body in the file.
    pub second: usize,
    /// Depth of the overlap, m.
    pub depth_m: f64,
}

/// A piece at its start pose, with its bounding box.
struct StartPiece<'s> {
    piece: &'s Piece,
    placed: PlacedPiece,
    around: Aabb,
}

/// Returns at most `max` pairs of bodies that overlap by more than the permitted depth. Each pair is listed once; pairs
/// are ordered by the later body.
///
/// The pieces are sorted along x, so that only neighbours are compared, and only those whose boxes meet exactly.
pub fn find(scene: &Scene, max: usize) -> Vec<Overlap> {
    let mut pieces: Vec<StartPiece<'_>> = scene.pieces.iter().map(|piece| start_piece(scene, piece)).collect();
    pieces.sort_by(|a, b| a.around.low.x.total_cmp(&b.around.low.x));
    let mut depths: BTreeMap<(usize, usize), f64> = BTreeMap::new();
    for (index, a) in pieces.iter().enumerate() {
        for b in pieces[index + 1..]
            .iter()
            .take_while(|b| b.around.low.x <= a.around.high.x)
            .filter(|b| a.around.meets(&b.around) && may_touch(scene, a, b))
        {
            let depth_m = depth_m(a, b);
            if depth_m > ALLOWED_M {
                let (one, other) = (a.piece.body as usize, b.piece.body as usize);
                let deepest = depths.entry((one.max(other), one.min(other))).or_default();
                *deepest = deepest.max(depth_m);
            }
            if depths.len() >= max {
                return listed(depths);
            }
        }
    }
    listed(depths)
}

fn listed(depths: BTreeMap<(usize, usize), f64>) -> Vec<Overlap> {
    depths.into_iter().map(|((second, first), depth_m)| Overlap { first, second, depth_m }).collect()
}

fn start_piece<'s>(scene: &'s Scene, piece: &'s Piece) -> StartPiece<'s> {
    let (centre, rotation) = scene.bodies[piece.body as usize].start_pose();
    let placed = PlacedPiece::new(piece, centre, rotation);
    StartPiece { piece, around: Aabb::around(&placed, piece.radius_m), placed }
}

fn may_touch(scene: &Scene, a: &StartPiece<'_>, b: &StartPiece<'_>) -> bool {
    let (first, second) = (&scene.bodies[a.piece.body as usize], &scene.bodies[b.piece.body as usize]);
    a.piece.body != b.piece.body && first.layer == second.layer && !(first.fixed && second.fixed)
}

/// Returns the depth by which two pieces overlap, m; negative if they are apart.
fn depth_m(a: &StartPiece<'_>, b: &StartPiece<'_>) -> f64 {
    let radii_m = a.piece.radius_m + b.piece.radius_m;
    match track(&a.placed, &b.placed, &mut Seed::default()) {
        Some(closest) => radii_m - closest.distance_m,
        None => radii_m + penetration_m(&a.placed, &b.placed),
    }
}
