//! Checks the signs of motors and encoders before a measurement on hardware.

use crate::TICK_S;
use crate::measurement::{End, MAX_SPEED_M_PER_S, Measurement};
use haptic_device::{Effort, Reading, WriteOutcome};
use haptic_loop::fault::Fault;
use haptic_loop::motor_set::MotorSet;
use haptic_loop::reading_monitor::ReadingMonitor;
use haptic_loop::settings::Safety;
use haptic_loop::sign_check::{Motors, Sign, SignCheck};
use nalgebra::Vector2;

/// What happens to an axis whose motor is reversed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reversal {
    /// Its efforts are reversed.
    Correct,
    /// The measurement ends with a fault.
    Reject,
}

/// A measurement after a check of the signs. Reversed arms always end it: their efforts cannot be reversed one by one.
#[derive(Clone, Debug)]
pub struct Signed<M> {
    check: SignCheck,
    reversal: Reversal,
    readings: ReadingMonitor,
    /// Axes whose efforts are reversed, once the check is done.
    reversed: Option<MotorSet>,
    /// Reason why the measurement does not begin, if any.
    end: Option<End>,
    measurement: M,
}

impl<M: Measurement> Signed<M> {
    /// Checks these motors before `measurement`; `None` for a device whose signs are known.
    pub fn new(measurement: M, motors: Option<Motors>, reversal: Reversal) -> Self {
        let safety = Safety { max_speed_m_per_s: MAX_SPEED_M_PER_S, ..Safety::default() };
        let readings = ReadingMonitor::new(&safety, 1.0 / TICK_S);
        Self { check: SignCheck::new(motors), reversal, readings, reversed: None, end: None, measurement }
    }

    /// The measurement.
    pub fn measurement(&self) -> &M {
        &self.measurement
    }

    /// Axes whose efforts have been reversed.
    pub fn reversed(&self) -> Option<MotorSet> {
        self.reversed
    }

    fn check_signs(&mut self, reading: &Reading, periods: u32) -> Effort {
        let hand = self.readings.check(reading, f64::from(periods) * TICK_S);
        let force_n = self.check.advance(&hand, reading.age_ns as f64 * 1e-9, periods);
        if let Some(motors) = self.check.motors_with(Sign::Reversed) {
            let is_rejected = motors.are_arms || self.reversal == Reversal::Reject;
            self.reversed = Some(motors).filter(|_| !is_rejected);
            self.end = is_rejected.then_some(End::Fault(Fault::ReversedAxis(motors)));
        }
        Effort { force_n }
    }

    fn signs(&self) -> Vector2<f64> {
        let sign = |is_reversed: fn(&MotorSet) -> bool| {
            if self.reversed.as_ref().is_some_and(is_reversed) { -1.0 } else { 1.0 }
        };
        Vector2::new(sign(|motors| motors.first), sign(|motors| motors.second))
    }
}

impl<M: Measurement> Measurement for Signed<M> {
    fn tick(&mut self, reading: &Reading, periods: u32) -> Effort {
        if self.check.is_pending() {
            return self.check_signs(reading, periods);
        }
        if self.end.is_some() {
            return Effort::zero();
        }
        let effort = self.measurement.tick(reading, periods);
        Effort { force_n: effort.force_n.component_mul(&self.signs()) }
    }

    fn acknowledge(&mut self, outcome: WriteOutcome) {
        if !self.check.is_pending() && self.end.is_none() {
            self.measurement.acknowledge(outcome);
        }
    }

    fn end(&self) -> Option<End> {
        self.end.or_else(|| self.measurement.end())
    }

    fn abort(&mut self) {
        self.measurement.abort();
    }

    fn progress(&self) -> (f64, &'static str) {
        if self.check.is_pending() { (0.0, "checking signs") } else { self.measurement.progress() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::Experiment;
    use crate::measurement::{MeasurementLimits, run_in_virtual_time};
    use haptic_device::config::ReversedAxes;
    use haptic_device::{DeviceModel, ReversedDevice, SimulatedDevice};

    const MOTORS: Motors = Motors { count: 2, linkage: None, encoder_step_m: 1e-5 };

    fn run(reversed: ReversedAxes, reversal: Reversal) -> (Signed<Experiment>, End) {
        let device = SimulatedDevice::new(2, &DeviceModel::default(), None).unwrap();
        let mut device = ReversedDevice::new(device, reversed);
        let experiment = Experiment::new(2, &MeasurementLimits { force_n: 2.0, travel_m: 0.02 });
        let mut signed = Signed::new(experiment, Some(MOTORS), reversal);
        let end = run_in_virtual_time(&mut signed, &mut device);
        (signed, end)
    }

    #[test]
    fn a_reversed_axis_is_corrected_and_measured_or_rejected() {
        let reversed = ReversedAxes { force: [false, true], ..ReversedAxes::default() };
        let found = MotorSet { first: false, second: true, are_arms: false };
        let (signed, end) = run(reversed, Reversal::Correct);
        assert_eq!((signed.reversed(), end), (Some(found), End::Finished));
        let (signed, end) = run(reversed, Reversal::Reject);
        assert_eq!((signed.reversed(), end), (None, End::Fault(Fault::ReversedAxis(found))));
    }

    #[test]
    fn a_device_that_is_as_it_should_be_is_measured() {
        let (signed, end) = run(ReversedAxes::default(), Reversal::Correct);
        assert_eq!((signed.reversed(), end), (None, End::Finished));
    }
}
