//! The serial protocol between host and firmware: messages to bytes and back.
//!
//! One frame on the wire is `COBS( kind | sequence | payload | CRC-16 ) 0x00`, at most [`WIRE_MAX`] bytes. The written
//! specification is `firmware-protocol/PROTOCOL.md`; this crate and the C firmware are both held to the vectors beside it.
//!
//! Read along the way of a byte that arrives: [`decoder`] collects bytes up to a delimiter and checks [`cobs`] and [`crc`];
//! the [`Frame`] it yields becomes a [`Message`] when its payload has the right length and holds values that make sense.
//! Going out, [`encode`] writes a message into the caller's buffer. Which of two frames is newer: [`sequence`]. How fast a
//! line can go: [`rate`].
//!
//! Nothing here allocates, waits or panics on what it reads: whatever arrives is counted and dropped, or is a valid frame.
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

/// The protocol version this crate speaks: major, minor. A different major cannot be talked to.
pub const VERSION: (u8, u8) = (1, 0);

/// The number that opens a HELLO: the letters `HAPT` in wire order.
pub const MAGIC: u32 = u32::from_le_bytes(*b"HAPT");

/// The largest effort, limit or slew: full scale in Q15.
pub const FULL_SCALE_Q15: u16 = i16::MAX as u16;
