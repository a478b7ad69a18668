//! FAULT and LOG: codes for faults and rejected messages, and text for the user.

use super::checked;
use crate::{
    bytes::{read_u32, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};
use core::fmt;

mod field {
    pub const CODE: usize = 0;
    pub const DETAIL: usize = 1;
    pub const LENGTH: usize = 5;
}

/// A view of a FAULT payload with the correct length.
#[derive(Clone, Copy, Debug)]
pub struct FaultView<'a>(&'a [u8]);

impl<'a> FaultView<'a> {
    /// Creates a view of `payload` if its length is correct.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        checked(Kind::Fault, payload, field::LENGTH).map(Self)
    }

    /// The code byte.
    pub fn code(&self) -> u8 {
        self.0[field::CODE]
    }

    /// Number whose meaning depends on the code; see [`FaultCode`].
    pub fn detail(&self) -> u32 {
        read_u32(self.0, field::DETAIL)
    }
}

/// Cause of a fault. Codes below 0x10 latch: the device applies no effort until the next ARM. Higher codes mean that
/// the device rejected a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultCode {
    /// No CMD within the watchdog time; detail: milliseconds without a CMD.
    Watchdog,
    /// A position changed by more than is possible in one sampling interval; detail: `axis << 24 | counts`.
    EncoderJump,
    /// A sensor has no valid reading; detail: index of the axis.
    Sensor,
    /// The device's emergency-stop input is active, or was active since the last ARM; detail: 0. Since version 1.1.
    EmergencyStop,
    /// An ARM did not repeat the session's nonce; detail: the nonce received.
    NonceMismatch,
    /// The device has no axis with the requested index; detail: that index.
    NoSuchAxis,
    /// The payload length is invalid for the message type; detail: `type << 8 | length`.
    WrongLength,
    /// The message type is unknown to the firmware; detail: that type.
    UnknownType,
    /// A code unknown to this version.
    Other(u8),
}

impl FaultCode {
    /// Returns the code with this byte value.
    pub fn from_byte(byte: u8) -> Self {
        match byte {
            0x01 => Self::Watchdog,
            0x02 => Self::EncoderJump,
            0x03 => Self::Sensor,
            0x04 => Self::EmergencyStop,
            0x10 => Self::NonceMismatch,
            0x11 => Self::NoSuchAxis,
            0x12 => Self::WrongLength,
            0x13 => Self::UnknownType,
            other => Self::Other(other),
        }
    }

    /// Returns the byte value of this code.
    pub fn byte(self) -> u8 {
        match self {
            Self::Watchdog => 0x01,
            Self::EncoderJump => 0x02,
            Self::Sensor => 0x03,
            Self::EmergencyStop => 0x04,
            Self::NonceMismatch => 0x10,
            Self::NoSuchAxis => 0x11,
            Self::WrongLength => 0x12,
            Self::UnknownType => 0x13,
            Self::Other(byte) => byte,
        }
    }

    /// Whether effort stays off until the next ARM.
    pub fn latches(self) -> bool {
        self.byte() < 0x10
    }
}

/// Device to host: a fault, or a rejected message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Cause of the fault.
    pub code: FaultCode,
    /// Number whose meaning depends on the code; see [`FaultCode`].
    pub detail: u32,
}

impl Fault {
    /// Parses a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = FaultView::new_checked(payload)?;
        Ok(Self { code: FaultCode::from_byte(view.code()), detail: view.detail() })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        payload[field::CODE] = self.code.byte();
        write(payload, field::DETAIL, self.detail.to_le_bytes());
        field::LENGTH
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let detail = self.detail;
        match self.code {
            FaultCode::Watchdog => write!(formatter, "no command for {detail} ms; the device switched its effort off"),
            FaultCode::EncoderJump => {
                write!(
                    formatter,
                    "axis {} jumped by {} counts, more than it can move",
                    detail >> 24,
                    detail & 0xFF_FFFF
                )
            }
            FaultCode::Sensor => write!(formatter, "the sensor of axis {detail} has no valid reading"),
            FaultCode::EmergencyStop => {
                write!(formatter, "the emergency stop of the device is pressed; release it to continue")
            }
            FaultCode::NonceMismatch => write!(formatter, "ARM with nonce {detail:#010x}, which is not this session's"),
            FaultCode::NoSuchAxis => write!(formatter, "the device has no axis {detail}"),
            FaultCode::WrongLength => {
                write!(
                    formatter,
                    "message type {:#04x} cannot have {} bytes of payload",
                    detail >> 8 & 0xFF,
                    detail & 0xFF
                )
            }
            FaultCode::UnknownType => write!(formatter, "the firmware does not know message type {detail:#04x}"),
            FaultCode::Other(code) => write!(formatter, "fault {code:#04x}, detail {detail:#010x}"),
        }
    }
}

/// Device to host: printable ASCII for the user, at most [`PAYLOAD_MAX`] bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Log<'a>(&'a str);

impl<'a> Log<'a> {
    /// Creates a message. Returns `None` if the text is longer than [`PAYLOAD_MAX`] bytes or is not printable ASCII.
    pub fn new(text: &'a str) -> Option<Self> {
        let printable = text.bytes().all(|byte| (0x20..0x7F).contains(&byte));
        (printable && text.len() <= PAYLOAD_MAX).then_some(Self(text))
    }

    /// Text of the message.
    pub fn text(&self) -> &'a str {
        self.0
    }

    /// Parses a payload. Rejects bytes that are not printable ASCII, because they could control a terminal.
    pub fn parse(payload: &'a [u8]) -> Result<Self, PayloadError> {
        let unprintable = payload.iter().find(|byte| !(0x20..0x7F).contains(*byte)).copied();
        let error = PayloadError::Value { kind: Kind::Log, field: "text", found: u32::from(unprintable.unwrap_or(0)) };
        core::str::from_utf8(payload).ok().and_then(Self::new).ok_or(error)
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        payload[..self.0.len()].copy_from_slice(self.0.as_bytes());
        self.0.len()
    }
}
