//! `hapticd latency`: measures the wake-up latency of a bare 1 kHz loop on this machine.

use super::{print_json, print_line};
use crate::cli::LatencyArguments;
use crate::failure::Failure;
use haptic_realtime::histogram::Histogram;
use haptic_realtime::latency::{LatencyReport, LatencyRequest, measure};
use haptic_realtime::memory::{LockedMemory, disable_heap_trim};
use haptic_realtime::thread::{Granted, Policy};
use std::time::Duration;

/// Number of rows in the histogram: one for latencies below 1 µs, then one per octave. The last row includes all longer
/// latencies.
const ROWS: u32 = 16;
/// Width of the longest bar, characters.
const WIDTH: f64 = 50.0;

/// Runs the command.
///
/// # Errors
/// If no thread can be started.
pub fn latency(arguments: &LatencyArguments) -> Result<(), Failure> {
    // If this fails, page faults are possible; the report shows them.
    drop(disable_heap_trim());
    let duration = Duration::from_secs_f64(arguments.seconds);
    let report = measure(LatencyRequest { duration, ..LatencyRequest::default() })
        .map_err(|error| Failure::Runtime(format!("cannot start the loop: {error}")))?;
    if arguments.json { print_json(&to_json(&report)) } else { print_line(text(&report).trim_end()) }
}

fn to_json(report: &LatencyReport) -> serde_json::Value {
    let LatencyReport { timing, granted, page_faults, waited_ns, .. } = report;
    serde_json::json!({
        "wake_ns": timing.wake.percentiles(),
        "overruns": timing.overruns,
        "skipped": timing.skipped,
        "ticks": timing.ticks,
        "granted": granted,
        "page_faults": page_faults,
        "waited_ns": waited_ns,
    })
}

fn text(report: &LatencyReport) -> String {
    let LatencyReport { timing, granted, page_faults, waited_ns, dma_latency_refused } = report;
    let wake = timing.wake.percentiles();
    let [p50, p99, p999, max] = [wake.p50, wake.p99, wake.p999, wake.max].map(|ns| ns as f64 / 1e3);
    let mut lines = vec![
        format!("{} ticks, {} overruns, {} skipped", timing.ticks, timing.overruns, timing.skipped),
        format!("Wake-up latency: p50 {p50:.1}, p99 {p99:.1}, p99.9 {p999:.1}, max {max:.1} µs"),
        describe_grant(granted),
        format!("page faults: {} minor, {} major", page_faults.minor, page_faults.major),
    ];
    let waited = |ns: u64| format!("Waiting for the CPU: {:.3} ms total", ns as f64 / 1e6);
    lines.extend(waited_ns.map(waited));
    lines.extend(draw(&timing.wake));
    lines.extend(granted.reasons.iter().chain(dma_latency_refused).map(|reason| format!("refused: {reason}")));
    lines.join("\n")
}

/// Describes the scheduling, core and memory locking granted to the thread.
fn describe_grant(granted: &Granted) -> String {
    let scheduling = match granted.policy {
        Policy::Fifo => format!("real-time scheduling with priority {}", granted.priority),
        Policy::Normal => "ordinary scheduling".to_owned(),
        Policy::Other(number) => format!("scheduling policy {number}"),
    };
    let core = granted.cpu.map_or("on any core".to_owned(), |cpu| format!("pinned to core {cpu}"));
    let memory = match granted.locked_memory {
        LockedMemory::CurrentAndFuture => "all memory locked",
        LockedMemory::CurrentOnly => "memory allocated at the start locked",
        LockedMemory::Nothing => "no memory locked",
    };
    format!("{scheduling}, {core}, {memory}")
}

/// Draws one bar per octave of latency. The length of a bar is logarithmic in the number of wake-ups, so that rare ones
/// are visible.
fn draw(wake: &Histogram) -> Vec<String> {
    let mut counts = [0u64; ROWS as usize];
    for (longest_ns, count) in wake.buckets() {
        let row = (longest_ns / 1000).checked_ilog2().map_or(0, |octaves| octaves + 1).min(ROWS - 1);
        counts[row as usize] += count;
    }
    let length = |count: u64| libm::log2(count as f64 + 1.0);
    let longest = counts.iter().copied().map(length).fold(1.0, f64::max);
    let used = counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    let bar = |(row, &count): (usize, &u64)| {
        let bar = "█".repeat((length(count) / longest * WIDTH) as usize);
        format!("{:>8} µs {count:>9} {bar}", format!("< {}", 1u64 << row))
    };
    counts[..used].iter().enumerate().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_names_policy_core_and_memory() {
        let mut granted = Granted {
            policy: Policy::Fifo,
            priority: 80,
            cpu: Some(1),
            locked_memory: LockedMemory::CurrentAndFuture,
            resets_on_fork: true,
            reasons: Vec::new(),
        };
        let text = describe_grant(&granted);
        assert_eq!(text, "real-time scheduling with priority 80, pinned to core 1, all memory locked");
        (granted.policy, granted.cpu, granted.locked_memory) = (Policy::Normal, None, LockedMemory::Nothing);
        assert_eq!(describe_grant(&granted), "ordinary scheduling, on any core, no memory locked");
    }

    #[test]
    fn every_wake_up_is_in_one_row_of_the_histogram() {
        let mut wake = Histogram::new();
        [500, 999, 1_500, 3_000_000, u64::MAX].into_iter().for_each(|ns| wake.record(ns));
        let rows = draw(&wake);
        assert_eq!(rows.len(), ROWS as usize);
        let counted: u64 = rows.iter().map(|row| row.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(counted, 5);
        assert!(rows[0].contains("< 1 µs         2 "), "{}", rows[0]);
    }
}
