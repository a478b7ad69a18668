//! Self-test of the bare loop, and grades for its results and for a device link.

use std::time::Duration;

use super::{Check, Finding};
use crate::latency::{LatencyRequest, measure};
use crate::runner::LoopTiming;

const WAKE: Check = Check { id: "wake-latency", what: "worst wake-up latency of the bare loop at 1 kHz" };
const ROUND_TRIPS: Check =
    Check { id: "device-round-trips", what: "fraction of ticks with an answer of the device in time" };

/// Worst-case wake-up latency limit for an excellent grade, ns. The grades are the ones used for machine tools.
const EXCELLENT_NS: u64 = 20_000;
/// Worst-case wake-up latency limit for a good grade, ns.
const GOOD_NS: u64 = 50_000;
/// Worst-case wake-up latency limit for a usable grade, ns; half of a tick at 1 kHz.
const USABLE_NS: u64 = 500_000;

/// Fraction of ticks answered in time below which a link gets a warning.
const ANSWERED_WARN: f64 = 0.95;
/// Fraction of ticks answered in time below which a link fails.
const ANSWERED_FAIL: f64 = 0.90;

/// Runs the bare loop for `duration` and grades its wake-up latency.
pub fn live_finding(duration: Duration) -> Finding {
    match measure(LatencyRequest { duration, ..LatencyRequest::default() }) {
        Ok(report) => grade_wake_latency(&report.timing),
        Err(cause) => {
            WAKE.fail(format!("the loop could not be started: {cause}"), "raise the limits on threads and memory")
        }
    }
}

/// Grades the bare loop by its worst-case wake-up latency: up to 20 µs is excellent, up to 50 µs good, up to 500 µs
/// usable.
pub fn grade_wake_latency(timing: &LoopTiming) -> Finding {
    let wake = timing.wake.percentiles();
    let measured = |grade: &str| {
        let [p50, p99, p999, max] = [wake.p50, wake.p99, wake.p999, wake.max].map(|ns| ns as f64 / 1000.0);
        let LoopTiming { ticks, overruns, .. } = timing;
        format!(
            "{grade}: p50 {p50:.1}, p99 {p99:.1}, p99.9 {p999:.1}, max {max:.1} µs; \
             {overruns} overruns in {ticks} ticks"
        )
    };
    const HELP_MOST: &str = "see the other findings; a PREEMPT_RT kernel and an isolated core help most";
    match wake.max {
        _ if timing.ticks == 0 => WAKE.fail("no tick ran", "measure for longer"),
        max if max <= EXCELLENT_NS => WAKE.ok(measured("excellent")),
        max if max <= GOOD_NS => WAKE.ok(measured("good")),
        max if max <= USABLE_NS => WAKE.warn(measured("usable"), HELP_MOST),
        _ => WAKE.fail(measured("unfit"), HELP_MOST),
    }
}

/// Grades a device link by the fraction of ticks answered in time: `answered` of `asked`.
pub fn grade_round_trips(answered: u64, asked: u64) -> Finding {
    if asked == 0 {
        return ROUND_TRIPS.fail("no request was sent", "run the test with a device connected");
    }
    let share = answered as f64 / asked as f64;
    let measured = format!("{answered} of {asked} in time ({:.1} %)", share * 100.0);
    let remedy = "use a direct port rather than a hub, a higher baud rate, and a latency timer of 1 ms";
    match share {
        share if share < ANSWERED_FAIL => ROUND_TRIPS.fail(measured, remedy),
        share if share < ANSWERED_WARN => ROUND_TRIPS.warn(measured, remedy),
        _ => ROUND_TRIPS.ok(measured),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    fn woken_at_worst(max_ns: u64) -> LoopTiming {
        let mut timing = LoopTiming { ticks: 2, ..LoopTiming::default() };
        timing.wake.record(1_000);
        timing.wake.record(max_ns);
        timing
    }

    #[test]
    fn the_latest_wake_decides_the_class() {
        for (max_ns, grade, verdict) in [
            (20_000, "excellent", Verdict::Ok),
            (20_001, "good", Verdict::Ok),
            (50_001, "usable", Verdict::Warn),
            (500_000, "usable", Verdict::Warn),
            (500_001, "unfit", Verdict::Fail),
        ] {
            let finding = grade_wake_latency(&woken_at_worst(max_ns));
            assert_eq!(finding.verdict, verdict, "{max_ns}");
            assert!(finding.measured.starts_with(grade), "{}", finding.measured);
        }
    }

    #[test]
    fn a_loop_that_never_ran_is_not_excellent() {
        assert_eq!(grade_wake_latency(&LoopTiming::default()).verdict, Verdict::Fail);
    }

    #[test]
    fn links_are_graded_by_answers_in_time() {
        assert_eq!(grade_round_trips(95, 100).verdict, Verdict::Ok);
        assert_eq!(grade_round_trips(94, 100).verdict, Verdict::Warn);
        assert_eq!(grade_round_trips(90, 100).verdict, Verdict::Warn);
        assert_eq!(grade_round_trips(89, 100).verdict, Verdict::Fail);
        assert_eq!(grade_round_trips(0, 0).verdict, Verdict::Fail);
    }
}
