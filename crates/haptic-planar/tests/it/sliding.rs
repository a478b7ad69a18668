//! Friction on the hand while it presses a tool onto a floor and slides it; it must be the same at every tick.

use crate::common::measure::{Samples, assert_below, assert_near};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_planar::tick::TICK_S;
use nalgebra::{Vector2, vector};

/// Half the height of every tool in these tests, m.
const HALF_M: f64 = 0.01;
/// Depth of the hand below the height of contact, m.
const PUSH_M: f64 = 0.005;

/// A tool on a floor, and its coupling.
#[derive(Clone)]
struct Tool {
    shape: ShapeDescription,
    rounding_m: f64,
    friction: f64,
    stiffness: f64,
    max_force_n: f64,
    handle_m: Vector2<f64>,
    upright: bool,
    tilt_rad: f64,
    floor_tilt_rad: f64,
}

impl Tool {
    fn new(stiffness: f64, friction: f64) -> Self {
        Self {
            shape: box_shape(0.04, 2.0 * HALF_M),
            rounding_m: 0.0,
            friction,
            stiffness,
            max_force_n: f64::INFINITY,
            handle_m: vector![0.0, 0.0],
            upright: false,
            tilt_rad: 0.0,
            floor_tilt_rad: 0.0,
        }
    }

    fn lab(&self) -> Lab {
        let lift = 0.02 * libm::sin(self.tilt_rad.abs());
        let tool = BodyDescription {
            angle_rad: self.tilt_rad,
            rounding_m: self.rounding_m,
            ..with(body("tool", self.shape.clone(), 0.0, HALF_M + lift), 0.1, self.friction, 0.0)
        };
        let mut ground = floor(self.friction, 0.0);
        ground.angle_rad = self.floor_tilt_rad;
        let (sine, cosine) = libm::sincos(self.floor_tilt_rad);
        ground.position_m = vector![0.05 * sine, -0.05 * cosine];
        let mut world = scene(0.0, vec![ground, tool], Some("tool"));
        world.tool.as_mut().unwrap().handle_m = self.handle_m;
        let mut lab = Lab::new(&world).gains(self.stiffness, 5.0);
        lab.input.max_force_n = self.max_force_n;
        if self.upright { lab.upright(5.0, 0.02) } else { lab }
    }

    /// Pushes the tool down, slides it both ways and asserts the friction at every tick once it slides.
    #[track_caller]
    fn assert_slides(&self) {
        for direction in [1.0, -1.0] {
            let mut lab = self.lab();
            let at = lab.input.hand_m;
            let down = vector![at.x, at.y - PUSH_M];
            lab.lead(down, 500, |_, _| ());
            let mut ratio = Samples::default();
            let mut settling = 700;
            lab.lead(down + vector![0.05 * direction, 0.0], 1000, |_, output| {
                settling -= 1;
                if settling < 0 {
                    ratio.push(output.tool_tangent_n.abs() / output.tool_normal_n);
                }
            });
            let speed = lab.body("tool").velocity_m_per_s.norm();
            assert_near("sliding speed, m/s", speed, 0.05, 0.01);
            assert_below("worst ratio off friction", ratio.worst_from(self.friction), 0.01);
            assert_below("ripple", ratio.ripple(), 1e-3);
            assert_below("penetration, m", lab.penetration_m, 1e-5);
            assert_below("energy gain, J", lab.gain_j(), 1e-12);
        }
    }
}

/// Tools for all combinations of stiffness and friction.
fn cases() -> impl Iterator<Item = Tool> {
    [500.0, 800.0, 1200.0].into_iter().flat_map(|k| [0.1, 0.3, 0.5, 1.0].into_iter().map(move |mu| Tool::new(k, mu)))
}

#[test]
fn a_sliding_box_feels_its_friction_at_every_tick() {
    cases().for_each(|tool| tool.assert_slides());
}

#[test]
fn a_saturated_hand_feels_the_same_friction() {
    cases().for_each(|tool| Tool { max_force_n: 4.0, ..tool }.assert_slides());
}

#[test]
fn a_box_held_off_its_centre_feels_the_same_friction() {
    for handle_m in [vector![0.005, 0.008], vector![-0.012, 0.0], vector![0.0, 0.01]] {
        cases().for_each(|tool| Tool { handle_m, upright: true, ..tool }.assert_slides());
    }
}

#[test]
fn a_box_put_down_at_a_tilt_feels_the_same_friction() {
    for tilt_rad in [1f64.to_radians(), -1f64.to_radians()] {
        cases().for_each(|tool| Tool { tilt_rad, ..tool }.assert_slides());
    }
}

#[test]
fn a_capsule_feels_the_same_friction() {
    cases().for_each(|tool| Tool { shape: capsule(0.03, HALF_M), ..tool }.assert_slides());
}

#[test]
fn a_rounded_box_feels_the_same_friction() {
    cases().for_each(|tool| Tool { shape: box_shape(0.03, 0.01), rounding_m: 0.005, ..tool }.assert_slides());
}

#[test]
fn a_disc_that_may_not_roll_feels_the_same_friction() {
    cases().for_each(|tool| Tool { shape: disc(HALF_M), upright: true, ..tool }.assert_slides());
}

