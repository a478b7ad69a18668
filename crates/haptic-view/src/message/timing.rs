//! Wake-up latency and compute time of the loop.

use serde::Serialize;

/// Timing of the loop since its start.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TimingMessage {
    /// Nominal rate.
    pub rate_hz: u32,
    /// Period of a tick.
    pub budget_ns: u64,
    /// Ticks that ran.
    pub ticks: u64,
    /// Ticks that ended after the next deadline.
    pub overruns: u64,
    /// Periods without a tick.
    pub skipped: u64,
    /// Time from the deadline to the wake-up.
    pub wake_ns: PercentilesMessage,
    /// Time from the wake-up to the end of the tick.
    pub compute_ns: PercentilesMessage,
    /// Upper end, ns, and count of each bar, shortest duration first; empty bars are left out.
    pub wake_histogram: Vec<(u64, u64)>,
    /// The same for the compute time.
    pub compute_histogram: Vec<(u64, u64)>,
}

/// Percentiles of a duration, ns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs, reason = "the names say it")]
pub struct PercentilesMessage {
    pub p50: u64,
    pub p99: u64,
    pub p999: u64,
    pub max: u64,
}

impl Default for TimingMessage {
    /// The loop before its first tick.
    fn default() -> Self {
        let none = PercentilesMessage::default();
        Self {
            rate_hz: 1000,
            budget_ns: 1_000_000,
            ticks: 0,
            overruns: 0,
            skipped: 0,
            wake_ns: none,
            compute_ns: none,
            wake_histogram: Vec::new(),
            compute_histogram: Vec::new(),
        }
    }
}
