//! Validation and normalisation of outlines given as lists of corners.
//!
//! Runs only when a scene is loaded. Every later step (decomposition, mass, seams) relies on the guarantees of
//! [`tidy`]: the outline is simple and anticlockwise, has no flat corners, and features that are not neighbours are at
//! least [`CLEARANCE_M`] apart.

use crate::math::{cross_of, distance_to_segment_m};
use nalgebra::Vector2;
use std::fmt;

/// Minimum distance between corners, and between a corner and an edge it does not belong to, m. It is far below the
/// usual sizes in a scene; a smaller value would admit slivers whose normals are dominated by rounding errors.
pub const CLEARANCE_M: f64 = 1e-6;

/// Largest distance of a flat corner from the segment between its two neighbours, as a fraction of the outline's size.
const FLATNESS: f64 = 1e-9;

/// Reason why a list of corners is not a simple polygon. Indices count from 0 here and from 1 in messages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OutlineError {
    /// Fewer than three corners.
    TooFewCorners {
        /// Number of corners.
        count: usize,
    },
    /// A coordinate is infinite or not a number.
    NotFinite {
        /// Index of the corner.
        corner: usize,
    },
    /// Two corners coincide or nearly coincide.
    CornersTooClose {
        /// Index of the earlier corner.
        first: usize,
        /// Index of the later corner.
        second: usize,
        /// Distance between the two, m.
        distance_m: f64,
    },
    /// All corners lie on one line.
    Flat,
    /// Two edges cross; edge `i` runs from corner `i` to the next one.
    EdgesCross {
        /// Index of the earlier edge.
        first: usize,
        /// Index of the later edge.
        second: usize,
    },
    /// A corner touches an edge it does not belong to: a pinched outline or a spike.
    CornerOnEdge {
        /// Index of the corner.
        corner: usize,
        /// Index of the edge.
        edge: usize,
        /// Distance between the two, m.
        distance_m: f64,
    },
}

impl fmt::Display for OutlineError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::TooFewCorners { count } => write!(f, "the polygon has {count} corners, it needs at least 3"),
            Self::NotFinite { corner } => write!(f, "corner {} of the polygon is not a finite number", corner + 1),
            Self::CornersTooClose { first, second, distance_m } => {
                write!(f, "corners {} and {} of the polygon are only {distance_m:e} m apart", first + 1, second + 1)
            }
            Self::Flat => write!(f, "all corners of the polygon lie on one line, so it has no area"),
            Self::EdgesCross { first, second } => {
                write!(f, "edges {} and {} of the polygon cross each other", first + 1, second + 1)
            }
            Self::CornerOnEdge { corner, edge, distance_m } => {
                write!(f, "corner {} of the polygon touches its edge {} ({distance_m:e} m apart)", corner + 1, edge + 1)
            }
        }
    }
}

impl std::error::Error for OutlineError {}

/// Validates an outline and returns it in normal form: anticlockwise and without flat corners. The first corner stays
/// first unless it is flat.
///
/// # Errors
/// Returns the first reason why the outline is not a simple polygon.
pub fn tidy(corners: &[Vector2<f64>]) -> Result<Vec<Vector2<f64>>, OutlineError> {
    check(corners)?;
    let mut outline = corners.to_vec();
    if signed_area_m2(&outline) < 0.0 {
        outline[1..].reverse();
    }
    drop_flat_corners(&mut outline);
    Ok(outline)
}

/// Whether every corner of an anticlockwise simple outline turns left.
pub fn is_convex(outline: &[Vector2<f64>]) -> bool {
    let count = outline.len();
    (0..count).all(|i| cross_of(outline[(i + count - 1) % count], outline[i], outline[(i + 1) % count]) > 0.0)
}

/// Returns the signed area of an outline by the shoelace formula, m²; positive if the outline is anticlockwise.
pub fn signed_area_m2(corners: &[Vector2<f64>]) -> f64 {
    // Computed relative to the first corner, so that an outline far from the origin loses no precision.
    let twice: f64 = corners.windows(2).map(|edge| cross_of(corners[0], edge[0], edge[1])).sum();
    0.5 * twice
}

