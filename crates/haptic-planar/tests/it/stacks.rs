//! Bodies that carry other bodies.

use crate::common::measure::{self, Samples, assert_below, assert_near};
use crate::common::*;
use haptic_planar::scene::description::ShapeDescription;
use haptic_testing::Random;
use nalgebra::vector;

/// Returns a stack of ten bodies, the top one heavier by the factor `top`.
fn stack(shape: &ShapeDescription, width: f64, top: f64) -> Lab {
    let mut bodies = vec![floor(0.4, 0.0)];
    for i in 0..10 {
        let mass = if i == 9 { 0.1 * top } else { 0.1 };
        let one = body(&format!("{i}"), shape.clone(), 0.0, width * (0.5 + f64::from(i)));
        bodies.push(with(one, mass, 0.4, 0.0));
    }
    Lab::new(&scene(GRAVITY, bodies, None))
}

#[test]
fn a_stack_of_ten_with_a_heavy_top_stands() {
    for top in [1.0, 10.0] {
        let mut lab = stack(&box_shape(0.02, 0.02), 0.02, top);
        lab.run_s(10.0);
        assert_below("penetration, m", lab.penetration_m, 5e-5);
        assert_below("overlap at the end, m", measure::worst_overlap_m(&lab), 5e-5);
        assert_below("energy gain, J", lab.gain_j(), 3e-4);
        let last = lab.body("9");
        assert_below("displacement of the top, m", (last.centre_m - vector![0.0, 0.19]).norm(), 5e-4);
        assert_below("speed of the top, m/s", last.velocity_m_per_s.norm(), 1e-6);
    }
}

#[test]
fn a_pyramid_of_boxes_stands() {
    let mut bodies = vec![floor(0.5, 0.0)];
    for row in 0..6 {
        for i in 0..6 - row {
            let x = 0.022 * (f64::from(i) + 0.5 * f64::from(row));
            bodies.push(with(
                body(&format!("{row}.{i}"), box_shape(0.02, 0.02), x, 0.01 + 0.02 * f64::from(row)),
                0.1,
                0.5,
                0.0,
            ));
        }
    }
    let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
    let start = lab.body("5.0").centre_m;
    lab.run_s(5.0);
    assert_below("displacement of the top, m", (lab.body("5.0").centre_m - start).norm(), 1e-4);
    assert_below("penetration, m", lab.penetration_m, 5e-5);
}

/// Lets a stack of boxes, each up to 0.4 mm beside the one below and the top one heavier by the factor `top`, come to
/// rest for 5 s. Returns the lab and, over the next 2 s, the largest creep of a box, m/s, and its speed at the end,
/// m/s.
fn rest(count: usize, top: f64, seed: u64) -> (Lab, f64, f64) {
    let mut random = Random(seed);
    let mut bodies = vec![floor(0.5, 0.0)];
    for i in 0..count {
        let (x, y) = (random.between(-4e-4, 4e-4), 0.01001 + 0.02001 * i as f64);
        let mass = if i + 1 == count { 0.01 * top } else { 0.01 };
        bodies.push(with(body(&format!("{i}"), box_shape(0.04, 0.02), x, y), mass, 0.5, 0.0));
    }
    let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
    lab.run_s(5.0);
    let before = lab.state.bodies.clone();
    lab.run_s(2.0);
    let creep = before.iter().zip(&lab.state.bodies).map(|(a, b)| (b.centre_m - a.centre_m).norm() / 2.0);
    let speed = lab.state.bodies.iter().map(|body| body.velocity_m_per_s.norm());
    let (creep, speed) = (creep.fold(0.0, f64::max), speed.fold(0.0, f64::max));
    (lab, creep, speed)
}

#[test]
fn stacks_come_to_rest() {
    for (count, top, max_creep) in
        [(2, 1.0, 1e-9), (5, 1.0, 1e-9), (10, 1.0, 1e-9), (5, 100.0, 1e-9), (10, 100.0, 1e-9), (3, 1e4, 1e-9)]
    {
        for seed in [1, 2] {
            let (lab, creep, speed) = rest(count, top, seed);
            let what = format!("{count} boxes, top {top} times as heavy, seed {seed}");
            assert_below(&format!("{what}: creep, m/s"), creep, max_creep);
            assert_below(&format!("{what}: speed, m/s"), speed, 1e-6);
            assert_below(&format!("{what}: energy gain, J"), lab.gain_j(), 1e-7);
            assert_below(&format!("{what}: penetration, m"), measure::worst_overlap_m(&lab), 1e-5);
        }
    }
}

