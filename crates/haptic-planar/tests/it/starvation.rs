//! Ticks that end early: whatever the budget for times of impact, every body moves on, and nothing gains energy.

use crate::common::measure::assert_below;
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_planar::tick::TICK_S;
use haptic_testing::Random;
use nalgebra::vector;

/// Number of ticks after which a body that does not move counts as frozen.
const FROZEN_TICKS: u32 = 10;

/// Returns a star with seven points, which is decomposed into many pieces.
fn star(radius: f64) -> ShapeDescription {
    let corner = |i: usize| {
        let (sine, cosine) = libm::sincos(i as f64 * std::f64::consts::TAU / 14.0);
        let out = if i.is_multiple_of(2) { radius } else { 0.45 * radius };
        [out * cosine, out * sine]
    };
    polygon(&std::array::from_fn::<_, 14, _>(corner))
}

/// Returns a room full of stars that spin fast: each of their pairs needs many advances.
fn spinning_stars(random: &mut Random) -> Vec<BodyDescription> {
    let mut bodies = room(0.05, 0.3, 0.5);
    for i in 0..9 {
        let (x, y) = (f64::from(i % 3) * 0.028 - 0.028, f64::from(i / 3) * 0.028 - 0.028);
        let mut one = with(body(&format!("{i}"), star(0.0125), x, y), random.between(0.002, 0.05), 0.3, 0.5);
        one.velocity_m_per_s = vector![random.between(-3.0, 3.0), random.between(-3.0, 3.0)];
        one.angular_velocity_rad_per_s = random.between(300.0, 1500.0);
        one.angle_rad = random.between(0.0, 6.0);
        bodies.push(one);
    }
    bodies
}

#[test]
fn no_body_stands_still_while_it_keeps_its_velocity() {
    for seed in 0..6 {
        let bodies = spinning_stars(&mut Random(900 + seed));
        let mut lab = Lab::new(&scene(GRAVITY, bodies, Some("4"))).gains(2000.0, 0.5);
        let mut still = vec![0; lab.scene.bodies.len()];
        for tick in 0..400 {
            let before = lab.state.bodies.clone();
            let (sine, cosine) = libm::sincos(f64::from(tick) * 0.03);
            lab.hand(vector![0.03 * cosine, 0.03 * sine]);
            for (index, (old, new)) in before.iter().zip(&lab.state.bodies).enumerate() {
                let reach = new.velocity_m_per_s.norm() * TICK_S + new.angular_velocity_rad_per_s.abs() * TICK_S * 0.01;
                let is_still = old.centre_m == new.centre_m && old.angle_rad == new.angle_rad && reach > 1e-6;
                still[index] = if is_still { still[index] + 1 } else { 0 };
                assert!(still[index] < FROZEN_TICKS, "seed {seed}, tick {tick}: body {index} is frozen");
            }
        }
        let energy = &lab.state.energy;
        assert_below(&format!("seed {seed}: energy gain, J"), energy.gain_max_j, 0.01 * energy.work_in_j.abs());
    }
}

/// The correction of a body that is wedged in between three walls takes back what the contact loads leave to it.
#[test]
fn a_body_that_is_wedged_in_does_not_keep_a_velocity_that_it_cannot_use() {
    let radius = 0.005;
    for seed in 0..500 {
        let mut random = Random(1_000_003 * (77 + seed));
        let mut bodies = Vec::new();
        for third in 0..3 {
            let angle = (f64::from(third) + random.between(-0.4, 0.4)) * std::f64::consts::TAU / 3.0;
            let (sine, cosine) = libm::sincos(angle);
            let out = radius + random.between(-1.5e-4, 5e-5) + 0.02;
            let wall = fixed(&format!("wall {third}"), box_shape(0.04, 0.04), out * sine, -out * cosine);
            bodies.push(with(BodyDescription { angle_rad: angle, ..wall }, 1.0, 0.0, 0.0));
        }
        let mut one = with(body("disc", disc(radius), 0.0, 0.0), 0.006, 0.0, 0.0);
        one.velocity_m_per_s = vector![random.between(-0.01, 0.01), random.between(-0.01, 0.01)];
        bodies.push(one);
        let mut lab = Lab::new(&scene(if seed % 2 == 0 { 0.0 } else { GRAVITY }, bodies, None));
        let mut held = 0;
        for tick in 0..100 {
            let before = *lab.body("disc");
            lab.free();
            let now = lab.body("disc");
            let least_m_per_s = before.velocity_m_per_s.norm().min(now.velocity_m_per_s.norm());
            let moved_m = (now.centre_m - before.centre_m).norm();
            let is_held = least_m_per_s > 1e-4 && moved_m < 0.01 * least_m_per_s * TICK_S;
            held = if is_held { held + 1 } else { 0 };
            assert!(held < FROZEN_TICKS, "seed {seed}, tick {tick}: stands still at {least_m_per_s} m/s");
        }
    }
}
