//! Detects whether a device sends samples even when nothing has changed. Only then does silence mean that the device is
//! lost.
//!
//! The whole report decides, because a device that reports only changes sends one whenever anything in it changes, even
//! a pedal beside a handle at rest. A device that repeats the same report is streaming. A device with noisy converters
//! may stream without ever repeating a report; while its handle is at rest, it leaves out no report for a long time. A
//! silence ends the stream: it may have been taken for one by mistake, and it shows again after a few reports.

use super::ReportChange;
use nalgebra::Vector2;

/// Maximum interval between two samples of a streaming device, ns.
pub const STREAM_GAP_NS: u64 = 10_000_000;
/// Number of consecutive repeated reports that indicates a stream.
const REPEATED_REPORTS: u32 = 3;
/// Evidence that indicates a stream without a repeated report. Less could come from the tremor of a resting hand.
const ENOUGH_EVIDENCE: u32 = 2000;
/// Evidence of a report of a resting handle that differs from the one before only in the axes.
const NOISE_OF_AXES: u32 = 10;
/// Evidence of a report of a resting handle in which other fields have changed as well. A person may move a pedal
/// without a pause for a while.
const NOISE_OF_OTHERS: u32 = 1;
/// Converter noise, counts, with a margin for rounding.
const NOISE_COUNTS: f64 = 2.01;
/// A report was left out if its interval exceeds the shortest one by this factor, as a fraction.
const LEFT_OUT: (u64, u64) = (7, 4);

/// Detects the reporting mode from the reports of one device.
#[derive(Clone, Copy, Debug)]
pub struct ReportingModeDetector {
    noise_m: f64,
    streams: bool,
    repeated: u32,
    /// Position at the start of the present run of reports, none of which was left out while the handle was at rest.
    first_m: Vector2<f64>,
    /// Shortest interval in the run, ns.
    shortest_ns: u64,
    evidence: u32,
}

impl ReportingModeDetector {
    /// Creates a detector for a device with this encoder step, m.
    pub fn new(step_m: f64) -> Self {
        Self {
            noise_m: NOISE_COUNTS * step_m,
            streams: false,
            repeated: 0,
            first_m: Vector2::repeat(f64::NAN),
            shortest_ns: u64::MAX,
            evidence: 0,
        }
    }

    /// Adds a report that arrived `elapsed_ns` after the previous one. Returns whether the device streams, as far as the
    /// reports since the last silence tell.
    pub fn update(&mut self, position_m: Vector2<f64>, change: ReportChange, elapsed_ns: u64) -> bool {
        if elapsed_ns >= STREAM_GAP_NS {
            (self.streams, self.repeated) = (false, 0);
            self.start_run(position_m, u64::MAX);
            return false;
        }
        self.repeated = if change == ReportChange::Nothing { self.repeated.saturating_add(1) } else { 0 };
        self.shortest_ns = self.shortest_ns.min(elapsed_ns);
        let is_near = (position_m - self.first_m).amax() <= self.noise_m;
        if is_near && elapsed_ns.saturating_mul(LEFT_OUT.1) < self.shortest_ns.saturating_mul(LEFT_OUT.0) {
            let others = change == ReportChange::Others;
            self.evidence = self.evidence.saturating_add(if others { NOISE_OF_OTHERS } else { NOISE_OF_AXES });
        } else {
            self.start_run(position_m, elapsed_ns);
        }
        self.streams |= self.repeated >= REPEATED_REPORTS || self.evidence >= ENOUGH_EVIDENCE;
        self.streams
    }

