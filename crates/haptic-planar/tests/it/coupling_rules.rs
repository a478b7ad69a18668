//! Tests the integration rules of the coupling against closed forms: off-centre handles, rails, loaded ticks and the
//! force limit.

use crate::common::measure::{assert_below, assert_near};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, SceneDescription};
use haptic_planar::tick::TICK_S;
use nalgebra::{Vector2, vector};

/// Dimensions of a bar, m.
const BAR_M: [f64; 2] = [0.06, 0.0198];

/// Returns a bar that spins about its handle, 28 mm from its centre, without a damper; the hand is `away` from the
/// handle.
fn spinning_bar(mass_kg: f64, spin: f64, away: Vector2<f64>, stiffness: f64) -> Lab {
    let bar = BodyDescription {
        angular_velocity_rad_per_s: spin,
        ..with(body("tool", box_shape(BAR_M[0], BAR_M[1]), -0.028, 0.0), mass_kg, 0.5, 0.0)
    };
    let mut world = scene(0.0, vec![bar], Some("tool"));
    world.tool.as_mut().unwrap().handle_m = vector![0.028, 0.0];
    let mut lab = Lab::new(&world).gains(stiffness, 0.0);
    lab.hand(away);
    lab
}

fn inertia(mass_kg: f64) -> f64 {
    mass_kg * (BAR_M[0] * BAR_M[0] + BAR_M[1] * BAR_M[1]) / 12.0
}

#[test]
fn a_bar_held_at_its_end_keeps_its_energy() {
    for (mass_kg, spin, away) in
        [(0.1, 40.0, 0.0), (0.017, 150.0, 0.0), (0.001, 200.0, 0.0), (0.001, 200.0, 0.02), (1e-4, 500.0, 0.05)]
    {
        let at = vector![away, 0.0];
        let mut lab = spinning_bar(mass_kg, spin, at, 800.0);
        let start = lab.state.energy.stored_j();
        lab.lead(at, 20_000, |_, _| ());
        let what =
            |name: &str| format!("{mass_kg} kg, {spin} rad/s, hand {away} m away: {name}, fraction of the energy");
        assert_below(&what("gain"), lab.gain_j() / start, 1e-9);
        assert_below(&what("change"), (lab.state.energy.stored_j() / start - 1.0).abs(), 1e-9);
    }
}

/// In a tick that uses up its solves, the tool ends with the wrong rotation, and what it gains is taken off its
/// velocity. With 24 solves, a bar of 0.1 g loses two thirds of its energy.
#[test]
fn a_very_light_bar_held_at_its_end_keeps_its_energy_on_a_stiff_coupling() {
    for mass_kg in [1e-3, 3e-4, 1e-4] {
        for stiffness in [800.0, 2000.0, 5000.0] {
            for (spin, away) in [(0.0, 0.005), (200.0, 0.005), (0.0, 0.02), (200.0, 0.02), (0.0, 0.05), (200.0, 0.05)] {
                let at = vector![away, 0.3 * away];
                let mut lab = spinning_bar(mass_kg, spin, at, stiffness);
                let start = lab.state.energy.stored_j();
                lab.lead(at, 20_000, |_, _| ());
                let what = |name: &str| {
                    format!("{mass_kg} kg, {stiffness} N/m, {spin} rad/s, hand {away} m away: {name}, fraction")
                };
                assert_below(&what("gain"), lab.gain_j() / start, 1e-6);
                assert_below(&what("loss"), 1.0 - lab.state.energy.stored_j() / start, 0.05);
            }
        }
    }
}

#[test]
fn a_bar_held_at_its_end_gains_nothing_from_a_moving_hand() {
    for mass_kg in [0.1, 0.003] {
        let mut lab = spinning_bar(mass_kg, 60.0, vector![0.0, 0.0], 800.0);
        for tick in 0..10_000 {
            let time = f64::from(tick) * TICK_S;
            lab.hand(vector![0.03 * libm::sin(23.0 * time), 0.02 * libm::sin(31.0 * time)]);
        }
        assert_below("gain, J", lab.gain_j(), 1e-11);
    }
}

