//! No step allocates.

use crate::common::*;
use haptic_planar::scene::description::BodyDescription;
use haptic_testing::assert_no_allocator_calls;
use nalgebra::vector;

/// Returns a room full of boxes, discs, capsules and concave bodies, some of them fast, with a tool.
fn crowd() -> Lab {
    let mut bodies = room(0.1, 0.4, 0.5);
    for i in 0..40 {
        let shape = match i % 4 {
            0 => box_shape(0.012, 0.012),
            1 => disc(0.006),
            2 => capsule(0.006, 0.004),
            _ => polygon(&[[-0.006, -0.006], [0.006, -0.006], [0.006, 0.0], [0.0, 0.0], [0.0, 0.006], [-0.006, 0.006]]),
        };
        let (x, y) = (-0.08 + 0.02 * f64::from(i % 8), -0.08 + 0.02 * f64::from(i / 8));
        let mut one = with(body(&format!("{i}"), shape, x, y), 0.01, 0.4, 0.5);
        one.velocity_m_per_s = vector![f64::from(i % 5) - 2.0, f64::from(i % 7) - 3.0];
        bodies.push(BodyDescription { angle_rad: 0.2 * f64::from(i), ..one });
    }
    bodies.push(with(body("tool", box_shape(0.02, 0.02), 0.0, 0.07), 0.1, 0.4, 0.3));
    Lab::new(&scene(GRAVITY, bodies, Some("tool")))
}

#[test]
fn a_crowd_stirred_by_the_hand_allocates_nothing() {
    let mut lab = crowd();
    let mut impacts = 0;
    assert_no_allocator_calls(|| {
        for tick in 0..4000 {
            let (sine, cosine) = libm::sincos(f64::from(tick) * 0.01);
            impacts += lab.hand(vector![0.08 * sine, 0.08 * cosine]).impacts;
        }
    });
    assert!(impacts > 100, "only {impacts} impacts");
    assert_eq!(lab.dropped, 0, "near pairs dropped");
}

#[test]
fn a_crowd_whose_tool_is_released_and_held_again_allocates_nothing() {
    let mut lab = crowd();
    assert_no_allocator_calls(|| {
        for tick in 0..3000 {
            if (tick / 300) % 2 == 0 {
                lab.hand(vector![0.05, -0.05]);
            } else {
                lab.free();
            }
        }
    });
}

#[test]
fn every_kind_of_coupling_allocates_nothing() {
    let mut lab = crowd().upright(0.5, 0.002);
    lab.input.max_force_n = 4.0;
    assert_no_allocator_calls(|| {
        for tick in 0..2000 {
            lab.input.rail = if tick > 1000 { Some(vector![1.0, 0.0]) } else { None };
            lab.hand(vector![0.05, -0.05]);
        }
    });
}

#[test]
fn fast_bodies_allocate_nothing() {
    let mut bodies = room(0.1, 0.1, 1.0);
    for i in 0..8 {
        let mut one =
            with(body(&format!("{i}"), box_shape(0.01, 0.01), 0.02 * f64::from(i) - 0.07, 0.0), 0.01, 0.1, 1.0);
        one.velocity_m_per_s = vector![20.0 + 5.0 * f64::from(i), 30.0];
        one.angular_velocity_rad_per_s = 50.0;
        bodies.push(one);
    }
    let mut lab = Lab::new(&scene(0.0, bodies, None));
    assert_no_allocator_calls(|| lab.run_s(3.0));
}

#[test]
fn a_hash_allocates_nothing() {
    let lab = crowd();
    assert_no_allocator_calls(|| {
        std::hint::black_box(lab.state.hash());
    });
}