/// Returns the length of the longer side of the bounding box of an outline, m.
pub fn extent_m(corners: &[Vector2<f64>]) -> f64 {
    let low = corners.iter().fold(corners[0], |low, corner| low.inf(corner));
    let high = corners.iter().fold(corners[0], |high, corner| high.sup(corner));
    (high - low).max()
}

fn check(corners: &[Vector2<f64>]) -> Result<(), OutlineError> {
    let count = corners.len();
    if count < 3 {
        return Err(OutlineError::TooFewCorners { count });
    }
    if let Some(corner) = corners.iter().position(|c| !(c.x.is_finite() && c.y.is_finite())) {
        return Err(OutlineError::NotFinite { corner });
    }
    check_distances(corners)?;
    if is_flat(corners) {
        return Err(OutlineError::Flat);
    }
    // Touching features are checked first, because the crossing test can mistake a touch for a crossing.
    check_touching(corners)?;
    check_crossings(corners)
}

fn check_distances(corners: &[Vector2<f64>]) -> Result<(), OutlineError> {
    for second in 1..corners.len() {
        for first in 0..second {
            let distance_m = (corners[second] - corners[first]).norm();
            if distance_m < CLEARANCE_M {
                return Err(OutlineError::CornersTooClose { first, second, distance_m });
            }
        }
    }
    Ok(())
}

fn is_flat(corners: &[Vector2<f64>]) -> bool {
    let start = corners[0];
    let farthest =
        corners.iter().fold(start, |far, c| if (c - start).norm() > (far - start).norm() { *c } else { far });
    let length_m = (farthest - start).norm();
    corners.iter().all(|c| cross_of(start, farthest, *c).abs() < CLEARANCE_M * length_m)
}

fn check_crossings(corners: &[Vector2<f64>]) -> Result<(), OutlineError> {
    let count = corners.len();
    let ends = |edge: usize| (corners[edge], corners[(edge + 1) % count]);
    for second in 2..count {
        // Neighbouring edges share a corner. They can only form a spike, which is found as a corner on an edge.
        let from = if second + 1 == count { 1 } else { 0 };
        if let Some(first) = (from..second - 1).find(|&first| segments_cross(ends(first), ends(second))) {
            return Err(OutlineError::EdgesCross { first, second });
        }
    }
    Ok(())
}

type Segment = (Vector2<f64>, Vector2<f64>);

fn segments_cross((a, b): Segment, (c, d): Segment) -> bool {
    let splits = |p, q, r, s| (cross_of(p, q, r) > 0.0) != (cross_of(p, q, s) > 0.0);
    splits(a, b, c, d) && splits(c, d, a, b)
}

fn check_touching(corners: &[Vector2<f64>]) -> Result<(), OutlineError> {
    let count = corners.len();
    for corner in 0..count {
        for edge in (0..count).filter(|&edge| edge != corner && (edge + 1) % count != corner) {
            let distance_m = distance_to_segment_m(corners[corner], corners[edge], corners[(edge + 1) % count]);
            if distance_m < CLEARANCE_M {
                return Err(OutlineError::CornerOnEdge { corner, edge, distance_m });
            }
        }
    }
    Ok(())
}

