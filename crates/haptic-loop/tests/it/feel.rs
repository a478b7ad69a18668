//! Forces on the hand through the whole tick: walls, weight, impacts, and unstable stiffness.

use crate::common::{floor_and_tool, hand, rendering, run, settings, simulated, world};
use haptic_coupling::tank::Passivity;
use haptic_device::prescribed::PrescribedDevice;
use haptic_device::simulated::{DeviceModel, HandModel, SimulatedDevice};
use haptic_loop::engagement::Phase;
use haptic_loop::settings::{Safety, Settings};
use haptic_planar::scene::description::{BodyDescription, ShapeDescription};
use nalgebra::Vector2;

/// Path down from 30 mm above the floor to its surface, 10 mm deeper than the tool can go.
const PRESSING: [[f64; 3]; 3] = [[0.0, 0.0, 0.03], [1.0, 0.0, 0.03], [2.0, 0.0, 0.0]];

/// Mean force, N, and peak-to-peak height of the hand, m, over the last of five seconds.
fn press(settings: &Settings, gravity_m_per_s2: f64) -> (f64, f64) {
    // A light, limp hand: the stiffness of an arm with little of its damping.
    let limp = HandModel { mass_kg: 0.05, damping_n_s_per_m: 0.5, ..hand(&PRESSING) };
    let smooth = DeviceModel { coulomb_n: [0.0; 2], ..DeviceModel::default() };
    let device = SimulatedDevice::new(2, &smooth, Some(&limp)).unwrap();
    let mut rendering = rendering(device, world(&floor_and_tool(gravity_m_per_s2)), settings);
    run(&mut rendering, 4000, |_| {});
    let (mut sum_n, mut low_m, mut high_m) = (0.0, f64::INFINITY, f64::NEG_INFINITY);
    run(&mut rendering, 1000, |report| {
        assert_eq!(report.phase, Phase::Engaged);
        sum_n += report.force_n.y;
        (low_m, high_m) = (low_m.min(report.hand_m.y), high_m.max(report.hand_m.y));
    });
    (sum_n / 1000.0, high_m - low_m)
}

#[test]
fn a_floor_pushes_back_and_passive_gains_rest_on_it() {
    let (force_n, swing_m) = press(&settings(400.0, 0.1), 0.0);
    assert!((1.0..3.5).contains(&force_n), "{force_n} N");
    assert!(swing_m <= 3e-5, "{swing_m} m");
}

#[test]
fn unstable_stiffness_is_quiet_with_the_tank_in_any_gravity_and_oscillates_without() {
    for (stiffness, damping) in [(2000.0, 0.1), (5000.0, 0.5), (10_000.0, 0.1), (10_000.0, 5.0)] {
        let stiff = settings(stiffness, damping);
        for gravity_m_per_s2 in [0.0, 9.81] {
            let (force_n, swing_m) = press(&stiff, gravity_m_per_s2);
            assert!((1.9..2.4).contains(&force_n), "{force_n} N at {stiffness} N/m");
            assert!(swing_m < 3.5e-5, "{swing_m} m at {stiffness} N/m, {damping} N·s/m, gravity {gravity_m_per_s2}");
        }
        let untamed = Safety { passivity: Passivity::Observer, ..stiff.safety };
        let (_, swing_m) = press(&Settings { safety: untamed, ..stiff }, 0.0);
        assert!(swing_m > 5e-4, "without the tank it oscillates: {swing_m} m at {stiffness} N/m, {damping} N·s/m");
    }
}

#[test]
fn a_tool_held_still_in_the_air_keeps_its_weight_for_a_minute() {
    for (stiffness, damping) in [(400.0, 0.1), (10_000.0, 5.0)] {
        let device = simulated(Some(&hand(&[[0.0, 0.0, 0.03]])));
        let mut rendering = rendering(device, world(&floor_and_tool(9.81)), &settings(stiffness, damping));
        run(&mut rendering, 10_000, |_| {});
        run(&mut rendering, 50_000, |report| {
            assert!((report.force_n.y + 0.981).abs() < 0.02, "{} N at tick {}", report.force_n.y, report.tick);
        });
    }
}

#[test]
fn lifting_a_tool_before_the_force_is_on_does_not_weaken_a_wall_later() {
    let mut description = floor_and_tool(9.81);
    let mut wall = BodyDescription::new("wall", ShapeDescription::Box { size_m: Vector2::new(0.02, 0.1) });
    wall.fixed = true;
    wall.position_m = Vector2::new(0.05, 0.09);
    description.bodies.push(wall);
    // First up while the force is off, then against the wall, which stops the tool at 30 mm.
    let path = [[0.0, 0.0, 0.03], [0.2, 0.0, 0.09], [1.0, 0.0, 0.09], [2.0, 0.036, 0.09]];
    let mut rendering = rendering(simulated(Some(&hand(&path))), world(&description), &settings(400.0, 0.1));
    run(&mut rendering, 3500, |_| {});
    run(&mut rendering, 500, |report| {
        let pressed_n = 400.0 * (report.hand_m.x - report.tool.centre_m.x);
        assert!(pressed_n > 0.5, "{pressed_n} N: the hand does not press");
        assert!((report.force_n.x + pressed_n).abs() < 0.1 * pressed_n, "{} of {pressed_n} N", report.force_n.x);
    });
}

