//! Faults of a tick. Every fault has the same consequences: zero force, a black box, and a complete re-engagement.

use crate::motor_set::MotorSet;
use haptic_device::{FaultCode, WriteError};
use haptic_planar::checkpoint::Archive;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Name of the kind [`Fault::ReversedAxis`] in reports.
pub const REVERSED_AXIS: &str = "reversed-axis";

/// Reason why the guard switched the force off, with the values that caused it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The device reported a position or velocity that is not finite.
    ReadingNotFinite,
    /// The world computed a force or an energy that is not finite.
    ForceNotFinite,
    /// The hand moved faster than the profile allows, or the reading jumped.
    OverSpeed {
        /// Measured speed, m/s.
        speed_m_per_s: f64,
        /// Permitted speed, m/s.
        limit_m_per_s: f64,
    },
    /// There was no new reading for too long, or the link to the device is gone.
    Lost {
        /// Time since the last new reading, s.
        silent_s: f64,
    },
    /// The device reports a fault.
    Device(FaultCode),
    /// The force could not be written to the device.
    NotSent(WriteError),
    /// Near pairs were dropped because the pair table was full.
    PairsDropped {
        /// Number of near pairs dropped in this tick.
        pairs: u32,
    },
    /// Too many consecutive overruns. An overrun is a tick that ends after the deadline of the next one.
    Overruns {
        /// Number of consecutive overruns.
        in_a_row: u32,
    },
    /// The host stalled: a tick woke up too late.
    Late {
        /// Time since the tick was due, s.
        late_s: f64,
    },
    /// A person pressed the emergency stop.
    Stopped,
    /// A handle moved against its motor when the signs were checked. It lasts until the end of the run.
    ReversedAxis(MotorSet),
    /// Readings arrive, but have been too old for too long.
    Stale {
        /// Age up to which a reading is used, s.
        limit_s: f64,
    },
}

impl Fault {
    /// Name of the kind of fault in reports.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ReadingNotFinite => "reading-not-finite",
            Self::ForceNotFinite => "force-not-finite",
            Self::OverSpeed { .. } => "over-speed",
            Self::Lost { .. } => "lost",
            Self::Device(FaultCode::EmergencyStop) => "stopped",
            Self::Device(_) => "device",
            Self::NotSent(_) => "not-sent",
            Self::PairsDropped { .. } => "pairs-dropped",
            Self::Overruns { .. } => "overruns",
            Self::Late { .. } => "late",
            Self::Stopped => "stopped",
            Self::ReversedAxis(_) => REVERSED_AXIS,
            Self::Stale { .. } => "stale",
        }
    }

    /// Returns the number of the fault kind and its parameters, for checkpoints, recorded ticks and replays. Zero means
    /// no fault. Real-time: constant.
    pub fn to_code(&self) -> (u8, [u64; 2]) {
        match *self {
            Self::ReadingNotFinite => (1, [0; 2]),
            Self::ForceNotFinite => (2, [0; 2]),
            Self::OverSpeed { speed_m_per_s, limit_m_per_s } => (3, [speed_m_per_s.to_bits(), limit_m_per_s.to_bits()]),
            Self::Lost { silent_s } => (4, [silent_s.to_bits(), 0]),
            Self::Device(code) => {
                let (number, code, detail) = code.to_code();
                (5, [u64::from(number) | u64::from(code) << 8, u64::from(detail)])
            }
            Self::NotSent(error) => {
                let (number, detail) = error.to_code();
                (6, [u64::from(number), u64::from(detail)])
            }
            Self::PairsDropped { pairs } => (7, [u64::from(pairs), 0]),
            Self::Overruns { in_a_row } => (8, [u64::from(in_a_row), 0]),
            Self::Late { late_s } => (9, [late_s.to_bits(), 0]),
            Self::Stopped => (10, [0; 2]),
            Self::Stale { limit_s } => (11, [limit_s.to_bits(), 0]),
            Self::ReversedAxis(MotorSet { first, second, are_arms }) => {
                (12, [u64::from(first) | u64::from(second) << 1 | u64::from(are_arms) << 2, 0])
            }
        }
    }

    /// Inverse of [`Self::to_code`]; `None` for zero and for unknown numbers.
    pub fn from_code((kind, [first, second]): (u8, [u64; 2])) -> Option<Self> {
        Some(match kind {
            1 => Self::ReadingNotFinite,
            2 => Self::ForceNotFinite,
            3 => Self::OverSpeed { speed_m_per_s: f64::from_bits(first), limit_m_per_s: f64::from_bits(second) },
            4 => Self::Lost { silent_s: f64::from_bits(first) },
            5 => Self::Device(FaultCode::from_code((first as u8, (first >> 8) as u8, second as u32))?),
            6 => Self::NotSent(WriteError::from_code((first as u8, second as u32))?),
            7 => Self::PairsDropped { pairs: first as u32 },
            8 => Self::Overruns { in_a_row: first as u32 },
            9 => Self::Late { late_s: f64::from_bits(first) },
            10 => Self::Stopped,
            11 => Self::Stale { limit_s: f64::from_bits(first) },
            12 => {
                Self::ReversedAxis(MotorSet { first: first & 1 != 0, second: first & 2 != 0, are_arms: first & 4 != 0 })
            }
            _ => return None,
        })
    }

    /// Archives or restores an optional fault as three words. Real-time: constant.
    pub fn carry(fault: &mut Option<Self>, archive: &mut impl Archive) {
        let (kind, [mut first, mut second]) = fault.map_or((0, [0; 2]), |fault| fault.to_code());
        let mut kind = u64::from(kind);
        [&mut kind, &mut first, &mut second].into_iter().for_each(|word| archive.word(word));
        *fault = Self::from_code((kind as u8, [first, second]));
    }

    /// Whether this fault is of the same kind as `earlier` and therefore counts as its continuation. The faults of a
    /// device are of as many kinds as there are codes.
    pub fn continues(&self, earlier: &Fault) -> bool {
        match (self, earlier) {
            (Self::Device(now), Self::Device(before)) => std::mem::discriminant(now) == std::mem::discriminant(before),
            _ => std::mem::discriminant(self) == std::mem::discriminant(earlier),
        }
    }
}

