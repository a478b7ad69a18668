//! A strict parser of the Prometheus text format, version 0.0.4, and the tests that read the metrics with it.

use crate::common::server;
use haptic_view::message::timing::{TimingMessage, bars};
use std::collections::HashSet;

/// A metric with its samples.
struct Family<'a> {
    name: &'a str,
    kind: &'a str,
    samples: Vec<Sample<'a>>,
}

/// One line of a metric.
struct Sample<'a> {
    name: &'a str,
    /// The only label and its value, if any; no metric here has more.
    label: Option<(&'a str, &'a str)>,
    value: f64,
}

/// Parses a text in which every metric has its help, its type and its samples, once and in this order.
fn parse(text: &str) -> Vec<Family<'_>> {
    assert!(text.ends_with('\n') && !text.contains("\n\n"), "lines end with a line feed, and none is empty");
    let mut families: Vec<Family> = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(help) = lines.next() {
        let (name, help) = help.strip_prefix("# HELP ").and_then(|help| help.split_once(' ')).expect(help);
        let kind = lines.next().and_then(|line| line.strip_prefix(&format!("# TYPE {name} "))).expect(name);
        assert!(is_name(name) && !help.is_empty() && !help.contains('\\'), "{name}: {help}");
        assert!(families.iter().all(|family| family.name != name), "{name} occurs twice");
        let mut samples = Vec::new();
        while let Some(line) = lines.next_if(|line| !line.starts_with('#')) {
            samples.push(sample(line).unwrap_or_else(|| panic!("{line}")));
        }
        families.push(Family { name, kind, samples });
    }
    families
}

fn sample(line: &str) -> Option<Sample<'_>> {
    let (series, value) = line.split_once(' ')?;
    let (name, label) = match series.split_once('{') {
        None => (series, None),
        Some((name, label)) => {
            let (key, value) = label.strip_suffix("\"}")?.split_once("=\"")?;
            (is_name(key) && !value.contains(['"', '\\', ','])).then_some((name, Some((key, value))))?
        }
    };
    let value = value.parse().ok().filter(|value: &f64| value.is_finite())?;
    is_name(name).then_some(Sample { name, label, value })
}

fn is_name(name: &str) -> bool {
    let is_valid = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    name.starts_with(|letter: char| letter.is_ascii_alphabetic()) && name.chars().all(is_valid)
}

/// Checks that the samples of a metric are those of its type.
fn check(family: &Family) {
    let Family { name, kind, samples } = family;
    match *kind {
        "gauge" | "counter" => {
            assert!(samples.len() == 1 && samples[0].name == *name, "{name}");
            assert_eq!(*kind == "counter", name.ends_with("_total"), "{name}");
            assert!(*kind == "gauge" || samples[0].value >= 0.0, "{name}");
            let is_info = samples[0].label.is_some();
            assert!(is_info == name.ends_with("_info") && (!is_info || samples[0].value == 1.0), "{name}");
        }
        "histogram" => check_histogram(name, samples),
        _ => panic!("{name}: unknown type {kind}"),
    }
}

/// Checks that the buckets are cumulative and agree with the count.
fn check_histogram(name: &str, samples: &[Sample]) {
    let [buckets @ .., sum, count] = samples else { panic!("{name} has too few lines") };
    assert!(buckets.iter().all(|bucket| bucket.name == format!("{name}_bucket")), "{name}");
    assert!(sum.name == format!("{name}_sum") && count.name == format!("{name}_count"), "{name}");
    let bounds_s: Vec<f64> = buckets.iter().map(bound_s).collect();
    assert!(bounds_s.is_sorted_by(|shorter, longer| shorter < longer), "{name}: {bounds_s:?}");
    assert!(buckets.is_sorted_by(|shorter, longer| shorter.value <= longer.value), "{name}");
    let last = buckets.last().expect(name);
    assert!(last.label == Some(("le", "+Inf")) && last.value == count.value, "{name}");
}

fn bound_s(bucket: &Sample) -> f64 {
    let bound = bucket.label.filter(|(key, _)| *key == "le").map(|(_, bound)| bound).expect(bucket.name);
    bound.parse().expect(bound)
}

#[test]
fn metrics_are_in_the_format_that_prometheus_reads() {
    let response = server().get("/metrics");
    assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let families = parse(&response.body);
    families.iter().for_each(check);
    let names: HashSet<&str> = families.iter().map(|family| family.name).collect();
    for name in ["build_info", "ticks_total", "overruns_total", "tank_joules", "view_clients", "wake_seconds"] {
        assert!(names.contains(&*format!("hapticd_{name}")), "{name}: {names:?}");
    }
    assert!(names.iter().all(|name| name.starts_with("hapticd_")), "{names:?}");
}

#[test]
fn a_histogram_counts_each_duration_in_every_bucket_that_ends_after_it() {
    let server = server();
    let durations_ns = [900, 7_000, 7_100, 250_000, 1_000_000_000];
    server.telemetry.publish_timing(TimingMessage {
        compute_histogram: bars(durations_ns.map(|duration_ns| (duration_ns, 1))),
        compute_sum_ns: durations_ns.iter().sum(),
        ..TimingMessage::default()
    });
    let text = server.get("/metrics").body;
    let families = parse(&text);
    families.iter().for_each(check);
    let compute = families.iter().find(|family| family.name == "hapticd_compute_seconds").unwrap();
    let [buckets @ .., sum, count] = &compute.samples[..] else { panic!("{text}") };
    assert!((sum.value - 1.000_265).abs() < 1e-9 && count.value == 5.0, "{text}");
    for bucket in buckets {
        let ended = durations_ns.iter().filter(|duration_ns| **duration_ns as f64 * 1e-9 <= bound_s(bucket));
        assert_eq!(bucket.value, ended.count() as f64, "up to {} s", bound_s(bucket));
    }
}