/// Returns the angular frequency, rad/s, and the damping ratio of free oscillations, from four consecutive samples.
fn oscillation(x: [f64; 4]) -> (f64, f64) {
    let [a, b, c, d] = x;
    let product = (c * c - b * d) / (b * b - a * c);
    let sum = (c + product * a) / b;
    let decay = -0.5 * libm::log(product) / TICK_S;
    let turning = libm::acos(sum / (2.0 * product.sqrt())) / TICK_S;
    (decay.hypot(turning), decay / decay.hypot(turning))
}

#[test]
fn small_swings_of_a_bar_held_at_its_end_have_the_frequency_of_the_exact_solution() {
    // The midpoint rule is low by (ω h)²/12, where h is the duration of a part of the tick.
    for (mass_kg, tolerance) in [(0.1, 0.0025), (0.017, 0.0075), (0.001, 0.0075)] {
        let mut lab = spinning_bar(mass_kg, 0.0, vector![0.0, 1e-6], 800.0);
        let mut x = Vec::new();
        (0..20).for_each(|_| {
            lab.hand(vector![0.0, 1e-6]);
            x.push(lab.state.handle_m(&lab.scene).y - 1e-6);
        });
        let (frequency, damping) = oscillation([x[10], x[11], x[12], x[13]]);
        let exact = (800.0 * (1.0 / mass_kg + 0.028 * 0.028 / inertia(mass_kg))).sqrt();
        assert_near("frequency, rad/s", frequency, exact, tolerance);
        assert_below("damping ratio", damping.abs(), 1e-5);
    }
}

/// A box on a rail, held off centre, without dampers.
#[derive(Clone, Copy, Debug)]
struct RailedBox {
    size_m: [f64; 2],
    mass_kg: f64,
    handle_m: Vector2<f64>,
    axis: Vector2<f64>,
    stiffness: f64,
    /// Angular stiffness, N·m/rad.
    twist: f64,
    /// Acceleration of gravity along y, downwards, m/s².
    gravity: f64,
    spin: f64,
    /// Speed of the centre along the rail, m/s.
    speed: f64,
    /// Distance of the hand from the handle at the start, along the rail, m.
    away_m: f64,
}

impl RailedBox {
    /// Returns one of many boxes with all parameters different.
    fn any(seed: u32) -> Self {
        let fraction = |k: u32| (f64::from(seed * 8 + k + 1) * 0.618_033_988_75).fract();
        let angle = std::f64::consts::TAU * fraction(5);
        Self {
            size_m: [0.02 + 0.06 * fraction(0), 0.01 + 0.03 * fraction(1)],
            mass_kg: 0.01 * libm::pow(50.0, fraction(2)),
            handle_m: vector![0.08 * fraction(3) - 0.04, 0.04 * fraction(4) - 0.02],
            axis: vector![libm::cos(angle), libm::sin(angle)],
            stiffness: [0.0, 100.0, 800.0, 3000.0][seed as usize % 4],
            twist: if seed.is_multiple_of(3) { 0.2 } else { 0.0 },
            gravity: if seed % 5 < 2 && !seed.is_multiple_of(4) { 9.81 } else { 0.0 },
            spin: 300.0 * fraction(6) * fraction(6),
            speed: 0.5 - fraction(7),
            away_m: 0.004,
        }
    }

    fn inertia(&self) -> f64 {
        self.mass_kg * (self.size_m[0] * self.size_m[0] + self.size_m[1] * self.size_m[1]) / 12.0
    }

    fn hand_m(&self) -> Vector2<f64> {
        self.handle_m + self.axis * self.away_m
    }

    fn across(&self) -> Vector2<f64> {
        vector![-self.axis.y, self.axis.x]
    }

    /// Returns a scene in which the handle moves along the rail at the start.
    fn world(&self) -> SceneDescription {
        let start = BodyDescription {
            angular_velocity_rad_per_s: self.spin,
            velocity_m_per_s: self.axis * self.speed - self.across() * (self.axis.dot(&self.handle_m) * self.spin),
            ..with(body("tool", box_shape(self.size_m[0], self.size_m[1]), 0.0, 0.0), self.mass_kg, 0.5, 0.0)
        };
        let mut world = scene(self.gravity, vec![start], Some("tool"));
        world.tool.as_mut().unwrap().handle_m = self.handle_m;
        world
    }

