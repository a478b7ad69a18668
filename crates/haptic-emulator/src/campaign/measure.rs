//! The figures of a cell, from its trials and the trials without a disturbance.

use super::disturbance::Disturbance;
use super::subject::{Moment, Record};
use super::trial::Outcome;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Fraction of the force before the disturbance at which the force counts as recovered.
const RECOVERED: f64 = 0.8;

/// Figures of a cell. Lengths of time are counted from the beginning of the disturbance, unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// Name of the backend.
    pub backend: String,
    /// Name of the disturbance.
    pub fault: String,
    /// Force before the disturbance, N.
    pub force_before_n: f64,
    /// Time until the motors of a pressed board were off, ms; `None` if they never were.
    pub off_after_ms: Option<f64>,
    /// Largest force afterwards, N.
    pub force_max_n: f64,
    /// Largest energy that the motors gave the hand beyond what they give it without a disturbance, mJ, until the
    /// disturbance or the force ended: of a hand that keeps pressing.
    pub pressing_mj: f64,
    /// The same of a hand that leaves, mJ.
    pub leaving_mj: f64,
    /// Time from the end of the disturbance until the force was back, ms; `None` if it was not, zero if it never left.
    pub back_after_ms: Option<f64>,
    /// Kinds of the faults that the daemon logged.
    pub logged: Vec<String>,
    /// Number of ticks without force because the readings were too old.
    pub stale: u64,
    /// Exit code of the daemon; `None` if it was killed.
    pub exit_code: Option<i32>,
}

impl Figures {
    /// Computes the figures. Each pair has the outcome with a hand that presses first.
    pub fn new(backend: &str, disturbance: Disturbance, outcomes: &[Outcome; 2], references: &[Outcome; 2]) -> Self {
        let [pressing, leaving] = outcomes;
        let excess_mj = |at: usize| excess_mj(disturbance, &outcomes[at].record, &references[at].record);
        let most_n = |outcome: &Outcome| outcome.record.moments.iter().map(|moment| moment.force_n).fold(0.0, f64::max);
        Self {
            backend: backend.to_owned(),
            fault: disturbance.name(),
            force_before_n: pressing.record.force_before_n,
            off_after_ms: pressing.record.off_after_ns.map(|ns| ns as f64 * 1e-6),
            force_max_n: most_n(pressing).max(most_n(leaving)),
            pressing_mj: excess_mj(0),
            leaving_mj: excess_mj(1),
            back_after_ms: back_after_ms(disturbance, pressing),
            logged: kinds(&pressing.summary),
            stale: pressing.summary["stale"].as_u64().unwrap_or(0),
            exit_code: pressing.exit_code,
        }
    }
}

/// Returns the largest difference of the work in two records, mJ, until the disturbance ends; for an event, which has
/// no duration, until the motors are off. The engagement after that is not included: it pushes back a hand that has
/// meanwhile pressed deeper, and the energy of an engagement has its own bound.
fn excess_mj(disturbance: Disturbance, record: &Record, reference: &Record) -> f64 {
    let until_ms = match (disturbance.duration_ms(), record.off_after_ns) {
        (0, None) => record.moments.len(),
        (0, Some(ns)) => ns.div_ceil(1_000_000) as usize + 1,
        (ms, _) => ms as usize,
    };
    let pairs = record.moments.iter().zip(&reference.moments).take(until_ms);
    1000.0 * pairs.map(|(moment, usual)| moment.work_j - usual.work_j).fold(0.0, f64::max)
}

fn back_after_ms(disturbance: Disturbance, outcome: &Outcome) -> Option<f64> {
    let least_n = RECOVERED * outcome.record.force_before_n;
    let is_back = |moment: &Moment| moment.force_n >= least_n;
    let moments = &outcome.record.moments;
    if moments.iter().all(is_back) {
        return Some(0.0);
    }
    let end = disturbance.duration_ms() as usize;
    let lost = moments.iter().position(|moment| !is_back(moment))?.max(end);
    // A force that returns for a moment only is not back.
    let back = moments.iter().rposition(|moment| !is_back(moment))? + 1;
    (back < moments.len()).then(|| (back.max(lost) - end) as f64)
}

/// Kinds of the faults in a summary, each once, in the order of their first occurrence.
fn kinds(summary: &Value) -> Vec<String> {
    let faults = summary["faults"].as_array().map_or(&[][..], Vec::as_slice);
    let mut kinds: Vec<String> = Vec::new();
    for kind in faults.iter().filter_map(|fault| fault["kind"].as_str()) {
        if !kinds.iter().any(|known| known == kind) {
            kinds.push(kind.to_owned());
        }
    }
    kinds
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record with the given force at each millisecond. The work rises with the force, by 1 mJ for each newton and
    /// millisecond.
    fn outcome(forces_n: impl Iterator<Item = f64>) -> Outcome {
        let mut work_j = 0.0;
        let moments = forces_n.map(|force_n| {
            work_j += 1e-3 * force_n;
            Moment { force_n, work_j }
        });
        let record = Record { force_before_n: 2.0, moments: moments.collect(), off_after_ns: Some(1_500_000) };
        Outcome { record, exit_code: Some(0), summary: Value::Null, log: String::new() }
    }

    fn figures(disturbance: Disturbance, force_n: impl Fn(usize) -> f64) -> Figures {
        let disturbed = || outcome((0..1000).map(&force_n));
        let usual = || outcome((0..1000).map(|_| 2.0));
        Figures::new("board", disturbance, &[disturbed(), disturbed()], &[usual(), usual()])
    }

    #[test]
    fn a_force_that_stays_hands_nothing_over_and_never_left() {
        let figures = figures(Disturbance::ReloadStorm, |_| 2.0);
        assert_eq!((figures.pressing_mj, figures.back_after_ms, figures.force_max_n), (0.0, Some(0.0), 2.0));
    }

    #[test]
    fn the_excess_is_the_largest_lead_over_the_reference() {
        let figures = figures(Disturbance::ReloadStorm, |ms| if ms < 100 { 3.0 } else { 0.5 });
        assert!((figures.leaving_mj - 100.0).abs() < 1e-9, "{}", figures.leaving_mj);
    }

    #[test]
    fn what_follows_the_end_of_a_disturbance_or_of_the_force_does_not_count() {
        let later = |ms: usize| if ms < 300 { 2.0 } else { 4.0 };
        assert_eq!(figures(Disturbance::Unplug, later).leaving_mj, 0.0);
        let at_once = |ms: usize| if ms < 4 { 2.5 } else { 4.0 };
        assert!((figures(Disturbance::Kill, at_once).leaving_mj - 1.5).abs() < 1e-9);
    }

    #[test]
    fn a_force_is_back_when_it_stays_back() {
        let back = |ms: usize| if ms == 310 || ms >= 420 { 1.9 } else { 0.1 };
        assert_eq!(figures(Disturbance::Unplug, back).back_after_ms, Some(120.0));
        assert_eq!(figures(Disturbance::Unplug, |_| 0.0).back_after_ms, None);
    }

    #[test]
    fn each_kind_of_fault_is_listed_once() {
        let summary = serde_json::json!({"faults": [{"kind": "lost"}, {"kind": "late"}, {"kind": "lost"}]});
        assert_eq!(kinds(&summary), ["lost", "late"]);
        assert_eq!(kinds(&Value::Null), [""; 0]);
    }
}
