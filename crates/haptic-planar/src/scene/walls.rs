//! Walls: a line of straight segments with a thickness, cut into convex pieces that share their joints.
//!
//! Each segment becomes a quadrilateral. At a joint, the two quadrilaterals meet in a mitre: they share the edge from
//! the inner to the outer corner, bit for bit, so that the seam is found. The outer corner of a sharp turn is cut off,
//! and a triangle fills the joint. Runs only when a scene is loaded.
//!
//! With the unit normals n₁ and n₂ of the segments before and after a joint p and half the thickness h, the corners of
//! a mitre are p ± h·(n₁ + n₂)/(1 + n₁·n₂). The inner corner takes h·tan(φ/2) from both segments, where φ is the angle
//! of the turn, so a turn needs segments that are longer than that.

use crate::math::{cross, cross_of};
use crate::scene::polygon::CLEARANCE_M;
use nalgebra::Vector2;
use std::fmt;

/// Maximum number of points of one line.
pub const MAX_POINTS: usize = 1000;

/// Cosine of the sharpest turn whose outer corner is a mitre, which is then 2.2 times as far from the point as the
/// faces are. The turns of 120° in a triangle are well on this side.
const MITRE_COSINE: f64 = -0.6;

/// Reason why a line cannot be made into walls. Points are counted from 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum WallsError {
    /// Too few points, or too many.
    PointCount {
        /// Number of points.
        count: usize,
        /// Smallest permitted number.
        min: usize,
    },
    /// Two points in succession are at almost the same place.
    PointsTooClose {
        /// The first of the two.
        point: usize,
    },
    /// The turns at its ends leave nothing of a segment.
    TooSharp {
        /// The point at which the segment starts.
        point: usize,
        /// Thickness below which something is left, m; zero if the line turns back on itself.
        max_thickness_m: f64,
    },
    /// Two segments that are not neighbours overlap.
    Overlap {
        /// The points at which the two segments start.
        points: [usize; 2],
    },
}

impl fmt::Display for WallsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::PointCount { count, min } => write!(f, "walls_m has {count} points, not {min} to {MAX_POINTS}"),
            Self::PointsTooClose { point } => {
                write!(f, "point {} of walls_m and the next one are at the same place", point + 1)
            }
            Self::TooSharp { point, .. } => {
                let number = point + 1;
                write!(f, "the wall from point {number} is too short for its thickness and the turns at its ends")
            }
            Self::Overlap { points: [one, other] } => {
                write!(f, "the walls from points {} and {} overlap, and the body is not fixed", one + 1, other + 1)
            }
        }
    }
}

impl std::error::Error for WallsError {}

impl WallsError {
    /// Returns the point with the problem, counted from 0; `None` if it is not a single one.
    pub fn point(&self) -> Option<usize> {
        match *self {
            Self::PointCount { .. } => None,
            Self::PointsTooClose { point } | Self::TooSharp { point, .. } => Some(point),
            Self::Overlap { points: [_, other] } => Some(other),
        }
    }

    /// Returns what would be right.
    pub fn remedy(&self) -> String {
        match *self {
            Self::PointCount { count, .. } if count > MAX_POINTS => {
                "write [[body]] again for the second half of the points".to_owned()
            }
            Self::PointCount { min: 2, .. } => "write walls_m = [[0.0, 0.0], [0.1, 0.0]]".to_owned(),
            Self::PointCount { .. } => "write a third point, or write closed = false".to_owned(),
            Self::PointsTooClose { point } => {
                format!("remove point {}; to join the last point to the first, write closed = true", point + 1)
            }
            Self::TooSharp { max_thickness_m, .. } if max_thickness_m > 2.0 * CLEARANCE_M => {
                format!("write thickness_m = {} or make the turns less sharp", shorter(max_thickness_m))
            }
            Self::TooSharp { .. } => "write [[body]] again for the way back".to_owned(),
            Self::Overlap { .. } => "write fixed = true, or move the points so that no wall crosses another".to_owned(),
        }
    }
}