    /// Returns a lab with this scene, in which the hand at `at` holds the box on the rail.
    fn held(&self, world: &SceneDescription, at: Vector2<f64>) -> Lab {
        let mut lab = Lab::new(world).gains(self.stiffness, 0.0).upright(self.twist, 0.0);
        lab.input.rail = Some(self.axis);
        lab.hand(at);
        lab
    }

    /// Returns the rates of [x, angle, speed, spin] with the centre at x along the rail, by Lagrange's equations. The
    /// kinetic energy is ½ m ẋ² + ½ (I + m β²) ω², where β is the component along the rail of the handle's arm.
    fn rates(&self, [x, angle, speed, spin]: [f64; 4]) -> [f64; 4] {
        let (sin, cos) = libm::sincos(angle);
        let arm = vector![cos * self.handle_m.x - sin * self.handle_m.y, sin * self.handle_m.x + cos * self.handle_m.y];
        let (lever, height) = (self.axis.dot(&arm), -self.across().dot(&arm));
        let pull = self.stiffness * (self.axis.dot(&(self.hand_m() - arm)) - x);
        let weight = vector![0.0, -self.gravity * self.mass_kg];
        let torque = height * pull - self.twist * angle - lever * self.across().dot(&weight);
        let moment = self.inertia() + self.mass_kg * lever * lever;
        let fall = (torque - self.mass_kg * lever * height * spin * spin) / moment;
        [speed, spin, (pull + self.axis.dot(&weight)) / self.mass_kg, fall]
    }

    /// Returns [x, angle, speed, spin] after a number of ticks, by Runge-Kutta steps of 5 µs.
    fn exact(&self, ticks: usize) -> [f64; 4] {
        let step = TICK_S / 200.0;
        let plus = |y: [f64; 4], rate: [f64; 4], time: f64| [0, 1, 2, 3].map(|i| y[i] + time * rate[i]);
        (0..ticks * 200).fold([0.0, 0.0, self.speed, self.spin], |y, _| {
            let first = self.rates(y);
            let second = self.rates(plus(y, first, step / 2.0));
            let third = self.rates(plus(y, second, step / 2.0));
            let fourth = self.rates(plus(y, third, step));
            [0, 1, 2, 3].map(|i| y[i] + step / 6.0 * (first[i] + 2.0 * (second[i] + third[i]) + fourth[i]))
        })
    }
}

/// With the rail as a spring by backward Euler, a box that spins at 30 rad/s about a handle 20 mm off centre loses 15 %
/// of its energy in a second.
#[test]
fn a_spinning_tool_on_a_rail_keeps_its_energy_and_its_line() {
    for seed in 0..120 {
        let railed = RailedBox::any(seed);
        let mut lab = railed.held(&railed.world(), railed.hand_m());
        let start = lab.state.energy.stored_j();
        let scale = lab.state.energy.kinetic_j + 1e-6;
        let mut off_m = 0.0_f64;
        lab.lead(railed.hand_m(), 20_000, |lab, _| {
            off_m = off_m.max(railed.across().dot(&(lab.state.handle_m(&lab.scene) - railed.hand_m())).abs());
        });
        let what = |name: &str| format!("{railed:?}: {name}");
        assert_below(&what("gain, fraction of the energy"), lab.gain_j() / scale, 1e-8);
        assert_below(&what("loss, fraction of the energy"), (start - lab.state.energy.stored_j()) / scale, 1e-8);
        assert_below(&what("distance of the handle from the rail, m"), off_m, 1e-11);
    }
}

/// Such a tool rotates by radians in a tick. If the iteration for its rotation stalls, the handle leaves the rail.
#[test]
fn a_very_light_tool_on_a_rail_keeps_its_energy_on_a_stiff_coupling() {
    for seed in 0..100 {
        let railed = RailedBox {
            mass_kg: [1e-4, 1e-3][seed as usize / 4 % 2],
            stiffness: [800.0, 2000.0, 5000.0][seed as usize % 3],
            spin: [300.0, 500.0, 100.0, 0.0, 5.0][seed as usize % 5],
            away_m: [0.02, 0.05][seed as usize % 2],
            gravity: 0.0,
            twist: 0.0,
            ..RailedBox::any(1000 + seed)
        };
        let mut lab = railed.held(&railed.world(), railed.hand_m());
        let start = lab.state.energy.stored_j();
        lab.lead(railed.hand_m(), 20_000, |_, _| ());
        let what = |name: &str| format!("{railed:?}: {name}, fraction of the energy");
        assert_below(&what("gain"), lab.gain_j() / start, 1e-8);
        assert_below(&what("loss"), 1.0 - lab.state.energy.stored_j() / start, 1e-8);
    }
}

