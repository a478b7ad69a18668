//! A frame with a correct checksum: kind, sequence number and payload.

/// Maximum length of a frame on the wire, bytes, including COBS code and delimiter. Equal to a full-speed USB packet.
pub const WIRE_MAX: usize = 64;

/// Maximum length of a body, bytes. A body consists of kind, sequence number, payload and checksum.
pub const BODY_MAX: usize = WIRE_MAX - 2;

/// Number of bytes that a frame adds to its payload: COBS code, kind, sequence number, two checksum bytes and
/// delimiter.
pub const OVERHEAD: usize = 6;

/// Maximum length of a payload, bytes.
pub const PAYLOAD_MAX: usize = WIRE_MAX - OVERHEAD;

/// A frame with a correct checksum. Kind and payload may still be invalid: see [`crate::Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Kind of the payload; [`Kind`] lists the known kinds.
    pub kind: u8,
    /// Sequence number assigned by the sender; see [`crate::sequence`].
    pub sequence: u8,
    /// The bytes between sequence number and checksum.
    pub payload: &'a [u8],
}

/// Kind of a message, given by the first byte of the frame's body. The high bit is set in messages from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Host: opens a session.
    Hello = 0x01,
    /// Host: requests the properties of one axis.
    AxisInfoRequest = 0x02,
    /// Host: permits effort within limits.
    Arm = 0x03,
    /// Host: commands the newest efforts.
    Command = 0x10,
    /// Host: ends all effort and disarms.
    Stop = 0x11,
    /// Host: requests the time on the device's clock.
    Ping = 0x12,
    /// Device: reports its identity and capabilities.
    HelloAck = 0x81,
    /// Device: reports the properties of one axis.
    AxisInfo = 0x82,
    /// Device: confirms that it is armed and reports the limits in effect.
    ArmAck = 0x83,
    /// Device: reports the positions of the axes.
    State = 0x90,
    /// Device: reports a fault or a rejected message.
    Fault = 0x91,
    /// Device: answers a ping with timestamps.
    PingReply = 0x92,
    /// Device: sends text for the user.
    Log = 0x9F,
}

impl Kind {
    /// All kinds, in ascending order of their byte values.
    pub const ALL: [Kind; 13] = [
        Kind::Hello,
        Kind::AxisInfoRequest,
        Kind::Arm,
        Kind::Command,
        Kind::Stop,
        Kind::Ping,
        Kind::HelloAck,
        Kind::AxisInfo,
        Kind::ArmAck,
        Kind::State,
        Kind::Fault,
        Kind::PingReply,
        Kind::Log,
    ];

    /// Returns the kind with this byte value, if it is known to this version.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}