/// Rounds down to two significant digits.
fn shorter(length_m: f64) -> f64 {
    let digit = libm::pow(10.0, libm::floor(libm::log10(length_m)) - 1.0);
    let rounded = libm::floor(length_m / digit) * digit;
    // Formatted, so that no digits of a rounding error remain.
    format!("{rounded:.1e}").parse().unwrap_or(rounded)
}

/// Walls as convex pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Walls {
    /// Corners of the pieces, anticlockwise, m: the segments in order, then the triangles of cut-off joints.
    pub pieces: Vec<Vec<Vector2<f64>>>,
    /// Outlines of the walls, with the material on the left, m: one, or the outer and the inner one of a closed line.
    pub outlines: Vec<Vec<Vector2<f64>>>,
    /// Number of segments.
    segments: usize,
    closed: bool,
}

/// Ends of the quadrilaterals at one point of the line.
#[derive(Clone, Copy)]
struct Joint {
    /// Corners at which the segment before ends: right and left of the line.
    before: [Vector2<f64>; 2],
    /// Corners at which the segment after starts: right and left of the line.
    after: [Vector2<f64>; 2],
}

/// A straight part of the line.
struct Segment {
    direction: Vector2<f64>,
    length_m: f64,
}

impl Segment {
    /// Returns the unit normal, to the left.
    fn normal(&self) -> Vector2<f64> {
        Vector2::new(-self.direction.y, self.direction.x)
    }
}

impl Walls {
    /// Creates the walls along a line.
    ///
    /// # Errors
    /// If the line has too few or too many points, or points at the same place, or if it turns too sharply.
    pub fn new(points: &[Vector2<f64>], thickness_m: f64, closed: bool) -> Result<Self, WallsError> {
        let min = if closed { 3 } else { 2 };
        if !(min..=MAX_POINTS).contains(&points.len()) {
            return Err(WallsError::PointCount { count: points.len(), min });
        }
        let segments = segments(points, closed)?;
        check_turns(&segments, thickness_m, closed)?;
        let joints = joints(points, &segments, 0.5 * thickness_m, closed);
        let quads = (0..segments.len()).map(|index| {
            let (from, to) = (joints[index].after, joints[(index + 1) % joints.len()].before);
            vec![from[0], to[0], to[1], from[1]]
        });
        let pieces = quads.chain(joints.iter().filter_map(Joint::filling)).collect();
        Ok(Self { pieces, outlines: outlines(&joints, closed), segments: segments.len(), closed })
    }

    /// Rejects walls of which segments that are not neighbours overlap, so that their mass is not that of their area.
    ///
    /// # Errors
    /// If there are such segments; the first two are returned.
    pub fn checked_apart(self) -> Result<Self, WallsError> {
        for other in 2..self.segments {
            let first = usize::from(self.closed && other + 1 == self.segments);
            let overlaps = |one: &usize| are_overlapping(&self.pieces[*one], &self.pieces[other]);
            if let Some(one) = (first..other - 1).find(overlaps) {
                return Err(WallsError::Overlap { points: [one, other] });
            }
        }
        Ok(self)
    }
}

fn segments(points: &[Vector2<f64>], closed: bool) -> Result<Vec<Segment>, WallsError> {
    let count = if closed { points.len() } else { points.len() - 1 };
    let segment = |point: usize| {
        let along = points[(point + 1) % points.len()] - points[point];
        let length_m = along.norm();
        // Written so that an infinite length is rejected as well.
        if !(CLEARANCE_M..=f64::MAX).contains(&length_m) {
            return Err(WallsError::PointsTooClose { point });
        }
        Ok(Segment { direction: along / length_m, length_m })
    };
    (0..count).map(segment).collect()
}