#[test]
fn a_spinning_tool_on_a_rail_moves_as_lagranges_equations_say() {
    // On stiffer springs, the frequency of the midpoint rule is too low for a comparison of single positions.
    for seed in (0..240).filter(|seed| seed % 4 < 2) {
        let railed = RailedBox::any(seed);
        let mut lab = railed.held(&railed.world(), railed.hand_m());
        lab.lead(railed.hand_m(), 49, |_, _| ());
        let tool = lab.body("tool");
        let [x, angle, ..] = railed.exact(50);
        let what = |name: &str| format!("{railed:?}: error of the {name}");
        assert_below(&what("position, m"), (railed.axis.dot(&tool.centre_m) - x).abs(), 1e-3);
        assert_below(&what("angle, rad"), (tool.angle_rad - angle).abs(), 0.02);
    }
}

#[test]
fn a_tool_on_a_rail_that_strikes_walls_creates_no_energy() {
    for seed in 0..120 {
        let any = RailedBox::any(seed);
        let railed = RailedBox { gravity: 0.0, spin: 0.5 * any.spin, ..any };
        let mut world = railed.world();
        let friction = if seed.is_multiple_of(2) { 0.0 } else { 0.5 };
        world.bodies[0].restitution = if seed.is_multiple_of(3) { 0.8 } else { 0.0 };
        world.bodies.extend(room(0.07, friction, 0.0));
        // Some handles start beside the rail.
        let at = railed.hand_m() + railed.across() * if seed % 7 < 2 { 0.002 } else { 0.0 };
        let mut lab = railed.held(&world, at);
        let mut before = at;
        let mut turnover = lab.state.energy.stored_j();
        for tick in 0..2000 {
            let hand = at + railed.axis * (0.05 * libm::sin(0.007 * f64::from(tick)));
            turnover += lab.hand(hand).force_on_hand_n.dot(&(hand - before)).abs();
            turnover = turnover.max(lab.state.energy.kinetic_j);
            before = hand;
        }
        assert_below(&format!("{railed:?}: gain, fraction of the energy"), lab.gain_j() / turnover, 1e-6);
    }
}

#[test]
fn a_tool_on_a_rail_rings_down_without_numerical_damping() {
    for (stiffness, mass_kg, damping) in [(800.0, 0.1, 1.0), (3000.0, 0.05, 1.0), (800.0, 0.1, 0.0), (2000.0, 0.3, 5.0)]
    {
        let tool = with(body("tool", disc(0.005), 0.0, 0.0), mass_kg, 0.3, 0.0);
        let mut lab = Lab::new(&scene(0.0, vec![tool], Some("tool"))).gains(stiffness, damping);
        let axis = vector![0.6, 0.8];
        lab.input.rail = Some(axis);
        let mut x = Vec::new();
        for _ in 0..400 {
            lab.hand(axis * 0.005);
            x.push(axis.dot(&lab.body("tool").centre_m) - 0.005);
        }
        let (_, ratio) = oscillation([x[20], x[21], x[22], x[23]]);
        let exact = damping / (2.0 * (stiffness * mass_kg).sqrt());
        assert_below("error of the damping ratio", (ratio - exact).abs(), 0.003);
        assert_below("gain, J", lab.gain_j(), 1e-13);
    }
}

#[test]
fn a_tool_that_swings_along_a_smooth_floor_keeps_its_amplitude() {
    let tool = with(body("tool", box_shape(0.02, 0.02), 0.0, 0.01), 0.1, 0.0, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![floor(0.0, 0.0), tool], Some("tool"))).gains(5000.0, 0.0);
    for _ in 0..50 {
        lab.hand(vector![0.0, 0.009]);
    }
    let mut last_m = 0.0_f64;
    for tick in 0..2000 {
        lab.hand(vector![0.005, 0.009]);
        if tick >= 1900 {
            last_m = last_m.max((lab.body("tool").centre_m.x - 0.005).abs());
        }
    }
    assert_near("amplitude, m", last_m, 0.005, 0.01);
}

