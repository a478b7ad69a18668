//! Metrics in the Prometheus text format.

use super::shared::Shared;
use crate::message::timing::DurationPercentiles;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Returns all metrics as text.
pub fn text(shared: &Shared) -> String {
    let mut metrics = Text(String::new());
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
    metrics.quantiles("hapticd_wake_seconds", "Wake-up latency of the loop.", &timing.wake_ns);
    metrics.quantiles("hapticd_compute_seconds", "Duration of a tick.", &timing.compute_ns);
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
    metrics.gauge("hapticd_engaged_share", "Engagement fraction, 0 to 1.", report.fraction);
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

    fn quantiles(&mut self, name: &str, help: &str, ns: &DurationPercentiles) {
        self.head(name, "gauge", help);
        for (quantile, ns) in [("0.5", ns.p50), ("0.99", ns.p99), ("0.999", ns.p999), ("1", ns.max)] {
            let seconds = ns as f64 * 1e-9;
            // Writing to a string cannot fail.
            let _ = writeln!(self.0, "{name}{{quantile=\"{quantile}\"}} {seconds}");
        }
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.head(name, kind, help);
        let _ = writeln!(self.0, "{name} {value}");
    }

    fn head(&mut self, name: &str, kind: &str, help: &str) {
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }
}
