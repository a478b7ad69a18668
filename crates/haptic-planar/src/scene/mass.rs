//! Area, centroid and second moment of outlines grown by a radius, in closed form.
//!
//! Growing a polygon by r adds a strip of width r along each edge and a sector at each convex corner. At a reflex
//! corner that turns by φ, the two strips instead overlap in a kite of area r² tan(φ/2), which is subtracted. The
//! result is exact as long as the strips of edges that are not neighbours do not overlap. [`Growth::fits`] checks this
//! for the two neighbours of each edge. The overlap of more distant edges, as in a groove narrower than 2r, is not
//! detected and is counted twice. Runs only when a scene is loaded.

use crate::math::{cross, rotate};
use nalgebra::Vector2;
use std::f64::consts::PI;

/// Area, centroid and second moment of a shape.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AreaProperties {
    /// Area, m².
    pub area_m2: f64,
    /// Centre of area in the shape's frame, m.
    pub centroid_m: Vector2<f64>,
    /// Polar second moment of area about the centroid, m⁴.
    pub second_moment_m4: f64,
}

impl AreaProperties {
    /// Returns the properties of a disc centred on the origin.
    pub fn of_disc(radius_m: f64) -> Self {
        let area_m2 = PI * radius_m * radius_m;
        Self { area_m2, centroid_m: Vector2::zeros(), second_moment_m4: 0.5 * area_m2 * radius_m * radius_m }
    }

    /// Returns the properties of a capsule along x, centred on the origin; `length_m` is the distance between the
    /// centres of the round ends.
    pub fn of_capsule(length_m: f64, radius_m: f64) -> Self {
        let half = Vector2::new(0.5 * length_m, 0.0);
        let mut sums = Sums::default();
        sums.add_rectangle(Vector2::zeros(), length_m, 2.0 * radius_m);
        sums.add_sector(half, radius_m, Vector2::x(), PI);
        sums.add_sector(-half, radius_m, -Vector2::x(), PI);
        sums.about_centroid(Vector2::zeros())
    }

    /// Returns the properties of a box of the full width and height `size_m`, centred on the origin and grown by
    /// `rounding_m`.
    pub fn of_box(size_m: Vector2<f64>, rounding_m: f64) -> Self {
        Self::of_polygon(&box_corners(size_m), rounding_m)
    }

    /// Returns the properties of a tidy outline (see [`crate::scene::polygon::tidy`]), convex or concave, grown by
    /// `rounding_m`.
    pub fn of_polygon(outline: &[Vector2<f64>], rounding_m: f64) -> Self {
        Self::of_outlines(&[outline], rounding_m)
    }

    /// Returns the properties of a shape with several outlines, such as a ring, grown by `rounding_m`. Outer outlines
    /// are anticlockwise and those of holes clockwise: the material is on the left.
    pub fn of_outlines(outlines: &[&[Vector2<f64>]], rounding_m: f64) -> Self {
        // The sums are relative to a corner, so that an outline far from the origin loses no precision.
        let reference = outlines[0][0];
        let mut sums = Sums::default();
        for outline in outlines {
            let local: Vec<_> = outline.iter().map(|corner| corner - reference).collect();
            sums.add_polygon(&local);
            if rounding_m > 0.0 {
                sums.add_growth(&local, rounding_m);
            }
        }
        sums.about_centroid(reference)
    }

    /// Returns the properties of a shape that is rotated by (cos, sin) about the origin and then moved.
    pub fn placed(&self, position_m: Vector2<f64>, rotation: Vector2<f64>) -> Self {
        Self { centroid_m: position_m + rotate(rotation, self.centroid_m), ..*self }
    }

    /// Returns the properties of several shapes together. Where they overlap, the area counts more than once.
    pub fn of_all(shapes: &[Self]) -> Self {
        if let [only] = shapes {
            return *only;
        }
        // The sums are relative to one shape, so that shapes far from the origin lose no precision.
        let reference = shapes.first().map_or_else(Vector2::zeros, |first| first.centroid_m);
        let mut sums = Sums::default();
        for shape in shapes {
            sums.add(shape.area_m2, shape.centroid_m - reference, shape.second_moment_m4);
        }
        sums.about_centroid(reference)
    }

    /// Returns the moment of inertia about the centroid of a uniform body with this mass, kg·m².
    pub fn inertia_kg_m2(&self, mass_kg: f64) -> f64 {
        mass_kg * self.second_moment_m4 / self.area_m2
    }
}

/// Returns the corners of a box centred on the origin, anticlockwise from the lower left, m.
pub fn box_corners(size_m: Vector2<f64>) -> [Vector2<f64>; 4] {
    let (x, y) = (0.5 * size_m.x, 0.5 * size_m.y);
    [Vector2::new(-x, -y), Vector2::new(x, -y), Vector2::new(x, y), Vector2::new(-x, y)]
}