/// Moves a free tool with a hand on sines with the given amplitudes that often exceeds the force limit. Returns the
/// lab, the deviation of the force from the limit in ticks in which the coupling was saturated throughout, as a
/// fraction, and the work of the hand, J.
fn saturate(damping: f64, amplitudes_m: [f64; 3], rail: Option<Vector2<f64>>) -> (Lab, f64, f64) {
    const LIMIT_N: f64 = 3.0;
    let tool = with(body("tool", disc(0.01), 0.0, 0.0), 0.05, 0.3, 0.0);
    let mut lab = Lab::new(&scene(0.0, vec![tool], Some("tool"))).gains(800.0, damping);
    (lab.input.max_force_n, lab.input.rail) = (LIMIT_N, rail);
    let (mut off, mut work, mut before) = (0.0f64, 0.0, [0.0; 2]);
    // Not longer: without a damper, the motion across the line is unstable and grows from rounding errors.
    for tick in 0..1500 {
        let time = f64::from(tick) * TICK_S;
        let hand_before = lab.input.hand_m;
        let [along, x, y] = amplitudes_m;
        let line = vector![0.8, -0.6] * (along * libm::sin(47.0 * time));
        let output = lab.hand(line + vector![x * libm::sin(29.0 * time), y * libm::sin(37.0 * time)]);
        let force = output.force_on_hand_n;
        assert_below("force, N", force.norm(), LIMIT_N * (1.0 + 1e-9));
        work += force.dot(&(lab.input.hand_m - hand_before)).abs();
        let wanted = {
            let stretch = lab.input.hand_m - lab.state.handle_m(&lab.scene);
            let slip = (lab.input.hand_m - hand_before) / TICK_S - lab.body("tool").velocity_m_per_s;
            (stretch * 800.0 + slip * damping).norm()
        };
        if before.iter().chain([&wanted]).all(|&size| size > 2.0 * LIMIT_N) && tick > 100 {
            off = off.max((force.norm() / LIMIT_N - 1.0).abs());
        }
        before = [before[1], wanted];
    }
    (lab, off, work)
}

#[test]
fn a_saturated_coupling_of_a_free_tool_has_the_force_of_the_limit_and_creates_no_energy() {
    for rail in [None, Some(vector![0.8, -0.6])] {
        for damping in [0.0, 2.0] {
            let (lab, off, work) = saturate(damping, [0.05, 0.0, 0.0], rail);
            assert!(work > 0.1, "the hand did no work: {work} J");
            assert_below("deviation of the force from the limit", off, 1e-9);
            assert_below("gain, fraction of the work", lab.gain_j() / work, 1e-9);
        }
    }
    for damping in [0.0, 2.0] {
        let (lab, _, work) = saturate(damping, [0.02, 0.05, 0.04], None);
        assert_below("gain, fraction of the work", lab.gain_j() / work, 1e-9);
    }
}

/// Returns a box of this mass that the hand presses onto a floor with 5 N at the gain of 1000 N/m.
fn pressed_box(mass_kg: f64, friction: f64, handle_m: Vector2<f64>) -> Lab {
    let tool = with(body("tool", box_shape(0.04, 0.02), 0.0, 0.01), mass_kg, friction, 0.0);
    let mut world = scene(0.0, vec![floor(friction, 0.0), tool], Some("tool"));
    world.tool.as_mut().unwrap().handle_m = handle_m;
    let mut lab = Lab::new(&world);
    lab.lead(vector![0.0, 0.005] + handle_m, 300, |_, _| ());
    lab.lead(vector![0.0, 0.005] + handle_m, 300, |_, _| ());
    lab
}

