//! Pegs in holes and wedges in grooves: opposing contacts that can jam.

use crate::common::measure::{Samples, assert_below, worst_overlap_m};
use crate::common::*;
use haptic_planar::scene::description::BodyDescription;
use nalgebra::{Vector2, vector};

/// Returns a peg of 20 × 60 mm in a hole 20.1 mm wide between two blocks, with a floor 40 mm below.
fn peg_in_hole(friction: f64) -> Lab {
    let block = |name: &str, x: f64, y: f64, width: f64, height: f64| {
        with(fixed(name, box_shape(width, height), x, y), 1.0, friction, 0.0)
    };
    let half = 0.01005;
    let bodies = vec![
        block("left", -half - 0.02, -0.02, 0.04, 0.04),
        block("right", half + 0.02, -0.02, 0.04, 0.04),
        block("bottom", 0.0, -0.05, 0.1, 0.02),
        with(body("peg", box_shape(0.02, 0.06), 0.0, 0.0), 0.1, friction, 0.0),
    ];
    let mut world = scene(0.0, bodies, Some("peg"));
    world.tool.as_mut().unwrap().handle_m = vector![0.0, 0.02];
    Lab::new(&world)
}

/// Moves the hand to a point and holds it there; asserts that nothing penetrates and that the force is steady.
#[track_caller]
fn assert_holds(lab: &mut Lab, to: Vector2<f64>) {
    let mut deepest = f64::NEG_INFINITY;
    lab.lead(to, 500, |lab, _| deepest = deepest.max(worst_overlap_m(lab)));
    lab.lead(to, 500, |lab, _| deepest = deepest.max(worst_overlap_m(lab)));
    let mut force = Samples::default();
    lab.lead(to, 500, |lab, output| {
        deepest = deepest.max(worst_overlap_m(lab));
        force.push(output.force_on_hand_n.norm());
    });
    assert_below("overlap, m", deepest, 1e-5);
    assert_below("ripple", force.ripple(), 1e-3);
    assert!(force.mean() > 0.5, "the hand meets no resistance: {} N", force.mean());
    assert_below("energy gain, J", lab.gain_j(), 1e-6);
}

#[test]
fn a_peg_pushed_sideways_in_its_hole_is_held_steadily() {
    for friction in [0.0, 0.2, 0.5, 1.0] {
        assert_holds(&mut peg_in_hole(friction), vector![0.005, 0.02]);
        assert_holds(&mut peg_in_hole(friction), vector![-0.005, 0.02]);
    }
}

#[test]
fn a_peg_pushed_askew_into_its_hole_is_held_steadily() {
    for friction in [0.0, 0.2, 0.5, 1.0] {
        assert_holds(&mut peg_in_hole(friction), vector![0.004, 0.012]);
        assert_holds(&mut peg_in_hole(friction), vector![-0.004, 0.03]);
    }
}

#[test]
fn a_peg_can_be_pulled_out_of_its_hole() {
    let mut lab = peg_in_hole(0.2);
    assert_holds(&mut lab, vector![0.004, 0.012]);
    lab.lead(vector![0.0, 0.02], 200, |_, _| ());
    lab.lead(vector![0.0, 0.1], 1000, |_, _| ());
    assert!(lab.body("peg").centre_m.y > 0.05, "it stuck at {}", lab.body("peg").centre_m);
}

#[test]
fn a_peg_stirred_in_its_hole_stays_in_its_hole() {
    for friction in [0.1, 0.5] {
        let mut lab = peg_in_hole(friction);
        lab.lead(vector![0.0, 0.02], 1, |_, _| ());
        let mut deepest = f64::NEG_INFINITY;
        for i in 0..4000 {
            let (sine, cosine) = libm::sincos(f64::from(i) * 0.02);
            lab.hand(vector![0.005 * sine, 0.02 + 0.01 * (cosine - 1.0)]);
            deepest = deepest.max(worst_overlap_m(&lab));
        }
        assert_below("overlap, m", deepest, 1e-5);
        assert_below("energy gain, J", lab.gain_j(), 1e-6);
    }
}

/// Returns a wedge over a groove that fits it; `degrees` is the half-angle of both.
fn wedge_in_groove(degrees: f64, friction: f64) -> Lab {
    let (sine, cosine) = libm::sincos(degrees.to_radians());
    let (depth, thick) = (0.04, 0.02);
    // Each flank is a bar along the side of the groove, with its inner face through the origin.
    let flank = |name: &str, side: f64| {
        let along = vector![side * sine, cosine] * depth;
        let out = vector![side * cosine, -sine] * (thick / 2.0);
        let at = along / 2.0 + out;
        let bar = with(fixed(name, box_shape(thick, depth), at.x, at.y), 1.0, friction, 0.0);
        BodyDescription { angle_rad: -side * degrees.to_radians(), ..bar }
    };
    let half = 0.02 * sine / cosine;
    let wedge = polygon(&[[0.0, -0.01], [half, 0.01], [-half, 0.01]]);
    let tool = with(body("wedge", wedge, 0.0, 0.012), 0.1, friction, 0.0);
    let mut world = scene(0.0, vec![flank("left", -1.0), flank("right", 1.0), tool], Some("wedge"));
    world.tool.as_mut().unwrap().handle_m = vector![0.0, 0.005];
    Lab::new(&world)
}

#[test]
fn a_wedge_pressed_into_a_groove_is_held_steadily() {
    for degrees in [15.0, 30.0, 45.0] {
        for friction in [0.0, 0.2, 0.5] {
            assert_holds(&mut wedge_in_groove(degrees, friction), vector![0.0, 0.009]);
        }
    }
}

#[test]
fn a_disc_pressed_into_a_groove_is_held_steadily() {
    for friction in [0.0, 0.3, 0.8] {
        let mut bodies: Vec<_> = [(-1.0, "left"), (1.0, "right")]
            .into_iter()
            .map(|(side, name)| {
                let bar = with(fixed(name, box_shape(0.02, 0.06), side * 0.02, 0.0), 1.0, friction, 0.0);
                BodyDescription { angle_rad: -side * 0.5, ..bar }
            })
            .collect();
        bodies.push(with(body("ball", disc(0.008), 0.0, 0.02), 0.1, friction, 0.0));
        assert_holds(&mut Lab::new(&scene(0.0, bodies, Some("ball"))), vector![0.0, -0.01]);
    }
}
