//! Sharp bodies in narrow slots.

use crate::common::measure::assert_below;
use crate::common::*;
use haptic_planar::scene::description::BodyDescription;
use nalgebra::vector;

/// Side of the square tool, m.
const SIDE_M: f64 = 0.02;

/// Returns the two jaws of a slot along the x-axis that is wider than the tool by `clearance`. Its mouth is at x = 0.
fn jaws(clearance: f64) -> Vec<BodyDescription> {
    let y = SIDE_M / 2.0 + clearance / 2.0 + 0.05;
    [("upper", y), ("lower", -y)]
        .map(|(name, y)| with(fixed(name, box_shape(0.04, 0.1), 0.02, y), 1.0, 0.3, 0.0))
        .into()
}

/// Moves a tool from outside into the middle of the slot at a speed. The hand is off the axis by `aside`; the tool
/// starts with the angular velocity `twist`. Returns the largest force on the hand along the slot, N, and the position
/// of the tool at the end, m.
fn enter(clearance: f64, speed: f64, aside: f64, twist: f64) -> (f64, f64) {
    let mut bodies = jaws(clearance);
    let start = -SIDE_M / 2.0 - 5e-4;
    bodies.push(with(body("tool", box_shape(SIDE_M, SIDE_M), start, aside), 0.05, 0.3, 0.0));
    let mut lab = Lab::new(&scene(0.0, bodies, Some("tool"))).gains(800.0, 4.0).upright(0.5, 0.002);
    let (from, to, travel) = (vector![start, aside], vector![0.01, aside], 0.01 - start);
    let ticks = (travel / speed / 1e-3).ceil() as usize;
    lab.state.bodies[2].angular_velocity_rad_per_s = twist;
    let mut force: f64 = 0.0;
    for tick in 0..ticks + 100 {
        let fraction = (tick as f64 / ticks as f64).min(1.0);
        let output = lab.hand(from + (to - from) * fraction);
        force = force.max(output.force_on_hand_n.x.abs());
    }
    (force, lab.body("tool").centre_m.x)
}

#[test]
fn a_sharp_box_enters_a_slot_that_is_wider_than_itself() {
    for clearance in [10e-6, 40e-6, 100e-6, 200e-6] {
        for speed in [0.005, 0.02, 0.1] {
            for aside in [0.0, 0.25, -0.4] {
                let (force, x) = enter(clearance, speed, aside * clearance, 0.0);
                let what = format!("{clearance} m at {speed} m/s, aside by {aside} of it");
                assert_below(&format!("{what}: force along the slot, N"), force, 1.0);
                assert_below(&format!("{what}: distance to the hand, m"), (x - 0.01).abs(), 1e-3);
            }
        }
    }
}

#[test]
fn a_box_that_swings_enters_a_slot_that_is_wider_than_itself() {
    for clearance in [40e-6, 100e-6] {
        for speed in [0.005, 0.02, 0.1] {
            for twist in [-0.1, 0.03, 0.3] {
                let (force, x) = enter(clearance, speed, 0.0, twist);
                let what = format!("{clearance} m at {speed} m/s, turning at {twist} rad/s");
                assert_below(&format!("{what}: force along the slot, N"), force, 1.0);
                assert_below(&format!("{what}: distance to the hand, m"), (x - 0.01).abs(), 1e-3);
            }
        }
    }
}
