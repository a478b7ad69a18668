//! Runs the checks of `hapticd doctor` on the machine that runs the tests.

use std::time::Duration;

use haptic_realtime::fitness::{Finding, Machine, Verdict, inspect, inspect_and_measure};

fn assert_well_formed(finding: &Finding) {
    assert_eq!(finding.remedy.is_none(), finding.verdict == Verdict::Ok, "{finding:?}");
    assert!(!finding.measured.is_empty(), "{finding:?}");
}

#[test]
fn every_finding_has_its_own_name_and_a_remedy_unless_it_is_ok() {
    let findings = inspect_and_measure(&Machine::this(), Duration::from_millis(50));
    let mut names: Vec<_> = findings.iter().map(|finding| finding.id).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), findings.len());
    findings.iter().for_each(assert_well_formed);
}

#[test]
fn a_machine_that_reports_nothing_gets_the_same_checks() {
    let names = |machine: &Machine| inspect(machine).iter().map(|finding| finding.id).collect::<Vec<_>>();
    assert_eq!(names(&Machine::at("/nonexistent")), names(&Machine::this()));
    inspect(&Machine::at("/nonexistent")).iter().for_each(assert_well_formed);
}