#[test]
fn a_heavy_box_that_falls_onto_light_ones_neither_gains_energy_nor_stays_in_them() {
    for (count, gap) in [(2, 0.005), (2, 0.02), (3, 0.005), (5, 0.02)] {
        let mut bodies = vec![floor(0.3, 0.3)];
        for i in 0..count {
            let mass = if i + 1 == count { 100.0 } else { 0.01 };
            let y = 0.005 + gap + (0.01 + gap) * f64::from(i);
            bodies.push(with(body(&format!("{i}"), box_shape(0.03, 0.01), 1e-4 * f64::from(i), y), mass, 0.3, 0.3));
        }
        let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
        lab.run_s(2.0);
        let what = format!("{count} boxes {gap} m apart");
        let turned_j = 100.0 * GRAVITY * gap * f64::from(count);
        assert_below(&format!("{what}: energy gain, fraction of the fall"), lab.gain_j() / turned_j, 1e-8);
        assert_below(&format!("{what}: overlap at the end, m"), measure::worst_overlap_m(&lab), 6e-6);
    }
}

/// Lets a box fall askew onto a light one, or onto several that lie on each other, on a floor. Its mass is 10⁴ times
/// theirs. Returns the lab after two seconds, and the energy of the fall, J.
fn fall_askew(seed: u64) -> (Lab, f64) {
    let mut random = Random(seed);
    let (friction, restitution) = (random.between(0.0, 1.0), random.between(0.0, 1.0));
    let mut bodies = vec![floor(friction, restitution)];
    let count = 1 + seed % 3;
    for i in 0..count {
        let one = body(&format!("{i}"), box_shape(0.03, 0.01), random.between(-3e-3, 3e-3), 0.005 + 0.01 * i as f64);
        bodies.push(with(one, 0.002, friction, restitution));
    }
    let (fall, tilt) = (random.between(2e-3, 1e-2), random.between(-0.1, 0.1));
    let half_m = 0.5 * (0.02 * libm::cos(tilt) + 0.04 * libm::sin(tilt).abs());
    let mut heavy =
        body("heavy", box_shape(0.04, 0.02), random.between(-8e-3, 8e-3), 0.01 * count as f64 + fall + half_m);
    heavy.angle_rad = tilt;
    bodies.push(with(heavy, 20.0, friction, restitution));
    let mut lab = Lab::new(&scene(GRAVITY, bodies, None));
    lab.run_s(2.0);
    (lab, 20.0 * GRAVITY * fall)
}

#[test]
fn a_heavy_box_that_falls_askew_onto_light_ones_gains_no_energy() {
    for seed in 0..60 {
        let (lab, fall_j) = fall_askew(seed);
        assert_below(&format!("seed {seed}: energy gain, fraction of the fall"), lab.gain_j() / fall_j, 1e-8);
    }
}

#[test]
fn light_boxes_under_a_tool_that_presses_come_to_rest() {
    for (count, force) in [(1, 2.0), (3, 5.0), (5, 10.0)] {
        let mut bodies = vec![floor(0.4, 0.0)];
        for i in 0..count {
            let x = if i % 2 == 0 { 2e-4 } else { -3e-4 };
            bodies.push(with(
                body(&format!("{i}"), box_shape(0.03, 0.01), x, 0.005 + 0.01 * f64::from(i)),
                0.002,
                0.4,
                0.0,
            ));
        }
        let height = 0.01 * f64::from(count) + 0.01;
        bodies.push(with(body("tool", box_shape(0.02, 0.02), 0.0, height), 0.05, 0.4, 0.0));
        let mut lab = Lab::new(&scene(GRAVITY, bodies, Some("tool")));
        let pressing = vector![0.0, height - force / 1000.0];
        lab.lead(pressing, 500, |_, _| ());
        lab.lead(pressing, 1500, |_, _| ());
        let before = lab.state.bodies.clone();
        lab.lead(pressing, 1000, |_, _| ());
        for (a, b) in before.iter().zip(&lab.state.bodies) {
            assert_below(&format!("{count} boxes: creep, m/s"), (b.centre_m - a.centre_m).norm(), 1e-9);
        }
        assert_below(&format!("{count} boxes: energy gain, J"), lab.gain_j(), 1e-7);
    }
}

