//! Encodes and decodes the messages of the protocol between host and firmware.
//!
//! One frame on the wire is `COBS( kind | sequence | payload | CRC-16 ) 0x00`, at most [`WIRE_MAX`] bytes. The
//! specification is `firmware-protocol/PROTOCOL.md`; this crate and the C firmware are both tested against the test
//! vectors in `firmware-protocol/vectors`.
//!
//! - Receiving: [`decoder`] collects bytes up to a delimiter and checks [`cobs`] and [`crc`]. The [`Frame`] it returns
//!   becomes a [`Message`] if its kind is known and its payload has a valid length and valid values.
//! - Sending: [`encode`] writes a message into the caller's buffer.
//! - [`report`] carries the same messages in HID reports, [`sequence`] compares sequence numbers, and [`rate`] computes
//!   the exchange rate that a serial line supports.
//!
//! Nothing in this crate allocates or blocks, and no received bytes cause a panic. Bytes that do not form a valid frame
//! are dropped and counted.
//!
//! ```
//! use haptic_wire::{Command, Decoder, Message, PerAxis, WIRE_MAX, encode};
//!
//! let sent = Message::Command(Command::with_efforts(PerAxis::two(1234, -1234)));
//! let mut wire = [0; WIRE_MAX];
//! let length = encode(&sent, 7, &mut wire).unwrap();
//!
//! let mut received = 0;
//! Decoder::new().push_all(&wire[..length], |frame| {
//!     assert_eq!((frame.sequence, Message::parse(&frame).unwrap()), (7, sent));
//!     received += 1;
//! });
//! assert_eq!(received, 1);
//! ```
#![no_std]
#![forbid(unsafe_code)]

mod axes;
mod bytes;
pub mod cobs;
pub mod crc;
pub mod decoder;
mod encoder;
mod error;
mod frame;
pub mod message;
pub mod rate;
pub mod report;
pub mod sequence;

pub use axes::{MAX_AXES, PerAxis};
pub use decoder::{Counters, Decoder};
pub use encoder::{EncodeError, encode, encode_frame};
pub use error::PayloadError;
pub use frame::{BODY_MAX, Frame, Kind, OVERHEAD, PAYLOAD_MAX, WIRE_MAX};
pub use message::{
    Arm, AxisInfo, AxisInfoRequest, AxisKind, AxisReading, Capabilities, Command, Fault, FaultCode, Hello, HelloAck,
    HomeFlags, Log, Message, Ping, PingReply, State, Status,
};

/// Protocol version that this crate implements: major, minor. Different major versions are incompatible; a higher minor
/// version only adds to a lower one.
pub const VERSION: (u8, u8) = (1, 2);

/// Value of the first field of a HELLO: the letters `HAPT` in transmission order.
pub const MAGIC: u32 = u32::from_le_bytes(*b"HAPT");

/// Full scale in Q15 format: the largest magnitude of an effort, limit or slew.
pub const FULL_SCALE_Q15: u16 = i16::MAX as u16;
