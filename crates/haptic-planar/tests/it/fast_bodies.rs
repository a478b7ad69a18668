//! Bodies fast enough to cross a wall within one tick.

use crate::common::measure::{assert_below, overlap_m, worst_overlap_m};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_testing::Random;
use nalgebra::{Vector2, vector};

/// Returns a wall 2 mm thick, centred on x = 0.
fn thin_wall(restitution: f64) -> BodyDescription {
    with(fixed("wall", box_shape(0.002, 2.0), 0.0, 0.0), 1.0, 0.3, restitution)
}

/// A projectile that starts left of the wall.
struct Shot {
    shape: ShapeDescription,
    speed: f64,
    degrees: f64,
    start_m: f64,
    turn: f64,
    spin: f64,
    restitution: f64,
}

impl Shot {
    /// Simulates the flight for 30 ms and returns the maximum x of the body's centre, m.
    fn farthest_m(&self) -> f64 {
        let (sine, cosine) = libm::sincos(self.degrees.to_radians());
        let mut bullet = with(body("bullet", self.shape.clone(), -self.start_m, 0.0), 0.01, 0.3, self.restitution);
        bullet.velocity_m_per_s = vector![cosine, sine] * self.speed;
        bullet.angle_rad = self.turn;
        bullet.angular_velocity_rad_per_s = self.spin;
        let mut lab = Lab::new(&scene(0.0, vec![thin_wall(self.restitution), bullet], None));
        let mut farthest = f64::NEG_INFINITY;
        for _ in 0..30 {
            lab.free();
            farthest = farthest.max(lab.body("bullet").centre_m.x);
        }
        farthest
    }

    #[track_caller]
    fn assert_stays_before_the_wall(&self) {
        let farthest = self.farthest_m();
        let Self { shape, speed, degrees, start_m, turn, spin, restitution } = self;
        assert!(
            farthest < -0.001,
            "{shape:?} at {speed} m/s, {degrees}°, from {start_m} m, turned {turn}, spin {spin}, e {restitution}: \
             its centre came to {farthest}"
        );
    }
}

/// Shoots a shape at the wall with many random speeds and angles, from a fixed seed.
#[track_caller]
fn shoot(shape: &ShapeDescription, reach_m: f64, max_spin: f64, seed: u64) {
    let mut random = Random(seed);
    for _ in 0..400 {
        let speed = random.between(2.0, 60.0);
        let shot = Shot {
            shape: shape.clone(),
            speed,
            degrees: random.between(-75.0, 75.0),
            start_m: 0.0015 + reach_m + random.between(0.0, 0.12),
            turn: random.between(0.0, 6.0),
            spin: random.between(-max_spin, max_spin),
            restitution: if random.between(0.0, 1.0) < 0.5 { 0.0 } else { random.between(0.0, 1.0) },
        };
        shot.assert_stays_before_the_wall();
    }
}

#[test]
fn no_disc_flies_through_a_thin_wall() {
    shoot(&disc(0.005), 0.005, 0.0, 11);
    shoot(&disc(0.0025), 0.0025, 100.0, 12);
}

#[test]
fn a_disc_that_hits_at_any_phase_of_a_tick_stops_or_bounces_exactly() {
    for speed in [2.0, 5.0, 10.0, 30.0, 60.0] {
        for restitution in [0.0, 0.5, 1.0] {
            for phase in 0..20 {
                let start = 0.02 + speed * 1e-3 * f64::from(phase) / 20.0;
                let mut ball = with(body("ball", disc(0.0025), -start, 0.0), 0.01, 0.3, restitution);
                ball.velocity_m_per_s.x = speed;
                let mut lab = Lab::new(&scene(0.0, vec![thin_wall(0.0), ball], None));
                lab.run_s(0.05);
                let ball = lab.body("ball");
                let off = (ball.velocity_m_per_s - vector![-restitution * speed, 0.0]).norm() / speed;
                let what = format!("{speed} m/s, e {restitution}, phase {phase}");
                assert_below(&format!("{what}: velocity off by"), off, 1e-9);
                assert_below(&format!("{what}: overlap, m"), worst_overlap_m(&lab), 1e-5);
            }
        }
    }
}

