//! The hand's spring-damper: how it rings, how a tool taps, and how it lets go of a wall.

mod common;
use common::measure::{self, assert_below, assert_near};
use common::*;
use haptic_planar::description::{BodyDescription, ShapeDescription};
use haptic_planar::scene::TICK_S;
use nalgebra::vector;

const STIFFNESS: f64 = 1000.0;
const DAMPING: f64 = 5.0;
const MASS_KG: f64 = 0.1;
/// Depth to which the hand pushes before it pulls off, m: 5 N.
const PUSH_M: f64 = 0.005;
const PUSH_N: f64 = STIFFNESS * PUSH_M;

/// A mass on the hand's spring-damper over a wall that can only push, in steps of a microsecond: what is true.
struct Unilateral {
    mass_kg: f64,
    height_m: f64,
    speed_m_per_s: f64,
    hand_m: f64,
}

impl Unilateral {
    const STEPS: usize = 1000;

    /// Moves the hand steadily for one tick; returns the mean pull on the hand over it, N.
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

/// Pulls a pressed tool off its floor; returns by how much the hand was ever held back beyond what is true, N.
fn pull_off_excess(mut lab: Lab, mass_kg: f64, pull_speed: f64) -> f64 {
    let pressed = lab.grip.hand_m;
    let ticks = (0.02 / pull_speed / TICK_S).round() as usize;
    let mut truth = Unilateral { mass_kg, height_m: 0.0, speed_m_per_s: 0.0, hand_m: pressed.y - 0.01 };
    let mut excess = 0.0_f64;
    lab.lead(pressed + vector![0.0, 0.02], ticks, |_, felt| {
        let true_pull = truth.pull(pull_speed).max(0.0);
        excess = excess.max(-felt.force_on_hand_n.y - true_pull);
    });
    assert!(lab.motion("tool").centre_m.y > 0.015, "the tool did not come off");
    excess
}

/// A box pressed 5 mm into the floor; the inertia is a part of the uniform box's.
fn pressed(mass_kg: f64, inertia_part: f64, tilt_rad: f64) -> Lab {
    let uniform = mass_kg * (0.04 * 0.04 + 0.02 * 0.02) / 12.0;
    let lift = 0.02 * libm::sin(tilt_rad);
    let tool = BodyDescription {
        inertia_kg_m2: Some(inertia_part * uniform),
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
            assert_below("pull beyond the truth, part of the push", excess / PUSH_N, 2e-3);
        }
    }
}

#[test]
fn pulling_off_a_wall_is_not_sticky_wherever_in_the_tick_it_lets_go() {
    for (speed, limit) in [(0.01, 2e-3), (0.1, 1e-2)] {
        for phase in 0..10 {
            let mut lab = pressed(MASS_KG, 1.0, 0.0);
            let deeper = lab.grip.hand_m - vector![0.0, f64::from(phase) * 0.1 * speed * TICK_S];
            lab.lead(deeper, 50, |_, _| ());
            let excess = pull_off_excess(lab, MASS_KG, speed);
            assert_below(&format!("pull beyond the truth, phase {phase}, part of the push"), excess / PUSH_N, limit);
        }
    }
}

#[test]
fn a_tool_of_little_inertia_is_not_sticky_either() {
    for speed in [0.01, 0.1] {
        let excess = pull_off_excess(pressed(MASS_KG, 0.02, 0.0), MASS_KG, speed);
        assert_below("pull beyond the truth, part of the push", excess / PUSH_N, 2e-3);
    }
}

#[test]
fn a_tool_of_little_inertia_that_was_put_down_rocking_is_not_sticky_either() {
    for speed in [0.01, 0.1] {
        for tilt in [0.5f64, 1.0, 3.0] {
            let excess = pull_off_excess(pressed(MASS_KG, 0.02, tilt.to_radians()), MASS_KG, speed);
            assert_below("pull beyond the truth, part of the push", excess / PUSH_N, 2e-3);
        }
    }
}

#[test]
fn a_tool_of_little_inertia_pulled_off_while_it_slides_is_not_sticky_either() {
    for speed in [0.01, 0.1] {
        let mut lab = pressed(MASS_KG, 0.02, 0.0);
        lab.lead(vector![0.02, 0.01 - PUSH_M], 400, |_, _| ());
        let excess = pull_off_excess(lab, MASS_KG, speed);
        assert_below("pull beyond the truth, part of the push", excess / PUSH_N, 2e-3);
    }
}

#[test]
fn the_wall_never_pulls() {
    let mut lab = pressed(MASS_KG, 0.02, 0.0);
    lab.lead(vector![0.01, 0.03], 200, |_, felt| assert!(felt.tool_normal_n >= 0.0, "{}", felt.tool_normal_n));
}

/// Drives a tool into the floor at 0.5 m/s; returns how deep it ever went, from its pose, m.
fn tap_depth(shape: ShapeDescription, tilt_rad: f64, restitution: f64) -> f64 {
    let tool = with(body("tool", shape, 0.0, 0.06), MASS_KG, 0.4, restitution);
    let tool = BodyDescription { angle_rad: tilt_rad, ..tool };
    let world = scene(0.0, vec![floor(0.4, restitution), tool], Some("tool"));
    let mut lab = Lab::new(&world).gains(800.0, 4.0);
    let mut deepest = 0.0_f64;
    lab.lead(vector![0.0, 0.005], 110, |lab, _| deepest = deepest.max(measure::overlap_m(lab, 0, 1)));
    lab.lead(vector![0.0, 0.005], 300, |lab, _| deepest = deepest.max(measure::overlap_m(lab, 0, 1)));
    deepest
}

#[test]
fn a_tap_does_not_enter_the_floor() {
    for restitution in [0.0, 0.3] {
        assert_below("flat box, m", tap_depth(box_shape(0.02, 0.02), 0.0, restitution), 2e-6);
        assert_below("tilted box, m", tap_depth(box_shape(0.02, 0.02), 5f64.to_radians(), restitution), 2e-6);
        assert_below("disc, m", tap_depth(disc(0.01), 0.0, restitution), 2e-6);
    }
}

/// Frequency in Hz and damping ratio of a tool let go 5 mm from a resting hand, from its passages through the middle.
fn ring_down() -> (f64, f64) {
    let tool = with(body("tool", disc(0.01), 0.0, 0.0), MASS_KG, 0.5, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![tool], Some("tool"))).gains(STIFFNESS, DAMPING);
    lab.state.motions[0].centre_m.x = 0.005;
    // Each complex pole z of x[k+1] = s x[k] − p x[k−1] has |z|² = p and 2 Re z = s; both follow from four samples.
    let mut x = Vec::new();
    lab.lead(vector![0.0, 0.0], 60, |lab, _| x.push(lab.motion("tool").centre_m.x));
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
fn a_free_tool_rings_down_close_to_the_truth() {
    let (frequency, damping) = ring_down();
    assert_near("frequency, Hz", frequency, 15.915, 2e-3);
    assert_near("damping ratio", damping, 0.25, 3e-3);
}

#[test]
fn a_free_tool_gains_nothing_from_any_hand() {
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
    lab.grip.max_force_n = 3.0;
    lab.lead(vector![0.05, -0.02], 300, |_, felt| assert_below("force, N", felt.force_on_hand_n.norm(), 3.0 + 1e-9));
    lab.lead(vector![0.05, 0.1], 300, |_, felt| assert_below("force, N", felt.force_on_hand_n.norm(), 3.0 + 1e-9));
}
