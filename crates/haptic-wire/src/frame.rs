//! What one frame holds once its check sum was right: a kind, a sequence number and a payload.

/// The most bytes of one frame on the wire, with stuffing and delimiter: one full-speed USB packet.
pub const WIRE_MAX: usize = 64;

/// The most bytes of a frame's body: kind, sequence, payload and check sum.
pub const BODY_MAX: usize = WIRE_MAX - 2;

/// Bytes on the wire beside the payload: stuffing code, kind, sequence, check sum, delimiter.
pub const OVERHEAD: usize = 6;

/// The most bytes of a payload.
pub const PAYLOAD_MAX: usize = WIRE_MAX - OVERHEAD;

/// A frame whose check sum is right. Its kind may be unknown and its payload may make no sense: see [`crate::Message`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The byte that says what the payload is; [`Kind`] names the known ones.
    pub kind: u8,
    /// The sender's counter; see [`crate::sequence`].
    pub sequence: u8,
    /// The bytes between sequence and check sum.
    pub payload: &'a [u8],
}

/// The kinds of message, by the byte that leads a frame. The high bit is set in what a device sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Kind {
    /// Host: is anyone there, and which version?
    Hello = 0x01,
    /// Host: tell me about one axis.
    AxisInfoRequest = 0x02,
    /// Host: allow effort within these limits.
    Arm = 0x03,
    /// Host: the newest effort.
    Command = 0x10,
    /// Host: no effort, disarm.
    Stop = 0x11,
    /// Host: what time is it there?
    Ping = 0x12,
    /// Device: who I am.
    HelloAck = 0x81,
    /// Device: what one axis is like.
    AxisInfo = 0x82,
    /// Device: armed, with these limits.
    ArmAck = 0x83,
    /// Device: where the axes are.
    State = 0x90,
    /// Device: something is wrong, or was refused.
    Fault = 0x91,
    /// Device: the times of a ping.
    PingReply = 0x92,
    /// Device: words for a person.
    Log = 0x9F,
}

impl Kind {
    /// Every kind, in the order of their bytes.
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

    /// The kind that a leading byte names, if this version knows it.
    pub fn from_byte(byte: u8) -> Option<Kind> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == byte)
    }
}