/// Limit on the radius by which an outline can be grown. At the limit, the strip along one edge vanishes, because the
/// kites at its reflex corners use up its whole length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Index of the edge whose strip vanishes first, counted from 0.
    pub edge: usize,
    /// Radius at which the strip along that edge vanishes, m; infinite for a convex outline.
    pub max_m: f64,
}

impl Growth {
    /// Returns the limit for a tidy outline (see [`crate::scene::polygon::tidy`]).
    pub fn limit_of(outline: &[Vector2<f64>]) -> Self {
        let count = outline.len();
        let eaten = |corner: usize| (-half_turn_tangent(outline, corner)).max(0.0);
        let limit = |edge: usize| {
            let next = (edge + 1) % count;
            Self { edge, max_m: (outline[next] - outline[edge]).norm() / (eaten(edge) + eaten(next)) }
        };
        let none = Self { edge: 0, max_m: f64::INFINITY };
        (0..count).map(limit).fold(none, |least, next| if next.max_m < least.max_m { next } else { least })
    }

    /// Whether part of the strip along every edge remains when the outline is grown by `rounding_m`.
    pub fn fits(&self, rounding_m: f64) -> bool {
        rounding_m < self.max_m
    }
}

/// Returns the tangent of half the turning angle at a corner; negative at reflex corners.
fn half_turn_tangent(outline: &[Vector2<f64>], corner: usize) -> f64 {
    let (before, after) = directions_at(outline, corner);
    cross(before, after) / (1.0 + before.dot(&after))
}

/// Returns the unit directions of the edges into and out of a corner.
fn directions_at(outline: &[Vector2<f64>], corner: usize) -> (Vector2<f64>, Vector2<f64>) {
    let count = outline.len();
    let before = outline[corner] - outline[(corner + count - 1) % count];
    let after = outline[(corner + 1) % count] - outline[corner];
    (before.normalize(), after.normalize())
}

fn outward(direction: Vector2<f64>) -> Vector2<f64> {
    Vector2::new(direction.y, -direction.x)
}

/// Area, first moment and polar second moment about the origin, summed over shapes that are added or subtracted.
#[derive(Default)]
struct Sums {
    area: f64,
    first: Vector2<f64>,
    second: f64,
}

impl Sums {
    fn add(&mut self, area: f64, centroid: Vector2<f64>, second_about_centroid: f64) {
        self.area += area;
        self.first += centroid * area;
        self.second += second_about_centroid + area * centroid.norm_squared();
    }

    /// Adds a polygon; a clockwise outline is subtracted.
    fn add_polygon(&mut self, outline: &[Vector2<f64>]) {
        for (i, a) in outline.iter().enumerate() {
            let b = outline[(i + 1) % outline.len()];
            let twice_area = cross(*a, b);
            self.area += twice_area / 2.0;
            self.first += (a + b) * (twice_area / 6.0);
            self.second += twice_area * (a.norm_squared() + a.dot(&b) + b.norm_squared()) / 12.0;
        }
    }

    /// Adds a rectangle. Its orientation is not needed, because it does not affect the polar second moment.
    fn add_rectangle(&mut self, centre: Vector2<f64>, length: f64, width: f64) {
        let area = length * width;
        self.add(area, centre, area * (length * length + width * width) / 12.0);
    }

    /// Adds a sector with the opening angle `angle_rad` about the unit direction `middle`.
    fn add_sector(&mut self, tip: Vector2<f64>, radius: f64, middle: Vector2<f64>, angle_rad: f64) {
        let area = 0.5 * radius * radius * angle_rad;
        let offset = 4.0 * radius * libm::sin(0.5 * angle_rad) / (3.0 * angle_rad);
        self.add(area, tip + middle * offset, area * (0.5 * radius * radius - offset * offset));
    }

    fn add_growth(&mut self, outline: &[Vector2<f64>], radius: f64) {
        for (i, corner) in outline.iter().enumerate() {
            let next = outline[(i + 1) % outline.len()];
            let (before, after) = directions_at(outline, i);
            self.add_rectangle((corner + next) * 0.5 + outward(after) * (0.5 * radius), (next - corner).norm(), radius);
            self.add_corner(*corner, radius, before, after);
        }
    }

    fn add_corner(&mut self, corner: Vector2<f64>, radius: f64, before: Vector2<f64>, after: Vector2<f64>) {
        let (start, end) = (outward(before), outward(after));
        let turn_rad = libm::atan2(cross(before, after), before.dot(&after));
        if turn_rad > 0.0 {
            self.add_sector(corner, radius, (start + end).normalize(), turn_rad);
        } else {
            // A reflex corner turns clockwise from `start` to `end`, so this kite is subtracted.
            let meeting = (start + end) * (radius / (1.0 + start.dot(&end)));
            self.add_polygon(&[corner, corner + start * radius, corner + meeting, corner + end * radius]);
        }
    }

