//! Comparison of all pairs of features, used as the fallback of the walk and as its reference in tests.

use super::{Closest, Feature, TOUCHING_M, after, corner, dot, normal};
use crate::math::cross;
use crate::shape::piece::{MAX_CORNERS, PlacedPiece};
use nalgebra::Vector2;

/// Finds the closest points of two cores by comparing every corner of each core with every edge of the other. Returns
/// `None` if no axis separates the cores or they are nearer than [`TOUCHING_M`].
///
/// Real-time: at most 32 axes with 16 corners each, 512 corner–edge tests and one square root.
pub fn brute_force(a: &PlacedPiece, b: &PlacedPiece) -> Option<Closest> {
    if !separated(a, b) {
        return None;
    }
    let mut best = Candidate::NONE;
    best.compare_all(a, b, false);
    best.compare_all(b, a, true);
    best.finish(a, b)
}

/// Whether an axis of one of the cores separates the two. True for two points, which have no axes.
fn separated(a: &PlacedPiece, b: &PlacedPiece) -> bool {
    let both_points = a.count == 1 && b.count == 1;
    both_points || has_separating_axis(a, b) || has_separating_axis(b, a)
}

/// Whether all of `other` lies beyond one of the edges of `core` or, if `core` is a segment, beyond one of its ends.
/// The ends matter because no edge normal separates two segments on one line.
fn has_separating_axis(core: &PlacedPiece, other: &PlacedPiece) -> bool {
    if core.count < 2 {
        return false;
    }
    (0..core.count.min(MAX_CORNERS)).any(|edge| {
        let outward = normal(core, edge);
        let along = Vector2::new(-outward.y, outward.x);
        lies_beyond(other, corner(core, edge), outward)
            || (core.count == 2 && lies_beyond(other, corner(core, after(core, edge)), along))
    })
}

fn lies_beyond(core: &PlacedPiece, origin: Vector2<f64>, axis: Vector2<f64>) -> bool {
    (0..core.count.min(MAX_CORNERS)).all(|index| dot(axis, corner(core, index) - origin) > 0.0)
}

/// Closest pair found so far: a corner of the near core and a feature of the far core.
struct Candidate {
    distance_squared: f64,
    near: usize,
    far: Feature,
    swapped: bool,
}

impl Candidate {
    const NONE: Self = Self { distance_squared: f64::INFINITY, near: 0, far: Feature::Corner(0), swapped: false };

    fn compare_all(&mut self, near: &PlacedPiece, far: &PlacedPiece, swapped: bool) {
        for index in 0..near.count.min(MAX_CORNERS) {
            for edge in 0..far.count.min(MAX_CORNERS) {
                let (distance_squared, feature) = corner_to_edge(corner(near, index), far, edge);
                if distance_squared < self.distance_squared {
                    *self = Self { distance_squared, near: index, far: feature, swapped };
                }
            }
        }
    }

    fn finish(&self, a: &PlacedPiece, b: &PlacedPiece) -> Option<Closest> {
        let (near_core, far_core) = if self.swapped { (b, a) } else { (a, b) };
        let near = corner(near_core, self.near);
        let (distance_m, far) = match self.far {
            Feature::Corner(index) => (self.distance_squared.sqrt(), corner(far_core, index as usize)),
            Feature::Edge(index) => {
                let outward = normal(far_core, index as usize);
                let height = dot(outward, near - corner(far_core, index as usize));
                (height, near - outward * height)
            }
        };
        let (near_feature, steps, fell_back) = (Feature::Corner(self.near as u8), 0, true);
        let (on_a, on_b, feature_a, feature_b) =
            if self.swapped { (far, near, self.far, near_feature) } else { (near, far, near_feature, self.far) };
        let apart = distance_m >= TOUCHING_M && distance_m.is_finite();
        apart.then_some(Closest { distance_m, on_a, on_b, feature_a, feature_b, steps, fell_back })
    }
}

/// Returns the squared distance from a point to one edge, m², and the nearest part of the edge: its interior or one of
/// its corners. The distance is infinite if the point is behind the interior, because a point outside the core is then
/// nearer to another edge. The other edge of a segment is its opposite side.
fn corner_to_edge(point: Vector2<f64>, core: &PlacedPiece, edge: usize) -> (f64, Feature) {
    let (outward, from_start) = (normal(core, edge), point - corner(core, edge));
    if cross(outward, from_start) <= 0.0 {
        return (from_start.norm_squared(), Feature::Corner(edge as u8));
    }
    let end = after(core, edge);
    let from_end = point - corner(core, end);
    if cross(outward, from_end) >= 0.0 {
        return (from_end.norm_squared(), Feature::Corner(end as u8));
    }
    let height = dot(outward, from_start);
    (if height > 0.0 { height * height } else { f64::INFINITY }, Feature::Edge(edge as u8))
}
