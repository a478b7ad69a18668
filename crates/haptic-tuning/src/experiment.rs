//! The complete identification run: excites and records one axis after the other, within limits on force, speed and
//! travel.
//!
//! The run is the same for models in virtual time and for motors in real time. Its inputs are readings, and its outputs
//! are efforts. Every error ends the run with a final effort of zero.

use crate::excitation::{Bounds, Excitation};
use crate::measurement::{End, Measurement, MeasurementLimits, Monitor};
use crate::recording::Recording;
use haptic_device::{Effort, Reading, WriteOutcome};
use haptic_loop::fault::Fault;
use nalgebra::Vector2;

/// Fraction of the travel used by the excitation; the rest is a margin.
const REACH_FRACTION: f64 = 0.6;
/// Additional capacity of a recording for skipped periods, ticks per axis.
const SPARE_TICKS: usize = 2000;
/// Maximum number of rows recorded for one gap in the ticks.
const MAX_GAP: u32 = 100;

/// The identification run.
pub struct Experiment {
    axis: usize,
    excitations: Vec<Excitation>,
    recordings: Vec<Recording>,
    monitor: Monitor,
    /// Effort currently applied, N.
    acting_n: f64,
    /// Effort requested in this tick, N.
    requested_n: f64,
    position_m: f64,
    end: Option<End>,
}

impl Experiment {
    /// Creates a run over the first `axes` axes.
    pub fn new(axes: usize, limits: &MeasurementLimits) -> Self {
        let bounds = Bounds { force_n: limits.force_n, reach_m: REACH_FRACTION * limits.travel_m };
        let capacity = Excitation::max_ticks() + SPARE_TICKS;
        Self {
            axis: 0,
            excitations: (0..axes).map(|_| Excitation::new(bounds)).collect(),
            recordings: (0..axes).map(|_| Recording::with_capacity(capacity)).collect(),
            monitor: Monitor::new(axes, limits),
            acting_n: 0.0,
            requested_n: 0.0,
            position_m: f64::NAN,
            end: None,
        }
    }

    /// Returns the recordings, one per axis.
    pub fn recordings(&self) -> &[Recording] {
        &self.recordings
    }

    fn record_gap(&mut self, skipped: u32) {
        let acting_n = self.acting_n;
        let Some(recording) = self.recordings.get_mut(self.axis) else { return };
        (0..skipped.min(MAX_GAP)).for_each(|_| recording.push(f64::NAN, acting_n));
    }

    fn move_on(&mut self) {
        let excitation = &self.excitations[self.axis];
        if let Some(why) = excitation.gave_up() {
            self.end.get_or_insert(End::GaveUp { axis: self.axis, why });
        }
        if excitation.is_done() && self.end.is_none() {
            if self.axis + 1 < self.excitations.len() {
                self.axis += 1;
                self.acting_n = 0.0;
                self.monitor.restart();
            } else {
                self.end = Some(End::Finished);
            }
        }
    }
}

impl Measurement for Experiment {
    fn end(&self) -> Option<End> {
        self.end
    }

    fn abort(&mut self) {
        self.end.get_or_insert(End::Aborted);
    }

    fn progress(&self) -> (f64, &'static str) {
        let fraction: f64 = self.excitations.iter().map(Excitation::fraction).sum();
        let doing = self.excitations.get(self.axis).map_or("done", Excitation::doing);
        (fraction / self.excitations.len().max(1) as f64, doing)
    }

    /// Real-time: constant except for skipped periods, of which at most `MAX_GAP` are recorded.
    fn tick(&mut self, reading: &Reading, periods: u32) -> Effort {
        self.record_gap(periods.saturating_sub(1));
        let seen = self.monitor.look(reading, periods);
        if let Some(end) = seen.end {
            self.end.get_or_insert(end);
        }
        self.position_m = seen.new_m.map_or(f64::NAN, |place| place[self.axis]);
        self.requested_n = match (self.end, seen.trusted_m) {
            (None, Some(position_m)) => self.excitations[self.axis].next(position_m[self.axis], self.acting_n),
            _ => 0.0,
        };
        let mut force_n = Vector2::zeros();
        force_n[self.axis] = self.requested_n;
        Effort { force_n }
    }

    /// Real-time: constant.
    fn acknowledge(&mut self, sent: WriteOutcome) {
        match sent {
            WriteOutcome::Written => self.acting_n = self.requested_n,
            WriteOutcome::Busy => {}
            WriteOutcome::Failed(error) => {
                self.end.get_or_insert(End::Fault(Fault::NotSent(error)));
            }
        }
        let (position_m, acting_n) = (self.position_m, self.acting_n);
        if let Some(recording) = self.recordings.get_mut(self.axis) {
            recording.push(position_m, acting_n);
        }
        self.move_on();
    }
}
