//! Encodes messages into the caller's buffer.

use crate::{
    cobs, crc,
    frame::{BODY_MAX, Frame, OVERHEAD, PAYLOAD_MAX, WIRE_MAX},
    message::Message,
};
use core::fmt;

/// Reason a frame cannot be encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EncodeError {
    /// The buffer is shorter than the frame; [`WIRE_MAX`] bytes are always sufficient.
    Buffer {
        /// Required length, bytes.
        needed: usize,
        /// Length of the buffer, bytes.
        found: usize,
    },
    /// The payload is longer than [`PAYLOAD_MAX`] bytes.
    Payload {
        /// Length of the payload, bytes.
        found: usize,
    },
}

impl fmt::Display for EncodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Buffer { needed, found } => {
                write!(formatter, "the frame needs {needed} bytes, the buffer has {found}")
            }
            Self::Payload { found } => write!(formatter, "a payload has at most {PAYLOAD_MAX} bytes, this one {found}"),
        }
    }
}

impl core::error::Error for EncodeError {}

/// Encodes a message into `out` as a frame with its delimiter, and returns the length on the wire, bytes.
///
/// Real-time: bounded by [`WIRE_MAX`] bytes; no allocation.
pub fn encode(message: &Message<'_>, sequence: u8, out: &mut [u8]) -> Result<usize, EncodeError> {
    let mut payload = [0; PAYLOAD_MAX];
    let length = message.emit(&mut payload);
    encode_frame(&Frame { kind: message.kind() as u8, sequence, payload: &payload[..length] }, out)
}

/// Encodes any frame into `out` with its delimiter, even if its kind is unknown to this version, and returns the length
/// on the wire, bytes.
///
/// Real-time: bounded by [`WIRE_MAX`] bytes; no allocation.
pub fn encode_frame(frame: &Frame<'_>, out: &mut [u8]) -> Result<usize, EncodeError> {
    if frame.payload.len() > PAYLOAD_MAX {
        return Err(EncodeError::Payload { found: frame.payload.len() });
    }
    let needed = frame.payload.len() + OVERHEAD;
    let too_short = EncodeError::Buffer { needed, found: out.len() };
    let out = out.get_mut(..needed).ok_or(too_short)?;

    let mut buffer = [0; BODY_MAX];
    let body = &mut buffer[..needed - 2];
    fill_body(frame, body);
    cobs::encode(body, out).ok_or(too_short)?;
    out[needed - 1] = 0;
    Ok(needed)
}

pub(crate) fn fill_body(frame: &Frame<'_>, body: &mut [u8]) {
    let check_at = body.len() - 2;
    body[0] = frame.kind;
    body[1] = frame.sequence;
    body[2..check_at].copy_from_slice(frame.payload);
    let check = crc::crc16(&body[..check_at]);
    body[check_at..].copy_from_slice(&check.to_le_bytes());
}

const _: () = assert!(WIRE_MAX == PAYLOAD_MAX + OVERHEAD);
