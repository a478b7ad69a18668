//! Errors in frames that have a correct checksum but are not valid messages.

use crate::frame::Kind;
use core::fmt;

/// Reason a frame with a correct checksum is not a valid message. Small and `Copy`, so that a real-time reader can
/// count and store it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadError {
    /// The kind is unknown to this version.
    UnknownKind {
        /// Kind byte of the frame.
        kind: u8,
    },
    /// The length of the payload is invalid for its kind.
    Length {
        /// The kind of the frame.
        kind: Kind,
        /// Length of the payload, bytes.
        found: usize,
    },
    /// A field has a value that the protocol does not allow.
    Value {
        /// The kind of the frame.
        kind: Kind,
        /// Name of the field in the specification.
        field: &'static str,
        /// Value of the field; negative values are reinterpreted as unsigned.
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