/// A fault of a run, as shown in reports, golden files and the viewer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultRecord {
    /// Tick in which the fault began.
    pub tick: u64,
    /// Kind of fault, as returned by [`Fault::kind`].
    pub kind: String,
    /// Description of the fault, with its values.
    pub text: String,
}

impl FaultRecord {
    /// Creates the record of a fault that began in `tick`.
    pub fn new(tick: u64, fault: &Fault) -> Self {
        Self { tick, kind: fault.kind().to_owned(), text: fault.to_string() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadingNotFinite => write!(f, "the device reported a position that is not finite"),
            Self::ForceNotFinite => write!(f, "the world computed a force that is not finite"),
            Self::OverSpeed { speed_m_per_s, limit_m_per_s } => {
                let speed = distinguishable(*speed_m_per_s, *limit_m_per_s);
                write!(f, "the hand moved at {speed} m/s, the limit is {limit_m_per_s} m/s")
            }
            Self::Lost { silent_s } => {
                write!(f, "the device is lost: its last new reading was {:.0} ms old", silent_s * 1e3)
            }
            Self::Device(code) => write_device_fault(f, code),
            Self::NotSent(error) => write_unsent(f, error),
            Self::PairsDropped { pairs } => write!(f, "{pairs} near pairs dropped: the pair table is full"),
            Self::Overruns { in_a_row } => write!(f, "{in_a_row} consecutive ticks ended after their deadline"),
            Self::Late { late_s } => write!(f, "the host stalled: a tick ran {:.0} ms late", late_s * 1e3),
            Self::Stopped => write!(f, "emergency stop"),
            Self::ReversedAxis(motors) => write_reversed(f, motors),
            Self::Stale { limit_s } => write!(
                f,
                "readings arrive more than {:.0} ms late: check the cable, use a faster line or fewer devices on its hub",
                limit_s * 1e3
            ),
        }
    }
}

/// Formats a value with three decimals, or more if they are needed to distinguish it from the limit.
fn distinguishable(value: f64, limit: f64) -> String {
    let looks_alike = |text: &String| text.parse() == Ok(limit);
    (3..=9).map(|decimals| format!("{value:.decimals$}")).find(|text| !looks_alike(text)).unwrap_or(value.to_string())
}

