//! How punctual the loop is and what its ticks cost.

use haptic_realtime::histogram::{Histogram, Percentiles};
use haptic_realtime::runner::LoopTiming;
use serde::Serialize;

/// A tick's period, ns.
const BUDGET_NS: u64 = 1_000_000;
/// Bars of a histogram for each doubling; the loop's own has sixteen times as many.
const BARS_PER_OCTAVE: f64 = 4.0;

/// The loop's time so far.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingMessage {
    /// Ticks a second that are aimed at.
    pub rate_hz: u32,
    /// What a tick may take.
    pub budget_ns: u64,
    /// Ticks that ran.
    pub ticks: u64,
    /// Ticks that ended after the next deadline.
    pub overruns: u64,
    /// Periods that were not run.
    pub skipped: u64,
    /// How late the loop woke.
    pub wake_ns: Percentiles,
    /// How long a tick took.
    pub compute_ns: Percentiles,
    /// Longest duration and count of each bar, shortest first; bars without a count are left out.
    pub wake_histogram: Vec<(u64, u64)>,
    /// The same for the ticks.
    pub compute_histogram: Vec<(u64, u64)>,
}

impl TimingMessage {
    /// The message of what a loop did so far.
    pub fn new(figures: &LoopTiming) -> Self {
        Self {
            rate_hz: 1000,
            budget_ns: BUDGET_NS,
            ticks: figures.ticks,
            overruns: figures.overruns,
            skipped: figures.skipped,
            wake_ns: figures.wake.percentiles(),
            compute_ns: figures.compute.percentiles(),
            wake_histogram: bars(&figures.wake),
            compute_histogram: bars(&figures.compute),
        }
    }
}

/// The histogram with fewer, wider bars: what a picture can show.
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
