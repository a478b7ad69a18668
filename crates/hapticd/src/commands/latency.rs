//! `hapticd latency`: how late this machine wakes a bare 1 kHz loop.

use super::{print_json, print_line};
use crate::cli::LatencyArguments;
use crate::failure::Failure;
use haptic_realtime::histogram::Histogram;
use haptic_realtime::latency::{LatencyReport, LatencyRequest, measure};
use haptic_realtime::memory::{LockedMemory, disable_heap_trim};
use haptic_realtime::thread::{Granted, Policy};
use std::time::Duration;

/// Rows of the drawn histogram: one for each doubling, from 1 µs on.
const ROWS: u32 = 16;
/// Width of its longest bar.
const WIDTH: f64 = 50.0;

/// Runs the command.
///
/// # Errors
/// When no thread can be started.
pub fn latency(arguments: &LatencyArguments) -> Result<(), Failure> {
    // Without it a page fault may come now and then; the figures then show it.
    drop(disable_heap_trim());
    let duration = Duration::from_secs_f64(arguments.seconds);
    let report = measure(LatencyRequest { duration, ..LatencyRequest::default() })
        .map_err(|error| Failure::Runtime(format!("the loop cannot be started: {error}")))?;
    if arguments.json { print_json(&timing(&report)) } else { print_line(text(&report).trim_end()) }
}

fn timing(report: &LatencyReport) -> serde_json::Value {
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
        format!("woke p50 {p50:.1}, p99 {p99:.1}, p99.9 {p999:.1}, max {max:.1} µs after the deadline"),
        granted_in_words(granted),
        format!("page faults: {} minor, {} major", page_faults.minor, page_faults.major),
    ];
    let waited = |ns: u64| format!("ready, but another had the core: {:.1} µs in all", ns as f64 / 1e3);
    lines.extend(waited_ns.map(waited));
    lines.extend(drawn(&timing.wake));
    lines.extend(granted.reasons.iter().chain(dma_latency_refused).map(|reason| format!("refused: {reason}")));
    lines.join("\n")
}

/// What the thread was given, as the kernel says.
fn granted_in_words(granted: &Granted) -> String {
    let scheduling = match granted.policy {
        Policy::Fifo => format!("real-time scheduling with priority {}", granted.priority),
        Policy::Normal => "ordinary scheduling".to_owned(),
        Policy::Other(number) => format!("scheduling policy {number}"),
    };
    let core = granted.cpu.map_or("on any core".to_owned(), |cpu| format!("pinned to core {cpu}"));
    let memory = match granted.locked_memory {
        LockedMemory::CurrentAndFuture => "all memory locked",
        LockedMemory::CurrentOnly => "memory locked as far as it was there at the start",
        LockedMemory::Nothing => "no memory locked",
    };
    format!("{scheduling}, {core}, {memory}")
}

/// A bar for each doubling of the latency; its length is the logarithm of the count, so that rare wakes are seen.
fn drawn(wake: &Histogram) -> Vec<String> {
    let mut counts = [0u64; ROWS as usize];
    for (longest_ns, count) in wake.buckets() {
        let row = (longest_ns / 1000).checked_ilog2().map_or(0, |doublings| doublings + 1).min(ROWS - 1);
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
    fn what_was_granted_is_told_in_words() {
        let mut granted = Granted {
            policy: Policy::Fifo,
            priority: 80,
            cpu: Some(1),
            locked_memory: LockedMemory::CurrentAndFuture,
            resets_on_fork: true,
            reasons: Vec::new(),
        };
        let told = granted_in_words(&granted);
        assert_eq!(told, "real-time scheduling with priority 80, pinned to core 1, all memory locked");
        (granted.policy, granted.cpu, granted.locked_memory) = (Policy::Normal, None, LockedMemory::Nothing);
        assert_eq!(granted_in_words(&granted), "ordinary scheduling, on any core, no memory locked");
    }

    #[test]
    fn every_wake_is_in_one_row_of_the_drawing() {
        let mut wake = Histogram::new();
        [500, 999, 1_500, 3_000_000, u64::MAX].into_iter().for_each(|ns| wake.record(ns));
        let rows = drawn(&wake);
        assert_eq!(rows.len(), ROWS as usize);
        let counted: u64 = rows.iter().map(|row| row.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap()).sum();
        assert_eq!(counted, 5);
        assert!(rows[0].contains("< 1 µs         2 "), "{}", rows[0]);
    }
}