#[test]
fn a_tool_pressed_onto_a_smooth_floor_rings_down_without_numerical_damping() {
    for (stiffness, mass_kg, damping) in [(800.0, 0.1, 1.0), (3000.0, 0.05, 1.0), (1000.0, 0.1, 0.0)] {
        let mut lab = pressed_box(mass_kg, 0.0, vector![0.0, 0.0]).gains(stiffness, damping);
        lab.state.energy = Default::default();
        let mut x = Vec::new();
        for _ in 0..200 {
            let output = lab.hand(vector![0.002, 0.005]);
            assert!(output.tool_contacts == 2, "the tool lost its contact");
            x.push(lab.body("tool").centre_m.x - 0.002);
        }
        let (_, ratio) = oscillation([x[20], x[21], x[22], x[23]]);
        let exact = damping / (2.0 * (stiffness * mass_kg).sqrt());
        assert_below("error of the damping ratio", (ratio - exact).abs(), 0.003);
        assert_below("gain, J", lab.gain_j(), 1e-10);
    }
}

#[test]
fn stick_slip_has_the_ripple_of_the_exact_solution() {
    for (mass_kg, stiffness, speed) in [(0.1, 500.0, 0.1), (0.05, 2000.0, 0.05), (0.5, 500.0, 0.05)] {
        let mut lab = pressed_box(mass_kg, 0.3, vector![0.0, 0.0]).gains(stiffness, 0.0);
        lab.state.energy = Default::default();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for tick in 0..4000 {
            let output = lab.hand(vector![speed * f64::from(tick) * TICK_S, 0.005]);
            if tick > 1000 {
                low = low.min(-output.force_on_hand_n.x);
                high = high.max(-output.force_on_hand_n.x);
            }
        }
        // The slip starts at rest while the hand moves on: the force swings by v √(K m) about that of friction.
        assert_near("ripple, N", high - low, 2.0 * speed * (stiffness * mass_kg).sqrt(), 0.03);
        assert_near("mean of the extremes, N", 0.5 * (high + low), 0.3 * 0.005 * stiffness, 0.02);
        assert_below("gain, J", lab.gain_j(), 1e-9);
    }
}

#[test]
fn a_sliding_tool_at_the_force_limit_has_the_force_of_the_limit_and_creates_no_energy() {
    const LIMIT_N: f64 = 3.0;
    for handle_m in [vector![0.0, 0.0], vector![0.005, 0.003]] {
        let mut lab = pressed_box(0.1, 0.3, handle_m).upright(0.5, 0.002);
        lab.input.max_force_n = LIMIT_N;
        lab.state.energy = Default::default();
        let (mut off, mut work) = (0.0f64, 0.0);
        for tick in 0..4000 {
            let time = f64::from(tick) * TICK_S;
            let before = lab.input.hand_m;
            let swing = vector![0.03 * libm::sin(23.0 * time), -0.006 - 0.004 * libm::sin(41.0 * time)];
            let output = lab.hand(swing + handle_m);
            let force = output.force_on_hand_n.norm();
            work += (force * (lab.input.hand_m - before).norm()).abs();
            assert_below("force, N", force, LIMIT_N * (1.0 + 1e-9));
            let stretch = (lab.input.hand_m - lab.state.handle_m(&lab.scene)).norm();
            if 1000.0 * stretch > 2.0 * LIMIT_N && output.tool_contacts > 0 && output.impacts == 0 && tick > 10 {
                off = off.max((force / LIMIT_N - 1.0).abs());
            }
        }
        assert_below("deviation of the force from the limit", off, 5e-4);
        assert_below("gain, fraction of the work", lab.gain_j() / work, 1e-6);
    }
}

#[test]
fn a_tool_held_off_centre_gains_nothing_from_walls() {
    for (seed, mass_kg) in [(1, 0.1), (2, 0.02), (3, 0.005)] {
        let mut bodies = room(0.05, 0.4, 0.0);
        bodies.push(with(body("tool", box_shape(0.03, 0.01), 0.0, 0.0), mass_kg, 0.4, 0.0));
        let mut world = scene(0.0, bodies, Some("tool"));
        world.tool.as_mut().unwrap().handle_m = vector![0.012, 0.002];
        let mut lab = Lab::new(&world).gains(1500.0, 1.0);
        let mut work = 0.0;
        for tick in 0..6000 {
            let time = f64::from(tick) * TICK_S;
            let grown = (time / 0.2).min(1.0) * 0.055;
            let angle = (5.0 + f64::from(seed)) * time;
            let before = lab.input.hand_m;
            let output = lab.hand(vector![grown * libm::cos(angle), grown * libm::sin(1.7 * angle)]);
            work += output.force_on_hand_n.dot(&(lab.input.hand_m - before)).abs();
        }
        // What is left is a false penetration of 5 µm in a corner of the room, corrected under 30 N.
        assert_below(&format!("{mass_kg} kg: gain, fraction of the work"), lab.gain_j() / work, 1e-4);
    }
}

