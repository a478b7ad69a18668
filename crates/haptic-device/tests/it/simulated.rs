//! Compares the simulated device with closed-form solutions.

use haptic_device::{
    Device, DeviceModel, Effort, HandModel, Health, MonotonicNs, Reading, SimulatedDevice, WriteOutcome,
};
use nalgebra::Vector2;

const NOW: MonotonicNs = MonotonicNs(0);
const TICK_S: f64 = 0.001;

/// A mass without friction, delay or encoder steps.
fn bare(mass_kg: f64) -> DeviceModel {
    DeviceModel {
        mass_kg: [mass_kg; 2],
        damping_n_s_per_m: [0.0; 2],
        coulomb_n: [0.0; 2],
        encoder_step_m: [0.0; 2],
        delay_s: [0.0; 2],
        max_force_n: [f64::INFINITY; 2],
    }
}

fn resting_hand(stiffness_n_per_m: f64, damping_n_s_per_m: f64, mass_kg: f64) -> HandModel {
    HandModel { stiffness_n_per_m, damping_n_s_per_m, mass_kg, path: vec![], looped: false }
}

fn free(model: &DeviceModel) -> SimulatedDevice {
    SimulatedDevice::new(2, model, None).unwrap()
}

fn push(device: &mut SimulatedDevice, x_n: f64, y_n: f64) {
    assert_eq!(device.write(Effort { force_n: Vector2::new(x_n, y_n) }, NOW), WriteOutcome::Written);
}

fn run(device: &mut SimulatedDevice, ticks: usize) -> Reading {
    (0..ticks).map(|_| device.read(NOW)).last().unwrap()
}

fn x_m(device: &SimulatedDevice) -> f64 {
    device.true_state().position_m.x
}

#[test]
fn a_free_mass_under_constant_force_moves_exactly() {
    let mut device = free(&bare(0.1));
    push(&mut device, 0.5, -0.25);
    let reading = run(&mut device, 400);
    assert!((reading.position_m - Vector2::new(0.4, -0.2)).norm() < 1e-12, "a·t²/2: {}", reading.position_m);
    assert!((device.true_state().velocity_m_per_s - Vector2::new(2.0, -1.0)).norm() < 1e-12);
}

#[test]
fn viscous_decay_is_exact() {
    for (damping, mass) in [(0.5, 0.1), (1e-9, 0.1), (20.0, 0.05), (200.0, 0.01)] {
        let mut device = free(&DeviceModel { damping_n_s_per_m: [damping; 2], ..bare(mass) });
        device.place(Vector2::zeros(), Vector2::new(1.0, 0.0));
        for tick in 1..=1000 {
            device.read(NOW);
            let exponent = -damping / mass * TICK_S * f64::from(tick);
            let state = device.true_state();
            assert!((state.velocity_m_per_s.x - libm::exp(exponent)).abs() < 1e-9);
            assert!((state.position_m.x + mass / damping * libm::expm1(exponent)).abs() < 1e-9, "b {damping} m {mass}");
        }
    }
}

#[test]
fn dry_friction_stops_a_throw_in_the_analytic_distance_and_holds_it() {
    let mut device = free(&DeviceModel { coulomb_n: [0.3; 2], ..bare(0.1) });
    device.place(Vector2::zeros(), Vector2::new(0.4, -0.2));
    run(&mut device, 1000);
    let stopped = device.true_state();
    let distance = |speed: f64| 0.1 * speed * speed / (2.0 * 0.3);
    assert!((stopped.position_m - Vector2::new(distance(0.4), -distance(0.2))).norm() < 1e-12);
    assert_eq!(stopped.velocity_m_per_s, Vector2::zeros());
    run(&mut device, 1000);
    assert_eq!(device.true_state(), stopped, "still to the last bit");
}

#[test]
fn dry_and_viscous_friction_together_stop_in_the_analytic_distance() {
    let (mass, damping, dry, speed) = (0.1, 0.5, 0.05, 0.3);
    let mut device = free(&DeviceModel { coulomb_n: [dry; 2], damping_n_s_per_m: [damping; 2], ..bare(mass) });
    device.place(Vector2::zeros(), Vector2::new(speed, 0.0));
    run(&mut device, 1000);
    let distance = mass / damping * (speed - dry / damping * libm::log1p(damping * speed / dry));
    assert!((x_m(&device) - distance).abs() < 1e-12, "{} {distance}", x_m(&device));
}

