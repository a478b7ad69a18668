//! The bare loop: the real thread, schedule and runner with an empty body, to measure the latency of the machine alone.

use std::io;
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::clock::MonotonicClock;
use crate::dma_latency::DmaLatencyGuard;
use crate::memory::PageFaults;
use crate::run_delay::{run_delay_between_ns, thread_run_delay_ns};
use crate::runner::{LoopTiming, Runner};
use crate::thread::{Granted, ThreadRequest, spawn};

/// Parameters of a latency measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LatencyRequest {
    /// Properties of the thread to measure.
    pub thread: ThreadRequest,
    /// Period of the loop.
    pub period: Duration,
    /// Duration of the measurement.
    pub duration: Duration,
    /// Whether to keep the processor out of deep idle states.
    pub hold_dma_latency: bool,
}

impl Default for LatencyRequest {
    fn default() -> Self {
        Self {
            thread: ThreadRequest::default(),
            period: Duration::from_millis(1),
            duration: Duration::from_secs(10),
            hold_dma_latency: true,
        }
    }
}

/// Result of a latency measurement.
#[derive(Debug)]
pub struct LatencyReport {
    /// Wake-up latencies, overruns and skipped periods.
    pub timing: Box<LoopTiming>,
    /// Properties granted to the thread; the results depend on them.
    pub granted: Granted,
    /// Page faults of the thread during the loop; should be zero.
    pub page_faults: PageFaults,
    /// Run delay of the thread during the loop, ns; `None` if the kernel does not count it.
    pub waited_ns: Option<u64>,
    /// Reason why deep idle states were not disabled, if disabling them was requested and refused.
    pub dma_latency_refused: Option<String>,
}

/// Runs the bare loop on a new thread, waits for it to end and returns the result.
pub fn measure(request: LatencyRequest) -> io::Result<LatencyReport> {
    let held = request.hold_dma_latency.then(DmaLatencyGuard::hold).transpose();
    let period_ns = period_ns(request.period)?;
    let ticks = whole_ticks(request.duration, period_ns);
    let thread = spawn(request.thread, move |_| run_bare(period_ns, ticks))?;
    let granted = thread.granted().clone();
    let (timing, page_faults, waited_ns) = thread.join().map_err(io::Error::other)?;
    let dma_latency_refused = held.err().map(|error| error.to_string());
    Ok(LatencyReport { timing, granted, page_faults, waited_ns, dma_latency_refused })
}

/// Runs the bare loop for `periods` periods, counting skipped ones, so that stalls do not prolong the measurement.
/// Returns the timing, the page faults and the run delay, ns.
fn run_bare(period_ns: NonZeroU64, periods: u64) -> (Box<LoopTiming>, PageFaults, Option<u64>) {
    let mut runner = Runner::new(MonotonicClock, period_ns);
    let mut elapsed = 0;
    let waited_before_ns = thread_run_delay_ns();
    let before = PageFaults::of_this_thread().unwrap_or_default();
    runner.run(&AtomicBool::new(false), |wake| {
        elapsed += 1 + wake.skipped;
        if elapsed >= periods { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let page_faults = PageFaults::of_this_thread().unwrap_or_default().since(before);
    let waited_ns = run_delay_between_ns(waited_before_ns, thread_run_delay_ns());
    (runner.into_timing(), page_faults, waited_ns)
}

fn period_ns(period: Duration) -> io::Result<NonZeroU64> {
    let nanoseconds = u64::try_from(period.as_nanos()).ok().and_then(NonZeroU64::new);
    nanoseconds.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "a loop's period must be above zero"))
}

fn whole_ticks(duration: Duration, period_ns: NonZeroU64) -> u64 {
    let ticks = duration.as_nanos() / u128::from(period_ns.get());
    u64::try_from(ticks).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_seconds_at_a_millisecond_are_ten_thousand_ticks() {
        let period_ns = period_ns(Duration::from_millis(1)).unwrap();
        assert_eq!(whole_ticks(Duration::from_secs(10), period_ns), 10_000);
    }

    #[test]
    fn a_period_of_zero_is_refused() {
        assert!(period_ns(Duration::ZERO).is_err());
    }

    #[test]
    fn ticks_run_and_skipped_cover_the_time_asked_for() {
        let thread = ThreadRequest { lock_memory: false, runaway_limit: None, ..ThreadRequest::default() };
        let duration = Duration::from_millis(50);
        let report = measure(LatencyRequest { thread, duration, ..LatencyRequest::default() }).unwrap();
        let timing = report.timing;
        assert!(timing.ticks + timing.skipped >= 50, "{timing:?}");
        assert_eq!(timing.wake.total(), timing.ticks);
    }
}