    fn start_run(&mut self, position_m: Vector2<f64>, shortest_ns: u64) {
        (self.first_m, self.shortest_ns, self.evidence) = (position_m, shortest_ns, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::super::Sample;
    use super::*;
    use haptic_device::MonotonicNs;
    use haptic_device::xorshift::Xorshift;

    const STEP_M: f64 = 1e-4;
    const MS: u64 = 1_000_000;

    /// Whether samples with these counts and this interval are detected as a stream.
    fn streams(every_ns: u64, change: ReportChange, mut counts: impl Iterator<Item = i32>) -> bool {
        let mut detector = ReportingModeDetector::new(STEP_M);
        counts.any(|count| detector.update(Vector2::new(f64::from(count) * STEP_M, 0.05), change, every_ns))
    }

    #[test]
    fn repeated_reports_are_a_stream_unless_they_are_far_apart() {
        assert!(streams(MS, ReportChange::Nothing, [5; 4].into_iter()));
        assert!(!streams(20 * MS, ReportChange::Nothing, [5; 1000].into_iter()));
    }

    #[test]
    fn noise_of_two_counts_at_rest_is_a_stream_even_if_no_report_equals_the_one_before() {
        let noisy = || (0..3000).map(|index| [0, 1, -1, 2, -2, 1][index % 6]);
        assert!(streams(MS, ReportChange::Axes, noisy()));
        assert!(streams(MS, ReportChange::Others, noisy()));
    }

    #[test]
    fn a_slow_hand_with_a_report_for_each_change_is_not_a_stream() {
        assert!(!streams(MS, ReportChange::Axes, 0..10_000));
        assert!(!streams(9 * MS, ReportChange::Axes, 0..10_000));
        // Back and forth over five millimetres.
        assert!(!streams(MS, ReportChange::Axes, (0..10_000).map(|index: i32| (index % 100 - 50).abs())));
    }

    #[test]
    fn a_pedal_pressed_for_a_second_beside_a_still_handle_is_not_a_stream() {
        assert!(!streams(MS, ReportChange::Others, [5; 1000].into_iter()));
    }

    /// A device with a handle at rest, whose writes succeed.
    struct Resting {
        reports_changes: bool,
        detector: ReportingModeDetector,
        sample: Sample,
        time_ms: u64,
        sent_ms: u64,
    }

    impl Resting {
        fn new(reports_changes: bool) -> Self {
            let detector = ReportingModeDetector::new(STEP_M);
            Self { reports_changes, detector, sample: Sample { at_ns: MS, ..Sample::EMPTY }, time_ms: 1, sent_ms: 1 }
        }

        /// Advances by `ms` milliseconds, in which a device that reports changes sends a report for each `change`, and
        /// else every 100 ms. Returns the number of readings older than 5 ms.
        fn stale(&mut self, ms: u64, mut change: impl FnMut() -> ReportChange) -> u64 {
            let mut stale = 0;
            for _ in 0..ms {
                self.time_ms += 1;
                let (change, elapsed_ms) = (change(), self.time_ms - self.sent_ms);
                if !self.reports_changes || change != ReportChange::Nothing || elapsed_ms >= 100 {
                    self.sent_ms = self.time_ms;
                    let flicker = if change == ReportChange::Axes { STEP_M } else { 0.0 };
                    self.sample.at_ns = self.time_ms * MS;
                    self.sample.streams = self.detector.update(Vector2::new(flicker, 0.0), change, elapsed_ms * MS);
                }
                stale += u64::from(self.is_stale());
            }
            stale
        }

        fn is_stale(&self) -> bool {
            let now = MonotonicNs(self.time_ms * MS);
            self.sample.age_ns(now.0, now) > 5 * MS
        }

        /// Returns the number of stale readings in a time without reports.
        fn stale_in_silence(&mut self, ms: u64) -> u64 {
            let mut stale = 0;
            for _ in 0..ms {
                self.time_ms += 1;
                stale += u64::from(self.is_stale());
            }
            stale
        }
    }

    /// Changes of a field in this fraction of the milliseconds.
    fn jitter(of: ReportChange, fraction: f64, random: &mut Xorshift) -> impl FnMut() -> ReportChange {
        move || if random.between(0.0, 1.0) < fraction { of } else { ReportChange::Nothing }
    }

    #[test]
    fn no_reading_is_stale_while_a_still_handle_shares_its_report_with_a_field_that_changes() {
        for fraction in [0.0, 0.01, 0.05, 0.1, 0.3, 0.6, 0.9, 0.99] {
            for of in [ReportChange::Others, ReportChange::Axes] {
                let stale = |reports_changes| {
                    Resting::new(reports_changes).stale(60_000, jitter(of, fraction, &mut Xorshift::new(5)))
                };
                assert_eq!((stale(true), stale(false)), (0, 0), "{of:?} in {fraction} of the milliseconds");
            }
        }
    }

    #[test]
    fn every_silence_of_a_streaming_device_is_noticed() {
        for fraction in [0.0, 0.05, 0.1, 0.3, 0.6, 1.0] {
            for of in [ReportChange::Others, ReportChange::Axes] {
                let (mut device, mut random) = (Resting::new(false), Xorshift::new(9));
                for _ in 0..3 {
                    assert_eq!(device.stale(3000, jitter(of, fraction, &mut random)), 0);
                    assert_eq!(device.stale_in_silence(300), 295, "{of:?} in {fraction} of the milliseconds");
                }
            }
        }
    }

    #[test]
    fn a_device_that_was_taken_for_a_stream_is_unknown_again_after_its_next_silence() {
        let mut device = Resting::new(true);
        assert_eq!(device.stale(2500, || ReportChange::Others), 0);
        let first = device.stale(1000, || ReportChange::Nothing);
        assert!((1..100).contains(&first), "{first}");
        assert_eq!(device.stale(10_000, || ReportChange::Nothing), 0);
    }
}