/// Checks that the turns leave something of each face of each segment.
fn check_turns(segments: &[Segment], thickness_m: f64, closed: bool) -> Result<(), WallsError> {
    let count = segments.len();
    // Tangent of half the angle of the turn at the start of a segment, positive to the left.
    let turn = |at: usize| {
        let (before, after) = (segments[(at + count - 1) % count].direction, segments[at].direction);
        cross(before, after) / (1.0 + before.dot(&after))
    };
    let turn_at = |point: usize| if closed || (1..count).contains(&point) { turn(point % count) } else { 0.0 };
    for (point, segment) in segments.iter().enumerate() {
        let [start, end] = [turn_at(point), turn_at(point + 1)];
        // The left face loses to turns to the left, the right one to turns to the right.
        let lost = |side: f64| (side * start).max(0.0) + (side * end).max(0.0);
        let per_thickness = 0.5 * lost(1.0).max(lost(-1.0));
        let left_m = segment.length_m - CLEARANCE_M;
        if !(start + end).is_finite() {
            return Err(WallsError::TooSharp { point, max_thickness_m: 0.0 });
        }
        if per_thickness * thickness_m > left_m {
            return Err(WallsError::TooSharp { point, max_thickness_m: left_m.max(0.0) / per_thickness });
        }
    }
    Ok(())
}

fn joints(points: &[Vector2<f64>], segments: &[Segment], half_m: f64, closed: bool) -> Vec<Joint> {
    let joint = |(index, &point): (usize, &Vector2<f64>)| {
        let before = if index > 0 { segments.get(index - 1) } else { segments.last().filter(|_| closed) };
        match (before, segments.get(index)) {
            (Some(before), Some(after)) => Joint::between(point, before, after, half_m),
            (Some(only), None) | (None, Some(only)) => Joint::square(point, only.normal() * half_m),
            (None, None) => Joint::square(point, Vector2::zeros()),
        }
    };
    points.iter().enumerate().map(joint).collect()
}

impl Joint {
    fn square(point: Vector2<f64>, offset: Vector2<f64>) -> Self {
        let ends = [point - offset, point + offset];
        Self { before: ends, after: ends }
    }

    fn between(point: Vector2<f64>, before: &Segment, after: &Segment, half_m: f64) -> Self {
        let (one, other) = (before.normal(), after.normal());
        let cosine = one.dot(&other);
        let mitre = Self::square(point, (one + other) * (half_m / (1.0 + cosine)));
        if cosine >= MITRE_COSINE {
            return mitre;
        }
        // The outer corner is on the right of a turn to the left.
        let is_left = cross(before.direction, after.direction) > 0.0;
        let (outer, side) = if is_left { (0, -half_m) } else { (1, half_m) };
        let mut joint = mitre;
        (joint.before[outer], joint.after[outer]) = (point + one * side, point + other * side);
        joint
    }

    /// Returns the triangle that fills the joint of a sharp turn.
    fn filling(&self) -> Option<Vec<Vector2<f64>>> {
        if self.before[0] != self.after[0] {
            // A turn to the left: the outer corners are on the right.
            return Some(vec![self.before[0], self.after[0], self.before[1]]);
        }
        (self.before[1] != self.after[1]).then(|| vec![self.after[1], self.before[1], self.before[0]])
    }

    /// Returns the corners on one side of the line, in its direction.
    fn side(&self, side: usize) -> impl DoubleEndedIterator<Item = Vector2<f64>> {
        let (before, after) = (self.before[side], self.after[side]);
        std::iter::once(before).chain((after != before).then_some(after))
    }
}

fn outlines(joints: &[Joint], closed: bool) -> Vec<Vec<Vector2<f64>>> {
    let right = joints.iter().flat_map(|joint| joint.side(0));
    let left = joints.iter().rev().flat_map(|joint| joint.side(1).rev());
    if closed { vec![right.collect(), left.collect()] } else { vec![right.chain(left).collect()] }
}