#[test]
fn a_hand_that_starts_inside_a_floor_without_force_feels_the_floor_when_it_returns() {
    let up_m = |t_s: f64| (-0.008 + 0.06 * (t_s - 0.3)).clamp(-0.008, 0.03);
    let down_m = |t_s: f64| (0.03 - 0.03 * (t_s - 2.5)).clamp(0.0, 0.03);
    let led = PrescribedDevice::new(2, move |t_s: f64| Vector2::new(0.0, up_m(t_s).min(down_m(t_s))));
    let safety = Safety { engage_ramp_s: 0.5, ..Safety::default() };
    let soft = Settings { safety, ..settings(150.0, 0.1) };
    let mut rendering = rendering(led, world(&floor_and_tool(9.81)), &soft);
    run(&mut rendering, 4000, |_| {});
    run(&mut rendering, 500, |report| {
        assert!((report.force_n.y - 1.5).abs() < 0.15, "{} of 1.5 N", report.force_n.y);
    });
}

/// Maximum force on a resting hand that a ball hits, requested and admitted, N.
fn hit(gravity_m_per_s2: f64, from_m: Vector2<f64>, speed_m_per_s: Vector2<f64>) -> (f64, f64) {
    let mut description = floor_and_tool(gravity_m_per_s2);
    let mut ball = BodyDescription::new("ball", ShapeDescription::Disc { radius_m: 0.01 });
    ball.mass_kg = Some(0.05);
    ball.position_m = from_m;
    ball.velocity_m_per_s = speed_m_per_s;
    description.bodies.push(ball);
    let device = simulated(Some(&hand(&[[0.0, 0.0, 0.03]])));
    let mut rendering = rendering(device, world(&description), &settings(400.0, 0.1));
    let (mut wanted_n, mut given_n) = (0.0f64, 0.0f64);
    run(&mut rendering, 1500, |report| {
        wanted_n = wanted_n.max(report.felt.force_on_hand_n.norm());
        given_n = given_n.max(report.force_n.norm());
    });
    (wanted_n, given_n)
}

#[test]
fn a_ball_that_hits_a_resting_hand_is_felt_in_full() {
    let (wanted_n, given_n) = hit(0.0, Vector2::new(-0.5, 0.03), Vector2::new(0.5, 0.0));
    assert!(wanted_n > 1.0 && given_n > 0.98 * wanted_n, "{given_n} of {wanted_n} N");
}

#[test]
fn a_ball_that_falls_on_a_resting_hand_is_felt_in_full() {
    let (wanted_n, given_n) = hit(2.0, Vector2::new(0.0, 0.3), Vector2::zeros());
    assert!(wanted_n > 1.0 && given_n > 0.98 * wanted_n, "{given_n} of {wanted_n} N");
}

#[test]
fn a_free_device_feels_no_jump_when_force_ramps_up() {
    let mut rendering = rendering(simulated(None), world(&floor_and_tool(9.81)), &settings(400.0, 0.1));
    let mut last_n = Vector2::zeros();
    run(&mut rendering, 3000, |report| {
        assert!((report.force_n - last_n).norm() <= 0.1, "tick {}: {} to {}", report.tick, last_n, report.force_n);
        last_n = report.force_n;
    });
}

#[test]
fn passive_gains_are_never_limited() {
    let path = [[0.0, 0.0, 0.03], [0.5, 0.0, 0.03], [0.8, 0.03, 0.0], [1.0, -0.03, 0.005], [1.2, 0.0, 0.03]];
    let device = simulated(Some(&hand(&path)));
    let mut rendering = rendering(device, world(&floor_and_tool(9.81)), &settings(400.0, 0.1));
    run(&mut rendering, 2000, |_| {});
    assert_eq!(rendering.counters().cut, 0);
    assert!(rendering.tank_lowest_j() >= 0.0);
}

#[test]
fn a_prescribed_hand_with_bare_settings_feels_the_bare_physics() {
    let safety = Safety {
        engage_ramp_s: 0.0,
        slew_n_per_s: 0.0,
        passivity: Passivity::Observer,
        max_force_n: 100.0,
        ..Safety::default()
    };
    let device = PrescribedDevice::new(2, |t_s: f64| Vector2::new(0.0, 0.03 - 0.03 * t_s));
    let model = haptic_coupling::model::WorstAxisModel { max_force_n: f64::INFINITY, ..Default::default() };
    let settings = Settings { safety, ..settings(1000.0, 0.5) };
    let mut rendering =
        haptic_loop::tick::HapticLoop::new(Box::new(device), &model, world(&floor_and_tool(0.0)), &settings).unwrap();
    run(&mut rendering, 1000, |report| {
        assert_eq!(report.phase, Phase::Engaged);
        assert_eq!(report.force_n, report.felt.force_on_hand_n);
    });
    assert_eq!((rendering.counters().clamped, rendering.counters().cut, rendering.counters().faults), (0, 0, 0));
}
