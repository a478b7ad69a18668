//! What can go wrong in a tick. Every fault takes the same way: zero force, the black box, a full new engagement.

pub(crate) mod image;

use haptic_device::{FaultCode, WriteError};
use std::fmt;

/// Why the guard let go, with the numbers that made it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The device gave a position or velocity that is not a number.
    ReadingNotFinite,
    /// The world answered with a force or an energy that is not a number.
    ForceNotFinite,
    /// The hand moved faster than the profile allows, or the reading jumped.
    OverSpeed {
        /// As read, m/s.
        speed_m_per_s: f64,
        /// As allowed, m/s.
        limit_m_per_s: f64,
    },
    /// The device said nothing new for too long, or says that it is gone.
    Lost {
        /// Since the last new reading, s.
        silent_s: f64,
    },
    /// The device reports a failure of its own.
    Device(FaultCode),
    /// The force could not be handed to the device.
    NotSent(WriteError),
    /// Bodies came near each other that the world had no room to watch.
    PairsDropped {
        /// How many in this tick.
        pairs: u32,
    },
    /// Too many ticks in a row ended after their deadline.
    Overruns {
        /// How many.
        in_a_row: u32,
    },
}

impl Fault {
    /// The name in reports.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::ReadingNotFinite => "reading-not-finite",
            Self::ForceNotFinite => "force-not-finite",
            Self::OverSpeed { .. } => "over-speed",
            Self::Lost { .. } => "lost",
            Self::Device(_) => "device",
            Self::NotSent(_) => "not-sent",
            Self::PairsDropped { .. } => "pairs-dropped",
            Self::Overruns { .. } => "overruns",
        }
    }

    /// True if both are the same trouble going on, whatever their numbers.
    pub fn continues(&self, earlier: &Fault) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(earlier)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReadingNotFinite => write!(f, "the device gave a position that is not a number"),
            Self::ForceNotFinite => write!(f, "the world answered with a force that is not a number"),
            Self::OverSpeed { speed_m_per_s, limit_m_per_s } => {
                let speed = told_apart(*speed_m_per_s, *limit_m_per_s);
                write!(f, "the hand moved at {speed} m/s, the limit is {limit_m_per_s} m/s")
            }
            Self::Lost { silent_s } => {
                write!(f, "the device is lost: its last new reading was {:.0} ms old", silent_s * 1e3)
            }
            Self::Device(code) => write_device_fault(f, code),
            Self::NotSent(error) => write_unsent(f, error),
            Self::PairsDropped { pairs } => write!(f, "{pairs} near pairs of bodies found no room in the world"),
            Self::Overruns { in_a_row } => write!(f, "{in_a_row} ticks in a row ended after their deadline"),
        }
    }
}

/// A value with three decimals, or so many more that it does not look like the limit that it is above.
fn told_apart(value: f64, limit: f64) -> String {
    let looks_alike = |text: &String| text.parse() == Ok(limit);
    (3..=9).map(|decimals| format!("{value:.decimals$}")).find(|text| !looks_alike(text)).unwrap_or(value.to_string())
}

fn write_device_fault(f: &mut fmt::Formatter<'_>, code: &FaultCode) -> fmt::Result {
    match code {
        FaultCode::Watchdog => write!(f, "the device's own watchdog cut the force"),
        FaultCode::EncoderJump { axis } => write!(f, "the encoder of axis {} jumped", axis + 1),
        FaultCode::Disarmed => write!(f, "the device disarmed itself"),
        FaultCode::Protocol { bad_frames } => write!(f, "{bad_frames} senseless frames in a row from the device"),
        FaultCode::Kinematics => write!(f, "the linkage is outside its workspace"),
        FaultCode::Device { code, detail } => write!(f, "the device reports fault {code}, detail {detail}"),
    }
}

fn write_unsent(f: &mut fmt::Formatter<'_>, error: &WriteError) -> fmt::Result {
    match error {
        WriteError::NotFinite => write!(f, "the device refused a force that is not a number"),
        WriteError::NotConnected => write!(f, "the force did not go out: the device is closed or gone"),
        WriteError::Os { errno } => write!(f, "the force did not go out: system error {errno}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_just_above_its_limit_does_not_read_like_the_limit() {
        let told = |speed_m_per_s| Fault::OverSpeed { speed_m_per_s, limit_m_per_s: 0.12 }.to_string();
        assert_eq!(told(0.3456), "the hand moved at 0.346 m/s, the limit is 0.12 m/s");
        assert_eq!(told(0.120_04), "the hand moved at 0.12004 m/s, the limit is 0.12 m/s");
        assert_eq!(told(f64::INFINITY), "the hand moved at inf m/s, the limit is 0.12 m/s");
    }
}