/// Returns a body on a plane at this angle, with its underside along the plane.
fn on_ramp(shape: ShapeDescription, rounding_m: f64, degrees: f64, friction: f64) -> Lab {
    let angle = degrees.to_radians();
    let (sine, cosine) = libm::sincos(angle);
    let plane = with(fixed("plane", box_shape(20.0, 0.1), 0.05 * sine, -0.05 * cosine), 1.0, friction, 0.0);
    let rider = with(body("rider", shape, -HALF_M * sine, HALF_M * cosine), 0.1, friction, 0.0);
    let turned = |one| BodyDescription { angle_rad: angle, ..one };
    let rider = BodyDescription { rounding_m, ..turned(rider) };
    Lab::new(&scene(GRAVITY, vec![turned(plane), rider], None))
}

/// Bodies that rest on a flat side.
fn flat_riders() -> [(ShapeDescription, f64); 3] {
    [(box_shape(0.04, 0.02), 0.0), (capsule(0.03, HALF_M), 0.0), (box_shape(0.03, 0.01), 0.005)]
}

#[track_caller]
fn assert_slides_down(shape: ShapeDescription, rounding_m: f64, degrees: f64, friction: f64, seconds: f64) {
    let mut lab = on_ramp(shape, rounding_m, degrees, friction);
    let start = lab.body("rider").centre_m;
    lab.run_s(seconds);
    let (sine, cosine) = libm::sincos(degrees.to_radians());
    let acceleration = GRAVITY * (sine - friction * cosine);
    let rider = lab.body("rider");
    assert_near("speed, m/s", rider.velocity_m_per_s.norm(), acceleration * seconds, 1e-3);
    // The tolerance covers backward Euler, which is half a tick ahead.
    let way = acceleration * seconds * seconds / 2.0;
    assert_near("distance, m", (rider.centre_m - start).norm(), way, TICK_S / seconds + 1e-4);
    assert_below("penetration, m", lab.penetration_m, 1e-5);
}

#[test]
fn just_below_the_friction_angle_nothing_creeps() {
    for (shape, rounding_m) in flat_riders() {
        for friction in [0.2, 0.5, 1.0] {
            let mut lab = on_ramp(shape.clone(), rounding_m, libm::atan(friction).to_degrees() - 0.3, friction);
            lab.run_s(0.1);
            let start = lab.body("rider").centre_m;
            lab.run_s(5.0);
            assert_below("creep, m", (lab.body("rider").centre_m - start).norm(), 1e-9);
        }
    }
}

#[test]
fn just_above_the_friction_angle_it_slides_with_the_right_acceleration() {
    for (shape, rounding_m) in flat_riders() {
        for friction in [0.2, 0.5, 1.0] {
            let degrees = libm::atan(friction).to_degrees() + 0.5;
            assert_slides_down(shape.clone(), rounding_m, degrees, friction, 2.0);
        }
    }
}

#[test]
fn a_gentle_ramp_holds_and_a_steep_one_does_not() {
    let mut lab = on_ramp(box_shape(0.04, 0.02), 0.0, 20.0, 0.5);
    lab.run_s(1.0);
    assert_below("creep, m/s", lab.body("rider").velocity_m_per_s.norm(), 1e-12);
    assert_slides_down(box_shape(0.04, 0.02), 0.0, 30.0, 0.3, 1.0);
}

#[test]
fn a_thrown_box_stops_where_its_friction_says() {
    for (speed, friction) in [(1.0, 0.4), (0.5, 0.8), (2.0, 0.2)] {
        let mut rider = with(body("rider", box_shape(0.04, 0.01), -0.9, 0.005), 0.1, friction, 0.0);
        rider.velocity_m_per_s.x = speed;
        let mut lab = Lab::new(&scene(GRAVITY, vec![floor(friction, 0.0), rider], None));
        lab.run_s(2.0);
        let way = lab.body("rider").centre_m.x + 0.9;
        let braking = friction * GRAVITY;
        assert_near("distance, m", way, speed * speed / (2.0 * braking), 1.5 * braking * TICK_S / speed);
        assert_below("speed at the end, m/s", lab.body("rider").velocity_m_per_s.norm(), 1e-12);
    }
}

#[test]
fn a_floor_at_a_tilt_gives_its_friction_too() {
    for floor_tilt_rad in [1f64.to_radians(), -1f64.to_radians()] {
        let tool = Tool { floor_tilt_rad, tilt_rad: floor_tilt_rad, ..Tool::new(800.0, 0.3) };
        let mut lab = tool.lab();
        let down = lab.input.hand_m - vector![0.0, PUSH_M];
        lab.lead(down, 500, |_, _| ());
        let (mut ratio, mut tick) = (Samples::default(), 0);
        lab.lead(down + vector![0.05, 0.0], 1000, |_, output| {
            tick += 1;
            if tick > 600 {
                ratio.push(output.tool_tangent_n.abs() / output.tool_normal_n);
            }
        });
        assert_below("worst ratio off friction", ratio.worst_from(0.3), 0.01);
        assert_below("energy gain, J", lab.gain_j(), 1e-12);
    }
}
