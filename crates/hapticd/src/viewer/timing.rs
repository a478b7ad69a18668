//! The loop's timing as a message for the viewer.

use haptic_realtime::histogram::{Histogram, Percentiles};
use haptic_realtime::runner::LoopTiming;
use haptic_view::message::timing::{DurationPercentiles, TimingMessage, bars};

/// Creates the message with a loop's timing.
pub fn timing_message(timing: &LoopTiming) -> TimingMessage {
    TimingMessage {
        ticks: timing.ticks,
        overruns: timing.overruns,
        skipped: timing.skipped,
        wake_ns: percentiles(&timing.wake),
        compute_ns: percentiles(&timing.compute),
        wake_histogram: bars(timing.wake.buckets()),
        compute_histogram: bars(timing.compute.buckets()),
        wake_sum_ns: timing.wake.sum_ns(),
        compute_sum_ns: timing.compute.sum_ns(),
        ..TimingMessage::default()
    }
}

fn percentiles(histogram: &Histogram) -> DurationPercentiles {
    let Percentiles { p50, p99, p999, max } = histogram.percentiles();
    DurationPercentiles { p50, p99, p999, max }
}
