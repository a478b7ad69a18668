//! The timing message of a loop.

use haptic_realtime::histogram::Histogram;
use haptic_realtime::runner::LoopTiming;
use haptic_view::message::timing::{PercentilesMessage, TimingMessage};

/// Bars of a histogram per octave; the loop's own histogram has sixteen times as many.
const BARS_PER_OCTAVE: f64 = 4.0;

/// The message of what a loop measured so far.
pub fn timing_message(timing: &LoopTiming) -> TimingMessage {
    TimingMessage {
        ticks: timing.ticks,
        overruns: timing.overruns,
        skipped: timing.skipped,
        wake_ns: percentiles(&timing.wake),
        compute_ns: percentiles(&timing.compute),
        wake_histogram: bars(&timing.wake),
        compute_histogram: bars(&timing.compute),
        ..TimingMessage::default()
    }
}

fn percentiles(histogram: &Histogram) -> PercentilesMessage {
    let ns = histogram.percentiles();
    PercentilesMessage { p50: ns.p50, p99: ns.p99, p999: ns.p999, max: ns.max }
}

/// The histogram with fewer, wider bars for a chart.
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
