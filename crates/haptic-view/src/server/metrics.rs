//! Figures for Prometheus, in its text format.

use super::shared::Shared;
use crate::message::timing::PercentilesMessage;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// All figures as text.
pub fn text(shared: &Shared) -> String {
    let mut page = Page(String::new());
    timing(&mut page, shared);
    world(&mut page, shared);
    server(&mut page, shared);
    page.0
}

fn timing(page: &mut Page, shared: &Shared) {
    let timing = shared.telemetry.timing.borrow().clone();
    page.counter("hapticd_ticks_total", "Ticks that ran.", timing.ticks as f64);
    page.counter("hapticd_overruns_total", "Ticks that ended after the next deadline.", timing.overruns as f64);
    page.counter("hapticd_skipped_total", "Periods that were not run.", timing.skipped as f64);
    page.quantiles("hapticd_wake_seconds", "How late the loop woke.", &timing.wake_ns);
    page.quantiles("hapticd_compute_seconds", "How long a tick took.", &timing.compute_ns);
}

fn world(page: &mut Page, shared: &Shared) {
    let Some(observation) = shared.telemetry.state.borrow().clone() else { return };
    let report = &observation.snapshot.report;
    page.gauge("hapticd_force_newtons", "Size of the force on the hand.", report.force_n.norm());
    page.gauge("hapticd_penetration_metres", "Deepest penetration of any pair.", report.felt.penetration_m);
    page.gauge("hapticd_contacts", "Contact points that carry load.", f64::from(report.felt.contacts));
    page.gauge("hapticd_energy_gain_max_joules", "Energy gain that nothing explains.", report.felt.energy.gain_max_j);
    page.gauge("hapticd_tank_joules", "Energy on account.", report.tank_j);
    page.gauge("hapticd_engaged_share", "Share of force that the engagement gives.", report.share);
    page.gauge("hapticd_paused", "1 while the world stands still.", f64::from(u8::from(report.paused)));
    page.counter("hapticd_faults_total", "Faults, each ended at zero force.", observation.faults as f64);
    page.counter(
        "hapticd_stale_observations_total",
        "Times that the reading was seen too old.",
        observation.stale_observations as f64,
    );
}

fn server(page: &mut Page, shared: &Shared) {
    let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed) as f64;
    let counters = &shared.counters;
    page.gauge("hapticd_view_clients", "Open streams.", shared.open_streams() as f64);
    page.counter("hapticd_view_frames_total", "Frames sent to streams.", read(&counters.frames_sent));
    page.counter("hapticd_view_frames_dropped_total", "Frames left out.", read(&counters.frames_dropped));
    page.counter(
        "hapticd_view_slow_clients_total",
        "Streams dropped for taking nothing.",
        read(&counters.slow_clients),
    );
    page.counter("hapticd_view_requests_total", "Requests.", read(&counters.requests));
    page.counter(
        "hapticd_view_refused_total",
        "Requests, messages and connections refused.",
        shared.rejections.total() as f64,
    );
    let refused = read(&counters.connections_refused);
    page.counter("hapticd_view_connections_refused_total", "Connections that found no place.", refused);
}

struct Page(String);

impl Page {
    fn gauge(&mut self, name: &str, help: &str, value: f64) {
        self.single(name, "gauge", help, value);
    }

    fn counter(&mut self, name: &str, help: &str, value: f64) {
        self.single(name, "counter", help, value);
    }

    fn quantiles(&mut self, name: &str, help: &str, ns: &PercentilesMessage) {
        self.head(name, "gauge", help);
        for (quantile, ns) in [("0.5", ns.p50), ("0.99", ns.p99), ("0.999", ns.p999), ("1", ns.max)] {
            let seconds = ns as f64 * 1e-9;
            // Writing into a string cannot fail.
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
