//! Compares the stability limits, and tests the proposed gains on measured devices.

use crate::common::{measured, random_device};
use haptic_coupling::coupling::Gains;
use haptic_coupling::margins::{crisp_gains, passive_gains};
use haptic_coupling::model::{HandImpedance, WorstAxisModel};
use haptic_coupling::sampled::{max_stable_stiffness_n_per_m, spectral_radius};
use haptic_device::{FaultPlan, FaultyDevice, InjectedFault, SimulatedDevice};
use haptic_loop::settings::worst_axis;
use haptic_tuning::boundary::{Limits, dampings};
use haptic_tuning::decay_monitor::Verdict;
use haptic_tuning::encoder::EncoderStep;
use haptic_tuning::measurement::{End, Measurement, MeasurementLimits, run_in_virtual_time};
use haptic_tuning::spring_test::{DampingTrial, SpringTest};
use haptic_tuning::tap_test::TapTest;

const SOFT_HAND: HandImpedance = HandImpedance { mass_kg: 0.1, damping_n_s_per_m: 0.5, stiffness_n_per_m: 50.0 };
const STIFF_HAND: HandImpedance = HandImpedance { mass_kg: 0.3, damping_n_s_per_m: 5.0, stiffness_n_per_m: 1500.0 };

fn truth(seed: u64) -> WorstAxisModel {
    worst_axis(&random_device(seed), 1, 0.001)
}

/// Returns a device model as estimated by a measurement.
fn known(seed: u64) -> WorstAxisModel {
    let found = measured(&random_device(seed), 4.0).unwrap();
    let EncoderStep::Step(encoder_step_m) = found.grid else { panic!("no step for {seed}") };
    WorstAxisModel {
        mass_kg: found.mass_kg.value,
        damping_n_s_per_m: found.damping_n_s_per_m.value,
        coulomb_n: found.coulomb_n.value,
        encoder_step_m,
        delay_s: found.delay_s.value,
        ..WorstAxisModel::default()
    }
}

#[test]
fn without_friction_the_loop_becomes_unstable_where_the_eigenvalues_do() {
    for seed in 0..8 {
        let device = WorstAxisModel { coulomb_n: 0.0, max_force_n: 1e4, ..truth(seed) };
        for hand in [HandImpedance::default(), SOFT_HAND] {
            let tapped = TapTest::new(&device, &hand).unwrap();
            for damping in dampings(&device, &hand, 9).into_iter().step_by(2) {
                let Limits { simulated_n_per_m, .. } = Limits::of(&device, &hand, &tapped, damping);
                // Where the boundary is steep, a tenth of the damping is as small a deviation as a tenth of the
                // stiffness.
                let near =
                    [0.9, 1.0, 1.1].map(|fraction| max_stable_stiffness_n_per_m(&device, &hand, fraction * damping));
                let low = near.iter().copied().fold(f64::MAX, f64::min);
                let high = near.iter().copied().fold(0.0, f64::max);
                assert!(
                    (0.9 * low..=1.1 * high).contains(&simulated_n_per_m),
                    "{seed}, damping {damping}: {simulated_n_per_m} for {near:?}"
                );
            }
        }
    }
}

#[test]
fn dry_friction_only_ever_allows_more() {
    for seed in [3, 5, 7] {
        let rough = WorstAxisModel { coulomb_n: 0.1, max_force_n: 1e4, ..truth(seed) };
        let smooth = WorstAxisModel { coulomb_n: 0.0, ..rough };
        let limit = |device: &WorstAxisModel| {
            Limits::of(device, &SOFT_HAND, &TapTest::new(device, &SOFT_HAND).unwrap(), 0.3).simulated_n_per_m
        };
        assert!(limit(&rough) >= 0.98 * limit(&smooth), "{seed}: {} {}", limit(&rough), limit(&smooth));
    }
}

fn assert_stable(seed: u64, gains: &Gains, hand: &HandImpedance, name: &str) {
    let device = truth(seed);
    let (stiffness, damping) = (gains.stiffness_n_per_m, gains.damping_n_s_per_m);
    let radius = spectral_radius(&device, hand, stiffness, damping);
    assert!(radius < 1.0, "{seed}: {name} gains {gains:?} with {hand:?}: spectral radius {radius} on {device:?}");
    let verdict = TapTest::new(&device, hand).unwrap().verdict(stiffness, damping);
    assert_eq!(verdict, Verdict::Decays, "{seed}: {name} gains {gains:?} with {hand:?} on {device:?}");
}

#[test]
fn proposed_gains_are_stable_on_every_measured_device() {
    for seed in 0..30 {
        let known = known(seed);
        for hand in [HandImpedance::default(), SOFT_HAND, STIFF_HAND] {
            assert_stable(seed, &passive_gains(&known), &hand, "passive");
        }
        assert_stable(seed, &crisp_gains(&known, &HandImpedance::NOMINAL), &HandImpedance::NOMINAL, "crisp");
        assert!(
            crisp_gains(&known, &HandImpedance::NOMINAL).stiffness_n_per_m >= passive_gains(&known).stiffness_n_per_m
        );
    }
}

#[test]
fn springs_measured_on_a_device_become_unstable_where_theory_predicts() {
    for seed in [1, 2, 4, 5] {
        let device = WorstAxisModel { coulomb_n: 0.0, ..truth(seed) };
        let axes = haptic_device::DeviceModel { coulomb_n: [0.0; 2], ..random_device(seed) };
        let predicted = |damping| max_stable_stiffness_n_per_m(&device, &HandImpedance::default(), damping);
        let dampings = [0.1, 0.5, 2.0].map(|fraction| fraction * device.damping_n_s_per_m);
        let rungs =
            dampings.map(|damping| DampingTrial { damping_n_s_per_m: damping, predicted_n_per_m: predicted(damping) });
        let allowance = MeasurementLimits { force_n: 4.0, travel_m: 0.02 };
        let mut test = SpringTest::new(rungs.to_vec(), 1, &device, &allowance);
        let mut simulated = SimulatedDevice::new(1, &axes, None).unwrap();
        assert_eq!(run_in_virtual_time(&mut test, &mut simulated), End::Finished);
        for (found, rung) in test.found().iter().zip(rungs) {
            let ratio = found.stiffest_n_per_m / rung.predicted_n_per_m;
            assert!((0.8..1.1).contains(&ratio) && !found.is_at_least, "{seed}: {ratio} at {rung:?}");
        }
    }
}

#[test]
fn a_lost_device_ends_the_measurement_at_zero_force() {
    let rungs = vec![DampingTrial { damping_n_s_per_m: 0.1, predicted_n_per_m: 700.0 }];
    let mut test =
        SpringTest::new(rungs, 1, &WorstAxisModel::default(), &MeasurementLimits { force_n: 4.0, travel_m: 0.02 });
    let plan = FaultPlan { scheduled: vec![(900, InjectedFault::Loss { ticks: 10_000 })], ..FaultPlan::default() };
    let device = SimulatedDevice::new(1, &haptic_device::DeviceModel::default(), None).unwrap();
    let end = run_in_virtual_time(&mut test, &mut FaultyDevice::new(device, plan));
    assert!(matches!(end, End::Fault(_)), "{end}");
    assert_eq!(test.tick(&haptic_device::Reading::default(), 1), haptic_device::Effort::zero());
}
