//! Faults that are planned in advance: what goes wrong, and when.

use crate::interval::{Interval, NotAnInterval};
use std::fmt;
use std::str::FromStr;

/// A fault of an emulated board's encoders or of its line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FaultKind {
    /// The encoders report their last value.
    Frozen,
    /// The readings of all axes jump, by [`crate::encoder_fault::JUMP_M`].
    Jump,
    /// The readings of all axes drift, at [`crate::encoder_fault::DRIFT_M_PER_S`].
    Drift,
    /// The displacement since the start of the fault is reported with the opposite sign.
    Reversed,
    /// Every answer is sent twice.
    Doubled,
    /// Bytes from the host do not arrive.
    CutIn,
    /// Answers do not arrive at the host.
    CutOut,
    /// The readings are [`crate::encoder_fault::LATE_MS`] old, although the answers are on time.
    Late,
    /// One byte of each message is damaged, in both directions.
    Garbage,
}

impl FaultKind {
    /// All kinds.
    pub const ALL: [Self; 9] = [
        Self::Frozen,
        Self::Jump,
        Self::Drift,
        Self::Reversed,
        Self::Doubled,
        Self::CutIn,
        Self::CutOut,
        Self::Late,
        Self::Garbage,
    ];

    /// Name on the command line and in the log.
    pub fn name(self) -> &'static str {
        match self {
            Self::Frozen => "frozen",
            Self::Jump => "jump",
            Self::Drift => "drift",
            Self::Reversed => "reversed",
            Self::Doubled => "doubled",
            Self::CutIn => "cut-in",
            Self::CutOut => "cut-out",
            Self::Late => "late",
            Self::Garbage => "garbage",
        }
    }

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// The faults that are active at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActiveFaults(u16);

impl ActiveFaults {
    /// Whether this kind is active.
    pub fn contains(self, kind: FaultKind) -> bool {
        self.0 & kind.bit() != 0
    }

    /// The kinds that are active in one of `self` and `other` only.
    pub fn difference(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    /// The active kinds.
    pub fn kinds(self) -> impl Iterator<Item = FaultKind> {
        FaultKind::ALL.into_iter().filter(move |kind| self.contains(*kind))
    }
}

impl FromIterator<FaultKind> for ActiveFaults {
    fn from_iter<I: IntoIterator<Item = FaultKind>>(kinds: I) -> Self {
        Self(kinds.into_iter().fold(0, |bits, kind| bits | kind.bit()))
    }
}

/// A fault with its interval. On the command line, `KIND@START+SECONDS`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedFault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// When.
    pub interval: Interval,
}

impl PlannedFault {
    /// Returns the faults of a plan that are active `time_us` microseconds after the start of the emulation.
    pub fn active(plan: &[Self], time_us: u64) -> ActiveFaults {
        plan.iter().filter(|fault| fault.interval.contains(time_us)).map(|fault| fault.kind).collect()
    }
}

/// A text that is not a planned fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAPlannedFault {
    /// There is no `@`, or no such kind before it.
    Kind,
    /// What follows the `@` is not an interval.
    Interval(NotAnInterval),
}

impl fmt::Display for NotAPlannedFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kind => {
                let names = FaultKind::ALL.map(FaultKind::name).join(", ");
                write!(f, "give KIND@START+SECONDS, e.g. frozen@5+2; the kinds are {names}")
            }
            Self::Interval(error) => write!(f, "after the @, {error}"),
        }
    }
}

impl std::error::Error for NotAPlannedFault {}

impl FromStr for PlannedFault {
    type Err = NotAPlannedFault;

    fn from_str(text: &str) -> Result<Self, NotAPlannedFault> {
        let (name, interval) = text.split_once('@').ok_or(NotAPlannedFault::Kind)?;
        let kind = FaultKind::ALL.into_iter().find(|kind| kind.name() == name).ok_or(NotAPlannedFault::Kind)?;
        Ok(Self { kind, interval: interval.parse().map_err(NotAPlannedFault::Interval)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_parsed_and_is_active_within_its_interval_only() {
        for kind in FaultKind::ALL {
            let fault: PlannedFault = format!("{}@1+0.5", kind.name()).parse().unwrap();
            let active = |time_us| PlannedFault::active(&[fault], time_us);
            let only: ActiveFaults = [kind].into_iter().collect();
            let none = ActiveFaults::default();
            assert_eq!([999_999, 1_000_000, 1_499_999, 1_500_000].map(active), [none, only, only, none]);
            assert_eq!(only.kinds().collect::<Vec<_>>(), [kind]);
        }
    }

    #[test]
    fn faults_can_overlap() {
        let plan = ["late@1+2", "doubled@2+2", "late@2.5+1"].map(|text| text.parse().unwrap());
        let kinds = |time_us| PlannedFault::active(&plan, time_us).kinds().collect::<Vec<_>>();
        assert_eq!(kinds(1_000_000), [FaultKind::Late]);
        assert_eq!(kinds(3_200_000), [FaultKind::Doubled, FaultKind::Late]);
        assert_eq!(kinds(3_600_000), [FaultKind::Doubled]);
    }

    #[test]
    fn other_texts_are_rejected_with_what_would_be_right() {
        for (text, expected) in [
            ("", "give KIND@START+SECONDS, e.g. frozen@5+2; the kinds are frozen, jump, drift,"),
            ("frozen", "give KIND@START+SECONDS"),
            ("cut@1+2", "cut-in, cut-out"),
            ("late@", "after the @, give START+SECONDS"),
            ("late@1+0", "after the @, give START+SECONDS"),
        ] {
            let error = text.parse::<PlannedFault>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
