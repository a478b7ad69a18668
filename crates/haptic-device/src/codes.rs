//! Numeric codes for health and write outcomes in recordings and checkpoints.
//!
//! [`Health`] and [`FaultCode`] share one range of numbers, as do [`WriteOutcome`] and [`WriteError`].

use crate::contract::{FaultCode, Health, WriteError, WriteOutcome};

impl FaultCode {
    /// Returns the number, the axis or device code, and the detail. Real-time: constant.
    pub const fn to_code(self) -> (u8, u8, u32) {
        match self {
            Self::Watchdog => (3, 0, 0),
            Self::EncoderJump { axis } => (4, axis, 0),
            Self::Disarmed => (5, 0, 0),
            Self::Protocol { bad_frames } => (6, 0, bad_frames),
            Self::Kinematics => (7, 0, 0),
            Self::Device { code, detail } => (8, code, detail),
            Self::EmergencyStop => (9, 0, 0),
            Self::DeadMan => (10, 0, 0),
        }
    }

    /// Inverse of [`Self::to_code`]; `None` for an unknown number.
    pub const fn from_code((number, code, detail): (u8, u8, u32)) -> Option<Self> {
        Some(match number {
            3 => Self::Watchdog,
            4 => Self::EncoderJump { axis: code },
            5 => Self::Disarmed,
            6 => Self::Protocol { bad_frames: detail },
            7 => Self::Kinematics,
            8 => Self::Device { code, detail },
            9 => Self::EmergencyStop,
            10 => Self::DeadMan,
            _ => return None,
        })
    }
}

impl Health {
    /// Returns the number, the axis or device code, and the detail. Real-time: constant.
    pub const fn to_code(self) -> (u8, u8, u32) {
        match self {
            Self::Ready => (0, 0, 0),
            Self::Stale => (1, 0, 0),
            Self::Lost => (2, 0, 0),
            Self::Faulted(fault) => fault.to_code(),
        }
    }

    /// Inverse of [`Self::to_code`]; `None` for an unknown number.
    pub fn from_code(code: (u8, u8, u32)) -> Option<Self> {
        match code.0 {
            0 => Some(Self::Ready),
            1 => Some(Self::Stale),
            2 => Some(Self::Lost),
            _ => FaultCode::from_code(code).map(Self::Faulted),
        }
    }
}

impl WriteError {
    /// Returns the number and the detail. Real-time: constant.
    pub const fn to_code(self) -> (u8, u32) {
        match self {
            Self::NotFinite => (2, 0),
            Self::NotConnected => (3, 0),
            Self::Os { errno } => (4, errno as u32),
        }
    }

    /// Inverse of [`Self::to_code`]; `None` for an unknown number.
    pub const fn from_code((number, detail): (u8, u32)) -> Option<Self> {
        Some(match number {
            2 => Self::NotFinite,
            3 => Self::NotConnected,
            4 => Self::Os { errno: detail as i32 },
            _ => return None,
        })
    }
}

impl WriteOutcome {
    /// Returns the number and the detail. Real-time: constant.
    pub const fn to_code(self) -> (u8, u32) {
        match self {
            Self::Written => (0, 0),
            Self::Busy => (1, 0),
            Self::Failed(error) => error.to_code(),
        }
    }

    /// Inverse of [`Self::to_code`]; `None` for an unknown number.
    pub fn from_code(code: (u8, u32)) -> Option<Self> {
        match code.0 {
            0 => Some(Self::Written),
            1 => Some(Self::Busy),
            _ => WriteError::from_code(code).map(Self::Failed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_means_one_health_and_one_outcome() {
        for number in 0..=u8::MAX {
            let health = Health::from_code((number, 1, 77));
            assert_eq!(health.is_some(), number <= 10, "{number}");
            assert_eq!(health.map_or(number, |health| health.to_code().0), number);
            let outcome = WriteOutcome::from_code((number, u32::MAX));
            assert_eq!(outcome.is_some(), number <= 4, "{number}");
            assert_eq!(outcome.map_or(number, |outcome| outcome.to_code().0), number);
        }
        let fault = FaultCode::Device { code: 3, detail: 77 };
        assert_eq!(FaultCode::from_code(fault.to_code()), Some(fault));
        let error = WriteError::Os { errno: -5 };
        assert_eq!(WriteError::from_code(error.to_code()), Some(error));
    }
}
