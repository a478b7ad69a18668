//! The check of the signs of motors and encoders, on handles and hands of many kinds.

use crate::common::{floor_and_tool, run, settings, world};
use haptic_coupling::model::WorstAxisModel;
use haptic_device::config::ReversedAxes;
use haptic_device::simulated::{DeviceModel, HandModel, SimulatedDevice};
use haptic_device::xorshift::Xorshift;
use haptic_device::{Device, FaultPlan, FaultyDevice, InjectedFault, MonotonicNs, PacedDevice, ReversedDevice};
use haptic_loop::command::Command;
use haptic_loop::engagement::Phase;
use haptic_loop::fault::Fault;
use haptic_loop::motor_set::MotorSet;
use haptic_loop::report::TickReport;
use haptic_loop::settings::Settings;
use haptic_loop::sign_check::{Motors, NUDGE_N, Sign};
use haptic_loop::tick::HapticLoop;
use haptic_planar::checkpoint::Checkpoint;
use std::f64::consts::TAU;

/// Ticks within which every check ends and the force begins to ramp up.
const ENDED: u64 = 700;

/// A handle and the hand that holds it.
#[derive(Clone, Debug, Default)]
struct Case {
    model: DeviceModel,
    hand: Option<HandModel>,
    /// Ticks between two services.
    every: u32,
}

impl Case {
    /// Returns a handle with any dynamics and sensors, held by `hand`.
    fn any(random: &mut Xorshift, hand: Option<HandModel>) -> Self {
        let model = DeviceModel {
            mass_kg: [random.between(0.05, 0.5); 2],
            damping_n_s_per_m: [random.between(0.0, 2.0); 2],
            coulomb_n: [random.between(0.0, 0.15); 2],
            encoder_step_m: [random.between(1e-6, 1e-4); 2],
            delay_s: [random.between(0.0, 0.008); 2],
            ..DeviceModel::default()
        };
        Self { model, hand, every: [1, 1, 2, 4, 10][random.between(0.0, 5.0) as usize % 5] }
    }

    fn device(&self, reversed: ReversedAxes) -> Box<dyn Device> {
        let device = SimulatedDevice::new(2, &self.model, self.hand.as_ref()).unwrap();
        Box::new(PacedDevice::new(ReversedDevice::new(device, reversed), self.every))
    }

    fn signs(&self, reversed: ReversedAxes) -> [Sign; 2] {
        let mut rendering = checked(self.device(reversed), self.model.encoder_step_m[0]);
        run(&mut rendering, ENDED, |_| {});
        let signs: Vec<Sign> = rendering.sign_check().signs().collect();
        signs.try_into().unwrap()
    }
}

/// Returns a loop that checks the signs of two axes.
fn checked(device: Box<dyn Device>, encoder_step_m: f64) -> HapticLoop {
    checked_with(device, encoder_step_m, &settings(400.0, 0.1))
}

fn checked_with(device: Box<dyn Device>, encoder_step_m: f64, settings: &Settings) -> HapticLoop {
    let motors = Motors { count: 2, linkage: None, encoder_step_m };
    let world = world(&floor_and_tool(0.0));
    HapticLoop::new(device, &WorstAxisModel::default(), world, settings).unwrap().with_sign_check(motors)
}

fn plain() -> Box<dyn Device> {
    Case { every: 1, ..Case::default() }.device(ReversedAxes::default())
}

/// Returns a handle whose y axis is reversed.
fn reversed_y() -> Box<dyn Device> {
    Case { every: 1, ..Case::default() }.device(ReversedAxes { position: [false, true], ..ReversedAxes::default() })
}

/// Returns a hand that swings along a line.
fn swinging_hand(random: &mut Xorshift) -> HandModel {
    let (amplitude_m, hertz, phase) = (random.between(0.0, 0.03), random.between(0.2, 3.0), random.between(0.0, TAU));
    let (sine, cosine) = random.between(0.0, TAU).sin_cos();
    let row = |row: u32| {
        let time_s = f64::from(row) * 0.01;
        let place_m = amplitude_m * (phase + time_s * hertz * TAU).sin();
        [time_s, place_m * cosine, place_m * sine]
    };
    HandModel { path: (0..200).map(row).collect(), looped: false, ..holding_hand(random) }
}

