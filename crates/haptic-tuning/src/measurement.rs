//! The trait for all measurements: readings in, efforts out, and zero force at the end in every case.

use crate::TICK_S;
use crate::excitation::GaveUp;
use haptic_device::{Device, Effort, Limits, MonotonicNs, Reading, WriteOutcome};
use haptic_loop::fault::Fault;
use haptic_loop::reading_monitor::{ReadingMonitor, Validity};
use haptic_loop::settings::Safety;
use haptic_planar::tick::TICK_NS;
use nalgebra::Vector2;
use std::fmt;

/// Maximum speed of the handle, m/s; a higher speed ends the measurement.
pub const MAX_SPEED_M_PER_S: f64 = 2.0;
/// Service rate for the age limits of readings, Hz: measurements serve the device in every tick.
const EVERY_TICK_HZ: f64 = 1000.0;

/// Limits of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasurementLimits {
    /// Maximum force, N.
    pub force_n: f64,
    /// Maximum distance of the handle from its start, in either direction, m.
    pub travel_m: f64,
}

/// Result of a measurement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum End {
    /// All steps were completed.
    Finished,
    /// The caller aborted the measurement.
    Aborted,
    /// The device failed or its readings are invalid.
    Fault(Fault),
    /// The handle moved too far from its start.
    OutOfTravel {
        /// Index of the axis.
        axis: usize,
        /// Distance from the start, m; signed.
        distance_m: f64,
        /// Maximum distance, m.
        limit_m: f64,
    },
    /// The excitation of an axis gave up.
    GaveUp {
        /// Index of the axis.
        axis: usize,
        /// Reason for giving up.
        why: GaveUp,
    },
}

/// A measurement on a device, driven tick by tick.
pub trait Measurement {
    /// Handles a reading taken `periods` periods after the previous one (more than one if ticks were skipped) and
    /// returns the effort to write. After the end, all efforts are zero. Real-time: no allocation, lock, wait or log.
    fn tick(&mut self, reading: &Reading, periods: u32) -> Effort;

    /// Records the write outcome of this tick's effort. Real-time: same as [`Self::tick`].
    fn acknowledge(&mut self, outcome: WriteOutcome);

    /// Returns the result; `None` while the measurement runs.
    fn end(&self) -> Option<End>;

    /// Aborts the measurement; the next effort is zero.
    fn abort(&mut self);

    /// Returns the progress, 0 to 1, and the name of the current step.
    fn progress(&self) -> (f64, &'static str);
}

/// Runs a measurement in virtual time, closes the device and returns the result.
pub fn run_in_virtual_time(measurement: &mut impl Measurement, device: &mut dyn Device) -> End {
    let mut now = MonotonicNs(0);
    let end = loop {
        now = now.after(TICK_NS);
        let effort = measurement.tick(&device.read(now), 1);
        let outcome = device.write(effort, now);
        measurement.acknowledge(outcome);
        if let Some(end) = measurement.end() {
            break end;
        }
    };
    device.write(Effort::zero(), now);
    device.close();
    end
}

/// Result of checking a reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// Handle position, m, if the reading is recent enough to compute a force from it.
    pub trusted_m: Option<Vector2<f64>>,
    /// Handle position, m, if the reading is fresh.
    pub new_m: Option<Vector2<f64>>,
    /// Reason to end the measurement, if any.
    pub end: Option<End>,
}

/// Monitors readings, speed and travel.
#[derive(Clone, Debug)]
pub struct Monitor {
    monitor: ReadingMonitor,
    axes: usize,
    travel_m: f64,
    home_m: Option<Vector2<f64>>,
}

impl Monitor {
    /// Creates a monitor for a device with `axes` axes.
    pub fn new(axes: usize, limits: &MeasurementLimits) -> Self {
        let safety = Safety { max_speed_m_per_s: MAX_SPEED_M_PER_S, ..Safety::default() };
        Self { monitor: ReadingMonitor::new(&safety, EVERY_TICK_HZ), axes, travel_m: limits.travel_m, home_m: None }
    }

    /// Makes the next position the new start, from which the travel is measured.
    pub fn restart(&mut self) {
        self.home_m = None;
    }

    /// Checks a reading. Real-time: constant.
    pub fn look(&mut self, reading: &Reading, periods: u32) -> Seen {
        let hand = self.monitor.check(reading, f64::from(periods) * TICK_S);
        let new_m = hand.position_m.filter(|_| hand.is_new);
        match hand.validity {
            Validity::Faulted(fault) => Seen { trusted_m: None, new_m, end: Some(End::Fault(fault)) },
            Validity::Stale => Seen { trusted_m: None, new_m, end: None },
            Validity::Good => {
                let end = hand.position_m.and_then(|position_m| self.strayed(position_m));
                Seen { trusted_m: hand.position_m, new_m, end }
            }
        }
    }

    fn strayed(&mut self, position_m: Vector2<f64>) -> Option<End> {
        let way_m = position_m - *self.home_m.get_or_insert(position_m);
        let axis = (0..self.axes).find(|&axis| way_m[axis].abs() > self.travel_m)?;
        Some(End::OutOfTravel { axis, distance_m: way_m[axis], limit_m: self.travel_m })
    }
}

/// Returns the travel available in both directions on every axis from `position_m`, m, at most `wanted_m`.
pub fn travel_within(limits: &Limits, axes: usize, position_m: Vector2<f64>, wanted_m: f64) -> f64 {
    let free_m =
        |axis: usize| (limits.travel_max_m[axis] - position_m[axis]).min(position_m[axis] - limits.travel_min_m[axis]);
    (0..axes).map(free_m).fold(wanted_m, f64::min)
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Finished => write!(f, "finished"),
            Self::Aborted => write!(f, "aborted"),
            Self::Fault(Fault::Lost { .. }) => write!(f, "the device was lost; check its plug and power supply"),
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::OutOfTravel { axis, distance_m, limit_m } => write!(
                f,
                "axis {} moved {:.1} mm from its start, the limit is {:.1} mm; keep hands off the handle, or raise the limit \
                 with --travel-m",
                axis + 1,
                distance_m * 1e3,
                limit_m * 1e3
            ),
            Self::GaveUp { axis, why } => {
                write!(f, "axis {}: ", axis + 1)?;
                write_gave_up(f, why)
            }
        }
    }
}

fn write_gave_up(f: &mut fmt::Formatter<'_>, why: &GaveUp) -> fmt::Result {
    match why {
        GaveUp::MovesByItself { distance_m } => write!(
            f,
            "the handle moved {:.2} mm before any force was applied; release it and wait until it is at rest",
            distance_m.abs() * 1e3
        ),
        GaveUp::DoesNotMove { force_n } => write!(
            f,
            "the encoder did not move with up to {force_n:.2} N; check the motor's power, the encoder's wiring, that the \
             handle is free, and axes and port in the device file"
        ),
        GaveUp::MovesBackwards { force_n } => write!(
            f,
            "the handle moves against the force ({force_n:.3} N); change reverse_force_x or reverse_force_y in the device file"
        ),
    }
}