#[test]
fn a_force_within_friction_moves_nothing_and_one_beyond_it_does() {
    let mut device = free(&DeviceModel { coulomb_n: [0.3; 2], ..bare(0.1) });
    for tick in 0..2000 {
        push(&mut device, if tick % 2 == 0 { 0.2999 } else { -0.2999 }, 0.3);
        device.read(NOW);
    }
    assert_eq!(device.true_state().position_m, Vector2::zeros());
    push(&mut device, 0.4, 0.3);
    run(&mut device, 100);
    assert!((x_m(&device) - 0.5 * (0.1 / 0.1) * 0.01).abs() < 1e-12, "only the excess accelerates: {}", x_m(&device));
    assert_eq!(device.true_state().position_m.y, 0.0);
}

#[test]
fn a_swing_against_dry_friction_loses_the_same_length_every_half_period() {
    // The amplitude falls by 2·f_c/K in each half period, and the mass stays at rest once the spring cannot move it.
    let (stiffness, dry) = (300.0, 0.15);
    let model = DeviceModel { coulomb_n: [dry; 2], ..bare(0.1) };
    let mut device = SimulatedDevice::new(1, &model, Some(&resting_hand(stiffness, 0.0, 0.2))).unwrap();
    device.place(Vector2::new(0.01025, 0.0), Vector2::zeros());
    run(&mut device, 5000);
    // 10.25 mm less 1 mm ten times leaves 0.25 mm, within the 0.5 mm that friction holds.
    assert!((x_m(&device) - 0.000_25).abs() < 1e-10, "{}", x_m(&device));
    assert_eq!(device.true_state().velocity_m_per_s.x, 0.0);
}

#[test]
fn a_slowly_pulled_spring_breaks_away_when_it_overcomes_friction() {
    let model = DeviceModel { coulomb_n: [0.3; 2], ..bare(0.1) };
    let hand = HandModel { path: vec![[0.0, 0.0, 0.0], [10.0, 0.01, 0.0]], ..resting_hand(300.0, 0.0, 0.0) };
    let mut device = SimulatedDevice::new(1, &model, Some(&hand)).unwrap();
    // 300 N/m pulled at 1 mm/s reaches 0.3 N after exactly one second.
    run(&mut device, 999);
    assert_eq!(x_m(&device), 0.0);
    run(&mut device, 11);
    let (rate, time_s): (f64, f64) = ((300.0f64 / 0.1).sqrt(), 0.010);
    let slid = 0.001 * (time_s - libm::sin(rate * time_s) / rate);
    assert!((x_m(&device) - slid).abs() < 1e-12, "{} {slid}", x_m(&device));
}

/// Times and speeds of upward zero crossings.
fn upward_passes(device: &mut SimulatedDevice, ticks: usize) -> Vec<(f64, f64)> {
    let mut passes = Vec::new();
    for tick in 0..ticks {
        let before = device.true_state();
        device.read(NOW);
        let after = device.true_state();
        if before.position_m.x < 0.0 && after.position_m.x >= 0.0 {
            let fraction = before.position_m.x / (before.position_m.x - after.position_m.x);
            let speed = before.velocity_m_per_s.x + fraction * (after.velocity_m_per_s.x - before.velocity_m_per_s.x);
            passes.push(((tick as f64 + fraction) * TICK_S, speed));
        }
    }
    passes
}

#[test]
fn the_ring_down_on_the_hands_spring_has_the_analytic_frequency_and_damping() {
    let model = DeviceModel { damping_n_s_per_m: [0.5; 2], ..bare(0.1) };
    let (stiffness, hand_damping, mass) = (300.0f64, 1.5, 0.3);
    let mut device = SimulatedDevice::new(2, &model, Some(&resting_hand(stiffness, hand_damping, 0.2))).unwrap();
    device.place(Vector2::new(0.01, 0.0), Vector2::zeros());
    let passes = upward_passes(&mut device, 2000);
    let (first, last) = (passes[0], passes[passes.len() - 1]);
    let periods = (passes.len() - 1) as f64;

    let natural = (stiffness / mass).sqrt();
    let ratio = (0.5 + hand_damping) / (2.0 * (stiffness * mass).sqrt());
    let damped = natural * (1.0 - ratio * ratio).sqrt();
    let measured = 2.0 * core::f64::consts::PI * periods / (last.0 - first.0);
    assert!((measured / damped - 1.0).abs() < 1e-3, "{measured} rad/s, not {damped}");
    let decrement = libm::log(first.1 / last.1) / (last.0 - first.0);
    let measured_ratio = decrement / libm::sqrt(decrement * decrement + measured * measured);
    assert!((measured_ratio / ratio - 1.0).abs() < 1e-3, "{measured_ratio}, not {ratio}");
}