fn holding_hand(random: &mut Xorshift) -> HandModel {
    HandModel {
        stiffness_n_per_m: random.between(100.0, 1000.0),
        damping_n_s_per_m: random.between(1.0, 10.0),
        mass_kg: random.between(0.1, 0.6),
        path: vec![[0.0, 0.01, 0.02]],
        looped: false,
    }
}

/// Numbers of signs found: as they are, not, and wrong.
fn tally(cases: impl Iterator<Item = Case>) -> [u32; 3] {
    let mut counts = [0; 3];
    for case in cases {
        for force in [[false, false], [true, false], [false, true]] {
            let signs = case.signs(ReversedAxes { force, ..ReversedAxes::default() });
            for (sign, is_reversed) in signs.into_iter().zip(force) {
                let truth = if is_reversed { Sign::Reversed } else { Sign::Right };
                let index = [truth, Sign::Unknown].iter().position(|known| *known == sign).unwrap_or(2);
                counts[index] += 1;
            }
        }
    }
    counts
}

#[test]
fn a_handle_that_nobody_holds_shows_its_signs() {
    let mut random = Xorshift::new(11);
    let [found, unknown, wrong] = tally((0..150).map(|_| Case::any(&mut random, None)));
    assert_eq!(wrong, 0);
    assert!(unknown * 20 < found, "{unknown} unknown, {found} found");
}

#[test]
fn a_hand_at_rest_hides_few_signs_and_turns_none_round() {
    let mut random = Xorshift::new(12);
    let cases = (0..150).map(|_| {
        let hand = holding_hand(&mut random);
        Case::any(&mut random, Some(hand))
    });
    let [found, unknown, wrong] = tally(cases);
    assert_eq!(wrong, 0);
    assert!(unknown * 2 < found, "{unknown} unknown, {found} found");
}

#[test]
fn a_hand_in_motion_turns_no_sign_round() {
    let mut random = Xorshift::new(13);
    let cases = (0..300).map(|_| {
        let hand = swinging_hand(&mut random);
        Case::any(&mut random, Some(hand))
    });
    let [found, _, wrong] = tally(cases);
    assert_eq!(wrong, 0);
    assert!(found > 300, "{found} found");
}

#[test]
fn motor_and_encoder_both_reversed_look_right() {
    let both = ReversedAxes { force: [true, false], position: [true, false] };
    assert_eq!(Case { every: 1, ..Case::default() }.signs(both), [Sign::Right; 2]);
}

#[test]
fn a_handle_that_cannot_move_has_no_sign_and_the_force_comes_on() {
    let model = DeviceModel { coulomb_n: [0.5; 2], ..DeviceModel::default() };
    let case = Case { model, every: 1, ..Case::default() };
    assert_eq!(case.signs(ReversedAxes { force: [true; 2], ..ReversedAxes::default() }), [Sign::Unknown; 2]);
    let mut rendering = checked(case.device(ReversedAxes::default()), 1e-5);
    run(&mut rendering, ENDED + 300, |_| {});
    assert_eq!(rendering.last().phase, Phase::Engaged);
}

/// Returns the ticks of the first and the last effort before the force begins to ramp up, and the largest component.
fn nudge(rendering: &mut HapticLoop) -> (u64, u64, f64) {
    let (mut first, mut last, mut largest_n) = (0, 0, 0.0_f64);
    run(rendering, ENDED, |report| {
        if report.phase == Phase::Waiting && report.effort_n.amax() > 0.0 {
            first = if first == 0 { report.tick } else { first };
            (last, largest_n) = (report.tick, largest_n.max(report.effort_n.amax()));
        }
    });
    (first, last, largest_n)
}

#[test]
fn the_nudge_is_weak_and_short_and_the_ramp_starts_within_a_second() {
    let mut rendering = checked(plain(), 1e-5);
    let (first, last, largest_n) = nudge(&mut rendering);
    assert!(first > 0 && last - first < 300, "ticks {first} to {last}");
    assert_eq!(largest_n, NUDGE_N);
    assert_eq!(rendering.last().phase, Phase::Ramping);
}

