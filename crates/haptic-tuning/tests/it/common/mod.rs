//! Random devices and their measurement.

use haptic_device::xorshift::Xorshift;
use haptic_device::{DeviceModel, SimulatedDevice};
use haptic_tuning::estimate::{AxisEstimate, estimate};
use haptic_tuning::experiment::Experiment;
use haptic_tuning::measurement::{End, MeasurementLimits, run_in_virtual_time};

/// Returns a random device from the usual range, logarithmically distributed. Some devices have no dry friction.
pub fn random_device(seed: u64) -> DeviceModel {
    let mut random = Xorshift::new(seed);
    let mut between = |low: f64, high: f64| low * libm::pow(high / low, random.unit());
    let (mass, damping, step) = (between(0.02, 0.5), between(0.05, 3.0), between(1e-6, 5e-5));
    let coulomb = if random.unit() < 0.15 { 0.0 } else { random.between(0.0, 0.3) };
    DeviceModel {
        mass_kg: [mass; 2],
        damping_n_s_per_m: [damping; 2],
        coulomb_n: [coulomb; 2],
        encoder_step_m: [step; 2],
        delay_s: [random.between(0.0, 0.002); 2],
        max_force_n: [4.0; 2],
    }
}

/// Measures a one-axis device without a hand.
pub fn measured(model: &DeviceModel, force_n: f64) -> Result<AxisEstimate, String> {
    let mut device = SimulatedDevice::new(1, model, None).unwrap();
    let mut experiment = Experiment::new(1, &MeasurementLimits { force_n, travel_m: 0.02 });
    match run_in_virtual_time(&mut experiment, &mut device) {
        End::Finished => estimate(&experiment.recordings()[0]).map_err(|misfit| misfit.to_string()),
        end => Err(end.to_string()),
    }
}