#[test]
fn two_fast_bodies_head_on_do_not_pass_each_other() {
    let mut random = Random(61);
    for shape in [disc(0.005), box_shape(0.01, 0.01), capsule(0.01, 0.003), box_shape(0.03, 0.002)] {
        for _ in 0..100 {
            let speed = random.between(2.0, 60.0);
            let start = 0.016 + random.between(0.0, 0.1);
            let aside = random.between(-0.001, 0.001);
            let one = |name: &str, side: f64| {
                let mut one = with(body(name, shape.clone(), side * start, side * aside), 0.01, 0.3, 0.5);
                one.velocity_m_per_s.x = -side * speed;
                one
            };
            let mut lab = Lab::new(&scene(0.0, vec![one("left", -1.0), one("right", 1.0)], None));
            lab.run_s(0.03);
            let (left, right) = (lab.body("left").centre_m.x, lab.body("right").centre_m.x);
            assert!(left < right, "{shape:?} at {speed} m/s from {start}, aside {aside}: {left} and {right}");
        }
    }
}

#[test]
fn a_hand_that_jumps_does_not_pull_its_tool_through_a_thin_wall() {
    for shape in [disc(0.005), box_shape(0.01, 0.01)] {
        let tool = with(body("tool", shape, -0.03, 0.0), 0.1, 0.3, 0.2);
        let mut lab = Lab::new(&scene(0.0, vec![thin_wall(0.2), tool], Some("tool")));
        lab.lead(vector![-0.03, 0.0], 10, |_, _| ());
        for i in 0..2000 {
            let x = if (i / 100) % 2 == 0 { 0.1 } else { -0.05 };
            lab.hand(vector![x, 0.0]);
            let place = lab.body("tool").centre_m.x;
            assert!(place < -0.0055, "tick {i}: {place}");
        }
    }
}

#[test]
fn no_box_flies_through_a_thin_wall() {
    shoot(&box_shape(0.01, 0.01), 0.0071, 0.0, 21);
    shoot(&box_shape(0.01, 0.01), 0.0071, 50.0, 22);
}

#[test]
fn no_capsule_flies_through_a_thin_wall() {
    shoot(&capsule(0.01, 0.003), 0.008, 50.0, 23);
}

#[test]
fn no_thin_bar_however_it_spins_flies_through_a_thin_wall() {
    shoot(&box_shape(0.03, 0.002), 0.0151, 0.0, 31);
    shoot(&box_shape(0.03, 0.002), 0.0151, 300.0, 32);
}

#[test]
fn a_fast_ball_does_not_drive_a_resting_one_through_the_wall_behind_it() {
    for (i, speed) in [2.0, 5.0, 10.0, 20.0, 40.0, 60.0].into_iter().enumerate() {
        for gap in [0.0, 1e-4, 2e-3] {
            let mut random = Random(41 + i as u64);
            for _ in 0..20 {
                let mut bullet =
                    with(body("bullet", disc(0.005), -0.02 - random.between(0.0, 0.1), 0.0), 0.05, 0.3, 0.3);
                bullet.position_m.y = random.between(-0.008, 0.008);
                bullet.velocity_m_per_s.x = speed;
                let target = with(body("target", disc(0.005), -0.006 - gap, 0.0), 0.01, 0.3, 0.3);
                let mut lab = Lab::new(&scene(0.0, vec![thin_wall(0.3), target, bullet], None));
                for _ in 0..100 {
                    lab.free();
                    for name in ["bullet", "target"] {
                        let x = lab.body(name).centre_m.x;
                        assert!(x < -0.001, "{name} came to {x} at {speed} m/s, gap {gap}");
                    }
                }
            }
        }
    }
}

/// Whether a point is inside a square room of this half-width.
fn inside(place: Vector2<f64>, half: f64) -> bool {
    place.amax() < half
}

#[test]
fn a_fast_body_stays_in_its_room() {
    for (i, shape) in
        [disc(0.005), box_shape(0.01, 0.01), box_shape(0.03, 0.002), capsule(0.01, 0.003)].into_iter().enumerate()
    {
        for (speed, restitution) in [(60.0, 1.0), (30.0, 1.0), (10.0, 1.0), (60.0, 0.9)] {
            let mut random = Random(51 + i as u64);
            let mut bodies = room(0.05, 0.1, restitution);
            let mut ball = with(body("ball", shape.clone(), 0.003, 0.001), 0.01, 0.1, restitution);
            let (sine, cosine) = libm::sincos(random.between(0.0, std::f64::consts::TAU));
            ball.velocity_m_per_s = vector![cosine, sine] * speed;
            ball.angular_velocity_rad_per_s = 20.0;
            bodies.push(ball);
            let mut lab = Lab::new(&scene(0.0, bodies, None));
            for tick in 0..10_000 {
                lab.free();
                let place = lab.body("ball").centre_m;
                assert!(inside(place, 0.05), "{shape:?} at {speed} m/s, e {restitution}, tick {tick}: {place}");
            }
            assert_below("energy gain, fraction", lab.gain_j() / (0.005 * speed * speed), 1e-9);
        }
    }
}

