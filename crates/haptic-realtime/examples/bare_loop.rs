//! Measures the wake-up latency of this machine with the bare loop, for comparison with cyclictest.
//!
//! `cargo run --release -p haptic-realtime --example bare_loop -- [SECONDS] [PRIORITY] [CPU|auto|any]`
//! Compare with: `cyclictest -t1 -p80 -a1 -i1000 -D10 -m -q -h2000`

use std::error::Error;
use std::time::Duration;

use haptic_realtime::latency::{LatencyReport, LatencyRequest, measure};
use haptic_realtime::memory::disable_heap_trim;
use haptic_realtime::thread::ThreadRequest;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let argument = |index: usize, fallback: &str| arguments.get(index).map_or(fallback.to_owned(), String::clone);
    let thread = ThreadRequest {
        name: "bare-loop".to_owned(),
        priority: argument(1, "80").parse()?,
        cpu: argument(2, "auto").parse()?,
        ..ThreadRequest::default()
    };
    let duration = Duration::try_from_secs_f64(argument(0, "10").parse()?)?;
    disable_heap_trim()?;
    print_report(&measure(LatencyRequest { thread, duration, ..LatencyRequest::default() })?);
    Ok(())
}

fn print_report(report: &LatencyReport) {
    let LatencyReport { timing, granted, page_faults, waited_ns, dma_latency_refused } = report;
    println!(
        "granted: {:?} {} on core {:?}, memory {:?}",
        granted.policy, granted.priority, granted.cpu, granted.locked_memory
    );
    granted.reasons.iter().chain(dma_latency_refused).for_each(|reason| println!("refused: {reason}"));
    let wake = timing.wake.percentiles();
    let microseconds = |nanoseconds: u64| nanoseconds as f64 / 1000.0;
    println!(
        "wake µs: p50 {:.1}  p99 {:.1}  p99.9 {:.1}  max {:.1}",
        microseconds(wake.p50),
        microseconds(wake.p99),
        microseconds(wake.p999),
        microseconds(wake.max)
    );
    println!("ticks {}  overruns {}  skipped {}", timing.ticks, timing.overruns, timing.skipped);
    println!("page faults in the loop: {} minor, {} major", page_faults.minor, page_faults.major);
    if let Some(waited_ns) = *waited_ns {
        println!("waiting for the CPU: {:.1} µs total", microseconds(waited_ns));
    }
}
