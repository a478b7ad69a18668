//! Why a frame with a right check sum is still not a message.

use crate::frame::Kind;
use core::fmt;

/// What is wrong with a payload. Small and `Copy`, so that a real-time reader can count and keep it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// No message of this version has this kind.
    UnknownKind {
        /// The byte that leads the frame.
        kind: u8,
    },
    /// The payload has a length that no message of this kind has.
    Length {
        /// The kind of the frame.
        kind: Kind,
        /// The length found, in bytes.
        found: usize,
    },
    /// A field holds a value that the protocol rules out.
    Value {
        /// The kind of the frame.
        kind: Kind,
        /// The field, as the specification names it.
        field: &'static str,
        /// The value found, its bits as an unsigned number.
        found: u32,
    },
}

impl fmt::Display for PayloadError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownKind { kind } => write!(formatter, "message type {kind:#04x} is unknown to this version"),
            Self::Length { kind, found } => write!(formatter, "{kind:?} cannot have a payload of {found} bytes"),
            Self::Value { kind, field, found } => {
                write!(formatter, "{kind:?} has {field} = {found}, which is not allowed")
            }
        }
    }
}

impl core::error::Error for PayloadError {}
