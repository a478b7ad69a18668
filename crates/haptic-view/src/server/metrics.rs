//! Metrics in the Prometheus text format, version 0.0.4.

use super::shared::Shared;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Upper bounds of the buckets of a histogram: the powers of √2 from 1 µs (2^10 ns) to 17 ms (2^24 ns), whole ns. All of
/// them are ends of bars, so that no bar counts in two buckets.
const BOUNDS_IN_HALF_OCTAVES: std::ops::RangeInclusive<i32> = 20..=48;

/// Returns all metrics as text.
pub fn text(shared: &Shared) -> String {
    let mut metrics = Text(String::new());
    metrics.head("hapticd_build_info", "gauge", "1; the label is the version of the program.");
    metrics.sample(concat!("hapticd_build_info{version=\"", env!("CARGO_PKG_VERSION"), "\"}"), 1.0);
    timing(&mut metrics, shared);
    world(&mut metrics, shared);
    server(&mut metrics, shared);
    metrics.0
}

fn timing(metrics: &mut Text, shared: &Shared) {
    let timing = shared.telemetry.timing.borrow().clone();
    metrics.counter("hapticd_ticks_total", "Ticks that ran.", timing.ticks as f64);
    metrics.counter("hapticd_overruns_total", "Ticks that ended after the next deadline.", timing.overruns as f64);
    metrics.counter("hapticd_skipped_total", "Periods in which no tick ran.", timing.skipped as f64);
    let wake = (&timing.wake_histogram[..], timing.wake_sum_ns);
    metrics.histogram("hapticd_wake_seconds", "Wake-up latency of the loop.", wake);
    metrics.gauge("hapticd_wake_max_seconds", "Longest wake-up latency.", seconds(timing.wake_ns.max));
    let compute = (&timing.compute_histogram[..], timing.compute_sum_ns);
    metrics.histogram("hapticd_compute_seconds", "Duration of a tick.", compute);
    metrics.gauge("hapticd_compute_max_seconds", "Longest tick.", seconds(timing.compute_ns.max));
}

fn world(metrics: &mut Text, shared: &Shared) {
    let Some(observation) = shared.telemetry.state.borrow().clone() else { return };
    let report = &observation.snapshot.report;
    metrics.gauge("hapticd_force_newtons", "Magnitude of the force on the hand.", report.force_n.norm());
    metrics.gauge("hapticd_penetration_metres", "Deepest penetration of any pair.", report.felt.penetration_m);
    metrics.gauge("hapticd_contacts", "Contact points that carry load.", f64::from(report.felt.contacts));
    metrics.gauge(
        "hapticd_energy_gain_max_joules",
        "Maximum energy gain that the balance cannot explain.",
        report.felt.energy.gain_max_j,
    );
    metrics.gauge("hapticd_tank_joules", "Tank level.", report.tank_j);
    metrics.gauge("hapticd_engaged_ratio", "Engagement fraction, 0 to 1.", report.fraction);
    metrics.gauge("hapticd_paused", "1 while the world is paused.", f64::from(u8::from(report.paused)));
    metrics.counter("hapticd_faults_total", "Faults; each sets the force to zero.", observation.faults as f64);
    metrics.counter(
        "hapticd_stale_observations_total",
        "Observations with a stale reading.",
        observation.stale_observations as f64,
    );
}

fn server(metrics: &mut Text, shared: &Shared) {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let counters = &shared.counters;
    metrics.gauge("hapticd_view_clients", "Open streams.", shared.open_streams() as f64);
    metrics.counter("hapticd_view_frames_total", "Frames sent to streams.", read(&counters.frames_sent));
    metrics.counter("hapticd_view_frames_dropped_total", "Frames skipped.", read(&counters.frames_dropped));
    metrics.counter(
        "hapticd_view_slow_clients_total",
        "Streams dropped because the client read nothing.",
        read(&counters.slow_clients),
    );
    metrics.counter("hapticd_view_requests_total", "Requests.", read(&counters.requests));
    metrics.counter(
        "hapticd_view_refused_total",
        "Rejected requests, messages and connections.",
        shared.rejections.total() as f64,
    );
    let refused = read(&counters.connections_refused);
    metrics.counter(
        "hapticd_view_connections_refused_total",
        "Connections rejected because all slots were in use.",
        refused,
    );
}

struct Text(String);

impl Text {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.single(name, "gauge", help, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.single(name, "counter", help, value);
    }

    /// Writes a histogram of durations, given as bars and their sum in ns.
    fn histogram(&mut self, name: &str, help: &str, (bars, sum_ns): (&[(u64, u64)], u64)) {
        self.head(name, "histogram", help);
        for half_octaves in BOUNDS_IN_HALF_OCTAVES {
            let bound_ns = (f64::from(half_octaves) / 2.0).exp2() as u64;
            let bound_s = seconds(bound_ns);
            self.sample(&format!("{name}_bucket{{le=\"{bound_s}\"}}"), counted(bars, bound_ns));
        }
        let count = counted(bars, u64::MAX);
        self.sample(&format!("{name}_bucket{{le=\"+Inf\"}}"), count);
        self.sample(&format!("{name}_sum"), seconds(sum_ns));
        self.sample(&format!("{name}_count"), count);
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        self.sample(name, value);
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, series: &str, value: f64) {
        let _ = writeln!(self.0, "{series} {value}");
    }
}

/// Returns the number of durations in the bars that end at or before `bound_ns`.
fn counted(bars: &[(u64, u64)], bound_ns: u64) -> f64 {
    bars.iter().filter(|(end_ns, _)| *end_ns <= bound_ns).map(|(_, count)| *count).sum::<u64>() as f64
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
