//! Tools at the ends of short, thin walls: they slide past the ends and rotate around them.

use crate::common::measure::{assert_below, overlap_m};
use crate::common::*;
use haptic_planar::scene::description::BodyDescription;
use haptic_testing::Random;
use nalgebra::vector;

/// Returns a tool of a random shape, size and pose.
fn random_tool(random: &mut Random) -> BodyDescription {
    let size = random.between(0.003, 0.05);
    let (shape, rounding_m) = match random.between(0.0, 5.0) as u32 {
        0 => (box_shape(size, size), 0.0),
        1 => (box_shape(size, size * random.between(0.2, 0.6)), 0.0),
        2 => (box_shape(1.7 * size, random.between(0.001, 0.003)), 0.0),
        3 => (hexagon(0.6 * size), 0.0),
        _ => (box_shape(size, 0.4 * size), 0.06 * size),
    };
    let mut tool = with(body("tool", shape, -0.07, 0.0), random.between(0.005, 0.15), 0.4, random.between(0.0, 0.9));
    tool.rounding_m = rounding_m;
    tool.angle_rad = random.between(0.0, 6.0);
    tool.angular_velocity_rad_per_s = random.between(-250.0, 250.0);
    tool
}

/// Returns zero or a random number up to `most`, with equal probability.
fn or_zero(random: &mut Random, most: f64) -> f64 {
    if random.between(0.0, 1.0) < 0.5 { 0.0 } else { random.between(0.0, most) }
}

/// Stirs random tools around walls that are 1 to 2 mm thick and 20 to 100 mm long; calls `check` after each tick with
/// the reported penetration, m, and the overlap of the outlines, m.
fn stir(seed: u64, runs: usize, mut check: impl FnMut(f64, f64, &str)) {
    let mut random = Random(seed);
    for run in 0..runs {
        let tool = random_tool(&mut random);
        let size = box_shape(random.between(0.001, 0.002), random.between(0.02, 0.1));
        let mut wall = with(fixed("wall", size, 0.0, 0.0), 1.0, 0.4, tool.restitution);
        wall.angle_rad = or_zero(&mut random, 3.0);
        let mut lab = Lab::new(&scene(0.0, vec![wall, tool], Some("tool")));
        lab = lab.gains(random.between(300.0, 4500.0), or_zero(&mut random, 6.0));
        lab = lab.upright(or_zero(&mut random, 0.3), 0.0);
        let fastest = random.between(0.5, 3.0);
        while lab.tick < 2000 {
            let to = vector![random.between(-0.06, 0.06), random.between(-0.06, 0.06)];
            let ticks = ((to - lab.input.hand_m).norm() / fastest / random.between(0.3, 1.0) / 1e-3).ceil() as usize;
            lab.lead(to, ticks, |lab, output| {
                let overlap_m = overlap_m(lab, 0, 1).max(0.0);
                check(output.penetration_m, overlap_m, &format!("seed {seed}, run {run}, tick {}", lab.tick));
            });
        }
    }
}

/// With a margin of zero, a box that lies flat on a wall touched its face or not by rounding; if not, the opposite face
/// was the one of least depth.
#[test]
fn the_opposite_face_is_not_reported_when_a_box_slides_past_the_end_of_a_wall() {
    for run in 0..300 {
        let angle_rad = 0.01 * f64::from(run);
        let (sine, cosine) = libm::sincos(angle_rad);
        let (along, across) = (vector![cosine, sine], vector![-sine, cosine]);
        let wall = with(fixed("wall", box_shape(0.1, 0.0012), 0.0, 0.0), 1.0, 0.3, 0.0);
        let start = along * 0.04 + across * 0.0086;
        let mut tool = with(body("tool", box_shape(0.04, 0.016), start.x, start.y), 0.09, 0.3, 0.0);
        tool.velocity_m_per_s = along * 3.4;
        let mut bodies = [wall, tool];
        bodies.iter_mut().for_each(|body| body.angle_rad = angle_rad);
        let mut lab = Lab::new(&scene(0.0, bodies.to_vec(), None));
        lab.run_s(0.01);
        assert_below(&format!("angle {angle_rad}: penetration, m"), lab.penetration_m, 1e-5);
    }
}

#[test]
fn the_reported_penetration_at_the_end_of_a_wall_is_the_overlap() {
    stir(81, 800, |reported_m, overlap_m, what| {
        let off = (reported_m - overlap_m).abs();
        assert!(off < 0.1 * overlap_m + 4e-5, "{what}: reported {reported_m:.3e} m, true {overlap_m:.3e} m");
    });
}

#[test]
fn a_tool_does_not_enter_the_end_of_a_thin_wall() {
    stir(82, 800, |_, overlap_m, what| assert_below(&format!("{what}: overlap, m"), overlap_m, 3e-4));
}
