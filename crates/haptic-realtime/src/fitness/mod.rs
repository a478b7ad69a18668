//! Is this machine fit for a 1 kHz loop, and if not, what would make it so.
//!
//! Every check is a [`Finding`] with its remedy. What is read (`/proc`, `/sys`) and what is concluded from it are kept
//! apart: the conclusions are pure functions of texts and numbers, tested on samples of machines not at hand.
//! A check fails only if the loop cannot be relied on as things are; what merely makes it later is a warning.
//!
//! Meant for a process that runs no loop: the memory check locks all memory and unlocks it again.

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

/// How bad a finding is; the worst is the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// The loop runs, but later or less surely than it could.
    Warn,
    /// The loop cannot be relied on.
    Fail,
}

/// The outcome of one check.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// A stable name, such as `kernel-preemption`.
    pub id: &'static str,
    /// How bad it is.
    pub verdict: Verdict,
    /// What was looked at, and why it matters.
    pub what: &'static str,
    /// What was found.
    pub measured: String,
    /// What would improve it; none if nothing needs to be.
    pub remedy: Option<String>,
}

/// What a check looks at; makes its findings.
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

/// The worst verdict of all findings; [`Verdict::Ok`] if there are none.
pub fn worst(findings: &[Finding]) -> Verdict {
    findings.iter().map(|finding| finding.verdict).max().unwrap_or(Verdict::Ok)
}

/// All checks that need no measuring time.
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

/// All checks, with a self-test of the bare loop for `live`.
pub fn inspect_and_measure(machine: &Machine, live: Duration) -> Vec<Finding> {
    let mut findings = inspect(machine);
    findings.push(live_finding(live));
    findings
}

/// Starts and ends a real-time thread, so nothing needs to be restored. The memory check is separate.
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
        assert_eq!(worst(&[CHECK.ok("fine"), CHECK.fail("bad", "mend"), CHECK.warn("so so", "polish")]), Verdict::Fail);
    }
}