/// Whether two convex polygons overlap by more than the clearance: whether no edge of either separates them.
fn are_overlapping(one: &[Vector2<f64>], other: &[Vector2<f64>]) -> bool {
    let separates = |a: Vector2<f64>, b: Vector2<f64>, corners: &[Vector2<f64>]| {
        let margin = CLEARANCE_M * (b - a).norm();
        corners.iter().all(|corner| cross_of(a, b, *corner) <= margin)
    };
    let edges = |corners: &[Vector2<f64>]| {
        (0..corners.len()).map(|i| (corners[i], corners[(i + 1) % corners.len()])).collect::<Vec<_>>()
    };
    !edges(one).into_iter().any(|(a, b)| separates(a, b, other))
        && !edges(other).into_iter().any(|(a, b)| separates(a, b, one))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::rotate;
    use crate::scene::polygon::tests::points;
    use crate::scene::polygon::{is_convex, signed_area_m2};
    use proptest::prelude::*;

    const MM: f64 = 1e-3;

    fn walls(corners: &[[f64; 2]], thickness_m: f64, closed: bool) -> Walls {
        Walls::new(&points(corners), thickness_m, closed).unwrap()
    }

    fn area_m2(pieces: &[Vec<Vector2<f64>>]) -> f64 {
        pieces.iter().map(|piece| signed_area_m2(piece)).sum()
    }

    /// Whether the edge from `a` to `b` of one piece is, bit for bit, the opposite edge of another.
    fn is_shared(pieces: &[Vec<Vector2<f64>>], a: Vector2<f64>, b: Vector2<f64>) -> bool {
        let edge = |piece: &Vec<Vector2<f64>>, i: usize| (piece[i], piece[(i + 1) % piece.len()]);
        pieces.iter().any(|piece| (0..piece.len()).any(|i| edge(piece, i) == (b, a)))
    }

    #[test]
    fn a_straight_line_is_a_row_of_boxes() {
        let walls = walls(&[[0.0, 0.0], [0.1, 0.0], [0.3, 0.0]], 10.0 * MM, false);
        assert_eq!(walls.pieces[0], points(&[[0.0, -0.005], [0.1, -0.005], [0.1, 0.005], [0.0, 0.005]]));
        assert_eq!(walls.pieces[1], points(&[[0.1, -0.005], [0.3, -0.005], [0.3, 0.005], [0.1, 0.005]]));
        assert_eq!(walls.pieces.len(), 2);
    }

    #[test]
    fn a_square_room_has_four_mitred_walls() {
        let square = [[-0.1, -0.1], [0.1, -0.1], [0.1, 0.1], [-0.1, 0.1]];
        let walls = walls(&square, 10.0 * MM, true);
        assert_eq!(walls.pieces.len(), 4);
        assert!((area_m2(&walls.pieces) - (0.21 * 0.21 - 0.19 * 0.19)).abs() < 1e-15);
        assert_eq!(walls.outlines.len(), 2);
        let clockwise: Vec<[f64; 2]> = square.into_iter().rev().collect();
        let walls = Walls::new(&points(&clockwise), 10.0 * MM, true).unwrap();
        assert!((area_m2(&walls.pieces) - (0.21 * 0.21 - 0.19 * 0.19)).abs() < 1e-15);
    }

    #[test]
    fn the_outer_corner_of_a_sharp_turn_is_cut_off() {
        for side in [1.0, -1.0] {
            let sharp = [[0.0, 0.0], [0.1, 0.0], [0.02, side * 0.03]];
            let walls = walls(&sharp, 4.0 * MM, false);
            assert_eq!(walls.pieces.len(), 3);
            assert!(walls.pieces.iter().all(|piece| is_convex(piece)));
            let furthest = walls.pieces.iter().flatten().map(|corner| corner.x).fold(0.0, f64::max);
            assert!(furthest <= 0.102, "the mitre would reach {furthest}");
        }
        assert_eq!(walls(&[[0.0, 0.0], [0.1, 0.0], [0.05, 0.0866]], 4.0 * MM, true).pieces.len(), 3);
    }

    #[test]
    fn what_cannot_be_walls_is_rejected_with_its_point() {
        let error = |corners: &[[f64; 2]], closed| Walls::new(&points(corners), 10.0 * MM, closed).unwrap_err();
        assert_eq!(error(&[[0.0, 0.0]], false), WallsError::PointCount { count: 1, min: 2 });
        assert_eq!(error(&[[0.0, 0.0], [0.1, 0.0]], true), WallsError::PointCount { count: 2, min: 3 });
        assert_eq!(error(&[[0.0, 0.0]; 1001], false), WallsError::PointCount { count: 1001, min: 2 });
        let twice = [[0.0, 0.0], [0.1, 0.0], [0.1, 0.0]];
        assert_eq!(error(&twice, false), WallsError::PointsTooClose { point: 1 });
        let back = error(&[[0.0, 0.0], [0.1, 0.0], [0.0, 0.0]], false);
        assert!(matches!(back, WallsError::TooSharp { point: 0, .. }), "{back:?}");
        assert_eq!(back.remedy(), "write [[body]] again for the way back");
        let hook = error(&[[0.0, 0.0], [0.1, 0.0], [0.1, 0.004], [0.0, 0.004]], false);
        let WallsError::TooSharp { point: 1, max_thickness_m } = hook else { panic!("{hook:?}") };
        assert!((max_thickness_m - 0.004).abs() < 1e-5);
        assert!(hook.remedy().starts_with("write thickness_m = 0.0039 or "), "{}", hook.remedy());
    }

    #[test]
    fn the_thickness_of_the_remedy_is_accepted() {
        let corners = points(&[[0.0, 0.0], [0.1, 0.0], [0.09, 0.008], [0.12, 0.01]]);
        let error = Walls::new(&corners, 20.0 * MM, false).unwrap_err();
        let WallsError::TooSharp { max_thickness_m, .. } = error else { panic!("{error:?}") };
        assert!(Walls::new(&corners, shorter(max_thickness_m), false).is_ok());
        assert!(Walls::new(&corners, 1.01 * max_thickness_m, false).is_err());
    }

    #[test]
    fn crossings_are_found_and_neighbours_are_not_taken_for_them() {
        let eight = walls(&[[0.0, 0.0], [0.1, 0.1], [0.1, 0.0], [0.0, 0.1]], 2.0 * MM, true);
        assert_eq!(eight.checked_apart(), Err(WallsError::Overlap { points: [0, 2] }));
        let stairs = [[0.0, 0.0], [0.05, 0.0], [0.05, 0.05], [0.1, 0.05], [0.1, 0.1], [0.0, 0.1]];
        for closed in [false, true] {
            assert!(walls(&stairs, 5.0 * MM, closed).checked_apart().is_ok());
        }
    }

    proptest! {
        #[test]
        fn pieces_are_convex_share_their_joints_and_add_up_to_the_outline(
            turns in prop::collection::vec((-2.8..2.8f64, 0.02..0.1f64), 1..12),
            angle in -3.1..3.1f64,
        ) {
            let (mut at, mut heading) = (Vector2::new(0.3, -0.2), angle);
            let mut line = vec![at];
            for (turn, length) in turns {
                at += rotate(Vector2::new(libm::cos(heading), libm::sin(heading)), Vector2::new(length, 0.0));
                line.push(at);
                heading += turn;
            }
            let Ok(walls) = Walls::new(&line, 4.0 * MM, false) else { return Ok(()) };
            prop_assert!(walls.pieces.iter().all(|piece| is_convex(piece)));
            let outline = signed_area_m2(&walls.outlines[0]);
            prop_assert!((area_m2(&walls.pieces) - outline).abs() < 1e-12);
            for (index, quad) in walls.pieces[..walls.segments].iter().enumerate() {
                prop_assert!(index == 0 || is_shared(&walls.pieces, quad[3], quad[0]));
                prop_assert!(index + 1 == walls.segments || is_shared(&walls.pieces, quad[1], quad[2]));
            }
        }
    }
}
