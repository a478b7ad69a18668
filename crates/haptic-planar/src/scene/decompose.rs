//! Decomposition of concave outlines into convex parts: ear clipping, then removal of every unnecessary cut.
//!
//! No corner is added or moved, so neighbouring parts share whole edges, bit for bit. The same outline always gives the
//! same parts in the same order. Runs only when a scene is loaded.

use crate::math::{cross, cross_of, distance_to_segment_m};
use crate::scene::polygon::{extent_m, is_convex};
use crate::shape::piece::MAX_CORNERS;
use nalgebra::Vector2;
use std::fmt;

/// Minimum sine of the turning angle at a corner of merged parts. At a flatter corner, two edges would lie on almost
/// the same line.
const MIN_CORNER_SINE: f64 = 1e-6;

/// Minimum distance between a cut and a corner that is not one of its ends, as a fraction of the outline's size.
const CUT_CLEARANCE: f64 = 1e-9;

/// Reason why an outline cannot be decomposed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecomposeError {
    /// A convex outline has more corners than a piece can have.
    TooManyCorners {
        /// Number of corners.
        count: usize,
    },
    /// No cut is clear of the other corners. Only outlines finer than the floating-point precision lead here.
    NoCut {
        /// Number of corners that could not be cut off.
        corners_left: usize,
    },
}

impl fmt::Display for DecomposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooManyCorners { count } => {
                write!(f, "the polygon is convex and has {count} corners, more than {MAX_CORNERS}")
            }
            Self::NoCut { corners_left } => {
                write!(f, "the polygon cannot be cut into convex parts, {corners_left} corners are left over")
            }
        }
    }
}

impl std::error::Error for DecomposeError {}

/// Cuts a tidy outline (see [`crate::scene::polygon::tidy`]) into anticlockwise convex parts of at most [`MAX_CORNERS`]
/// corners.
///
/// # Errors
/// Returns an error if the outline is convex and has more than [`MAX_CORNERS`] corners, or if it is too fine to cut.
pub fn convex_parts(outline: &[Vector2<f64>]) -> Result<Vec<Vec<Vector2<f64>>>, DecomposeError> {
    if is_convex(outline) {
        return match outline.len() {
            count if count > MAX_CORNERS => Err(DecomposeError::TooManyCorners { count }),
            _ => Ok(vec![outline.to_vec()]),
        };
    }
    let mut cutting = Cutting { outline, parts: Vec::new(), cuts: Vec::new() };
    cutting.clip_ears()?;
    cutting.remove_needless_cuts();
    Ok(cutting.parts.iter().map(|part| part.iter().map(|&i| outline[i]).collect()).collect())
}

/// Decomposition in progress. Corners are indices into the outline, so that shared corners stay identical.
struct Cutting<'a> {
    outline: &'a [Vector2<f64>],
    parts: Vec<Vec<usize>>,
    cuts: Vec<(usize, usize)>,
}

