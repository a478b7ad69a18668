//! Capacity for near pairs, computed from the geometry when a scene is loaded.

use crate::scene::Scene;
use crate::shape::aabb::{AABB_MARGIN_M, Aabb};
use crate::shape::piece::{Piece, PlacedPiece};

/// Distance within which two pieces can be near, m: the margins of both fat boxes, plus 2 mm for the motion of a fast
/// hand.
const NEAR_M: f64 = 2.0 * AABB_MARGIN_M + 2e-3;
/// Minimum number of fixed pieces counted as near each dynamic piece, so that small scenes have spare capacity.
const MIN_PER_PIECE: usize = 4;

/// Work of a look-up that is always allowed, in rows and entries of the grid. Less would shorten the motion of fast
/// bodies in ordinary scenes.
const MIN_LOOK_UP_WORK: usize = 256;
/// Largest difference between a side of the box that a slow piece needs and the diameter of the piece, m: the motion of
/// 5 mm within a tick up to which a piece counts as slow, and on each side the margins of the step and of the fat box.
const SLOW_SIDE_M: f64 = 0.02;

/// Returns the largest permitted work of a look-up among the fixed pieces, in rows and entries of the grid. It is
/// enough for every slow piece, wherever it is; the sweep of a fast piece is shortened until its work is permitted.
pub fn look_up_work(scene: &Scene) -> usize {
    let largest = scene.dynamic_pieces.iter().map(|&piece| diameter_m(&scene.pieces[piece as usize]));
    let side_m = largest.fold(0.0, f64::max) + SLOW_SIDE_M;
    scene.grid.max_work(side_m).max(MIN_LOOK_UP_WORK).min(scene.grid.work_over(&scene.grid.whole()))
}

/// Returns the largest distance between two points of a piece, m.
fn diameter_m(piece: &Piece) -> f64 {
    let corners = piece.outline();
    let distances = corners.iter().flat_map(|a| corners.iter().map(move |b| (a - b).norm()));
    distances.fold(0.0, f64::max) + 2.0 * piece.radius_m
}

/// Returns the number of near pairs that the scene can have at once: the sum, over all dynamic pieces, of the fixed
/// pieces that can be near the piece and half of the dynamic pieces that can be packed around it.
pub fn near_pairs(scene: &Scene, placed: &[PlacedPiece]) -> usize {
    let fixed: Vec<Aabb> = (0..placed.len())
        .filter(|&i| scene.is_fixed_piece(i))
        .map(|i| Aabb::around(&placed[i], scene.pieces[i].radius_m))
        .collect();
    let dynamic: Vec<f64> = (0..placed.len())
        .filter(|&i| !scene.is_fixed_piece(i))
        .map(|i| {
            let size = Aabb::around(&placed[i], scene.pieces[i].radius_m);
            (size.high - size.low).norm()
        })
        .collect();
    let smallest = dynamic.iter().copied().fold(f64::INFINITY, f64::min);
    let sum: f64 = dynamic.iter().map(|&size| packed_around(size, smallest, dynamic.len())).sum();
    let among_moving = (sum / 2.0).ceil() as usize;
    let largest = dynamic.iter().copied().fold(0.0, f64::max);
    let with_fixed = dynamic.len() * max_fixed_near(&fixed, largest).max(MIN_PER_PIECE);
    let possible = dynamic.len() * fixed.len() + dynamic.len() * dynamic.len().saturating_sub(1) / 2;
    (among_moving + with_fixed).min(possible)
}

/// Returns how many pieces of size `smallest` can be packed around a piece of size `size` such that their boxes meet
/// its box. The result is at most the number of other dynamic pieces. Sizes are in m.
fn packed_around(size: f64, smallest: f64, count: usize) -> f64 {
    let reach = size + smallest + 2.0 * NEAR_M;
    let side = smallest / std::f64::consts::SQRT_2;
    (reach * reach / (side * side)).ceil().min(count.saturating_sub(1) as f64)
}

/// Returns an upper bound of the number of fixed pieces that can be near a dynamic piece of `size` metres at the same
/// time: the largest number of fixed boxes that meet any one fixed box after that box is grown by `size` and a margin.
fn max_fixed_near(fixed: &[Aabb], size: f64) -> usize {
    let mut by_left: Vec<&Aabb> = fixed.iter().collect();
    by_left.sort_by(|a, b| a.low.x.total_cmp(&b.low.x));
    let widest = fixed.iter().map(|b| b.high.x - b.low.x).fold(0.0, f64::max);
    let mut max = 0;
    for one in &by_left {
        // The left side of every box that meets `around` lies in this range.
        let around = one.grown(size + 2.0 * NEAR_M);
        let first = by_left.partition_point(|b| b.low.x < around.low.x - widest);
        let count =
            by_left[first..].iter().take_while(|b| b.low.x <= around.high.x).filter(|b| b.meets(&around)).count();
        max = max.max(count);
    }
    max
}
