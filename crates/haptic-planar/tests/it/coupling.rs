//! The coupling: ring-down, taps with a tool, and pulling off a floor.

use crate::common::measure::{self, Samples, assert_below, assert_near};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use haptic_planar::tick::TICK_S;
use haptic_testing::Random;
use nalgebra::{Vector2, vector};

const STIFFNESS: f64 = 1000.0;
const DAMPING: f64 = 5.0;
const MASS_KG: f64 = 0.1;
/// Depth to which the hand pushes before it pulls off, m; this is 5 N at the stiffness used.
const PUSH_M: f64 = 0.005;
const PUSH_N: f64 = STIFFNESS * PUSH_M;

/// Reference model: a mass on the coupling over a wall that only pushes, integrated in steps of a microsecond.
struct Unilateral {
    mass_kg: f64,
    height_m: f64,
    speed_m_per_s: f64,
    hand_m: f64,
}

impl Unilateral {
    const STEPS: usize = 1000;

    /// Moves the hand at constant velocity for one tick; returns the mean pull on the hand, N.
    fn pull(&mut self, hand_speed: f64) -> f64 {
        let step_s = TICK_S / Self::STEPS as f64;
        let mut sum = 0.0;
        for _ in 0..Self::STEPS {
            self.hand_m += hand_speed * step_s;
            let force = STIFFNESS * (self.hand_m - self.height_m) + DAMPING * (hand_speed - self.speed_m_per_s);
            self.speed_m_per_s += force / self.mass_kg * step_s;
            self.height_m += self.speed_m_per_s * step_s;
            if self.height_m < 0.0 {
                (self.height_m, self.speed_m_per_s) = (0.0, 0.0);
            }
            sum += force;
        }
        sum / Self::STEPS as f64
    }
}

/// Pulls a pressed tool off its floor; returns the largest pull on the hand beyond the reference, N.
fn pull_off_excess(mut lab: Lab, mass_kg: f64, pull_speed: f64) -> f64 {
    let pressed = lab.input.hand_m;
    let ticks = (0.02 / pull_speed / TICK_S).round() as usize;
    let mut truth = Unilateral { mass_kg, height_m: 0.0, speed_m_per_s: 0.0, hand_m: pressed.y - 0.01 };
    let mut excess = 0.0_f64;
    lab.lead(pressed + vector![0.0, 0.02], ticks, |_, output| {
        let true_pull = truth.pull(pull_speed).max(0.0);
        excess = excess.max(-output.force_on_hand_n.y - true_pull);
    });
    assert!(lab.body("tool").centre_m.y > 0.015, "the tool did not come off");
    excess
}

