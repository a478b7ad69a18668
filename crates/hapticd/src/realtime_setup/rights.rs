//! Decides whether a device may be driven with the granted scheduling. A simulated device may always be driven;
//! hardware needs real-time scheduling, unless the user overrides this.

use haptic_realtime::thread::Granted;

/// Properties that decide whether a device may be driven without real-time scheduling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// Whether the device is hardware, with real motors.
    pub is_hardware: bool,
    /// Whether the user permits driving hardware without real-time scheduling.
    pub allow_no_rt: bool,
}

/// Decision on whether the loop may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RealtimeVerdict {
    /// The loop may run; everything requested was granted.
    Go,
    /// The loop may run, with this warning.
    Warn(String),
    /// The loop must not run, for this reason.
    Refuse(String),
}

impl Rights {
    /// Decides whether the loop may run with the granted scheduling and memory locking.
    pub fn check(&self, granted: &Granted) -> RealtimeVerdict {
        let reasons = granted.reasons.join("; ");
        if granted.is_realtime() {
            return if reasons.is_empty() { RealtimeVerdict::Go } else { RealtimeVerdict::Warn(reasons) };
        }
        if self.is_hardware && !self.allow_no_rt {
            let advice = "`hapticd doctor` lists what is missing; --allow-no-rt overrides this check";
            return RealtimeVerdict::Refuse(format!(
                "hardware is not driven without real-time scheduling: {reasons}. {advice}"
            ));
        }
        RealtimeVerdict::Warn(format!("without real-time scheduling some ticks will be late: {reasons}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_realtime::memory::LockedMemory;
    use haptic_realtime::thread::Policy;

    fn granted(policy: Policy, reasons: &[&str]) -> Granted {
        let reasons = reasons.iter().map(|&reason| reason.to_owned()).collect();
        let locked_memory = LockedMemory::CurrentAndFuture;
        Granted { policy, priority: 80, cpu: Some(1), locked_memory, resets_on_fork: true, reasons }
    }

    #[test]
    fn real_time_goes_for_models_and_hardware() {
        for is_hardware in [false, true] {
            let rights = Rights { is_hardware, allow_no_rt: false };
            assert_eq!(rights.check(&granted(Policy::Fifo, &[])), RealtimeVerdict::Go);
            let unlocked = rights.check(&granted(Policy::Fifo, &["memory is not locked"]));
            assert_eq!(unlocked, RealtimeVerdict::Warn("memory is not locked".to_owned()));
        }
    }

    #[test]
    fn without_real_time_a_model_runs_with_a_warning_that_names_the_remedy() {
        let rights = Rights { is_hardware: false, allow_no_rt: false };
        let RealtimeVerdict::Warn(text) = rights.check(&granted(Policy::Normal, &["grant CAP_SYS_NICE"])) else {
            panic!()
        };
        assert!(text.contains("grant CAP_SYS_NICE"), "{text}");
    }

    #[test]
    fn without_real_time_hardware_is_refused_unless_the_user_permits_it() {
        let refused = Rights { is_hardware: true, allow_no_rt: false };
        assert!(matches!(
            refused.check(&granted(Policy::Normal, &[])),
            RealtimeVerdict::Refuse(text) if text.contains("--allow-no-rt")
        ));
        let allowed = Rights { allow_no_rt: true, ..refused };
        assert!(matches!(allowed.check(&granted(Policy::Normal, &[])), RealtimeVerdict::Warn(_)));
    }
}