#[test]
fn a_stiff_overdamped_hand_follows_its_closed_form() {
    let (mass, stiffness, damping) = (0.02f64, 2e4f64, 100.0);
    let mut device = SimulatedDevice::new(1, &bare(mass), Some(&resting_hand(stiffness, damping, 0.0))).unwrap();
    device.place(Vector2::new(0.01, 0.0), Vector2::zeros());
    let half = damping / (2.0 * mass);
    let spread = (half * half - stiffness / mass).sqrt();
    let (fast, slow) = (-half - spread, -half + spread);
    for tick in 1..=50 {
        device.read(NOW);
        let time_s = TICK_S * f64::from(tick);
        let exact = 0.01 * (fast * libm::exp(slow * time_s) - slow * libm::exp(fast * time_s)) / (fast - slow);
        assert!((x_m(&device) - exact).abs() < 1e-13, "tick {tick}: {} {exact}", x_m(&device));
    }
}

#[test]
fn a_stiff_hand_that_starts_to_move_drives_the_device_along_its_closed_form() {
    let (mass, stiffness, speed) = (0.02f64, 2e4f64, 0.1);
    let hand = HandModel { path: vec![[0.0, 0.0, 0.0], [1.0, speed, 0.0]], ..resting_hand(stiffness, 0.0, 0.0) };
    let mut device = SimulatedDevice::new(1, &bare(mass), Some(&hand)).unwrap();
    let rate = (stiffness / mass).sqrt();
    for tick in 1..=50 {
        device.read(NOW);
        let time_s = TICK_S * f64::from(tick);
        let exact = speed * (time_s - libm::sin(rate * time_s) / rate);
        assert!((x_m(&device) - exact).abs() < 1e-13, "tick {tick}: {} {exact}", x_m(&device));
    }
}

#[test]
fn a_steadily_moved_hand_drags_the_device_at_the_analytic_lag() {
    // In steady motion at w the spring stretches by b·w/K: the hand's damper moves along and exerts no force.
    let model = DeviceModel { damping_n_s_per_m: [0.5; 2], ..bare(0.1) };
    let hand = HandModel { path: vec![[0.0, 0.0, 0.0], [5.0, 0.5, 0.25]], ..resting_hand(300.0, 3.0, 0.2) };
    let mut device = SimulatedDevice::new(2, &model, Some(&hand)).unwrap();
    run(&mut device, 4000);
    let lag = Vector2::new(0.4, 0.2) - device.true_state().position_m;
    let expected = Vector2::new(0.1, 0.05) * (0.5 / 300.0);
    assert!((lag - expected).norm() < 1e-9, "{lag}");
}

#[test]
fn the_hand_starts_on_its_path_and_without_a_hand_the_device_is_free() {
    let held = SimulatedDevice::new(2, &bare(0.1), Some(&HandModel::default())).unwrap();
    assert_eq!(held.true_state().position_m, Vector2::new(0.0, 0.03));
    let mut loose = free(&bare(0.1));
    loose.place(Vector2::zeros(), Vector2::new(0.1, 0.0));
    loose.set_hand_target(Some(Vector2::new(5.0, 5.0)));
    run(&mut loose, 1000);
    assert!((loose.true_state().position_m - Vector2::new(0.1, 0.0)).norm() < 1e-12);
}

#[test]
fn the_delay_from_command_to_effect_is_right_to_a_microsecond() {
    for delay_s in [0.0, 1e-6, 0.0003, 0.000_999, 0.001, 0.0017, 0.0203] {
        let mut device = free(&DeviceModel { delay_s: [delay_s; 2], ..bare(0.1) });
        run(&mut device, 10);
        push(&mut device, 0.1, 0.0);
        run(&mut device, 100);
        // x = (t − d)²/2 at an acceleration of one.
        let measured_s = 0.1 - (2.0 * x_m(&device)).sqrt();
        assert!((measured_s - delay_s).abs() < 1e-9, "{measured_s}, not {delay_s}");
    }
}

#[test]
fn axes_may_have_different_delays() {
    let mut device = free(&DeviceModel { delay_s: [0.0005, 0.0025], ..bare(0.1) });
    push(&mut device, 0.1, 0.1);
    run(&mut device, 20);
    let late = device.true_state().position_m.map(|way| 0.02 - (2.0 * way).sqrt());
    assert!((late - Vector2::new(0.0005, 0.0025)).norm() < 1e-9);
}

