//! Five-line summary of a finished run, for the user.

use crate::figures::seconds_of;
use crate::summary::{RecordingOutcome, Summary};
use haptic_realtime::histogram::Percentiles;

/// Maximum fraction of overruns. A run that exceeds it is reported as having too many late ticks.
const MAX_OVERRUN_FRACTION: f64 = 1e-3;
/// Number of ticks within which the force should have engaged.
const ENGAGED_WITHIN: u64 = 3000;

/// Returns five lines: duration, wake-up latency, compute time, force with contacts, and problems.
pub fn verdict(summary: &Summary) -> [String; 5] {
    [duration(summary), wake_up(summary), compute(summary), force(summary), problems(summary)]
}

fn duration(summary: &Summary) -> String {
    let periods = summary.ticks + summary.skipped;
    format!("Ran {:.1} s: {} ticks, {} skipped", seconds_of(periods), summary.ticks, summary.skipped)
}

fn wake_up(summary: &Summary) -> String {
    match summary.wake_ns {
        Some(wake) => format!("Wake-up latency: {}; {} overruns", microseconds(&wake), summary.overruns),
        None => "Wake-up latency was not measured".to_owned(),
    }
}

fn compute(summary: &Summary) -> String {
    match summary.compute_ns {
        Some(compute) => format!("Time of a tick: {}, of 1000 µs", microseconds(&compute)),
        None => "Tick times were not measured".to_owned(),
    }
}

fn force(summary: &Summary) -> String {
    let Summary { force_max_n, contacts_max, penetration_max_m, .. } = summary;
    if summary.engaged == 0 && summary.ticks > ENGAGED_WITHIN {
        return "Force never engaged; the log has the reason".to_owned();
    }
    let depth_um = penetration_max_m * 1e6;
    format!("Maximum force {force_max_n:.2} N, {contacts_max} contacts at once, penetration up to {depth_um:.1} µm")
}

fn problems(summary: &Summary) -> String {
    let late = summary.overruns as f64 > MAX_OVERRUN_FRACTION * summary.ticks as f64;
    if let Some(Err(failure)) = summary.recording.as_ref().map(RecordingOutcome::require_complete) {
        return failure.to_string();
    }
    match (summary.faults.len(), summary.stale, late) {
        (0, 0, false) => format!("No problems; state hash {}", summary.state_hash),
        (0, 0, true) => "Too many late ticks; run `hapticd doctor`".to_owned(),
        (0, stale, _) => format!("{stale} ticks without force: the readings of the device were stale"),
        (faults, _, _) => {
            let last = summary.faults.last().map_or("", |fault| fault.text.as_str());
            format!("{faults} faults, each ended at zero force; last: {last}")
        }
    }
}

fn microseconds(figures: &Percentiles) -> String {
    let [p50, p99, max] = [figures.p50, figures.p99, figures.max].map(|ns| ns as f64 / 1e3);
    format!("p50 {p50:.1}, p99 {p99:.1}, max {max:.1} µs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_loop::fault::FaultRecord;

    fn summary() -> Summary {
        let figures = Percentiles { p50: 1_500, p99: 20_000, p999: 30_000, max: 40_000 };
        Summary {
            ticks: 1990,
            overruns: 1,
            skipped: 10,
            compute_ns: Some(figures),
            wake_ns: Some(figures),
            page_faults: None,
            waited_ns: None,
            device: None,
            energy_gain_max_j: 0.0,
            penetration_max_m: 2e-6,
            force_max_n: 1.25,
            contacts_max: 3,
            pairs_dropped: 0,
            stale: 0,
            engaged: 1500,
            faults: Vec::new(),
            signs: Vec::new(),
            state_hash: "00".to_owned(),
            physics: 1,
            recording: None,
        }
    }

    #[test]
    fn a_run_without_problems_has_five_lines() {
        let lines = verdict(&summary());
        assert_eq!(lines[0], "Ran 2.0 s: 1990 ticks, 10 skipped");
        assert_eq!(lines[1], "Wake-up latency: p50 1.5, p99 20.0, max 40.0 µs; 1 overruns");
        assert_eq!(lines[3], "Maximum force 1.25 N, 3 contacts at once, penetration up to 2.0 µm");
        assert_eq!(lines[4], "No problems; state hash 00");
    }

    #[test]
    fn a_run_in_which_force_never_engaged_says_so() {
        let silent = Summary { ticks: 10_000, engaged: 0, force_max_n: 0.0, ..summary() };
        assert!(verdict(&silent)[3].starts_with("Force never engaged"), "{:?}", verdict(&silent));
    }

    #[test]
    fn faults_are_reported_before_late_ticks() {
        let late = Summary { overruns: 100, ..summary() };
        assert!(verdict(&late)[4].starts_with("Too many late ticks"));
        let fault = FaultRecord { tick: 5, kind: "lost".to_owned(), text: "gone".to_owned() };
        let faulty = Summary { faults: vec![fault], ..late };
        assert_eq!(verdict(&faulty)[4], "1 faults, each ended at zero force; last: gone");
    }
}