fn drop_flat_corners(outline: &mut Vec<Vector2<f64>>) {
    let tolerance_m = FLATNESS * extent_m(outline);
    let mut i = 0;
    while i < outline.len() && outline.len() > 3 {
        let count = outline.len();
        let (before, after) = (outline[(i + count - 1) % count], outline[(i + 1) % count]);
        if distance_to_segment_m(outline[i], before, after) <= tolerance_m {
            outline.remove(i);
        } else {
            i += 1;
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn points(corners: &[[f64; 2]]) -> Vec<Vector2<f64>> {
        corners.iter().map(|c| Vector2::new(c[0], c[1])).collect()
    }

    /// Generates simple anticlockwise polygons, mostly concave, with corners at increasing angles about the origin, m.
    pub(crate) fn star_outlines() -> impl Strategy<Value = Vec<Vector2<f64>>> {
        prop::collection::vec((0.01..0.1f64, 0.1..1.0f64), 5..40).prop_map(|spokes| {
            let whole: f64 = spokes.iter().map(|spoke| spoke.1).sum();
            let mut angle = 0.0;
            let corner = |&(radius, share): &(f64, f64)| {
                angle += share / whole * std::f64::consts::TAU;
                Vector2::new(radius * libm::cos(angle), radius * libm::sin(angle))
            };
            spokes.iter().map(corner).collect()
        })
    }

    #[test]
    fn a_clockwise_square_is_turned_and_keeps_its_first_corner() {
        let outline = tidy(&points(&[[0.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, 0.0]])).unwrap();
        assert_eq!(outline, points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]));
    }

    #[test]
    fn flat_corners_are_dropped_wherever_they_are() {
        let corners = points(&[[0.5, 0.0], [1.0, 0.0], [1.0, 0.3], [1.0, 0.6], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]);
        let outline = tidy(&corners).unwrap();
        assert_eq!(outline, points(&[[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]));
    }

    #[test]
    fn two_corners_are_too_few() {
        let error = tidy(&points(&[[0.0, 0.0], [1.0, 0.0]])).unwrap_err();
        assert_eq!(error, OutlineError::TooFewCorners { count: 2 });
    }

    #[test]
    fn a_corner_that_is_no_number_is_named() {
        let error = tidy(&points(&[[0.0, 0.0], [1.0, 0.0], [f64::NAN, 1.0]])).unwrap_err();
        assert_eq!(error, OutlineError::NotFinite { corner: 2 });
        assert_eq!(error.to_string(), "corner 3 of the polygon is not a finite number");
    }

    #[test]
    fn a_repeated_corner_is_named() {
        let error = tidy(&points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0 + 5e-7]])).unwrap_err();
        assert!(matches!(error, OutlineError::CornersTooClose { first: 2, second: 3, .. }));
    }

    #[test]
    fn corners_on_one_line_have_no_area() {
        assert_eq!(tidy(&points(&[[0.0, 0.0], [1.0, 1.0], [3.0, 3.0]])).unwrap_err(), OutlineError::Flat);
    }

    #[test]
    fn a_bow_tie_crosses_itself() {
        let error = tidy(&points(&[[0.0, 0.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).unwrap_err();
        assert_eq!(error, OutlineError::EdgesCross { first: 0, second: 2 });
        assert_eq!(error.to_string(), "edges 1 and 3 of the polygon cross each other");
    }

    #[test]
    fn a_corner_touching_a_far_edge_is_named() {
        let error = tidy(&points(&[[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [1.0, 0.0], [0.0, 1.0]])).unwrap_err();
        assert!(matches!(error, OutlineError::CornerOnEdge { corner: 3, edge: 0, .. }));
    }

    #[test]
    fn a_spike_is_a_corner_on_its_neighbours_edge() {
        let error = tidy(&points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 0.5], [0.0, 1.0]])).unwrap_err();
        assert!(matches!(error, OutlineError::CornerOnEdge { corner: 3, edge: 1, .. }));
    }

    #[test]
    fn a_square_is_convex_and_an_arrow_is_not() {
        assert!(is_convex(&points(&[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])));
        assert!(!is_convex(&points(&[[0.0, 0.0], [1.0, 0.0], [0.2, 0.2], [0.0, 1.0]])));
    }

    proptest! {
        #[test]
        fn tidying_either_winding_gives_the_same_anticlockwise_area(outline in star_outlines()) {
            let Ok(tidied) = tidy(&outline) else { return Ok(()) };
            let mut reversed = outline.clone();
            reversed.reverse();
            let turned = tidy(&reversed).unwrap();
            let (area, turned_area) = (signed_area_m2(&tidied), signed_area_m2(&turned));
            prop_assert!(area > 0.0);
            prop_assert!((area - turned_area).abs() < 1e-9 * area);
            prop_assert_eq!(tidied.len(), turned.len());
        }

        #[test]
        fn swapping_two_corners_of_a_convex_outline_makes_it_cross(count in 4usize..16, swap in 0usize..16) {
            let step = std::f64::consts::TAU / count as f64;
            let round = |i| Vector2::new(libm::cos(i as f64 * step), libm::sin(i as f64 * step));
            let mut corners: Vec<_> = (0..count).map(round).collect();
            corners.swap(swap % count, (swap + 1) % count);
            let crosses = matches!(tidy(&corners), Err(OutlineError::EdgesCross { .. }));
            prop_assert!(crosses);
        }
    }
}
