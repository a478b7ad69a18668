//! How many near pairs a scene can have: fixed at load from its geometry.

use crate::scene::Scene;
use crate::shape::aabb::{AABB_MARGIN_M, Aabb};
use crate::shape::piece::PlacedPiece;

/// Room around a piece in which others are near: both fat boxes and the margins of a brisk hand, m.
const NEAR_M: f64 = 2.0 * AABB_MARGIN_M + 2e-3;
/// Fewest pairs a moving piece gets, so that small scenes have room to spare.
const MIN_PER_PIECE: usize = 4;

/// Near pairs that the scene can have at once: for every moving piece the fixed ones that can lie around it anywhere,
/// and the moving ones that can be packed around it.
pub fn near_pairs(scene: &Scene, placed: &[PlacedPiece]) -> usize {
    let fixed: Vec<Aabb> = (0..placed.len())
        .filter(|&i| scene.is_fixed_piece(i))
        .map(|i| Aabb::around(&placed[i], scene.pieces[i].radius_m))
        .collect();
    let moving: Vec<f64> = (0..placed.len())
        .filter(|&i| !scene.is_fixed_piece(i))
        .map(|i| {
            let size = Aabb::around(&placed[i], scene.pieces[i].radius_m);
            (size.high - size.low).norm()
        })
        .collect();
    let smallest = moving.iter().copied().fold(f64::INFINITY, f64::min);
    let sum: f64 = moving.iter().map(|&size| packed_around(size, smallest, moving.len())).sum();
    let among_moving = (sum / 2.0).ceil() as usize;
    let largest = moving.iter().copied().fold(0.0, f64::max);
    let with_fixed = moving.len() * crowd(&fixed, largest).max(MIN_PER_PIECE);
    let possible = moving.len() * fixed.len() + moving.len() * moving.len().saturating_sub(1) / 2;
    (among_moving + with_fixed).min(possible)
}

/// How many pieces of the smallest size fit around one: those whose boxes can meet, at most all the others.
fn packed_around(size: f64, smallest: f64, count: usize) -> f64 {
    let reach = size + smallest + 2.0 * NEAR_M;
    let side = smallest / std::f64::consts::SQRT_2;
    (reach * reach / (side * side)).ceil().min(count.saturating_sub(1) as f64)
}

/// Most fixed pieces that one box of the largest moving piece can be near at any place: no more than meet the box of
/// one of them grown by the moving piece's size.
fn crowd(fixed: &[Aabb], size: f64) -> usize {
    let mut by_left: Vec<&Aabb> = fixed.iter().collect();
    by_left.sort_by(|a, b| a.low.x.total_cmp(&b.low.x));
    let widest = fixed.iter().map(|b| b.high.x - b.low.x).fold(0.0, f64::max);
    let mut most = 0;
    for one in &by_left {
        // Whatever lies around the moving piece together with this one starts within its reach on both sides.
        let around = one.grown(size + 2.0 * NEAR_M);
        let first = by_left.partition_point(|b| b.low.x < around.low.x - widest);
        let count =
            by_left[first..].iter().take_while(|b| b.low.x <= around.high.x).filter(|b| b.meets(&around)).count();
        most = most.max(count);
    }
    most
}