/// Returns the largest height at a tick end after a tap on a floor by a disc that moves with the hand at this speed, m.
/// The path is shifted by `phase` of a tick.
fn rebound_m(mass_kg: f64, stiffness: f64, speed: f64, restitution: f64, phase: f64) -> (f64, Lab) {
    let tool = with(body("tool", disc(0.005), 0.0, 0.009), mass_kg, 0.3, restitution);
    let mut lab = Lab::new(&scene(0.0, vec![floor(0.3, restitution), tool], Some("tool"))).gains(stiffness, 0.0);
    let start = 0.009 + speed * phase * TICK_S;
    lab.state.bodies[1].centre_m.y = start;
    lab.hand(vector![0.0, start]);
    lab.state.bodies[1].velocity_m_per_s.y = -speed;
    lab.state.energy = Default::default();
    let (mut highest, mut was_hit) = (0.0f64, false);
    for tick in 1..4000 {
        let output = lab.hand(vector![0.0, start - speed * f64::from(tick) * TICK_S]);
        let height = lab.body("tool").centre_m.y - 0.005;
        if was_hit && height < highest {
            break;
        }
        if was_hit || output.impacts > 0 {
            was_hit = true;
            highest = height;
        }
    }
    (highest, lab)
}

/// Returns the exact height over the floor at the time t after an impact with the given speed at it, while the hand
/// moves on at that speed, m.
fn exact_height_m(omega: f64, speed: f64, restitution: f64, time_s: f64) -> f64 {
    (1.0 + restitution) * speed / omega * libm::sin(omega * time_s) - speed * time_s
}

#[test]
fn the_rebound_of_a_light_stiffly_held_tool_does_not_depend_on_the_phase_of_the_tick() {
    for (mass_kg, stiffness, speed) in [(0.01, 5000.0, 0.75), (0.01, 5000.0, 0.2), (0.05, 2000.0, 0.2)] {
        let omega = f64::sqrt(stiffness / mass_kg);
        let peak = |shift_s: f64| {
            (0..30)
                .map(|tick| exact_height_m(omega, speed, 0.8, f64::from(tick) * TICK_S + shift_s))
                .fold(0.0, f64::max)
        };
        let samples: Vec<f64> = (0..100).map(|i| peak(f64::from(i) * 0.01 * TICK_S)).collect();
        let (low, high) =
            (samples.iter().copied().fold(f64::INFINITY, f64::min), samples.iter().copied().fold(0.0, f64::max));
        for phase in 0..20 {
            let (height, lab) = rebound_m(mass_kg, stiffness, speed, 0.8, f64::from(phase) / 20.0);
            let what =
                format!("{mass_kg} kg, {speed} m/s, phase {phase}: height {height:.3e} in {low:.3e} to {high:.3e}");
            assert!(height > 0.99 * low && height < 1.01 * high, "{what}");
            assert_below("gain, J", lab.gain_j(), 1e-12);
        }
    }
}

/// Free motion about a hand at rest at the height `hand_m` over the floor.
struct Swing {
    mass_kg: f64,
    stiffness: f64,
    damping: f64,
    hand_m: f64,
}

impl Swing {
    /// Returns height and velocity a time after a start with the given height and velocity.
    fn after(&self, [height, velocity]: [f64; 2], time_s: f64) -> [f64; 2] {
        let (decay, from) = (self.damping / (2.0 * self.mass_kg), height - self.hand_m);
        let omega = f64::sqrt(self.stiffness / self.mass_kg - decay * decay);
        let side = (velocity + decay * from) / omega;
        let (sine, cosine) = libm::sincos(omega * time_s);
        let left = libm::exp(-decay * time_s);
        let position = left * (from * cosine + side * sine);
        [position + self.hand_m, left * omega * (side * cosine - from * sine) - decay * position]
    }

