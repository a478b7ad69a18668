//! Ordinary hands on a wall: how much of the force they receive.

use super::device::{Device, Motor};
use super::{TICK_S, tank_settings};
use haptic_coupling::tank::{StoredEnergy, Tank};
use haptic_testing::Random;
use nalgebra::Vector2;
use std::f64::consts::TAU;

const DEVICE_AND_HAND_KG: f64 = 0.3;
const HAND_N_PER_M: f64 = 300.0;
const HAND_N_S_PER_M: f64 = 5.0;
/// Force with which a hand presses, N.
const PRESS_N: f64 = 2.0;
/// Friction coefficient of the wall.
const FRICTION: f64 = 0.3;
const SUBSTEPS: u32 = 20;

/// What a hand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Task {
    /// Presses the wall.
    Press,
    /// Presses the wall and trembles, 60 µm at 8.7 Hz and 30 µm at 11.3 Hz, and drifts by 100 µm.
    PressTrembling,
    /// Slides along the wall at 20 mm/s.
    Slide,
    /// Taps the wall three times per second.
    Tap,
    /// Presses in and out slowly, so that most readings do not differ from the one before.
    PressSlowly,
}

impl Task {
    pub const ALL: [Self; 5] = [Self::Press, Self::PressTrembling, Self::Slide, Self::Tap, Self::PressSlowly];

    /// Position to which the hand pulls the handle, m; the wall is where x is negative.
    fn target_m(self, time_s: f64, stiffness_n_per_m: f64) -> Vector2<f64> {
        let depth_m = PRESS_N / HAND_N_PER_M + PRESS_N / stiffness_n_per_m;
        let pressed_m = Vector2::new(0.002 - (depth_m + 0.002) * (time_s / 0.5).min(1.0), 0.0);
        let wave = |size_m: f64, frequency_hz: f64| size_m * libm::sin(TAU * frequency_hz * time_s);
        match self {
            Self::Press => pressed_m,
            Self::PressTrembling => {
                let x_m = wave(60e-6, 8.7) + wave(30e-6, 11.3) + wave(100e-6, 0.13);
                let y_m = wave(60e-6, 8.1) + wave(30e-6, 12.1) + wave(100e-6, 0.11);
                pressed_m + Vector2::new(x_m, y_m)
            }
            Self::Slide => pressed_m + Vector2::new(0.0, 0.02 * (1.0 - ((time_s % 4.0) - 2.0).abs())),
            Self::Tap => Vector2::new(-wave(depth_m, 3.0), 0.0),
            Self::PressSlowly => Vector2::new(-depth_m * (1.0 - (time_s % 8.0 / 4.0 - 1.0).abs()), 0.0),
        }
    }
}

/// What a hand felt.
#[derive(Clone, Copy, Debug)]
pub struct Felt {
    /// Share of the requested force that passed.
    pub passed: f64,
    /// Mean stiffness in the last second of contact, N/m.
    pub stiffness_n_per_m: f64,
    /// First time at which the tank reduced the force, s.
    pub first_cut_s: Option<f64>,
}

/// Lets a hand touch a wall of the given stiffness and damping.
pub fn touch(device: &Device, task: Task, stiffness_n_per_m: f64, damping_n_s_per_m: f64, seconds: f64) -> Felt {
    let mut tank = Tank::new(&tank_settings(device), StoredEnergy::default());
    let mut motor = Motor::new(device);
    let (mut random, mut segments) = (Random(1), Vec::with_capacity(4));
    let (mut position_m, mut velocity) = (task.target_m(0.0, stiffness_n_per_m), Vector2::<f64>::zeros());
    let read = |position_m: Vector2<f64>| {
        let step_m = device.encoder_step_m;
        if step_m > 0.0 { position_m.map(|x_m| (x_m / step_m + 0.3).floor() * step_m) } else { position_m }
    };
    let mut last_m = read(position_m);
    let (mut wanted_sum, mut given_sum, mut late_force, mut late_depth) = (0.0, 0.0, 0.0, 0.0);
    let mut first_cut_s = None;
    let ticks = (seconds / TICK_S) as u32;
    for tick in 0..ticks {
        let is_lost = device.link.lost > 0.0 && random.between(0.0, 1.0) < device.link.lost;
        let reading_m = if is_lost { last_m } else { read(position_m) };
        let moved_m = reading_m - std::mem::replace(&mut last_m, reading_m);
        let depth_m = (-reading_m.x).max(0.0);
        let normal_n = if depth_m > 0.0 {
            (stiffness_n_per_m * depth_m - damping_n_s_per_m * moved_m.x / TICK_S).max(0.0)
        } else {
            0.0
        };
        let sliding = (velocity.y / 0.002).clamp(-1.0, 1.0);
        let rubbed_n = if task == Task::Slide { -FRICTION * normal_n * sliding } else { 0.0 };
        let wanted_n = Vector2::new(normal_n, rubbed_n);
        tank.expect(wanted_n);
        let total_j = 0.5 * stiffness_n_per_m * depth_m * depth_m;
        if is_lost {
            tank.skip_reading(TICK_S);
        } else {
            tank.observe(reading_m, TICK_S, StoredEnergy { total_j, height_j: 0.0 }, true);
        }
        let given_n = tank.admit(wanted_n, Vector2::zeros());
        motor.send(given_n, &mut random);
        wanted_sum += wanted_n.norm();
        given_sum += given_n.norm();
        if given_n != wanted_n {
            first_cut_s = first_cut_s.or(Some(f64::from(tick) * TICK_S));
        }
        if depth_m > 0.0 && tick + 1000 > ticks {
            late_force += given_n.x;
            late_depth += depth_m;
        }
        motor.advance(TICK_S, &mut segments);
        let step_s = TICK_S / f64::from(SUBSTEPS);
        for substep in 0..SUBSTEPS {
            let time_s = f64::from(tick) * TICK_S + f64::from(substep) * step_s;
            let target_m = task.target_m(time_s, stiffness_n_per_m);
            let toward = (task.target_m(time_s + step_s, stiffness_n_per_m) - target_m) / step_s;
            let mut begun_s = (f64::from(substep) + 0.5) * step_s;
            let acting = segments.iter().find(|segment| {
                begun_s -= segment.lasting_s;
                begun_s < 0.0
            });
            let force_n = acting.map_or(given_n, |segment| segment.force_n);
            let pull_n = (target_m - position_m) * HAND_N_PER_M + (toward - velocity) * HAND_N_S_PER_M;
            let pushed: Vector2<f64> = velocity + (force_n + pull_n) * (step_s / DEVICE_AND_HAND_KG);
            let damped = pushed / (1.0 + step_s * device.damping_n_s_per_m / DEVICE_AND_HAND_KG);
            let stopped = step_s * device.coulomb_n / DEVICE_AND_HAND_KG;
            velocity = damped.map(|speed| (speed.abs() - stopped).max(0.0).copysign(speed));
            position_m += velocity * step_s;
        }
    }
    Felt { passed: given_sum / wanted_sum, stiffness_n_per_m: late_force / late_depth, first_cut_s }
}