impl Cutting<'_> {
    fn clip_ears(&mut self) -> Result<(), DecomposeError> {
        let mut left: Vec<usize> = (0..self.outline.len()).collect();
        while left.len() > 3 {
            let tip = self.best_ear(&left).ok_or(DecomposeError::NoCut { corners_left: left.len() })?;
            let [before, corner, after] = around(&left, tip);
            self.parts.push(vec![before, corner, after]);
            self.cuts.push((after, before));
            left.remove(tip);
        }
        self.parts.push(left);
        Ok(())
    }

    /// Returns the position in `left` of the tip of the best ear, the one whose smallest angle is largest. Slivers are
    /// therefore cut last and mostly avoided.
    fn best_ear(&self, left: &[usize]) -> Option<usize> {
        let mut best = (0.0, None);
        for tip in 0..left.len() {
            let roundness = self.roundness(around(left, tip));
            if roundness > best.0 && self.is_ear(left, tip) {
                best = (roundness, Some(tip));
            }
        }
        best.1
    }

    /// Returns the sine of the smallest angle of a triangle; negative if the triangle is clockwise.
    fn roundness(&self, triangle: [usize; 3]) -> f64 {
        let [a, b, c] = triangle.map(|i| self.outline[i]);
        let mut sides = [(b - a).norm(), (c - b).norm(), (a - c).norm()];
        sides.sort_by(f64::total_cmp);
        cross_of(a, b, c) / (sides[1] * sides[2])
    }

    fn is_ear(&self, left: &[usize], tip: usize) -> bool {
        let triangle = around(left, tip);
        let clearance_m = CUT_CLEARANCE * extent_m(self.outline);
        let others = left.iter().filter(|i| !triangle.contains(i));
        let [a, b, c] = triangle.map(|i| self.outline[i]);
        others.into_iter().all(|&i| {
            let point = self.outline[i];
            let inside = cross_of(a, b, point) >= 0.0 && cross_of(b, c, point) >= 0.0 && cross_of(c, a, point) >= 0.0;
            !inside && distance_to_segment_m(point, a, c) > clearance_m
        })
    }

    /// Removes unnecessary cuts by the rule of Hertel and Mehlhorn, longest cuts first. If the number of corners per
    /// part were not limited, this would leave at most four times the minimum number of parts.
    fn remove_needless_cuts(&mut self) {
        let mut cuts = std::mem::take(&mut self.cuts);
        let length_m = |&(a, b): &(usize, usize)| (self.outline[a] - self.outline[b]).norm();
        cuts.sort_by(|first, second| length_m(second).total_cmp(&length_m(first)).then(first.cmp(second)));
        for cut in cuts {
            self.remove_cut_if_needless(cut);
        }
    }

    fn remove_cut_if_needless(&mut self, (from, to): (usize, usize)) {
        let one = self.part_with_edge(from, to);
        let other = self.part_with_edge(to, from);
        let (Some((one, at_one)), Some((other, at_other))) = (one, other) else { return };
        let merged = merge(&self.parts[one], at_one, &self.parts[other], at_other);
        if merged.len() <= MAX_CORNERS && self.turns_left_at(&merged, from) && self.turns_left_at(&merged, to) {
            self.parts[one.min(other)] = merged;
            self.parts.remove(one.max(other));
        }
    }

    /// Returns the index of the part with the edge `from`→`to`, and the index of `from` in that part.
    fn part_with_edge(&self, from: usize, to: usize) -> Option<(usize, usize)> {
        self.parts.iter().enumerate().find_map(|(part, corners)| {
            let at = corners.iter().position(|&corner| corner == from)?;
            (corners[(at + 1) % corners.len()] == to).then_some((part, at))
        })
    }

    fn turns_left_at(&self, part: &[usize], corner: usize) -> bool {
        let Some(at) = part.iter().position(|&i| i == corner) else { return false };
        let [before, here, after] = around(part, at).map(|i| self.outline[i]);
        cross((here - before).normalize(), (after - here).normalize()) > MIN_CORNER_SINE
    }
}

/// Returns the corner at `tip`, between the corners before and after it.
fn around(corners: &[usize], tip: usize) -> [usize; 3] {
    let count = corners.len();
    [corners[(tip + count - 1) % count], corners[tip], corners[(tip + 1) % count]]
}

