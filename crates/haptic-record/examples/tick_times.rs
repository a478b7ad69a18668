//! Measures the duration of ticks, filtering out disturbances from other activity on the machine.
//!
//! Runs of the same world do the same work in the same tick, while disturbances rarely hit the same tick twice. For
//! each tick, the program therefore takes the shortest time over all recordings. It prints the percentiles of these
//! times and of each recording. `scripts/measure-tick` makes the recordings and calls this program.
//!
//! `cargo run --release -p haptic-record --example tick_times -- FILE.mcap…`

use haptic_realtime::histogram::Histogram;
use haptic_record::reader::{Item, ReadError, RecordingReader};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

/// Duration of each tick, by tick number, ns.
type TickTimes = BTreeMap<u64, u32>;

/// Reads the tick times of a recording. The message of a tick contains the duration of the previous tick.
fn tick_times(path: &Path) -> Result<TickTimes, ReadError> {
    let mut reader = RecordingReader::open(path)?;
    let mut times = TickTimes::new();
    while let Some(item) = reader.next_item() {
        if let Item::Tick(message) = item
            && let Some(before) = message.tick.checked_sub(1)
            && message.previous_compute_ns > 0
        {
            times.insert(before, message.previous_compute_ns);
        }
    }
    Ok(times)
}

/// Returns the shortest time of each tick that is present in all runs.
fn shortest(runs: &[TickTimes]) -> TickTimes {
    let Some((first, others)) = runs.split_first() else { return TickTimes::new() };
    let of_all = |(tick, time): (&u64, &u32)| {
        others
            .iter()
            .try_fold(*time, |least, run| run.get(tick).map(|other| least.min(*other)))
            .map(|least| (*tick, least))
    };
    first.iter().filter_map(of_all).collect()
}

fn tell(name: &str, times: &TickTimes) {
    let mut histogram = Histogram::new();
    for time in times.values() {
        histogram.record(u64::from(*time));
    }
    let [p50, p99, p999] = [500, 990, 999].map(|per_mille| micro(histogram.per_mille_ns(per_mille)));
    println!(
        "{name:<28} {:>7} {p50:>9.1} {p99:>9.1} {p999:>9.1} {:>9.1}",
        histogram.total(),
        micro(histogram.max_ns())
    );
}

fn micro(ns: u64) -> f64 {
    ns as f64 / 1000.0
}

fn main() -> ExitCode {
    let paths: Vec<String> = std::env::args().skip(1).collect();
    if paths.is_empty() {
        eprintln!("usage: tick_times FILE.mcap…, recordings of the same profile made by `hapticd run --record`");
        return ExitCode::from(2);
    }
    let runs: Vec<TickTimes> = match paths.iter().map(|path| tick_times(Path::new(path))).collect() {
        Ok(runs) => runs,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    };
    println!("{:<28} {:>7} {:>9} {:>9} {:>9} {:>9}", "µs a tick", "ticks", "p50", "p99", "p99.9", "max");
    for (number, run) in runs.iter().enumerate() {
        tell(&format!("run {}", number + 1), run);
    }
    tell(&format!("shortest of {} at each tick", runs.len()), &shortest(&runs));
    ExitCode::SUCCESS
}