/// Slides a tool of 20 g, pushed down with 5 N, over free boxes. Returns the lab, the friction ratio on the hand and
/// the normal force.
fn slide_on(count: usize, mass: f64) -> (Lab, Samples, Samples) {
    let mut bodies = vec![floor(0.3, 0.0)];
    for i in 0..count {
        bodies.push(with(body(&format!("{i}"), box_shape(0.12, 0.02), 0.0, 0.01 + 0.02 * i as f64), mass, 0.3, 0.0));
    }
    let height = 0.02 * count as f64 + 0.01;
    bodies.push(with(body("tool", box_shape(0.02, 0.02), -0.01, height), 0.02, 0.3, 0.0));
    let mut lab = Lab::new(&scene(GRAVITY, bodies, Some("tool")));
    lab.lead(vector![-0.01, height - 0.005], 500, |_, _| ());
    let (mut ratio, mut normal, mut tick) = (Samples::default(), Samples::default(), 0);
    lab.lead(vector![0.01, height - 0.005], 1000, |_, output| {
        tick += 1;
        if tick > 500 {
            ratio.push(output.force_on_hand_n.x.abs() / output.force_on_hand_n.y);
            normal.push(output.tool_normal_n);
        }
    });
    (lab, ratio, normal)
}

#[test]
fn a_tool_sliding_on_free_boxes_feels_its_friction() {
    for count in [1, 2, 4] {
        for mass in [0.01, 0.1, 1.0] {
            let (lab, ratio, normal) = slide_on(count, mass);
            let what = |name: &str| format!("{count} boxes of {mass} kg: {name}");
            // Expected ratio on the hand: μ (5 N + weight) / 5 N.
            assert_near(&what("ratio"), ratio.mean(), 0.3118, 0.01);
            assert_below(&what("worst ratio off"), ratio.worst_from(0.3118), 0.01);
            assert_near(&what("normal force, N"), normal.mean(), 5.0 + 0.02 * GRAVITY, 0.01);
            assert_below(&what("penetration, m"), lab.penetration_m, 5e-5);
            assert_below(&what("energy gain, J"), lab.gain_j(), 1e-5);
        }
    }
}

#[test]
fn a_rod_falling_on_a_smooth_floor_keeps_its_centre_over_one_point() {
    let mut rod = with(body("rod", box_shape(0.2, 0.001), 0.0, 0.0), 0.1, 0.0, 0.0);
    let tilt = 60f64.to_radians();
    rod.angle_rad = tilt;
    let (sine, cosine) = libm::sincos(tilt);
    rod.position_m.y = 0.1 * sine + 0.0005 * cosine;
    let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.0, 0.0), rod], None));
    while lab.body("rod").angle_rad > 0.05 && lab.time_s() < 2.0 {
        lab.free();
    }
    let rod = lab.body("rod");
    assert_below("drift of the centre, m", rod.centre_m.x.abs(), 1e-12);
    // Energy: m g Δh = ½ I ω² + ½ m (ω · horizontal arm)².
    let corner = |angle: f64| {
        let (sine, cosine) = libm::sincos(angle);
        (0.1 * cosine - 0.0005 * sine, 0.1 * sine + 0.0005 * cosine)
    };
    let (arm, height) = corner(rod.angle_rad);
    let fallen = corner(tilt).1 - height;
    let inertia = 0.1 * (0.2 * 0.2 + 0.001 * 0.001) / 12.0;
    let spin = (2.0 * 0.1 * GRAVITY * fallen / (inertia + 0.1 * arm * arm)).sqrt();
    assert_near("spin, rad/s", -rod.angular_velocity_rad_per_s, spin, 5e-3);
}

#[test]
fn a_stack_of_capsules_stands() {
    let mut lab = stack(&capsule(0.03, 0.01), 0.02, 1.0);
    lab.run_s(5.0);
    assert_below("penetration, m", lab.penetration_m, 5e-5);
    assert_below("displacement of the top, m", (lab.body("9").centre_m - vector![0.0, 0.19]).norm(), 5e-4);
}