/// Stirs tools that are held off centre, so that they rotate by up to 0.3 rad a tick, against a wall of 1 mm; calls
/// `check` after each tick with the reported penetration, m, and the overlap of the outlines, m.
fn spin_into_a_wall(seed: u64, runs: usize, mut check: impl FnMut(f64, f64, &str)) {
    let mut random = Random(seed);
    for run in 0..runs {
        let (width, ratio) = (random.between(0.01, 0.03), random.between(0.4, 1.2).min(1.0));
        let mut tool = with(body("tool", box_shape(width, width * ratio), -0.07, 0.0), 0.05, 0.3, 0.3);
        tool.mass_kg = Some(random.between(0.02, 0.2));
        tool.angle_rad = random.between(0.0, 6.0);
        let wall = with(fixed("wall", box_shape(0.001, 0.6), 0.0, 0.0), 1.0, 0.3, 0.3);
        let mut world = scene(0.0, vec![wall, tool], Some("tool"));
        world.tool.as_mut().unwrap().handle_m = vector![width * random.between(0.2, 0.45), 0.0];
        let mut lab = Lab::new(&world).gains(random.between(800.0, 4000.0), random.between(0.0, 6.0));
        for _ in 0..30 {
            let to = vector![random.between(-0.07, 0.03), random.between(-0.05, 0.05)];
            let ticks = ((to - lab.input.hand_m).norm() / random.between(0.5, 3.0) / 1e-3).ceil() as usize;
            lab.lead(to, ticks, |lab, output| {
                let overlap_m = overlap_m(lab, 0, 1).max(0.0);
                check(output.penetration_m, overlap_m, &format!("run {run}, tick {}", lab.tick));
            });
        }
    }
}

#[test]
fn a_body_that_spins_does_not_enter_a_thin_wall() {
    spin_into_a_wall(71, 60, |_, overlap_m, what| assert_below(&format!("{what}: overlap, m"), overlap_m, 1e-4));
}

#[test]
fn the_reported_penetration_of_a_body_that_spins_is_its_overlap() {
    spin_into_a_wall(72, 60, |reported_m, overlap_m, what| {
        let off = (reported_m - overlap_m).abs();
        assert!(off < 0.1 * overlap_m + 2e-5, "{what}: reported {reported_m:.3e} m, true {overlap_m:.3e} m");
    });
}

/// An impact can reverse a spin of 0.3 rad within the tick; the contacts along the motion before it are then wrong.
#[test]
fn elastic_pieces_whose_spin_an_impact_reverses_do_not_enter_each_other() {
    for seed in 240..300 {
        let mut random = Random(1_000_003 * (9 + seed));
        let mut bodies = room(0.05, 0.0, 1.0);
        for index in 0..6 {
            let (x, y) = ((f64::from(index % 3) - 1.0) * 0.031, (f64::from(index / 3) - 0.5) * 0.031);
            let shape = if index % 2 == 0 { hexagon(0.014) } else { box_shape(0.022, 0.016) };
            let mut one = with(body(&format!("{index}"), shape, x, y), random.between(0.002, 0.008), 0.0, 1.0);
            one.velocity_m_per_s = vector![random.between(-1.5, 1.5), random.between(-1.5, 1.5)];
            one.angular_velocity_rad_per_s = random.between(-300.0, 300.0);
            bodies.push(one);
        }
        let mut lab = Lab::new(&scene(0.0, bodies, None));
        for tick in 0..300 {
            let reported_m = lab.free().penetration_m;
            let overlap_m = worst_overlap_m(&lab).max(0.0);
            assert_below(&format!("seed {seed}, tick {tick}: overlap, m"), overlap_m, 4e-4);
            assert_below(&format!("seed {seed}, tick {tick}: error of the report, m"), overlap_m - reported_m, 2e-5);
        }
    }
}
