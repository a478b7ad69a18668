//! The limits of each cell, and the reasons for exceptions.

use super::backend::Backend;
use super::disturbance::Disturbance;
use super::measure::Figures;
use crate::planned_fault::FaultKind;
use serde::Deserialize;

/// Time to zero force after a fault that the host sees, ms.
const SEEN_MS: f64 = 2.0;
/// Age at which readings are stale, ms: where silence is the sign of a fault, the host sees it then.
const STALE_MS: f64 = 5.0;
/// Time after which a dead-man process takes over from a silent daemon, ms.
const DEAD_MAN_MS: f64 = 100.0;
/// Time between two steps of an emulated firmware, ms: the resolution of its watchdog.
const FIRMWARE_STEP_MS: f64 = 1.0;
/// Largest energy beyond what the scene gives, mJ.
const ENERGY_MJ: f64 = 1.0;
/// Time from the end of a fault until the force is back, with the whole engagement, ms.
const BACK_MS: f64 = 1500.0;
/// Tolerance of the force limit, as a fraction of it: rounding on the wire.
const FORCE_TOLERANCE: f64 = 0.01;

/// Limits of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Longest time until the motors are off, ms; `None` if they may stay on.
    pub off_within_ms: Option<f64>,
    /// Largest energy beyond what the scene gives, mJ.
    pub energy_mj: f64,
    /// Longest time from the end of the fault until the force is back, ms; `None` if it may stay away.
    pub back_within_ms: Option<f64>,
    /// Largest force, N.
    pub force_n: f64,
}

impl Limits {
    /// The limits that hold without exceptions.
    pub fn new(disturbance: Disturbance, backend: &Backend) -> Self {
        let is_event = disturbance.duration_ms() == 0 && disturbance != Disturbance::KillDeadMan;
        Self {
            off_within_ms: off_within_ms(disturbance, backend),
            energy_mj: ENERGY_MJ,
            back_within_ms: (!is_event).then_some(BACK_MS),
            force_n: backend.max_force_n * (1.0 + FORCE_TOLERANCE),
        }
    }

    fn with(mut self, exception: &Exception) -> Self {
        self.off_within_ms = if exception.stays_on { None } else { exception.off_within_ms.or(self.off_within_ms) };
        self.back_within_ms = if exception.stays_off { None } else { exception.back_within_ms.or(self.back_within_ms) };
        self.energy_mj = exception.energy_mj.unwrap_or(self.energy_mj);
        self.force_n = exception.force_n.unwrap_or(self.force_n);
        self
    }

    /// What is over these limits; empty if nothing is.
    pub fn violations(&self, figures: &Figures) -> Vec<String> {
        let mut violations = Vec::new();
        let is_late = |after_ms: Option<f64>, within_ms: f64| after_ms.is_none_or(|ms| ms > within_ms);
        if let Some(within_ms) = self.off_within_ms.filter(|within_ms| is_late(figures.off_after_ms, *within_ms)) {
            violations.push(format!("not off within {within_ms} ms"));
        }
        if figures.force_max_n > self.force_n {
            violations.push(format!("over {:.2} N", self.force_n));
        }
        if figures.pressing_mj.max(figures.leaving_mj) > self.energy_mj {
            violations.push(format!("over {} mJ", self.energy_mj));
        }
        if let Some(within_ms) = self.back_within_ms.filter(|within_ms| is_late(figures.back_after_ms, *within_ms)) {
            violations.push(format!("not back within {within_ms} ms"));
        }
        violations
    }
}

fn off_within_ms(disturbance: Disturbance, backend: &Backend) -> Option<f64> {
    let watchdog_ms = backend.watchdog_ms.map(|ms| f64::from(ms) + FIRMWARE_STEP_MS);
    match disturbance {
        Disturbance::Fault(FaultKind::CutOut) => Some(SEEN_MS + STALE_MS),
        Disturbance::Fault(FaultKind::CutIn | FaultKind::Garbage) => watchdog_ms,
        Disturbance::Unplug | Disturbance::EmergencyStop | Disturbance::Terminate | Disturbance::KillDeadMan => {
            Some(SEEN_MS)
        }
        Disturbance::Kill => watchdog_ms.or(backend.has_dead_man.then_some(DEAD_MAN_MS)),
        Disturbance::Stall(ms) => {
            let within_ms = watchdog_ms.or(backend.has_dead_man.then_some(DEAD_MAN_MS + SEEN_MS));
            within_ms.filter(|within_ms| *within_ms < f64::from(ms))
        }
        Disturbance::KillBoth | Disturbance::Fault(_) | Disturbance::ReloadStorm | Disturbance::Nothing => None,
    }
}

