//! Tick durations, measured from outside the tick.

use haptic_realtime::clock::monotonic_ns;
use haptic_realtime::histogram::{Histogram, Percentiles};

/// A stopwatch for successive ticks, with one clock read per tick.
#[derive(Clone, Debug)]
pub struct Stopwatch {
    since_ns: u64,
    laps: Box<Histogram>,
}

impl Stopwatch {
    /// Starts the stopwatch.
    pub fn start() -> Self {
        Self { since_ns: monotonic_ns(), laps: Box::default() }
    }

    /// Ends the current lap, records its duration and starts the next lap.
    pub fn lap(&mut self) {
        let now_ns = monotonic_ns();
        self.laps.record(now_ns.saturating_sub(self.since_ns));
        self.since_ns = now_ns;
    }

    /// Starts a new lap without recording the current one.
    pub fn restart(&mut self) {
        self.since_ns = monotonic_ns();
    }

    /// Returns the percentiles of the laps so far, ns.
    pub fn percentiles(&self) -> Percentiles {
        self.laps.percentiles()
    }
}
