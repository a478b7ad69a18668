//! Faults of encoders: readings that are plausible, fresh and wrong.

use crate::planned_fault::{ActiveFaults, FaultKind};
use nalgebra::Vector2;
use std::collections::VecDeque;

/// Step of the reading of each axis in a [`FaultKind::Jump`], m. It is below the speed limit of any profile; a larger
/// step is an implausible speed, which the host detects.
pub const JUMP_M: f64 = -0.001;
/// Speed at which the reading of each axis moves away from the truth in a [`FaultKind::Drift`], m/s.
pub const DRIFT_M_PER_S: f64 = -0.02;
/// Age of the readings in a [`FaultKind::Late`], ms.
pub const LATE_MS: usize = 20;

/// Motion of a handle, as measured in three ways.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Motion {
    /// Position in steps of the encoder, m.
    pub encoder_m: Vector2<f64>,
    /// Exact position, for boards that convert it into steps of their own, m.
    pub exact_m: Vector2<f64>,
    /// Velocity, m/s.
    pub velocity_m_per_s: Vector2<f64>,
}

impl Motion {
    /// The motion with the components multiplied by `signs`.
    pub(crate) fn along(self, signs: Vector2<f64>) -> Self {
        Self {
            encoder_m: self.encoder_m.component_mul(&signs),
            exact_m: self.exact_m.component_mul(&signs),
            velocity_m_per_s: self.velocity_m_per_s.component_mul(&signs),
        }
    }

    fn shifted(self, by_m: f64) -> Self {
        let by_m = Vector2::repeat(by_m);
        Self { encoder_m: self.encoder_m + by_m, exact_m: self.exact_m + by_m, ..self }
    }

    /// The motion with every displacement since `start` reversed.
    fn reversed(self, start: &Self) -> Self {
        Self {
            encoder_m: 2.0 * start.encoder_m - self.encoder_m,
            exact_m: 2.0 * start.exact_m - self.exact_m,
            velocity_m_per_s: -self.velocity_m_per_s,
        }
    }
}

/// The encoders of a handle and their faults. Time is the number of observed motions, one in each millisecond.
#[derive(Clone, Debug)]
pub struct FaultyEncoders {
    active: ActiveFaults,
    /// Motion and time at the start of each active fault, by kind.
    starts: [(Motion, u64); FaultKind::ALL.len()],
    /// The newest motions, oldest first, at most one more than [`LATE_MS`].
    recent: VecDeque<Motion>,
    time_ms: u64,
}

impl FaultyEncoders {
    /// Creates encoders without a fault.
    pub fn new(motion: Motion) -> Self {
        let starts = [(Motion::default(), 0); FaultKind::ALL.len()];
        Self { active: ActiveFaults::default(), starts, recent: VecDeque::from([motion]), time_ms: 0 }
    }

    /// Sets the active faults. Those that were not active before start with the newest motion; kinds of the line are
    /// ignored.
    pub fn set_faults(&mut self, active: ActiveFaults) {
        let start = (self.actual(), self.time_ms);
        for kind in active.kinds().filter(|kind| !self.active.contains(*kind)) {
            self.starts[kind as usize] = start;
        }
        self.active = active;
    }

    /// Takes the motion of the next millisecond.
    pub fn observe(&mut self, motion: Motion) {
        self.time_ms += 1;
        self.recent.push_back(motion);
        if self.recent.len() > LATE_MS + 1 {
            self.recent.pop_front();
        }
    }

    /// Number of milliseconds observed.
    pub fn time_ms(&self) -> u64 {
        self.time_ms
    }

    /// The motion that the encoders report.
    pub fn reported(&self) -> Motion {
        self.active.kinds().fold(self.actual(), |motion, kind| self.spoiled(motion, kind))
    }

    fn actual(&self) -> Motion {
        self.recent.back().copied().unwrap_or_default()
    }