/// Writes which motors moved the handle the wrong way, and the keys that correct them. The keys may be set already.
fn write_reversed(f: &mut fmt::Formatter<'_>, motors: &MotorSet) -> fmt::Result {
    let MotorSet { first, second, are_arms } = motors;
    if *are_arms {
        return write!(
            f,
            "{motors} moved against the motor: exchange \"cw\" and \"ccw\" for {motors} in motor_directions of the device \
             file, which `hapticd identify` writes, or in encoder_directions if the picture does not follow the hand"
        );
    }
    let keys = |of: &str| match (first, second) {
        (true, true) => format!("{of}_x and {of}_y"),
        (true, false) => format!("{of}_x"),
        (false, _) => format!("{of}_y"),
    };
    write!(
        f,
        "{motors} moved against the motor: change {} (false if it is missing) in the device file, or {} instead if the \
         picture moves against the hand",
        keys("reverse_force"),
        keys("reverse_position")
    )
}

fn write_device_fault(f: &mut fmt::Formatter<'_>, code: &FaultCode) -> fmt::Result {
    match code {
        FaultCode::Watchdog => write!(f, "the device's own watchdog cut the force"),
        FaultCode::EncoderJump { axis } => write!(f, "the encoder of axis {} jumped", axis + 1),
        FaultCode::Disarmed => write!(f, "the device disarmed itself"),
        FaultCode::Protocol { bad_frames } => write!(f, "{bad_frames} consecutive invalid frames from the device"),
        FaultCode::Kinematics => write!(f, "the linkage is outside its travel"),
        FaultCode::Device { code, detail } => write!(f, "the device reports fault {code}, detail {detail}"),
        FaultCode::EmergencyStop => write!(f, "the emergency stop of the device is pressed; release it to continue"),
        FaultCode::DeadMan => write!(
            f,
            "the dead-man process ended and is started again; if this repeats, look in the log for what ends it"
        ),
    }
}

fn write_unsent(f: &mut fmt::Formatter<'_>, error: &WriteError) -> fmt::Result {
    match error {
        WriteError::NotFinite => write!(f, "the device rejected a force that is not finite"),
        WriteError::NotConnected => write!(f, "the force did not go out: the device is closed or gone"),
        WriteError::Os { errno } => write!(f, "the force did not go out: system error {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_means_one_fault_and_parameters_survive() {
        for kind in 0..=u8::MAX {
            let fault = Fault::from_code((kind, [4, 7]));
            assert_eq!(fault.is_some(), (1..=12).contains(&kind), "{kind}");
            assert_eq!(fault.map_or(kind, |fault| fault.to_code().0), kind);
        }
        let faults = [
            Fault::OverSpeed { speed_m_per_s: 3.5, limit_m_per_s: 3.0 },
            Fault::Lost { silent_s: 0.1 },
            Fault::Device(FaultCode::Device { code: 200, detail: u32::MAX }),
            Fault::Device(FaultCode::EmergencyStop),
            Fault::NotSent(WriteError::Os { errno: -5 }),
            Fault::Overruns { in_a_row: 20 },
            Fault::Late { late_s: 0.3 },
            Fault::Stopped,
            Fault::ReversedAxis(MotorSet { first: true, second: false, are_arms: true }),
            Fault::Stale { limit_s: 0.005 },
        ];
        for fault in faults {
            assert_eq!(Fault::from_code(fault.to_code()), Some(fault));
        }
    }

    #[test]
    fn an_emergency_stop_tells_the_person_what_to_do() {
        let fault = Fault::Device(FaultCode::EmergencyStop);
        assert_eq!(fault.to_string(), "the emergency stop of the device is pressed; release it to continue");
        assert_eq!(fault.kind(), "stopped");
    }

    #[test]
    fn a_speed_just_above_its_limit_does_not_read_like_the_limit() {
        let told = |speed_m_per_s| Fault::OverSpeed { speed_m_per_s, limit_m_per_s: 0.12 }.to_string();
        assert_eq!(told(0.3456), "the hand moved at 0.346 m/s, the limit is 0.12 m/s");
        assert_eq!(told(0.120_04), "the hand moved at 0.12004 m/s, the limit is 0.12 m/s");
        assert_eq!(told(f64::INFINITY), "the hand moved at inf m/s, the limit is 0.12 m/s");
    }
}
