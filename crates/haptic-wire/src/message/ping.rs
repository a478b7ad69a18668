//! PING: measures the offset between the host clock and the device clock.

use super::checked;
use crate::{
    bytes::{read_u32, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};

mod field {
    pub const HOST_US: usize = 0;
    pub const RECEIVED_US: usize = 4;
    pub const SENT_US: usize = 8;
    pub const PING_LENGTH: usize = 4;
    pub const REPLY_LENGTH: usize = 12;
}

/// Host to device: requests the time of the device clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ping {
    /// Host time at which the ping was sent, µs. The device copies it into the reply.
    pub host_us: u32,
}

impl Ping {
    /// Parses a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let payload = checked(Kind::Ping, payload, field::PING_LENGTH)?;
        Ok(Self { host_us: read_u32(payload, field::HOST_US) })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        write(payload, field::HOST_US, self.host_us.to_le_bytes());
        field::PING_LENGTH
    }
}

/// A view of a PING reply payload with the correct length.
#[derive(Clone, Copy, Debug)]
pub struct PingReplyView<'a>(&'a [u8]);

impl<'a> PingReplyView<'a> {
    /// Creates a view of `payload` if its length is correct.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        checked(Kind::PingReply, payload, field::REPLY_LENGTH).map(Self)
    }

    /// Host time at which the ping was sent, µs; copied from the ping.
    pub fn host_us(&self) -> u32 {
        read_u32(self.0, field::HOST_US)
    }

    /// Device time at which the last byte of the ping arrived, µs.
    pub fn received_us(&self) -> u32 {
        read_u32(self.0, field::RECEIVED_US)
    }

    /// Device time at which the reply was written, µs.
    pub fn sent_us(&self) -> u32 {
        read_u32(self.0, field::SENT_US)
    }
}

/// Device to host: timestamps of a ping, for the usual four-timestamp estimate of clock offset and delay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PingReply {
    /// Host time at which the ping was sent, µs; copied from the ping.
    pub host_us: u32,
    /// Device time at which the last byte of the ping arrived, µs.
    pub received_us: u32,
    /// Device time at which the reply was written, µs.
    pub sent_us: u32,
}

impl PingReply {
    /// Parses a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = PingReplyView::new_checked(payload)?;
        Ok(Self { host_us: view.host_us(), received_us: view.received_us(), sent_us: view.sent_us() })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        write(payload, field::HOST_US, self.host_us.to_le_bytes());
        write(payload, field::RECEIVED_US, self.received_us.to_le_bytes());
        write(payload, field::SENT_US, self.sent_us.to_le_bytes());
        field::REPLY_LENGTH
    }
}
