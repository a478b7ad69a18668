//! Timing of the loop: wake-up latency and duration of the ticks.

use haptic_realtime::histogram::{Histogram, Percentiles};
use haptic_realtime::runner::LoopTiming;
use serde::Serialize;

/// Period of a tick, ns.
const BUDGET_NS: u64 = 1_000_000;
/// Bars of a histogram per octave. The loop's own histogram has sixteen times as many buckets.
const BARS_PER_OCTAVE: f64 = 4.0;

/// Timing of the loop so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingMessage {
    /// Nominal ticks per second.
    pub rate_hz: u32,
    /// Time available for a tick, ns.
    pub budget_ns: u64,
    /// Ticks that ran.
    pub ticks: u64,
    /// Ticks that ended after the next deadline.
    pub overruns: u64,
    /// Periods in which no tick ran.
    pub skipped: u64,
    /// Wake-up latency.
    pub wake_ns: Percentiles,
    /// Duration of a tick.
    pub compute_ns: Percentiles,
    /// Longest duration and count of each bar, shortest first; empty bars are left out.
    pub wake_histogram: Vec<(u64, u64)>,
    /// The same for the duration of a tick.
    pub compute_histogram: Vec<(u64, u64)>,
}

impl TimingMessage {
    /// Message of a loop's timing.
    pub fn new(timing: &LoopTiming) -> Self {
        Self {
            rate_hz: 1000,
            budget_ns: BUDGET_NS,
            ticks: timing.ticks,
            overruns: timing.overruns,
            skipped: timing.skipped,
            wake_ns: timing.wake.percentiles(),
            compute_ns: timing.compute.percentiles(),
            wake_histogram: bars(&timing.wake),
            compute_histogram: bars(&timing.compute),
        }
    }
}

/// Merges the buckets of a histogram into fewer, wider bars, as many as a chart can show.
fn bars(histogram: &Histogram) -> Vec<(u64, u64)> {
    let mut bars: Vec<(u64, u64)> = Vec::new();
    for (longest_ns, count) in histogram.buckets() {
        let end_ns = end_of_bar(longest_ns);
        match bars.last_mut().filter(|(end, _)| *end == end_ns) {
            Some((_, sum)) => *sum += count,
            None => bars.push((end_ns, count)),
        }
    }
    bars
}

/// The nearest power of 2^(1/4) at or above a duration, ns.
fn end_of_bar(duration_ns: u64) -> u64 {
    let bar = ((duration_ns.max(1) as f64).log2() * BARS_PER_OCTAVE).ceil();
    (bar / BARS_PER_OCTAVE).exp2().floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_keep_every_count_and_end_at_or_after_what_they_count() {
        let mut histogram = Histogram::new();
        (1..100_000).step_by(7).for_each(|duration_ns| histogram.record(duration_ns));
        let bars = bars(&histogram);
        assert_eq!(bars.iter().map(|(_, count)| count).sum::<u64>(), histogram.total());
        assert!(bars.windows(2).all(|pair| pair[0].0 < pair[1].0), "{bars:?}");
        assert!(bars.len() < 80 && bars.last().unwrap().0 >= 99_996, "{bars:?}");
    }
}
