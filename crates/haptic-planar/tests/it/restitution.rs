//! Bounces: elastic bodies conserve their energy, others come to rest.

use crate::common::measure::{self, assert_below, assert_near};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::vector;

/// Returns a row of balls; the first one approaches at 1 m/s.
fn chain(count: usize, gap: f64) -> Lab {
    let ball = |i: usize| with(body(&format!("{i}"), disc(0.01), i as f64 * (0.02 + gap), 0.0), 0.1, 0.0, 1.0);
    let mut balls: Vec<_> = (0..count).map(ball).collect();
    balls[0].position_m.x -= 0.0105;
    balls[0].velocity_m_per_s.x = 1.0;
    Lab::new(&scene(0.0, balls, None))
}

#[test]
fn only_the_last_ball_of_a_row_leaves() {
    for count in [5, 7] {
        for gap in [0.0, 1e-4, 1e-3] {
            let mut lab = chain(count, gap);
            lab.run_s(0.1);
            for (i, body) in lab.state.bodies.iter().enumerate() {
                let expected = if i == count - 1 { 1.0 } else { 0.0 };
                let off = (body.velocity_m_per_s - vector![expected, 0.0]).norm();
                assert_below(&format!("ball {i} of {count}, gap {gap}: speed off by"), off, 1e-12);
            }
            assert_below("penetration, m", measure::worst_overlap_m(&lab), 1e-9);
        }
    }
}

/// Returns the largest relative change of energy of an elastic, frictionless body in an elastic room over a minute.
fn drift(shape: ShapeDescription, gravity: f64) -> f64 {
    let mut bodies = room(0.05, 0.0, 1.0);
    let mut ball = with(body("ball", shape, 0.003, 0.001), 0.1, 0.0, 1.0);
    ball.velocity_m_per_s = vector![0.3, 0.17];
    ball.angular_velocity_rad_per_s = 5.0;
    bodies.push(ball);
    let mut lab = Lab::new(&scene(gravity, bodies, None));
    lab.free();
    let start = lab.energy_j();
    let mut worst = 0.0_f64;
    for _ in 0..60_000 {
        lab.free();
        worst = worst.max((lab.energy_j() - start).abs());
    }
    let place = lab.body("ball").centre_m;
    assert!(place.amax() < 0.05, "it left the room: {place}");
    worst / start
}

#[test]
fn an_elastic_body_in_a_room_keeps_its_energy_for_a_minute() {
    assert_below("square", drift(box_shape(0.02, 0.02), 0.0), 1e-12);
    assert_below("rectangle", drift(box_shape(0.03, 0.01), 0.0), 1e-12);
    assert_below("hexagon", drift(hexagon(0.012), 0.0), 1e-12);
    assert_below("capsule", drift(capsule(0.02, 0.005), 0.0), 1e-12);
    assert_below("disc", drift(disc(0.01), 0.0), 1e-12);
}

#[test]
fn an_elastic_disc_under_gravity_keeps_its_energy_for_a_minute() {
    assert_below("disc", drift(disc(0.01), GRAVITY), 1e-12);
}

#[test]
fn an_elastic_polygon_under_gravity_keeps_its_energy_for_a_minute() {
    assert_below("square", drift(box_shape(0.02, 0.02), GRAVITY), 1e-12);
    assert_below("hexagon", drift(hexagon(0.012), GRAVITY), 1e-12);
    assert_below("capsule", drift(capsule(0.02, 0.005), GRAVITY), 1e-12);
}

/// Returns a body of 20 mm that falls from a free height of 100 mm.
fn dropped(shape: ShapeDescription, restitution: f64) -> Lab {
    let falling = with(body("ball", shape, 0.0, 0.11), 0.1, 0.3, restitution);
    Lab::new(&scene(GRAVITY, vec![floor(0.3, 0.0), falling], None))
}

/// Returns the free heights at the top of each bounce, m.
fn apexes(lab: &mut Lab, seconds: f64) -> Vec<f64> {
    let (mut heights, mut last) = (Vec::new(), -1.0);
    for _ in 0..(seconds * 1000.0) as usize {
        lab.free();
        let ball = lab.body("ball");
        let speed = ball.velocity_m_per_s.y;
        if last > 0.0 && speed <= 0.0 {
            heights.push(ball.centre_m.y - 0.01 + speed * speed / (2.0 * GRAVITY));
        }
        last = speed;
    }
    heights
}

#[test]
fn an_elastic_fall_gains_nothing_and_returns_to_its_height() {
    for shape in [disc(0.01), box_shape(0.02, 0.02), capsule(0.02, 0.01)] {
        let mut lab = dropped(shape, 1.0);
        let heights = apexes(&mut lab, 10.0);
        assert!(heights.len() > 30, "{} bounces", heights.len());
        assert_below("energy gain, J", lab.gain_j(), 1e-9);
        for height in heights {
            assert_near("apex, m", height, 0.1, 1e-9);
        }
    }
}

