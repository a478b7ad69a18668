//! Checks whether this machine is fit for a 1 kHz loop, and suggests remedies.
//!
//! Every check yields a [`Finding`], with a remedy if there is a problem. Reading `/proc` and `/sys` is separate from
//! evaluation: the evaluations are pure functions of text and numbers, tested with samples from other machines. A check
//! fails only if the loop would be unreliable; a problem that merely increases latency is a warning.
//!
//! Run the checks only in a process without a loop: the memory check locks all memory and then unlocks it.

mod cpu;
mod devices;
mod interrupts;
mod live;
mod machine;
mod memory;
mod scheduling;

use std::time::Duration;

use serde::Serialize;

pub use live::{grade_round_trips, grade_wake_latency, live_finding};
pub use machine::Machine;

use crate::thread::{Granted, ThreadRequest, spawn};

/// Severity of a finding, in increasing order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// No problem.
    Ok,
    /// The loop runs, but with higher latency or less reliably than possible.
    Warn,
    /// The loop is unreliable.
    Fail,
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name, such as `kernel-preemption`.
    pub id: &'static str,
    /// Severity.
    pub verdict: Verdict,
    /// Subject of the check, and why it matters.
    pub what: &'static str,
    /// Measured value, as text.
    pub measured: String,
    /// Remedy; `None` if nothing is wrong.
    pub remedy: Option<String>,
}

/// Name and subject of a check, shared by its findings.
#[derive(Debug, Clone, Copy)]
struct Check {
    id: &'static str,
    what: &'static str,
}

impl Check {
    fn ok(self, measured: impl Into<String>) -> Finding {
        self.finding(Verdict::Ok, measured.into(), None)
    }

    fn warn(self, measured: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Verdict::Warn, measured.into(), Some(remedy.into()))
    }

    fn fail(self, measured: impl Into<String>, remedy: impl Into<String>) -> Finding {
        self.finding(Verdict::Fail, measured.into(), Some(remedy.into()))
    }

    fn finding(self, verdict: Verdict, measured: String, remedy: Option<String>) -> Finding {
        Finding { id: self.id, verdict, what: self.what, measured, remedy }
    }
}

/// Returns the worst verdict of all findings; [`Verdict::Ok`] if there are none.
pub fn worst(findings: &[Finding]) -> Verdict {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok)
}

/// Runs all checks except the self-test of the bare loop.
pub fn inspect(machine: &Machine) -> Vec<Finding> {
    let trial = try_thread();
    let cpu = trial.as_ref().ok().and_then(|granted| granted.cpu);
    let mut findings = scheduling::inspect(machine, &trial);
    findings.extend(memory::inspect(machine));
    findings.extend(cpu::inspect(machine, cpu));
    findings.extend(interrupts::inspect(machine, cpu));
    findings.extend(devices::inspect(machine));
    findings
}

/// Runs all checks, including a self-test of the bare loop that lasts `live`.
pub fn inspect_and_measure(machine: &Machine, live: Duration) -> Vec<Finding> {
    let mut findings = inspect(machine);
    findings.push(live_finding(live));
    findings
}

/// Starts a real-time thread that ends immediately, and returns the granted properties. The thread locks no memory and
/// sets no limit, so nothing needs to be restored.
fn try_thread() -> std::io::Result<Granted> {
    let request = ThreadRequest { lock_memory: false, runaway_limit: None, ..ThreadRequest::default() };
    let thread = spawn(request, |_| ())?;
    Ok(thread.granted().clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECK: Check = Check { id: "sample", what: "a sample" };

    #[test]
    fn the_worst_finding_decides() {
        assert_eq!(worst(&[]), Verdict::Ok);
        assert_eq!(
            worst(&[CHECK.ok("fine"), CHECK.fail("bad", "repair"), CHECK.warn("fair", "improve")]),
            Verdict::Fail
        );
    }
}