    fn about_centroid(&self, reference: Vector2<f64>) -> AreaProperties {
        let centroid = self.first / self.area;
        AreaProperties {
            area_m2: self.area,
            centroid_m: centroid + reference,
            second_moment_m4: self.second - self.area * centroid.norm_squared(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{cross_of, distance_to_segment_m};
    use crate::scene::polygon::tests::{points, star_outlines};
    use crate::scene::polygon::tidy;
    use proptest::prelude::*;

    fn assert_close(value: f64, expected: f64, relative: f64) {
        assert!((value - expected).abs() <= relative * expected.abs(), "{value} instead of {expected}");
    }

    fn is_in_grown(outline: &[Vector2<f64>], radius: f64, point: Vector2<f64>) -> bool {
        let edges = (0..outline.len()).map(|i| (outline[i], outline[(i + 1) % outline.len()]));
        let crossings = edges
            .clone()
            .filter(|&(a, b)| (a.y > point.y) != (b.y > point.y) && (cross_of(a, b, point) > 0.0) == (b.y > a.y));
        crossings.count() % 2 == 1 || edges.into_iter().any(|(a, b)| distance_to_segment_m(point, a, b) <= radius)
    }

    /// Computes the properties by the midpoint rule on a grid over [-side, side]².
    fn by_grid(outline: &[Vector2<f64>], radius: f64, side: f64, count: i32) -> AreaProperties {
        let step = 2.0 * side / f64::from(count);
        let mut sums = Sums::default();
        let middle = |i: i32| (f64::from(i) + 0.5) * step - side;
        for point in (0..count).flat_map(|i| (0..count).map(move |j| Vector2::new(middle(i), middle(j)))) {
            if is_in_grown(outline, radius, point) {
                sums.add_rectangle(point, step, step);
            }
        }
        sums.about_centroid(Vector2::zeros())
    }

    #[test]
    fn a_disc_has_half_its_radius_squared_of_gyration() {
        let disc = AreaProperties::of_disc(0.02);
        assert_close(disc.area_m2, PI * 4e-4, 1e-14);
        assert_close(disc.inertia_kg_m2(3.0), 0.5 * 3.0 * 4e-4, 1e-14);
    }

    #[test]
    fn a_box_has_the_textbook_inertia() {
        let size = Vector2::new(0.04, 0.02);
        let sharp = AreaProperties::of_box(size, 0.0);
        assert_close(sharp.area_m2, 8e-4, 1e-14);
        assert_close(sharp.inertia_kg_m2(0.1), 0.1 * (0.0016 + 0.0004) / 12.0, 1e-13);
        assert!(sharp.centroid_m.norm() < 1e-17);
    }

    #[test]
    fn growing_a_convex_outline_adds_strips_and_one_whole_disc() {
        let grown = AreaProperties::of_box(Vector2::new(0.04, 0.02), 0.005);
        assert_close(grown.area_m2, 8e-4 + 0.12 * 0.005 + PI * 25e-6, 1e-14);
    }

    #[test]
    fn a_capsule_without_length_is_a_disc_and_a_thin_one_a_rod() {
        let (ball, disc) = (AreaProperties::of_capsule(0.0, 0.01), AreaProperties::of_disc(0.01));
        assert_close(ball.area_m2, disc.area_m2, 1e-14);
        assert_close(ball.second_moment_m4, disc.second_moment_m4, 1e-13);
        assert_close(AreaProperties::of_capsule(1.0, 1e-7).inertia_kg_m2(12.0), 1.0, 1e-6);
    }

    #[test]
    fn a_grown_sliver_is_a_capsule() {
        let sliver = AreaProperties::of_box(Vector2::new(0.1, 1e-9), 0.01);
        let capsule = AreaProperties::of_capsule(0.1, 0.01);
        assert_close(sliver.area_m2, capsule.area_m2, 1e-6);
        assert_close(sliver.second_moment_m4, capsule.second_moment_m4, 1e-6);
    }

    #[test]
    fn an_l_shape_is_two_boxes() {
        let outline = points(&[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]);
        let shape = AreaProperties::of_polygon(&outline, 0.0);
        let mut sums = Sums::default();
        sums.add_rectangle(Vector2::new(1.5, 0.5), 3.0, 1.0);
        sums.add_rectangle(Vector2::new(0.5, 2.0), 1.0, 2.0);
        let boxes = sums.about_centroid(Vector2::zeros());
        assert_close(shape.area_m2, 5.0, 1e-14);
        assert!((shape.centroid_m - boxes.centroid_m).norm() < 1e-14);
        assert_close(shape.second_moment_m4, boxes.second_moment_m4, 1e-13);
    }

    #[test]
    fn a_grown_l_shape_loses_one_square_at_its_inner_corner() {
        let outline = points(&[[0.0, 0.0], [3.0, 0.0], [3.0, 1.0], [1.0, 1.0], [1.0, 3.0], [0.0, 3.0]]);
        let grown = AreaProperties::of_polygon(&outline, 0.2);
        assert_close(grown.area_m2, 5.0 + 12.0 * 0.2 + 1.25 * PI * 0.04 - 0.04, 1e-14);
    }

    #[test]
    fn a_deep_notch_sharper_than_a_right_angle_agrees_with_a_grid() {
        let outline = points(&[[-0.8, -0.8], [0.8, -0.8], [0.8, 0.8], [0.0, -0.4], [-0.8, 0.8]]);
        let exact = AreaProperties::of_polygon(&outline, 0.1);
        let grid = by_grid(&outline, 0.1, 1.0, 1000);
        assert_close(exact.area_m2, grid.area_m2, 1e-3);
        assert_close(exact.second_moment_m4, grid.second_moment_m4, 1e-3);
        assert!((exact.centroid_m - grid.centroid_m).norm() < 1e-3);
    }

    #[test]
    fn the_limit_of_growth_is_where_a_notch_fills_up() {
        let notched =
            points(&[[0.0, 0.0], [5.0, 0.0], [5.0, 2.0], [3.0, 2.0], [3.0, 1.0], [2.0, 1.0], [2.0, 2.0], [0.0, 2.0]]);
        let growth = Growth::limit_of(&notched);
        assert_eq!(growth.edge, 4);
        assert_close(growth.max_m, 0.5, 1e-14);
        assert!(growth.fits(0.49) && !growth.fits(0.5));
        assert!(Growth::limit_of(&box_corners(Vector2::new(1.0, 1.0))).fits(1e6));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn sharp_outlines_agree_with_a_grid(outline in star_outlines()) {
            let Ok(outline) = tidy(&outline) else { return Ok(()) };
            let (exact, grid) = (AreaProperties::of_polygon(&outline, 0.0), by_grid(&outline, 0.0, 0.1, 400));
            prop_assert!((exact.area_m2 - grid.area_m2).abs() < 0.01 * exact.area_m2);
            prop_assert!((exact.second_moment_m4 - grid.second_moment_m4).abs() < 0.01 * exact.second_moment_m4);
            prop_assert!((exact.centroid_m - grid.centroid_m).norm() < 5e-4);
        }

        #[test]
        fn grown_notched_plates_agree_with_a_grid(
            width in 0.05..0.1f64, depth in 0.01..0.07f64, lean in -0.04..0.04f64, radius in 0.001..0.01f64,
        ) {
            let corners = [[-width, -0.08], [width, -0.08], [width, 0.08], [lean, 0.08 - depth], [-width, 0.08]];
            // Rotated relative to the grid, which would otherwise miss edges by half a step along their whole length.
            let rotation = Vector2::new(0.8, 0.6);
            let outline: Vec<_> = points(&corners).into_iter().map(|corner| rotate(rotation, corner)).collect();
            prop_assert!(Growth::limit_of(&outline).fits(radius));
            let (exact, grid) = (AreaProperties::of_polygon(&outline, radius), by_grid(&outline, radius, 0.15, 500));
            prop_assert!((exact.area_m2 - grid.area_m2).abs() < 0.005 * exact.area_m2);
            prop_assert!((exact.second_moment_m4 - grid.second_moment_m4).abs() < 0.005 * exact.second_moment_m4);
            prop_assert!((exact.centroid_m - grid.centroid_m).norm() < 2e-4);
        }
    }

    proptest! {
        #[test]
        fn moving_and_turning_an_outline_moves_and_turns_its_centroid_only(
            outline in star_outlines(), radius in 0.0..1e-4f64,
            angle in -3.0..3.0f64, x in -1.0..1.0f64, y in -1.0..1.0f64,
        ) {
            let Ok(outline) = tidy(&outline) else { return Ok(()) };
            let (sine, cosine) = libm::sincos(angle);
            let (rotation, shift) = (Vector2::new(cosine, sine), Vector2::new(x, y));
            let moved: Vec<_> = outline.iter().map(|corner| rotate(rotation, *corner) + shift).collect();
            let here = AreaProperties::of_polygon(&outline, radius);
            let there = AreaProperties::of_polygon(&moved, radius);
            prop_assert!((here.area_m2 - there.area_m2).abs() < 1e-9 * here.area_m2);
            prop_assert!((here.second_moment_m4 - there.second_moment_m4).abs() < 1e-9 * here.second_moment_m4);
            prop_assert!((rotate(rotation, here.centroid_m) + shift - there.centroid_m).norm() < 1e-10);
        }
    }
}