#[test]
fn the_encoder_rounds_down_to_whole_steps() {
    let mut device = free(&DeviceModel { encoder_step_m: [1e-3, 0.0], ..bare(0.1) });
    for (truth, shown) in [(0.00249, 0.002), (0.0, 0.0), (-0.0001, -0.001), (-0.00249, -0.003)] {
        device.place(Vector2::new(truth, truth), Vector2::zeros());
        let reading = device.read(NOW);
        assert!((reading.position_m.x - shown).abs() < 1e-15);
        assert_eq!(reading.position_m.y, truth, "a step of zero is a perfect encoder");
    }
}

#[test]
fn velocity_is_the_backward_difference_and_zero_at_first() {
    let mut device = free(&bare(0.1));
    device.place(Vector2::zeros(), Vector2::new(0.5, 0.0));
    assert_eq!(device.read(NOW).velocity_m_per_s, Vector2::zeros());
    assert!((device.read(NOW).velocity_m_per_s.x - 0.5).abs() < 1e-12);
}

#[test]
fn saturation_keeps_the_direction() {
    let mut device = free(&DeviceModel { max_force_n: [4.0; 2], ..bare(1.0) });
    push(&mut device, 30.0, -40.0);
    run(&mut device, 1000);
    assert!((device.true_state().velocity_m_per_s - Vector2::new(2.4, -3.2)).norm() < 1e-12);
}

#[test]
fn a_missing_second_axis_takes_no_part_of_the_force() {
    let mut device = SimulatedDevice::new(1, &DeviceModel { max_force_n: [4.0; 2], ..bare(1.0) }, None).unwrap();
    push(&mut device, 3.0, 400.0);
    run(&mut device, 1000);
    assert!((device.true_state().velocity_m_per_s - Vector2::new(3.0, 0.0)).norm() < 1e-12);
}

#[test]
fn a_non_finite_effort_becomes_zero_force() {
    let mut device = free(&bare(0.1));
    push(&mut device, 1.0, 0.0);
    let sent = device.write(Effort { force_n: Vector2::new(f64::NAN, 1.0) }, NOW);
    assert!(matches!(sent, WriteOutcome::Failed(_)));
    run(&mut device, 10);
    assert_eq!(device.true_state().position_m, Vector2::zeros());
}

#[test]
fn a_closed_device_is_lost_and_exerts_nothing() {
    let mut device = free(&bare(0.1));
    push(&mut device, 1.0, 0.0);
    device.close();
    device.close();
    assert!(matches!(device.write(Effort { force_n: Vector2::new(1.0, 0.0) }, NOW), WriteOutcome::Failed(_)));
    let reading = run(&mut device, 10);
    assert_eq!((reading.health, reading.fresh), (Health::Lost, false));
    assert_eq!(device.true_state().position_m, Vector2::zeros());
}

#[test]
fn no_energy_appears_in_a_held_device_with_friction() {
    let hand = resting_hand(300.0, 0.0, 0.2);
    let mut device = SimulatedDevice::new(1, &DeviceModel { coulomb_n: [0.02; 2], ..bare(0.1) }, Some(&hand)).unwrap();
    device.place(Vector2::new(0.02, 0.0), Vector2::new(-0.3, 0.0));
    let energy = |device: &SimulatedDevice| {
        let state = device.true_state();
        0.5 * 0.3 * state.velocity_m_per_s.x.powi(2) + 0.5 * 300.0 * state.position_m.x.powi(2)
    };
    let mut before = energy(&device);
    for tick in 0..5000 {
        device.read(NOW);
        let after = energy(&device);
        assert!(after <= before + 1e-16, "tick {tick}: {before} to {after}");
        before = after;
    }
}

/// 64-bit hash (FNV-1a) over every reading and true state of a varied run.
fn hash_of_a_run() -> u64 {
    let mut device = SimulatedDevice::new(2, &DeviceModel::default(), Some(&HandModel::default())).unwrap();
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for tick in 0..5000u32 {
        if tick == 1500 {
            device.set_hand_target(Some(Vector2::new(0.04, 0.01)));
        }
        if tick == 1700 {
            device.set_hand_target(None);
        }
        let reading = device.read(NOW);
        // A wall at y = 0 and a small lateral force.
        push(&mut device, 0.3 * f64::from(tick % 7) - 0.9, (-400.0 * reading.position_m.y).max(0.0));
        let state = device.true_state();
        for value in reading.position_m.iter().chain(state.position_m.iter()).chain(state.velocity_m_per_s.iter()) {
            hash = (hash ^ value.to_bits()).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

#[test]
fn the_same_run_gives_the_same_bits_on_every_machine_and_build() {
    assert_eq!(format!("{:016x}", hash_of_a_run()), "5bf4c47b917b52d5");
}
