//! Timing of the loop: wake-up latency and tick duration.

use serde::Serialize;

/// Time available for a tick, ns: one period.
const BUDGET_NS: u64 = 1_000_000;
/// Histogram bars per octave. The loop's own histogram has sixteen times as many buckets per octave.
const BARS_PER_OCTAVE: f64 = 4.0;

/// The timing of the loop so far, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingMessage {
    /// Nominal ticks per second.
    pub rate_hz: u32,
    /// Time available for a tick, ns.
    pub budget_ns: u64,
    /// Number of ticks that ran.
    pub ticks: u64,
    /// Number of ticks that ended after the next deadline.
    pub overruns: u64,
    /// Number of periods in which no tick ran.
    pub skipped: u64,
    /// Percentiles of the wake-up latency.
    pub wake_ns: DurationPercentiles,
    /// Percentiles of the tick duration.
    pub compute_ns: DurationPercentiles,
    /// Histogram of the wake-up latency: longest duration, ns, and count of each bar, shortest first. Empty bars are
    /// omitted.
    pub wake_histogram: Vec<(u64, u64)>,
    /// Histogram of the tick duration, in the same form as `wake_histogram`.
    pub compute_histogram: Vec<(u64, u64)>,
    /// Sum of the wake-up latencies, ns. Only the metrics contain the sums.
    #[serde(skip)]
    pub wake_sum_ns: u64,
    /// Sum of the tick durations, ns.
    #[serde(skip)]
    pub compute_sum_ns: u64,
}

/// Percentiles of a duration, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DurationPercentiles {
    /// Median: 50 % of the durations do not exceed it.
    pub p50: u64,
    /// 99 % of the durations do not exceed this.
    pub p99: u64,
    /// 99.9 % of the durations do not exceed this.
    pub p999: u64,
    /// Longest duration.
    pub max: u64,
}

impl Default for TimingMessage {
    /// Returns the timing of a loop before its first tick.
    fn default() -> Self {
        Self {
            rate_hz: 1000,
            budget_ns: BUDGET_NS,
            ticks: 0,
            overruns: 0,
            skipped: 0,
            wake_ns: DurationPercentiles::default(),
            compute_ns: DurationPercentiles::default(),
            wake_histogram: Vec::new(),
            compute_histogram: Vec::new(),
            wake_sum_ns: 0,
            compute_sum_ns: 0,
        }
    }
}

/// Merges the buckets of a histogram (longest duration in ns, count; shortest first) into fewer, wider bars for a
/// chart.
pub fn bars(buckets: impl IntoIterator<Item = (u64, u64)>) -> Vec<(u64, u64)> {
    let mut bars: Vec<(u64, u64)> = Vec::new();
    for (longest_ns, count) in buckets {
        let end_ns = end_of_bar(longest_ns);
        match bars.last_mut().filter(|(end, _)| *end == end_ns) {
            Some((_, sum)) => *sum += count,
            None => bars.push((end_ns, count)),
        }
    }
    bars
}

/// Returns the smallest power of 2^(1/4) that is not below a duration, ns.
fn end_of_bar(duration_ns: u64) -> u64 {
    let bar = ((duration_ns.max(1) as f64).log2() * BARS_PER_OCTAVE).ceil();
    (bar / BARS_PER_OCTAVE).exp2().floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_keep_every_count_and_end_at_or_after_what_they_count() {
        let durations_ns = || (1..100_000).step_by(7);
        let bars = bars(durations_ns().map(|duration_ns| (duration_ns, 1)));
        assert_eq!(bars.iter().map(|(_, count)| *count).sum::<u64>(), durations_ns().count() as u64);
        assert!(bars.windows(2).all(|pair| pair[0].0 < pair[1].0), "{bars:?}");
        assert!(bars.len() < 80 && bars.last().unwrap().0 >= 99_996, "{bars:?}");
    }
}