#[test]
fn the_nudge_rises_no_faster_than_the_slew_limit() {
    let mut settings = settings(400.0, 0.1);
    settings.safety.slew_n_per_s = 50.0;
    let mut rendering = checked_with(plain(), 1e-5, &settings);
    let (mut last_n, mut rises) = (0.0_f64, 0);
    run(&mut rendering, ENDED, |report| {
        let effort_n = report.effort_n.norm();
        assert!(effort_n <= last_n + 0.05 + 1e-12, "tick {}: {last_n} N to {effort_n} N", report.tick);
        rises += u32::from(effort_n > last_n);
        last_n = effort_n;
    });
    assert!(rises > 8, "{rises}");
}

#[test]
fn signs_are_not_checked_again_after_a_fault_a_pause_or_a_stop() {
    let faults =
        FaultPlan { scheduled: vec![(1500, InjectedFault::Jump { distance_m: 0.05 })], ..FaultPlan::default() };
    let mut rendering = checked(Box::new(FaultyDevice::new(plain(), faults)), 1e-5);
    run(&mut rendering, 1400, |_| {});
    let mut waiting_n = 0.0_f64;
    let mut watch = |report: &TickReport| {
        let is_off = report.phase == Phase::Waiting || report.paused;
        waiting_n = waiting_n.max(if is_off { report.effort_n.amax() } else { 0.0 });
    };
    run(&mut rendering, 600, &mut watch);
    for command in [Command::Pause, Command::Resume, Command::Stop, Command::Release] {
        rendering.apply(command);
        run(&mut rendering, 600, &mut watch);
    }
    assert_eq!(rendering.counters().faults, 2, "the jump and the stop");
    assert_eq!((waiting_n, rendering.last().phase), (0.0, Phase::Engaged));
}

#[test]
fn a_reversed_axis_is_a_fault_without_force_until_the_end() {
    let mut rendering = checked(reversed_y(), 1e-5);
    let mut faults = Vec::new();
    run(&mut rendering, ENDED, |report| faults.extend(report.fault));
    let motors = MotorSet { first: false, second: true, are_arms: false };
    assert_eq!(faults, [Fault::ReversedAxis(motors)]);
    rendering.apply(Command::Release);
    run(&mut rendering, 1000, |report| {
        assert_eq!((report.effort_n.amax(), report.phase), (0.0, Phase::Stopped));
    });
}

#[test]
fn a_stop_ends_the_nudge_and_its_signs_stay_unknown() {
    let mut rendering = checked(reversed_y(), 1e-5);
    run(&mut rendering, 260, |_| {});
    assert!(rendering.last().effort_n.amax() > 0.0);
    rendering.apply(Command::Stop);
    run(&mut rendering, 100, |report| assert_eq!(report.effort_n.amax(), 0.0));
    assert!(rendering.sign_check().signs().all(|sign| sign == Sign::Unknown));
}

#[test]
fn a_loop_continues_from_a_checkpoint_in_the_middle_of_the_check() {
    let new = || checked(reversed_y(), 1e-5);
    let mut rendering = new();
    run(&mut rendering, 300, |_| {});
    let mut image = Checkpoint::with_capacity(rendering.world().checkpoint_words());
    rendering.write_checkpoint(&mut image);
    let mut readings = Vec::new();
    let mut efforts = Vec::new();
    run(&mut rendering, 400, |report| {
        readings.push(report.reading);
        efforts.push((report.effort_n, report.fault));
    });
    let mut again = checked(Box::new(Replayed { device: plain(), readings: readings.into_iter() }), 1e-5);
    again.read_checkpoint(&image).unwrap();
    let mut repeated = Vec::new();
    run(&mut again, 400, |report| repeated.push((report.effort_n, report.fault)));
    assert_eq!(repeated, efforts);
}

/// A device that returns readings of another one.
struct Replayed {
    device: Box<dyn Device>,
    readings: std::vec::IntoIter<haptic_device::Reading>,
}

impl Device for Replayed {
    fn identity(&self) -> &haptic_device::Identity {
        self.device.identity()
    }

    fn limits(&self) -> &haptic_device::Limits {
        self.device.limits()
    }

    fn read(&mut self, _now: MonotonicNs) -> haptic_device::Reading {
        self.readings.next().unwrap_or_default()
    }

    fn write(&mut self, effort: haptic_device::Effort, now: MonotonicNs) -> haptic_device::WriteOutcome {
        self.device.write(effort, now)
    }

    fn close(&mut self) {}
}