/// Returns a box pressed 5 mm into the floor, with this fraction of a uniform box's inertia.
fn pressed(mass_kg: f64, inertia_fraction: f64, tilt_rad: f64) -> Lab {
    let uniform = mass_kg * (0.04 * 0.04 + 0.02 * 0.02) / 12.0;
    let lift = 0.02 * libm::sin(tilt_rad);
    let tool = BodyDescription {
        inertia_kg_m2: Some(inertia_fraction * uniform),
        angle_rad: tilt_rad,
        ..with(body("tool", box_shape(0.04, 0.02), 0.0, 0.01 + lift), mass_kg, 0.5, 0.0)
    };
    let mut lab = Lab::new(&scene(0.0, vec![floor(0.5, 0.0), tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    lab.lead(vector![0.0, 0.01 - PUSH_M], 300, |_, _| ());
    lab.lead(vector![0.0, 0.01 - PUSH_M], 300, |_, _| ());
    lab
}

#[test]
fn pulling_off_a_wall_is_not_sticky() {
    for mass_kg in [0.1, 0.02] {
        for speed in [0.01, 0.1] {
            let excess = pull_off_excess(pressed(mass_kg, 1.0, 0.0), mass_kg, speed);
            assert_below("pull beyond the reference, fraction of the push", excess / PUSH_N, 2e-3);
        }
    }
}

#[test]
fn pulling_off_a_wall_is_not_sticky_at_any_phase_of_the_tick() {
    for (speed, limit) in [(0.01, 2e-3), (0.1, 2e-3)] {
        for phase in 0..10 {
            let mut lab = pressed(MASS_KG, 1.0, 0.0);
            let deeper = lab.input.hand_m - vector![0.0, f64::from(phase) * 0.1 * speed * TICK_S];
            lab.lead(deeper, 50, |_, _| ());
            let excess = pull_off_excess(lab, MASS_KG, speed);
            assert_below(
                &format!("pull beyond the reference, phase {phase}, fraction of the push"),
                excess / PUSH_N,
                limit,
            );
        }
    }
}

#[test]
fn a_tool_of_little_inertia_is_not_sticky_either() {
    for speed in [0.01, 0.1] {
        let excess = pull_off_excess(pressed(MASS_KG, 0.02, 0.0), MASS_KG, speed);
        assert_below("pull beyond the reference, fraction of the push", excess / PUSH_N, 2e-3);
    }
}

#[test]
fn a_tool_of_little_inertia_that_was_put_down_rocking_is_not_sticky_either() {
    for speed in [0.01, 0.1] {
        for tilt in [0.5f64, 1.0, 3.0] {
            let excess = pull_off_excess(pressed(MASS_KG, 0.02, tilt.to_radians()), MASS_KG, speed);
            assert_below("pull beyond the reference, fraction of the push", excess / PUSH_N, 2e-3);
        }
    }
}

#[test]
fn a_tool_of_little_inertia_pulled_off_while_it_slides_is_not_sticky_either() {
    for speed in [0.01, 0.1] {
        let mut lab = pressed(MASS_KG, 0.02, 0.0);
        lab.lead(vector![0.02, 0.01 - PUSH_M], 400, |_, _| ());
        let excess = pull_off_excess(lab, MASS_KG, speed);
        assert_below("pull beyond the reference, fraction of the push", excess / PUSH_N, 2e-3);
    }
}

#[test]
fn the_wall_never_pulls() {
    let mut lab = pressed(MASS_KG, 0.02, 0.0);
    lab.lead(vector![0.01, 0.03], 200, |_, output| assert!(output.tool_normal_n >= 0.0, "{}", output.tool_normal_n));
}

/// A tool that a hand moves into the floor.
#[derive(Clone)]
struct Tap {
    shape: ShapeDescription,
    tilt_rad: f64,
    restitution: f64,
    speed: f64,
    handle_m: Vector2<f64>,
}

impl Tap {
    /// Returns the maximum depth of the tool, computed from its pose, m. The hand's path is shifted by `phase` of a
    /// tick.
    fn depth_m(&self, phase: f64) -> f64 {
        let tool = with(body("tool", self.shape.clone(), 0.0, 0.04), MASS_KG, 0.4, self.restitution);
        let tool = BodyDescription { angle_rad: self.tilt_rad, ..tool };
        let mut world = scene(0.0, vec![floor(0.4, self.restitution), tool], Some("tool"));
        world.tool.as_mut().unwrap().handle_m = self.handle_m;
        let mut lab = Lab::new(&world).gains(800.0, 4.0).upright(0.5, 0.002);
        let start = lab.input.hand_m;
        let mut deepest = 0.0_f64;
        for tick in 0..400 {
            let way = self.speed * (f64::from(tick) + phase) * TICK_S;
            lab.hand(start - vector![0.0, way.min(0.035)]);
            deepest = deepest.max(measure::overlap_m(&lab, 0, 1));
        }
        deepest
    }

    #[track_caller]
    fn assert_stays_out(&self) {
        for phase in 0..10 {
            let depth = self.depth_m(f64::from(phase) / 10.0);
            let Self { shape, tilt_rad, restitution, speed, .. } = self;
            let what = format!("{shape:?}, tilt {tilt_rad}, e {restitution}, {speed} m/s, phase {phase}: depth, m");
            assert_below(&what, depth, 2e-6);
        }
    }
}

/// Returns taps with every combination of tilt, restitution, hand speed and handle position.
fn taps(shape: &ShapeDescription) -> Vec<Tap> {
    let mut all = Vec::new();
    for tilt_rad in [0.0, 0.02, 5f64.to_radians()] {
        for restitution in [0.0, 0.3] {
            for speed in [0.1, 0.5, 1.0] {
                for handle_m in [vector![0.0, 0.0], vector![0.005, 0.01]] {
                    all.push(Tap { shape: shape.clone(), tilt_rad, restitution, speed, handle_m });
                }
            }
        }
    }
    all
}

#[test]
fn a_tap_with_a_box_does_not_enter_the_floor() {
    taps(&box_shape(0.02, 0.02)).iter().for_each(Tap::assert_stays_out);
}

#[test]
fn a_tap_with_something_round_does_not_enter_the_floor() {
    taps(&disc(0.01)).iter().for_each(Tap::assert_stays_out);
    taps(&capsule(0.02, 0.01)).iter().for_each(Tap::assert_stays_out);
}

/// Returns the frequency, Hz, and damping ratio of a tool released 5 mm from a resting hand, from four samples of its
/// position.
fn ring_down() -> (f64, f64) {
    let tool = with(body("tool", disc(0.01), 0.0, 0.0), MASS_KG, 0.5, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    lab.state.bodies[0].centre_m.x = 0.005;
    // Each complex pole z of x[k+1] = s x[k] − p x[k−1] has |z|² = p and 2 Re z = s; both follow from four samples.
    let mut x = Vec::new();
    lab.lead(vector![0.0, 0.0], 60, |lab, _| x.push(lab.body("tool").centre_m.x));
    let (a, b, c, d) = (x[20], x[21], x[22], x[23]);
    let product = (c * c - b * d) / (b * b - a * c);
    let sum = (c + product * a) / b;
    let decay = -0.5 * libm::log(product) / TICK_S;
    let turning = libm::acos(sum / (2.0 * product.sqrt())) / TICK_S;
    let natural = decay.hypot(turning);
    (natural / std::f64::consts::TAU, decay / natural)
}

#[test]
fn a_free_tool_rings_down_as_the_midpoint_rule_says() {
    let (frequency, damping) = ring_down();
    assert_near("frequency, Hz", frequency, 15.90, 1e-3);
    assert_near("damping ratio", damping, 0.2496, 1e-3);
}

#[test]
fn a_free_tool_rings_down_close_to_the_exact_solution() {
    let (frequency, damping) = ring_down();
    assert_near("frequency, Hz", frequency, 15.915, 2e-3);
    assert_near("damping ratio", damping, 0.25, 3e-3);
}

#[test]
fn a_free_tool_gains_no_energy_with_any_hand() {
    let mut random = Random(7);
    let tool = with(body("tool", disc(0.01), 0.0, 0.0), MASS_KG, 0.5, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    for _ in 0..20_000 {
        lab.hand(vector![random.between(-0.01, 0.01), random.between(-0.01, 0.01)]);
    }
    assert_below("energy gain, J", lab.gain_j(), 1e-12);
}

#[test]
fn a_saturated_hand_never_feels_more_than_the_limit() {
    let mut lab = pressed(MASS_KG, 1.0, 0.0);
    lab.input.max_force_n = 3.0;
    lab.lead(vector![0.05, -0.02], 300, |_, output| {
        assert_below("force, N", output.force_on_hand_n.norm(), 3.0 + 1e-9)
    });
    lab.lead(vector![0.05, 0.1], 300, |_, output| assert_below("force, N", output.force_on_hand_n.norm(), 3.0 + 1e-9));
}

/// Moves a tool of this shape in a small room with a hand that follows two random sines and is often behind the walls.
fn lead_about(shape: ShapeDescription, seed: u64) -> Lab {
    let mut random = Random(seed);
    let friction = random.between(0.0, 1.2);
    let restitution = if seed.is_multiple_of(3) { random.between(0.0, 1.0) } else { 0.0 };
    let mut bodies = room(0.05, friction, restitution);
    bodies.push(with(body("tool", shape, 0.0, 0.0), random.between(0.01, 1.0), friction, restitution));
    let gravity = if seed.is_multiple_of(2) { GRAVITY } else { 0.0 };
    let stiffness = libm::pow(10.0, random.between(2.0, 3.7));
    let mut lab = Lab::new(&scene(gravity, bodies, Some("tool"))).gains(stiffness, random.between(0.0, 10.0));
    let [fast, late, fast_up, late_up] =
        std::array::from_fn(|i| if i % 2 == 0 { random.between(2.0, 20.0) } else { random.between(0.0, 6.0) });
    for tick in 0..3000 {
        let time = f64::from(tick) * TICK_S;
        let grown = (time / 0.2).min(1.0) * 0.06;
        lab.hand(vector![grown * libm::sin(fast * time + late), grown * libm::sin(fast_up * time + late_up)]);
    }
    lab
}

#[test]
fn no_motion_of_the_hand_against_walls_creates_energy() {
    for seed in 1..=40 {
        let shape = match seed % 4 {
            0 => box_shape(0.03, 0.02),
            1 => capsule(0.02, 0.01),
            2 => disc(0.01),
            _ => hexagon(0.0115),
        };
        let lab = lead_about(shape, seed);
        assert_below(&format!("seed {seed}: energy gain, J"), lab.gain_j(), 1e-9);
        assert_below(&format!("seed {seed}: penetration, m"), lab.penetration_m, 1e-5);
    }
}

#[test]
fn steps_of_an_encoder_are_felt_as_steps_and_not_as_more() {
    const STEP_M: f64 = 13e-6;
    let tool = with(body("tool", box_shape(0.04, 0.02), 0.0, 0.01), MASS_KG, 0.5, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![floor(0.5, 0.0), tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    let (mut hand_ratio, mut contact_ratio) = (Samples::default(), Samples::default());
    let seen = |place: f64| (place / STEP_M).round() * STEP_M;
    for tick in 0..2000 {
        let time = f64::from(tick) * TICK_S;
        let at = vector![seen(0.05 * (time - 0.5).max(0.0)), seen(0.01 - PUSH_M * (2.0 * time).min(1.0))];
        let output = lab.hand(at);
        if tick > 1000 {
            hand_ratio.push(output.force_on_hand_n.x.abs() / output.force_on_hand_n.y);
            contact_ratio.push(output.tool_tangent_n.abs() / output.tool_normal_n);
        }
    }
    assert_near("ratio on the hand", hand_ratio.mean(), 0.5, 0.01);
    assert_below("ripple on the hand", hand_ratio.ripple(), 0.015);
    assert_below("ripple of the contact", contact_ratio.ripple(), 1e-3);
    assert_below("energy gain, J", lab.gain_j(), 1e-12);
}

#[test]
fn a_tool_on_a_rail_stays_on_it_and_feels_the_wall_at_its_end() {
    let wall = with(fixed("wall", box_shape(0.02, 0.2), 0.04, 0.0), 1.0, 0.3, 0.0);
    let tool = with(body("tool", box_shape(0.02, 0.02), 0.0, 0.0), MASS_KG, 0.3, 0.0);
    let mut lab = Lab::new(&scene(GRAVITY, vec![wall, tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    lab.input.rail = Some(vector![1.0, 0.0]);
    lab.lead(vector![0.025, 0.0], 500, |lab, _| {
        assert_below("off the rail, m", lab.body("tool").centre_m.y.abs(), 1e-5);
    });
    lab.lead(vector![0.025, 0.0], 500, |_, _| ());
    let output = lab.hand(vector![0.025, 0.0]);
    assert_near("push of the wall, N", -output.force_on_hand_n.x, STIFFNESS * 0.005, 1e-3);
    assert_below("penetration, m", lab.penetration_m, 1e-5);
}

#[test]
fn a_spring_on_a_rail_that_is_stretched_beyond_its_limit_creates_no_energy_and_keeps_its_force_limit() {
    const LIMIT_N: f64 = 2.0;
    let tool = with(body("tool", disc(0.01), 0.0, 0.0), MASS_KG, 0.3, 0.0);
    let mut lab = Lab::new(&scene(GRAVITY, vec![tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    (lab.input.rail, lab.input.max_force_n) = (Some(vector![0.0, 1.0]), LIMIT_N);
    let (mut hardest_n, mut stretched) = (0.0f64, 0);
    for tick in 0..3000 {
        // The hand jumps back and forth, often beyond the stretch at the force limit.
        let output = lab.hand(vector![0.0, if tick / 150 % 2 == 0 { 0.03 } else { -0.02 }]);
        hardest_n = hardest_n.max(output.force_on_hand_n.y.abs());
        stretched += u32::from(output.force_on_hand_n.y.abs() > 0.999 * LIMIT_N);
    }
    assert_below("force along the rail, N", hardest_n, LIMIT_N + 1e-9);
    assert!(stretched > 100, "the limit was reached in {stretched} ticks only");
    assert_below("energy gain, J", lab.gain_j(), 1e-4);
}

#[test]
fn the_position_correction_does_not_wind_up_the_angular_spring() {
    // The corner of a light tool starts 0.5 mm deep in a wall: rotating it out against the stiff angular spring would
    // take the least kinetic energy, but store energy in the spring.
    let wall = with(fixed("wall", box_shape(0.02, 0.2), -0.01, 0.0), 1.0, 0.3, 0.0);
    let mut tool = with(body("tool", box_shape(0.02, 0.004), 0.0095, 0.0), 0.005, 0.3, 0.0);
    tool.angle_rad = 0.02;
    let mut lab = Lab::new(&scene(0.0, vec![wall, tool], Some("tool"))).gains(1000.0, 1.0).upright(2.0, 0.01);
    let hand = lab.state.handle_m(&lab.scene);
    let mut turned: f64 = 0.0;
    for _ in 0..100 {
        lab.hand(hand);
        turned = turned.max((lab.body("tool").angle_rad - 0.02).abs());
    }
    // Shifting the tool by 0.5 mm stores 0.125 mJ in the spring at the handle.
    assert_below("energy gain, J", lab.gain_j(), 1.3e-4);
    assert_below("rotation, rad", turned, 0.005);
}

/// In the tick of the lift-off, the mean force still presses the tool on the floor, although that at the end pulls.
#[test]
fn a_pressed_tool_that_is_lifted_off_while_it_slides_gains_nothing_and_does_not_tilt() {
    for (friction, limit_n) in [(0.0, 1.3), (0.5, 1.3), (0.5, f64::INFINITY)] {
        for phase in 0..20 {
            let tool = with(body("tool", box_shape(0.031, 0.022), 0.0, 0.011), 0.009, friction, 0.0);
            let world = scene(GRAVITY, vec![floor(friction, 0.0), tool], Some("tool"));
            let mut lab = Lab::new(&world).gains(1500.0, 0.0).upright(3.4, 0.007);
            lab.input.max_force_n = limit_n;
            let from = vector![0.0, 0.0087 + 4.5e-5 * f64::from(phase)];
            lab.lead(from, 100, |_, _| ());
            lab.lead(from + vector![0.06, 0.0], 200, |_, _| ());
            lab.state.energy = Default::default();
            let to = from + vector![0.07, 0.0] + vector![0.01, 0.04];
            lab.lead(to, 45, |lab, output| {
                let what = format!("friction {friction}, limit {limit_n}, phase {phase}");
                let tilt_rad = lab.body("tool").angle_rad.abs();
                assert_below(&format!("{what}: tilt, rad"), tilt_rad, if friction > 0.0 { 1e-4 } else { 1e-12 });
                let slips = output.tool_tangent_n.abs() >= 0.99 * friction * output.tool_normal_n;
                assert!(slips || lab.body("tool").velocity_m_per_s.x.abs() < 1e-9, "{what}: friction");
            });
            assert_below("gain, J", lab.gain_j(), 1e-11);
        }
    }
}
