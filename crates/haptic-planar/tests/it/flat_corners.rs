//! Polygons with corners that turn by a small angle carry contact on both sides of the corner.

use crate::common::measure::{assert_below, worst_overlap_m};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::vector;

/// Returns a block 40 mm wide whose top has its corners at y = 0, except for those given.
fn block(top: &[[f64; 2]]) -> ShapeDescription {
    let mut corners = vec![[-0.02, -0.02], [0.02, -0.02], [0.02, 0.0]];
    corners.extend(top);
    corners.push([-0.02, 0.0]);
    polygon(&corners)
}

/// Returns the deepest true overlap while a box falls on a block, and the largest part of an overlap that is not
/// reported, m.
fn deepest_m(top: &[[f64; 2]], falling: BodyDescription) -> (f64, f64) {
    let mut ground = fixed("block", block(top), 0.0, 0.0);
    ground.friction = 0.5;
    ground.restitution = 0.2;
    let mut lab = Lab::new(&scene(GRAVITY, vec![ground, falling], None));
    let (mut deepest, mut unreported) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
    for _ in 0..400 {
        let reported = lab.free().penetration_m;
        let overlap = worst_overlap_m(&lab);
        (deepest, unreported) = (deepest.max(overlap), unreported.max(overlap - reported));
    }
    (deepest, unreported)
}

fn falling_box(size: [f64; 2], [x, y, angle_rad]: [f64; 3], [vx, vy, spin]: [f64; 3]) -> BodyDescription {
    let one = with(body("box", box_shape(size[0], size[1]), x, y), 0.01, 0.5, 0.2);
    BodyDescription { angle_rad, velocity_m_per_s: vector![vx, vy], angular_velocity_rad_per_s: spin, ..one }
}

#[test]
fn a_box_that_tips_over_a_nearly_flat_corner_stays_on_top() {
    let tipping = falling_box(
        [0.01, 0.006],
        [0.0029707183880051564, 0.022, -0.1338685840688152],
        [-0.004415799397832963, 0.0, 8.895629913692938],
    );
    assert_below("overlap, m", deepest_m(&[[0.0, 2e-6]], tipping).0, 2e-4);
}

#[test]
fn boxes_that_fall_on_nearly_flat_corners_stay_on_top() {
    let mut random = Random(20_101);
    for run in 0..200 {
        let turn_rad = 10f64.powf(random.between(-4.0, -0.6));
        let middle = random.between(-0.01, 0.01);
        let height = turn_rad * (0.02 - middle) * (0.02 + middle) / 0.04;
        // The second corner is halfway down one side and turns the outline by a tenth as much.
        let second = 0.5 * (middle + 0.02);
        let top = [[second, 0.55 * height], [middle, height]];
        let size = [random.between(0.004, 0.03), random.between(0.004, 0.012)];
        let pose = [random.between(-0.012, 0.012), 0.02 + height, random.between(-0.5, 0.5)];
        let speeds = [random.between(-0.1, 0.1), random.between(-1.0, 0.0), random.between(-10.0, 10.0)];
        let (deepest, unreported) = deepest_m(&top, falling_box(size, pose, speeds));
        assert_below(&format!("run {run}, corner of {turn_rad} rad: overlap, m"), deepest, 1e-3);
        assert_below(&format!("run {run}, corner of {turn_rad} rad: unreported, m"), unreported, 3.5e-4);
    }
}