#[test]
fn half_restitution_reaches_a_quarter_of_the_height() {
    for shape in [disc(0.01), box_shape(0.02, 0.02), capsule(0.02, 0.01)] {
        let heights = apexes(&mut dropped(shape, 0.5), 1.0);
        assert_near("first apex, m", heights[0], 0.025, 0.01);
        assert_near("second apex, m", heights[1], 0.00625, 0.02);
    }
}

#[test]
fn a_body_that_bounced_comes_to_rest_without_jitter() {
    let shapes = [disc(0.01), box_shape(0.02, 0.02), capsule(0.02, 0.01)];
    for (shape, tilt) in shapes.into_iter().flat_map(|s| [(s.clone(), 0.0), (s, 0.3)]) {
        for restitution in [0.5, 0.8] {
            let falling = with(body("ball", shape.clone(), 0.0, 0.13), 0.1, 0.3, restitution);
            let falling = BodyDescription { angle_rad: tilt, ..falling };
            let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.3, 0.0), falling], None));
            lab.run_s(6.0);
            // A disc can keep rolling; every other body must stay still.
            let ball = *lab.body("ball");
            let rolling = if matches!(shape, ShapeDescription::Disc { .. }) { ball.velocity_m_per_s.x } else { 0.0 };
            let start = ball.centre_m;
            let mut fastest = 0.0_f64;
            for _ in 0..1000 {
                lab.free();
                let now = lab.body("ball");
                fastest = fastest.max((now.velocity_m_per_s - vector![rolling, 0.0]).norm());
            }
            let what = format!("{shape:?}, tilt {tilt}, restitution {restitution}: ");
            assert_below(&(what.clone() + "speed, m/s"), fastest, 1e-9);
            assert_below(&(what + "rise, m"), (lab.body("ball").centre_m.y - start.y).abs(), 1e-9);
        }
    }
}

/// Returns elastic, frictionless bodies that fly about in an elastic room.
fn gas(shapes: fn(usize) -> ShapeDescription) -> Lab {
    let mut random = Random(8);
    let mut bodies = room(0.1, 0.0, 1.0);
    for i in 0..25 {
        let (x, y) = (-0.07 + 0.035 * (i % 5) as f64, -0.07 + 0.035 * (i / 5) as f64);
        let mut one = with(body(&format!("{i}"), shapes(i), x, y), random.between(0.01, 0.1), 0.0, 1.0);
        one.velocity_m_per_s = vector![random.between(-0.5, 0.5), random.between(-0.5, 0.5)];
        one.angular_velocity_rad_per_s = random.between(-5.0, 5.0);
        bodies.push(one);
    }
    Lab::new(&scene(0.0, bodies, None))
}

#[test]
fn a_gas_of_elastic_bodies_keeps_its_energy() {
    let mixed = |i: usize| match i % 3 {
        0 => disc(0.008),
        1 => box_shape(0.02, 0.01),
        _ => capsule(0.01, 0.005),
    };
    for shapes in [|_: usize| disc(0.008), |_: usize| box_shape(0.015, 0.015), mixed] {
        let mut lab = gas(shapes);
        lab.free();
        let start = lab.energy_j();
        let mut impacts = 0;
        for _ in 0..10_000 {
            impacts += lab.free().impacts;
        }
        assert!(impacts > 500, "only {impacts} impacts");
        assert_below("relative energy error", (lab.energy_j() / start - 1.0).abs(), 1e-12);
        assert_below("energy gain, J", lab.gain_j(), 1e-12);
    }
}

#[test]
fn a_light_ball_between_two_walls_and_a_heavy_one_keeps_energy_and_order() {
    let mut light = with(body("light", disc(0.005), -0.02, 0.0), 0.01, 0.0, 1.0);
    light.velocity_m_per_s.x = 1.0;
    let mut heavy = with(body("heavy", disc(0.01), 0.02, 0.0), 1.0, 0.0, 1.0);
    heavy.velocity_m_per_s.x = -0.1;
    let mut bodies = room(0.05, 0.0, 1.0);
    bodies.extend([light, heavy]);
    let mut lab = Lab::new(&scene(0.0, bodies, None));
    lab.free();
    let start = lab.energy_j();
    for _ in 0..20_000 {
        lab.free();
        assert!(lab.body("light").centre_m.x < lab.body("heavy").centre_m.x, "they passed each other");
    }
    assert_below("relative energy error", (lab.energy_j() / start - 1.0).abs(), 1e-12);
}

#[test]
fn a_heavy_fast_elastic_box_keeps_its_energy() {
    for (mass, speed) in [(100.0, 50.0), (1e4, 20.0), (1e-3, 50.0)] {
        let mut bodies = room(0.5, 0.0, 1.0);
        let mut one = with(body("one", box_shape(0.2, 0.2), 0.0, 0.0), mass, 0.0, 1.0);
        one.velocity_m_per_s.x = speed;
        bodies.push(one);
        let mut lab = Lab::new(&scene(0.0, bodies, None));
        lab.run_s(2.0);
        let lost = 1.0 - lab.energy_j() / (0.5 * mass * speed * speed);
        assert_below(&format!("{mass} kg at {speed} m/s: change of energy"), lost.abs(), 1e-9);
    }
}