    fn spoiled(&self, motion: Motion, kind: FaultKind) -> Motion {
        let (start, start_ms) = self.starts[kind as usize];
        let drift_m = DRIFT_M_PER_S * 1e-3 * (self.time_ms - start_ms) as f64;
        match kind {
            FaultKind::Frozen => Motion { velocity_m_per_s: Vector2::zeros(), ..start },
            FaultKind::Jump => motion.shifted(JUMP_M),
            FaultKind::Drift => {
                let velocity_m_per_s = motion.velocity_m_per_s + Vector2::repeat(DRIFT_M_PER_S);
                Motion { velocity_m_per_s, ..motion.shifted(drift_m) }
            }
            FaultKind::Reversed => motion.reversed(&start),
            FaultKind::Late => self.recent.front().copied().unwrap_or(motion),
            FaultKind::Doubled | FaultKind::CutIn | FaultKind::CutOut | FaultKind::Garbage => motion,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEED_M_PER_S: f64 = 0.1;

    fn at(time_ms: u64) -> Motion {
        let exact_m = Vector2::new(0.01, SPEED_M_PER_S * 1e-3 * time_ms as f64);
        Motion { encoder_m: exact_m, exact_m, velocity_m_per_s: Vector2::new(0.0, SPEED_M_PER_S) }
    }

    /// What is reported, millisecond by millisecond, of a handle that moves at constant speed along y, with a fault
    /// from 50 ms to 100 ms.
    fn reports(kind: FaultKind) -> Vec<Motion> {
        let mut encoders = FaultyEncoders::new(at(0));
        let report = |time_ms| {
            let is_active = (50..100).contains(&time_ms);
            encoders.set_faults(is_active.then_some(kind).into_iter().collect());
            encoders.observe(at(time_ms));
            encoders.reported()
        };
        (1..150).map(report).collect()
    }

    fn offset_m(reports: &[Motion], time_ms: u64) -> Vector2<f64> {
        let report = reports[time_ms as usize - 1];
        assert!((report.encoder_m - report.exact_m).norm() < 1e-15);
        report.exact_m - at(time_ms).exact_m
    }

    #[test]
    fn readings_are_right_before_and_after_a_fault() {
        for kind in FaultKind::ALL {
            let reports = reports(kind);
            for time_ms in (1..50).chain(100..150) {
                assert_eq!(reports[time_ms as usize - 1], at(time_ms), "{kind:?} at {time_ms} ms");
            }
        }
    }

    #[test]
    fn a_frozen_encoder_reports_its_last_value() {
        let reports = reports(FaultKind::Frozen);
        assert!(reports[49..99].iter().all(|report| report.exact_m == at(49).exact_m));
        assert_eq!(reports[70].velocity_m_per_s, Vector2::zeros());
    }

    #[test]
    fn a_jump_shifts_the_reading_by_a_constant() {
        let reports = reports(FaultKind::Jump);
        for time_ms in [50, 70, 99] {
            assert!((offset_m(&reports, time_ms) - Vector2::repeat(JUMP_M)).norm() < 1e-15);
        }
    }

    #[test]
    fn a_drift_shifts_the_reading_ever_further() {
        let reports = reports(FaultKind::Drift);
        for (time_ms, since_ms) in [(50, 1.0), (70, 21.0), (99, 50.0)] {
            let expected_m = Vector2::repeat(DRIFT_M_PER_S * 1e-3 * since_ms);
            assert!((offset_m(&reports, time_ms) - expected_m).norm() < 1e-15);
        }
        assert!((reports[70].velocity_m_per_s.y - (SPEED_M_PER_S + DRIFT_M_PER_S)).abs() < 1e-15);
    }

    #[test]
    fn a_reversed_encoder_counts_backwards_from_the_start_of_the_fault() {
        let reports = reports(FaultKind::Reversed);
        for time_ms in [50, 70, 99] {
            let expected_m = at(49).exact_m * 2.0 - at(time_ms).exact_m;
            assert!((reports[time_ms as usize - 1].exact_m - expected_m).norm() < 1e-15);
        }
        assert_eq!(reports[70].velocity_m_per_s.y, -SPEED_M_PER_S);
    }

    #[test]
    fn a_late_encoder_reports_where_the_handle_was() {
        let reports = reports(FaultKind::Late);
        assert!((50..100).all(|time_ms: usize| reports[time_ms - 1] == at((time_ms - LATE_MS) as u64)));
    }

    #[test]
    fn faults_of_the_line_leave_the_encoders_alone() {
        for kind in [FaultKind::Doubled, FaultKind::CutIn, FaultKind::CutOut, FaultKind::Garbage] {
            assert!(reports(kind).iter().zip(1..).all(|(report, time_ms)| *report == at(time_ms)));
        }
    }
}