/// A reason why the limits of some cells are others. Limits that are not given stay as they are.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exception {
    /// Name of the disturbance.
    pub fault: String,
    /// Names of the backends.
    pub backends: Vec<String>,
    /// Why, and what bounds the harm.
    pub reason: String,
    /// See [`Limits::off_within_ms`].
    pub off_within_ms: Option<f64>,
    /// The motors may stay on.
    #[serde(default)]
    pub stays_on: bool,
    /// See [`Limits::energy_mj`].
    pub energy_mj: Option<f64>,
    /// See [`Limits::force_n`].
    pub force_n: Option<f64>,
    /// See [`Limits::back_within_ms`].
    pub back_within_ms: Option<f64>,
    /// The force may stay away.
    #[serde(default)]
    pub stays_off: bool,
}

/// The exception for a cell, if there is one.
pub fn exception<'e>(
    exceptions: &'e [Exception],
    disturbance: Disturbance,
    backend: &Backend,
) -> Option<&'e Exception> {
    let is_meant = |exception: &&Exception| {
        exception.fault == disturbance.name() && exception.backends.iter().any(|name| name == backend.name())
    };
    exceptions.iter().find(is_meant)
}

/// The limits of a cell, with its exception.
pub fn limits(exceptions: &[Exception], disturbance: Disturbance, backend: &Backend) -> Limits {
    let limits = Limits::new(disturbance, backend);
    exception(exceptions, disturbance, backend).map_or(limits, |exception| limits.with(exception))
}

#[cfg(test)]
mod tests {
    use super::super::backend::BACKENDS;
    use super::*;

    fn figures() -> Figures {
        Figures { off_after_ms: Some(6.0), force_max_n: 2.0, back_after_ms: Some(50.0), ..Figures::default() }
    }

    #[test]
    fn a_cell_within_its_limits_has_no_violations_and_others_have_one_each() {
        let limits = limits(&[], Disturbance::Fault(FaultKind::CutOut), &BACKENDS[1]);
        assert_eq!(limits.violations(&figures()), [""; 0]);
        for (figures, expected) in [
            (Figures { off_after_ms: Some(7.1), ..figures() }, "not off within 7 ms"),
            (Figures { off_after_ms: None, ..figures() }, "not off within 7 ms"),
            (Figures { force_max_n: 4.1, ..figures() }, "over 4.04 N"),
            (Figures { leaving_mj: 1.2, ..figures() }, "over 1 mJ"),
            (Figures { back_after_ms: None, ..figures() }, "not back within 1500 ms"),
        ] {
            assert_eq!(limits.violations(&figures), [expected]);
        }
    }

    #[test]
    fn silence_is_ended_by_the_watchdog_and_a_short_stall_by_nothing() {
        let [_, native, haply, ..] = &BACKENDS;
        assert_eq!(off_within_ms(Disturbance::Kill, native), Some(21.0));
        assert_eq!(off_within_ms(Disturbance::Stall(50), native), Some(21.0));
        assert_eq!(off_within_ms(Disturbance::Stall(50), haply), None);
        assert_eq!(off_within_ms(Disturbance::Stall(300), haply), Some(102.0));
        assert_eq!(off_within_ms(Disturbance::Fault(FaultKind::Frozen), native), None);
    }

    #[test]
    fn an_exception_changes_only_what_it_states_and_only_its_cells() {
        let text =
            r#"{"fault": "unplugged", "backends": ["haply-2diy"], "reason": "lost its angles", "stays_off": true}"#;
        let exceptions: [Exception; 1] = [serde_json::from_str(text).unwrap()];
        let [_, native, haply, ..] = &BACKENDS;
        assert_eq!(limits(&exceptions, Disturbance::Unplug, native), Limits::new(Disturbance::Unplug, native));
        let expected = Limits { back_within_ms: None, ..Limits::new(Disturbance::Unplug, haply) };
        assert_eq!(limits(&exceptions, Disturbance::Unplug, haply), expected);
    }
}