    /// Returns the largest height at the ends of the ticks of a flight that begins with an impact; the first of these
    /// ends is `first_s` after it.
    fn peak_m(&self, velocity: f64, first_s: f64) -> f64 {
        let heights = (0..40).map(|tick| self.after([0.0, velocity], first_s + f64::from(tick) * TICK_S)[0]);
        heights.take_while(|&height| height > 0.0).fold(0.0, f64::max)
    }
}

/// The coupling slows the approach, so that late in a tick the tool closes its gap at the mean velocity of the tick,
/// but not at that of its end.
#[test]
fn the_rebound_of_a_tool_that_the_coupling_slows_does_not_depend_on_the_phase_of_the_tick() {
    for (damping, hand_m, restitution) in [(0.0, 0.001, 0.8), (0.0, 0.002, 0.8), (6.0, 0.0, 0.8), (6.0, 0.0, 0.4)] {
        let swing = Swing { mass_kg: 0.05, stiffness: 2000.0, damping, hand_m };
        let speed = 0.3;
        let peaks: Vec<f64> =
            (1..100).map(|i| swing.peak_m(restitution * speed, f64::from(i) * 0.01 * TICK_S)).collect();
        let (low, high) =
            (peaks.iter().copied().fold(f64::INFINITY, f64::min), peaks.iter().copied().fold(0.0, f64::max));
        for i in 0..40 {
            let phase = (f64::from(i) + 0.5) / 40.0;
            let start = swing.after([0.0, -speed], -(3.0 + phase) * TICK_S);
            let tool = BodyDescription {
                velocity_m_per_s: vector![0.0, start[1]],
                ..with(body("tool", disc(0.006), 0.0, 0.006 + start[0]), swing.mass_kg, 0.0, restitution)
            };
            let mut lab = Lab::new(&scene(0.0, vec![floor(0.0, restitution), tool], Some("tool")));
            lab = lab.gains(swing.stiffness, damping);
            let mut heights = Vec::new();
            (0..24).for_each(|_| {
                lab.hand(vector![0.0, 0.006 + hand_m]);
                heights.push(lab.body("tool").centre_m.y - 0.006);
            });
            let height = heights[3..].iter().copied().fold(0.0, f64::max);
            let what =
                format!("B = {damping}, hand at {hand_m} m, phase {phase}: {height:.3e} in {low:.3e} to {high:.3e}");
            assert!(height > 0.98 * low && height < 1.02 * high, "{what}");
        }
    }
}

#[test]
fn a_disc_that_swings_while_it_rolls_rings_down_without_numerical_damping() {
    for (stiffness, mass_kg, damping) in [(3000.0, 0.05, 0.0), (1500.0, 0.03, 0.5), (500.0, 0.2, 0.0)] {
        let tool = with(body("tool", disc(0.01), 0.0, 0.01), mass_kg, 0.9, 0.0);
        let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.9, 0.0), tool], Some("tool"))).gains(stiffness, damping);
        lab.lead(vector![0.0, 0.0095], 50, |_, _| ());
        // Less than half of what would make the disc slip.
        let reach = 0.4 * 0.9 * (mass_kg * GRAVITY + 5e-4 * stiffness) * 3.0 / stiffness;
        let mut x = Vec::new();
        for _ in 0..200 {
            let output = lab.hand(vector![reach, 0.0095]);
            assert_eq!(output.tool_contacts, 1, "the disc lost its contact");
            x.push(lab.body("tool").centre_m.x - reach);
            let tool = lab.body("tool");
            let slip = tool.velocity_m_per_s.x + 0.01 * tool.angular_velocity_rad_per_s;
            assert_below("slip, m/s", slip.abs(), 1e-9);
        }
        let (_, ratio) = oscillation([x[20], x[21], x[22], x[23]]);
        let exact = damping / (2.0 * (stiffness * 1.5 * mass_kg).sqrt());
        assert_below("error of the damping ratio", (ratio - exact).abs(), 0.002);
        assert_below("gain, J", lab.gain_j(), 1e-12);
    }
}