/// Merges two parts along their common edge, which starts at `at_one` in one part and, in the opposite direction, at
/// `at_other` in the other.
fn merge(one: &[usize], at_one: usize, other: &[usize], at_other: usize) -> Vec<usize> {
    let from_one = one.iter().cycle().skip(at_one + 1).take(one.len());
    let from_other = other.iter().cycle().skip(at_other + 2).take(other.len() - 2);
    from_one.chain(from_other).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::polygon::tests::{points, star_outlines};
    use crate::scene::polygon::{signed_area_m2, tidy};
    use proptest::prelude::*;

    fn contains(part: &[Vector2<f64>], point: Vector2<f64>) -> bool {
        (0..part.len()).all(|i| cross_of(part[i], part[(i + 1) % part.len()], point) > 0.0)
    }

    /// Whether a point is inside an outline, by the even-odd rule; independent of the code under test.
    fn inside(outline: &[Vector2<f64>], point: Vector2<f64>) -> bool {
        let edges = (0..outline.len()).map(|i| (outline[i], outline[(i + 1) % outline.len()]));
        let crossed = edges.filter(|(a, b)| {
            (a.y > point.y) != (b.y > point.y) && point.x < a.x + (b.x - a.x) * (point.y - a.y) / (b.y - a.y)
        });
        crossed.count() % 2 == 1
    }

    fn turned(outline: &[Vector2<f64>], angle_rad: f64) -> Vec<Vector2<f64>> {
        let (sine, cosine) = libm::sincos(angle_rad);
        outline.iter().map(|c| crate::math::rotate(Vector2::new(cosine, sine), *c)).collect()
    }

    fn regular(count: usize) -> Vec<Vector2<f64>> {
        let step = std::f64::consts::TAU / count as f64;
        (0..count).map(|i| Vector2::new(libm::cos(i as f64 * step), libm::sin(i as f64 * step))).collect()
    }

    fn check_parts(outline: &[Vector2<f64>], parts: &[Vec<Vector2<f64>>]) {
        let whole = signed_area_m2(outline);
        let sum: f64 = parts.iter().map(|part| signed_area_m2(part)).sum();
        assert!((whole - sum).abs() < 1e-12 * whole, "area {whole} became {sum}");
        for part in parts {
            assert!(is_convex(part) && (3..=MAX_CORNERS).contains(&part.len()));
            assert!(part.iter().all(|corner| outline.contains(corner)), "corners are kept bit for bit");
        }
    }

    #[test]
    fn a_convex_outline_stays_whole() {
        assert_eq!(convex_parts(&regular(16)).unwrap(), vec![regular(16)]);
    }

    #[test]
    fn a_convex_outline_of_seventeen_corners_is_refused() {
        assert_eq!(convex_parts(&regular(17)).unwrap_err(), DecomposeError::TooManyCorners { count: 17 });
    }

    #[test]
    fn an_l_shape_becomes_two_parts() {
        let outline = points(&[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]);
        let parts = convex_parts(&outline).unwrap();
        check_parts(&outline, &parts);
        assert_eq!(parts.len(), 2);
    }

    #[test]
    fn a_turned_cross_with_corners_in_line_is_cut_without_slivers() {
        let corners = [
            [1.0, -1.0],
            [3.0, -1.0],
            [3.0, 1.0],
            [1.0, 1.0],
            [1.0, 3.0],
            [-1.0, 3.0],
            [-1.0, 1.0],
            [-3.0, 1.0],
            [-3.0, -1.0],
            [-1.0, -1.0],
            [-1.0, -3.0],
            [1.0, -3.0],
        ];
        for step in 0..100 {
            let outline = turned(&points(&corners), f64::from(step) * 0.0631);
            let parts = convex_parts(&outline).unwrap();
            check_parts(&outline, &parts);
            assert!(parts.len() <= 5, "{} parts", parts.len());
            assert!(parts.iter().all(|part| signed_area_m2(part) > 1.9));
        }
    }

    #[test]
    fn a_comb_of_many_teeth_is_cut() {
        let mut corners = vec![[0.0, -1.0], [40.0, -1.0]];
        for tooth in (0..20).rev() {
            let x = 2.0 * f64::from(tooth);
            corners.extend([[x + 2.0, 0.0], [x + 2.0, 5.0], [x + 1.0, 5.0], [x + 1.0, 0.0]]);
        }
        corners.push([0.0, 0.0]);
        let outline = tidy(&points(&corners)).unwrap();
        check_parts(&outline, &convex_parts(&outline).unwrap());
    }

    #[test]
    fn a_round_part_of_a_concave_outline_is_split_at_sixteen_corners() {
        let mut outline = regular(60);
        outline[0] = Vector2::new(0.1, 0.0);
        let parts = convex_parts(&outline).unwrap();
        check_parts(&outline, &parts);
        assert!(parts.len() >= 4);
    }

    proptest! {
        #[test]
        fn parts_add_up_and_share_corners(outline in star_outlines()) {
            let Ok(outline) = tidy(&outline) else { return Ok(()) };
            let parts = convex_parts(&outline).unwrap();
            check_parts(&outline, &parts);
            prop_assert_eq!(&parts, &convex_parts(&outline).unwrap());
        }

        #[test]
        fn every_point_inside_is_in_exactly_one_part(
            outline in star_outlines(),
            samples in prop::collection::vec((-0.1..0.1f64, -0.1..0.1f64), 50),
        ) {
            let Ok(outline) = tidy(&outline) else { return Ok(()) };
            let parts = convex_parts(&outline).unwrap();
            for (x, y) in samples {
                let point = Vector2::new(x, y);
                let holders = parts.iter().filter(|part| contains(part, point)).count();
                prop_assert_eq!(holders, usize::from(inside(&outline, point)));
            }
        }
    }
}
