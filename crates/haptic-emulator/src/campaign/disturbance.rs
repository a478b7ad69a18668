//! What is done to the daemon, its link or its device.

use crate::planned_fault::FaultKind;

/// A disturbance of a running daemon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Disturbance {
    /// Nothing: the reference for all others.
    Nothing,
    /// A fault of the encoders or the line.
    Fault(FaultKind),
    /// The board is unplugged, and plugged in again.
    Unplug,
    /// The daemon is killed with SIGKILL.
    Kill,
    /// The daemon is stopped with SIGSTOP for this time, ms, and continued.
    Stall(u32),
    /// The daemon is ended with SIGTERM.
    Terminate,
    /// A person stops the daemon with SIGUSR1.
    EmergencyStop,
    /// The profile is rewritten and reloaded again and again.
    ReloadStorm,
    /// The dead-man process is killed with SIGKILL.
    KillDeadMan,
    /// The daemon and its dead-man process are killed with SIGKILL, the latter first.
    KillBoth,
}

/// Duration of a fault, of an absence and of a reload storm, ms.
const DURATION_MS: u32 = 300;

impl Disturbance {
    /// All disturbances except [`Self::Nothing`], in the order of the table.
    pub fn all() -> Vec<Self> {
        let faults = FaultKind::ALL.map(Self::Fault);
        let others = [
            Self::Unplug,
            Self::Stall(50),
            Self::Stall(300),
            Self::Kill,
            Self::KillDeadMan,
            Self::KillBoth,
            Self::Terminate,
            Self::EmergencyStop,
            Self::ReloadStorm,
        ];
        faults.into_iter().chain(others).collect()
    }

    /// Name on the command line, in the results and in the table.
    pub fn name(self) -> String {
        match self {
            Self::Nothing => "nothing".to_owned(),
            Self::Fault(kind) => kind.name().to_owned(),
            Self::Unplug => "unplugged".to_owned(),
            Self::Kill => "killed".to_owned(),
            Self::Stall(ms) => format!("stalled-{ms}-ms"),
            Self::Terminate => "sigterm".to_owned(),
            Self::EmergencyStop => "sigusr1".to_owned(),
            Self::ReloadStorm => "reload-storm".to_owned(),
            Self::KillDeadMan => "dead-man-killed".to_owned(),
            Self::KillBoth => "both-killed".to_owned(),
        }
    }

    /// Time from the beginning to the end of the disturbance, ms; zero for an event.
    pub fn duration_ms(self) -> u32 {
        match self {
            Self::Fault(_) | Self::Unplug | Self::ReloadStorm => DURATION_MS,
            Self::Stall(ms) => ms,
            _ => 0,
        }
    }

    /// Whether the daemon is to be asked for its results at the end.
    pub fn leaves_the_daemon_running(self) -> bool {
        !matches!(self, Self::Kill | Self::KillBoth | Self::Terminate)
    }

    /// Whether it needs a dead-man process.
    pub fn needs_dead_man(self) -> bool {
        matches!(self, Self::KillDeadMan | Self::KillBoth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_disturbance_has_a_name_of_its_own() {
        let mut names: Vec<String> = Disturbance::all().into_iter().map(Disturbance::name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!((names.len(), count), (18, 18));
    }
}
