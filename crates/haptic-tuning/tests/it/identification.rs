//! Measurements of random simulated devices, and the errors of measurements that cannot work.

use crate::common::{measured, random_device};
use haptic_device::{Device, Identity, Limits, MonotonicNs, SimulatedDevice};
use haptic_device::{DeviceModel, Effort, FaultPlan, FaultyDevice, HandModel, InjectedFault, Reading, WriteOutcome};
use haptic_tuning::encoder::EncoderStep;
use haptic_tuning::estimate::{AxisEstimate, EstimateError, Interval, estimate};
use haptic_tuning::excitation::GaveUp;
use haptic_tuning::experiment::Experiment;
use haptic_tuning::measurement::{End, Measurement, MeasurementLimits};

/// Returns the number of devices to measure. An environment variable can raise it to estimate the error rate.
fn devices() -> u64 {
    std::env::var("HAPTIC_TUNING_DEVICES").map_or(30, |text| text.parse().expect("a whole number of devices"))
}

/// Returns the name, estimate, true value and tolerance of each measured quantity.
fn compared(found: &AxisEstimate, model: &DeviceModel) -> [(&'static str, Interval, f64, f64); 5] {
    let step_m = match found.grid {
        EncoderStep::Step(step_m) => step_m,
        EncoderStep::None { .. } | EncoderStep::Unknown => f64::NAN,
    };
    let (mass, damping, coulomb) = (model.mass_kg[0], model.damping_n_s_per_m[0], model.coulomb_n[0]);
    let step = Interval { value: step_m, plus_minus: 0.0 };
    [
        ("mass", found.mass_kg, mass, 0.05 * mass),
        ("damping", found.damping_n_s_per_m, damping, (0.05 * damping).max(0.02)),
        ("coulomb", found.coulomb_n, coulomb, (0.15 * coulomb).max(0.01)),
        ("delay", found.delay_s, model.delay_s[0], 0.15e-3),
        ("step", step, model.encoder_step_m[0], 1e-12 * model.encoder_step_m[0]),
    ]
}

/// Returns the errors of an estimate; empty if it is correct.
fn errors(found: &AxisEstimate, model: &DeviceModel) -> Vec<String> {
    let is_right = |value: f64, truth: f64, allowed: f64| (value - truth).abs() <= allowed;
    let wrong = compared(found, model)
        .into_iter()
        .filter(|(_, found, truth, allowed)| !is_right(found.value, *truth, *allowed));
    wrong.map(|(name, found, truth, _)| format!("{name} {} for {truth}", found.value)).collect()
}

#[test]
fn random_devices_are_measured_correctly_or_with_a_doubt() {
    let (mut right, mut rejected) = (0, Vec::new());
    for seed in 0..devices() {
        let model = random_device(seed);
        match measured(&model, 4.0) {
            Err(refusal) => rejected.push(format!("{seed}: {refusal}: {model:?}")),
            Ok(found) => {
                let wrong = errors(&found, &model);
                assert!(
                    wrong.is_empty() || !found.doubts.is_empty(),
                    "{seed}: {wrong:?} in silence; {model:?} {found:?}"
                );
                right += u64::from(wrong.is_empty());
            }
        }
    }
    println!("{right} right of {}, {} refused or doubted", devices(), rejected.len());
    assert!(right * 30 >= 28 * devices(), "{right} right of {}; {rejected:#?}", devices());
}

#[test]
fn weak_and_strong_motors_give_the_same_answers() {
    for seed in 100..104 {
        for max_force_n in [1.0, 20.0] {
            let model = DeviceModel { max_force_n: [max_force_n; 2], ..random_device(seed) };
            let found = measured(&model, max_force_n).unwrap_or_else(|refusal| panic!("{seed}: {refusal}"));
            assert!(errors(&found, &model).is_empty(), "{seed} with {max_force_n} N: {:?}", errors(&found, &model));
        }
    }
}

#[test]
fn intervals_contain_the_truth_most_of_the_time() {
    let (mut held, mut all) = (0, 0);
    for seed in 200..200 + devices() {
        let model = random_device(seed);
        let found = measured(&model, 4.0).unwrap_or_else(|refusal| panic!("{seed}: {refusal} {model:?}"));
        for (_, interval, truth, _) in &compared(&found, &model)[..4] {
            held += u64::from((interval.value - truth).abs() <= interval.plus_minus);
            all += 1;
        }
    }
    println!("{held} of {all} intervals hold the truth");
    assert!(held * 100 >= 85 * all, "{held} of {all} intervals of 95 % hold the truth");
}

/// A device that scales efforts by `gain` and saturates at `limit_n`.
struct Weak {
    device: SimulatedDevice,
    limit_n: f64,
    gain: f64,
}

impl Device for Weak {
    fn identity(&self) -> &Identity {
        self.device.identity()
    }

    fn limits(&self) -> &Limits {
        self.device.limits()
    }

    fn read(&mut self, now: MonotonicNs) -> Reading {
        self.device.read(now)
    }

    fn write(&mut self, effort: Effort, now: MonotonicNs) -> WriteOutcome {
        let clipped = effort.force_n.map(|force| (self.gain * force).clamp(-self.limit_n, self.limit_n));
        self.device.write(Effort { force_n: clipped }, now)
    }

    fn close(&mut self) {
        self.device.close();
    }
}

fn free() -> SimulatedDevice {
    SimulatedDevice::new(1, &DeviceModel::default(), None).unwrap()
}

/// Runs a measurement to its end and returns it with the last effort.
fn driven(device: &mut dyn Device) -> (Experiment, Effort) {
    let mut experiment = Experiment::new(1, &MeasurementLimits { force_n: 4.0, travel_m: 0.02 });
    let mut last = Effort::zero();
    while experiment.end().is_none() {
        last = experiment.tick(&device.read(MonotonicNs(0)), 1);
        let sent = device.write(last, MonotonicNs(0));
        experiment.acknowledge(sent);
    }
    (experiment, last)
}

#[test]
fn a_saturating_motor_is_reported_with_its_force() {
    for limit_n in [0.8, 1.5, 2.8] {
        let (experiment, _) = driven(&mut Weak { device: free(), limit_n, gain: 1.0 });
        let Err(EstimateError::Saturates { at_n, requested_n }) = estimate(&experiment.recordings()[0]) else {
            panic!("{:?} {:?}", experiment.end(), estimate(&experiment.recordings()[0]));
        };
        assert!((at_n / limit_n - 1.0).abs() < 0.2, "{at_n} for {limit_n}");
        assert_eq!(requested_n, 4.0);
    }
}

#[test]
fn a_wrong_force_scale_changes_mass_and_frictions_alike_and_nothing_else() {
    let (experiment, _) = driven(&mut Weak { device: free(), limit_n: 10.0, gain: 0.8 });
    let found = estimate(&experiment.recordings()[0]).unwrap();
    assert!((found.mass_kg.value * 0.8 / 0.1 - 1.0).abs() < 0.01, "{found:?}");
    assert!((found.damping_n_s_per_m.value * 0.8 / 0.5 - 1.0).abs() < 0.02, "{found:?}");
    assert!((found.delay_s.value - 0.0003).abs() < 2e-5, "{found:?}");
}

#[test]
fn an_encoder_that_does_not_move_ends_it_at_zero_force() {
    let stuck = DeviceModel { coulomb_n: [5.0; 2], ..DeviceModel::default() };
    let (experiment, last) = driven(&mut SimulatedDevice::new(1, &stuck, None).unwrap());
    assert!(matches!(experiment.end(), Some(End::GaveUp { axis: 0, why: GaveUp::DoesNotMove { .. } })));
    assert!(experiment.end().unwrap().to_string().contains("encoder did not move"));
    assert_eq!(last, Effort::zero());
}

#[test]
fn a_reversed_motor_is_reported_before_it_runs_away() {
    let (experiment, last) = driven(&mut Weak { device: free(), limit_n: 10.0, gain: -1.0 });
    assert!(matches!(experiment.end(), Some(End::GaveUp { why: GaveUp::MovesBackwards { .. }, .. })));
    assert!(experiment.recordings()[0].extent_m() < 1e-3);
    assert_eq!(last, Effort::zero());
}

#[test]
fn a_device_unplugged_midway_ends_it_at_zero_force() {
    let plan = FaultPlan { scheduled: vec![(3000, InjectedFault::Loss { ticks: 10_000 })], ..FaultPlan::default() };
    let (experiment, last) = driven(&mut FaultyDevice::new(free(), plan));
    assert!(matches!(experiment.end(), Some(End::Fault(_))), "{:?}", experiment.end());
    assert_eq!(last, Effort::zero());
}

#[test]
fn a_device_in_a_hand_is_not_measured() {
    let path = vec![[0.0, 0.0, 0.0]];
    let hand = HandModel { path, looped: false, ..HandModel::default() };
    let (experiment, _) = driven(&mut SimulatedDevice::new(1, &DeviceModel::default(), Some(&hand)).unwrap());
    let answer = estimate(&experiment.recordings()[0]);
    assert!(matches!(answer, Err(EstimateError::NoModel { .. })), "{:?} {answer:?}", experiment.end());
}

#[test]
fn a_wandering_hand_is_asked_to_release_the_handle() {
    let hand = HandModel { path: vec![[0.0, 0.0, 0.0], [1.0, 0.1, 0.0], [2.0, 0.0, 0.0]], ..HandModel::default() };
    let (experiment, _) = driven(&mut SimulatedDevice::new(1, &DeviceModel::default(), Some(&hand)).unwrap());
    assert!(experiment.end().unwrap().to_string().contains("release it"), "{:?}", experiment.end());
}

#[test]
fn readings_lost_now_and_then_cost_little() {
    let mut plan = FaultPlan { seed: 7, ..FaultPlan::default() };
    (plan.chance.dropped, plan.chance.write_busy) = (0.05, 0.02);
    let (experiment, _) = driven(&mut FaultyDevice::new(free(), plan));
    let found = estimate(&experiment.recordings()[0]).unwrap();
    assert!(errors(&found, &DeviceModel::default()).is_empty(), "{found:?}");
}
