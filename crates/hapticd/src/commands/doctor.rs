//! `hapticd doctor`: checks whether this machine is fit for 1 kHz, and suggests remedies.

use super::{print_json, print_line};
use crate::cli::DoctorArguments;
use crate::failure::Failure;
use haptic_realtime::fitness::{Finding, Machine, Verdict, inspect_and_measure, worst};
use std::time::Duration;

/// Runs the command.
///
/// # Errors
/// If the machine is unfit.
pub fn doctor(arguments: &DoctorArguments) -> Result<(), Failure> {
    let findings = inspect_and_measure(&Machine::this(), Duration::from_secs_f64(arguments.seconds));
    let verdict = worst(&findings);
    if arguments.json {
        print_json(&serde_json::json!({ "fit": verdict != Verdict::Fail, "verdict": verdict, "findings": findings }))?;
    } else {
        findings.iter().try_for_each(|finding| print_line(&text(finding)))?;
    }
    conclude(&findings)
}

fn text(finding: &Finding) -> String {
    let Finding { id, verdict, what, measured, remedy } = finding;
    let mark = match verdict {
        Verdict::Ok => "ok  ",
        Verdict::Warn => "warn",
        Verdict::Fail => "FAIL",
    };
    let remedy = remedy.as_ref().map_or(String::new(), |remedy| format!("\n     {what}\n     -> {remedy}"));
    format!("{mark} {id}: {measured}{remedy}")
}

fn conclude(findings: &[Finding]) -> Result<(), Failure> {
    let failed: Vec<&str> =
        findings.iter().filter(|finding| finding.verdict == Verdict::Fail).map(|finding| finding.id).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(Failure::Runtime(format!("not fit for 1 kHz: {}; see the remedies above", failed.join(", "))))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(verdict: Verdict) -> Finding {
        let remedy = (verdict != Verdict::Ok).then(|| "repair it".to_owned());
        Finding { id: "sample", verdict, what: "a sample", measured: "a value".to_owned(), remedy }
    }

    #[test]
    fn only_a_failed_check_makes_a_machine_unfit() {
        assert!(conclude(&[finding(Verdict::Ok), finding(Verdict::Warn)]).is_ok());
        let unfit = conclude(&[finding(Verdict::Warn), finding(Verdict::Fail)]).unwrap_err();
        assert_eq!((unfit.exit_code(), unfit.to_string().contains("sample")), (1, true));
    }

    #[test]
    fn a_remedy_is_printed_where_there_is_one() {
        assert_eq!(text(&finding(Verdict::Ok)), "ok   sample: a value");
        assert!(text(&finding(Verdict::Warn)).ends_with("-> repair it"));
    }
}
