//! What a run came to, in five lines for a person.

use crate::figures::seconds_of;
use crate::summary::Summary;
use haptic_realtime::histogram::Percentiles;

/// Share of late ticks that is still called steady.
const STEADY_SHARE: f64 = 1e-3;
/// Ticks after which force should have come on.
const LONG_ENOUGH: u64 = 3000;

/// Five lines: how long, how punctual, how costly, what was felt, and whether all was well.
pub fn verdict(summary: &Summary) -> [String; 5] {
    [how_long(summary), how_punctual(summary), how_costly(summary), what_was_felt(summary), was_all_well(summary)]
}

fn how_long(summary: &Summary) -> String {
    let periods = summary.ticks + summary.skipped;
    format!("ran {:.1} s: {} ticks, {} skipped", seconds_of(periods), summary.ticks, summary.skipped)
}

fn how_punctual(summary: &Summary) -> String {
    match summary.wake_ns {
        Some(wake) => format!("woke {}; {} overruns", microseconds(&wake), summary.overruns),
        None => "no clock was kept".to_owned(),
    }
}

fn how_costly(summary: &Summary) -> String {
    match summary.compute_ns {
        Some(compute) => format!("a tick took {}, of 1000 µs", microseconds(&compute)),
        None => "nobody looked at the clock".to_owned(),
    }
}

fn what_was_felt(summary: &Summary) -> String {
    let Summary { force_max_n, contacts_max, penetration_max_m, .. } = summary;
    if summary.engaged == 0 && summary.ticks > LONG_ENOUGH {
        return "no force came on: the hand was never at rest with the tool; let it begin at the tool's handle"
            .to_owned();
    }
    let depth_um = penetration_max_m * 1e6;
    format!("felt up to {force_max_n:.2} N, {contacts_max} contacts at once, penetration up to {depth_um:.1} µm")
}

fn was_all_well(summary: &Summary) -> String {
    let late = summary.overruns as f64 > STEADY_SHARE * summary.ticks as f64;
    match (summary.faults.len(), summary.stale, late) {
        (0, 0, false) => format!("all well; state {}", summary.state_hash),
        (0, 0, true) => "too often late: `hapticd doctor` says what would help".to_owned(),
        (0, stale, _) => format!("{stale} ticks without force because the device's readings were too old"),
        (faults, _, _) => {
            let last = summary.faults.last().map_or("", |fault| fault.text.as_str());
            format!("{faults} faults, each ended at zero force; the last: {last}")
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
    use crate::summary::Fault;

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
            state_hash: "00".to_owned(),
            physics: 1,
        }
    }

    #[test]
    fn a_good_run_is_told_in_five_lines() {
        let lines = verdict(&summary());
        assert_eq!(lines[0], "ran 2.0 s: 1990 ticks, 10 skipped");
        assert_eq!(lines[1], "woke p50 1.5, p99 20.0, max 40.0 µs; 1 overruns");
        assert_eq!(lines[3], "felt up to 1.25 N, 3 contacts at once, penetration up to 2.0 µm");
        assert_eq!(lines[4], "all well; state 00");
    }

    #[test]
    fn a_run_in_which_force_never_came_on_says_so() {
        let silent = Summary { ticks: 10_000, engaged: 0, force_max_n: 0.0, ..summary() };
        assert!(verdict(&silent)[3].starts_with("no force came on"), "{:?}", verdict(&silent));
    }

    #[test]
    fn what_went_wrong_comes_before_what_was_only_late() {
        let late = Summary { overruns: 100, ..summary() };
        assert!(verdict(&late)[4].starts_with("too often late"));
        let fault = Fault { tick: 5, kind: "lost".to_owned(), text: "gone".to_owned() };
        let faulty = Summary { faults: vec![fault], ..late };
        assert_eq!(verdict(&faulty)[4], "1 faults, each ended at zero force; the last: gone");
    }
}
