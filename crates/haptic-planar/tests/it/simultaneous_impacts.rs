//! Impacts that happen at the same time: the result has the symmetry of the scene, whatever the order in the file.

use crate::common::measure::assert_below;
use crate::common::*;
use haptic_planar::scene::description::BodyDescription;
use nalgebra::vector;

/// Radius of the balls, m.
const RADIUS: f64 = 0.01;

fn ball(name: &str, x: f64, y: f64, friction: f64, restitution: f64) -> BodyDescription {
    with(body(name, disc(RADIUS), x, y), 0.05, friction, restitution)
}

fn cue(x: f64, speed: f64, friction: f64, restitution: f64) -> BodyDescription {
    let mut cue = ball("cue", x, 0.0, friction, restitution);
    cue.velocity_m_per_s.x = speed;
    cue
}

/// Rearranges bodies: as they are, reversed, and every third one first.
fn reordered(mut bodies: Vec<BodyDescription>, order: usize) -> Vec<BodyDescription> {
    match order {
        0 => bodies,
        1 => bodies.into_iter().rev().collect(),
        _ => {
            let count = bodies.len();
            bodies.sort_by_key(|body| body.name.bytes().map(usize::from).sum::<usize>() % 3 * count);
            bodies
        }
    }
}

/// Runs a world and returns the largest deviation of the velocities from mirror symmetry about y = 0, m/s. The balls
/// `u…` and `d…` are mirror images of each other; all others lie on the axis.
fn asymmetry(lab: &mut Lab, seconds: f64) -> f64 {
    lab.run_s(seconds);
    let mut worst: f64 = 0.0;
    for body in &lab.scene.bodies {
        let v = lab.body(&body.name).velocity_m_per_s;
        let image = match body.name.strip_prefix('u') {
            Some(number) => lab.body(&format!("d{number}")).velocity_m_per_s,
            None if body.name.starts_with('d') => continue,
            None => v,
        };
        worst = worst.max((v - vector![image.x, -image.y]).norm());
    }
    worst
}

#[test]
fn a_ball_that_hits_two_at_once_goes_straight_on_whatever_the_order_in_the_file() {
    for (friction, restitution) in [(0.0, 1.0), (0.0, 0.5), (0.4, 0.8), (0.4, 0.0)] {
        for order in 0..2 {
            for start in [-0.05, -0.0503, -0.0507] {
                let two = [("u", 1.0), ("d", -1.0)]
                    .map(|(name, side)| ball(name, 0.0, side * RADIUS * 1.001, friction, restitution));
                let mut bodies = vec![cue(start, 1.0, friction, restitution)];
                bodies.extend(two);
                let mut lab = Lab::new(&scene(0.0, reordered(bodies, order), None));
                let off = asymmetry(&mut lab, 0.1);
                assert_below(&format!("μ {friction}, e {restitution}, order {order}, from {start}"), off, 1e-12);
                assert!(lab.body("u").velocity_m_per_s.y > 0.05, "it was hit");
            }
        }
    }
}

/// Returns a triangle of 15 balls, `gap` apart, and a ball that hits its tip at 5 m/s.
fn pool_break(restitution: f64, friction: f64, gap: f64, order: usize) -> Lab {
    let pitch = 2.0 * RADIUS + gap;
    let mut bodies = vec![cue(-0.06, 5.0, friction, restitution)];
    for row in 0..5_i32 {
        for place in 0..=row {
            let off = 2 * place - row;
            let name = match off.signum() {
                1 => format!("u{row}{off}"),
                -1 => format!("d{row}{}", -off),
                _ => format!("m{row}"),
            };
            let (x, y) = (f64::from(row) * pitch * 0.75_f64.sqrt(), f64::from(off) * pitch / 2.0);
            bodies.push(ball(&name, x, y, friction, restitution));
        }
    }
    Lab::new(&scene(0.0, reordered(bodies, order), None))
}

#[test]
fn a_pool_break_is_symmetric_whatever_the_order_in_the_file() {
    for (restitution, friction) in [(1.0, 0.0), (0.95, 0.0), (0.95, 0.3), (0.5, 0.0)] {
        for gap in [0.0, 1e-6] {
            for order in 0..3 {
                let mut lab = pool_break(restitution, friction, gap, order);
                let off = asymmetry(&mut lab, 0.05) / 5.0;
                assert_below(&format!("e {restitution}, μ {friction}, gap {gap}, order {order}"), off, 1e-10);
                let energy = lab.energy_j() / (0.5 * 0.05 * 25.0);
                assert!(energy < 1.0 + 1e-12, "e {restitution}, μ {friction}: energy {energy}");
                if restitution == 1.0 {
                    assert_below("change of energy", (energy - 1.0).abs(), 1e-10);
                }
            }
        }
    }
}

#[test]
fn a_plank_that_lands_on_two_posts_does_not_turn() {
    for order in 0..2 {
        let post = |name: &str, x: f64| with(fixed(name, disc(RADIUS), x, 0.0), 1.0, 0.3, 0.6);
        let mut plank = with(body("plank", box_shape(0.2, 0.01), 0.0, 0.05), 0.1, 0.3, 0.6);
        plank.velocity_m_per_s.y = -1.0;
        let mut lab = Lab::new(&scene(0.0, reordered(vec![post("a", -0.08), post("b", 0.08), plank], order), None));
        lab.run_s(0.1);
        let plank = lab.body("plank");
        assert_below("rotation, rad/s", plank.angular_velocity_rad_per_s.abs(), 1e-12);
        assert_below("bounce off by", (plank.velocity_m_per_s.y - 0.6).abs(), 1e-12);
    }
}
