//! How long ticks take, measured from outside the tick.

use hdrhistogram::Histogram;
use serde::Serialize;
use std::time::{Duration, Instant};

/// A histogram of durations.
#[derive(Clone, Debug)]
pub struct Durations {
    histogram: Histogram<u64>,
}

/// The figures of a histogram, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Percentiles {
    /// Half are shorter.
    pub p50: u64,
    /// 1 in 100 is longer.
    pub p99: u64,
    /// 1 in 1,000 is longer.
    pub p999: u64,
    /// The longest.
    pub max: u64,
}

impl Durations {
    /// Longest duration told apart, ns: ten seconds; longer ones count as that.
    const MAX_NS: u64 = 10_000_000_000;

    /// An empty histogram with a precision of three digits.
    pub fn new() -> Self {
        let histogram = Histogram::new_with_bounds(1, Self::MAX_NS, 3).expect("the bounds are constants that fit");
        Self { histogram }
    }

    /// Counts a duration.
    pub fn record(&mut self, duration: Duration) {
        self.histogram.saturating_record(duration.as_nanos().min(u128::from(Self::MAX_NS)) as u64);
    }

    /// The figures so far.
    pub fn percentiles(&self) -> Percentiles {
        let at = |quantile| self.histogram.value_at_quantile(quantile);
        Percentiles { p50: at(0.5), p99: at(0.99), p999: at(0.999), max: self.histogram.max() }
    }
}

impl Default for Durations {
    fn default() -> Self {
        Self::new()
    }
}

/// Measures one tick after the other with one look at the clock each.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    since: Instant,
    laps: Durations,
}

impl Stopwatch {
    /// Starts now.
    pub fn start() -> Self {
        Self { since: Instant::now(), laps: Durations::new() }
    }

    /// Counts the time since the last lap or restart.
    pub fn lap(&mut self) {
        let now = Instant::now();
        self.laps.record(now - self.since);
        self.since = now;
    }

    /// Leaves out the time since the last lap.
    pub fn restart(&mut self) {
        self.since = Instant::now();
    }

    /// The figures so far.
    pub fn percentiles(&self) -> Percentiles {
        self.laps.percentiles()
    }
}
