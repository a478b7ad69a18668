//! HELLO and HELLO_ACK: identity, protocol version, and the nonce that a later ARM must repeat.

use super::checked;
use crate::{
    MAGIC, MAX_AXES, VERSION,
    bytes::{read_eight, read_u16, read_u32, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};

mod hello_field {
    pub const MAGIC: usize = 0;
    pub const MAJOR: usize = 4;
    pub const MINOR: usize = 5;
    pub const NONCE: usize = 6;
    pub const LENGTH: usize = 10;
}

mod ack_field {
    pub const MAJOR: usize = 0;
    pub const MINOR: usize = 1;
    pub const NONCE: usize = 2;
    pub const FIRMWARE_VERSION: usize = 6;
    pub const UID: usize = 10;
    pub const AXES: usize = 18;
    pub const CAPABILITIES: usize = 19;
    pub const MAX_RATE_HZ: usize = 21;
    pub const LENGTH: usize = 23;
}

/// A view of a HELLO payload whose length is correct for its version.
#[derive(Clone, Copy, Debug)]
pub struct HelloView<'a>(&'a [u8]);

impl<'a> HelloView<'a> {
    /// Creates a view of `payload` if its length is correct. A HELLO of another major version may be longer.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        let is_other_major = payload.get(hello_field::MAJOR).is_some_and(|major| *major != VERSION.0);
        if is_other_major && payload.len() > hello_field::LENGTH {
            return Ok(Self(payload));
        }
        checked(Kind::Hello, payload, hello_field::LENGTH).map(Self)
    }

    /// Magic number that identifies the protocol; unchecked.
    pub fn magic(&self) -> u32 {
        read_u32(self.0, hello_field::MAGIC)
    }

    /// Protocol version of the host: major, minor.
    pub fn version(&self) -> (u8, u8) {
        (self.0[hello_field::MAJOR], self.0[hello_field::MINOR])
    }

    /// Number that identifies the session.
    pub fn nonce(&self) -> u32 {
        read_u32(self.0, hello_field::NONCE)
    }
}

/// Host to device: opens a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hello {
    /// Protocol version of the host: major, minor.
    pub version: (u8, u8),
    /// Number that identifies the session. A HELLO with a new nonce disarms the device; one with the same nonce is a
    /// retry.
    pub nonce: u32,
}

impl Hello {
    /// Parses a payload. Rejects a wrong magic number.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = HelloView::new_checked(payload)?;
        if view.magic() != MAGIC {
            return Err(PayloadError::Value { kind: Kind::Hello, field: "magic", found: view.magic() });
        }
        Ok(Self { version: view.version(), nonce: view.nonce() })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        write(payload, hello_field::MAGIC, MAGIC.to_le_bytes());
        payload[hello_field::MAJOR] = self.version.0;
        payload[hello_field::MINOR] = self.version.1;
        write(payload, hello_field::NONCE, self.nonce.to_le_bytes());
        hello_field::LENGTH
    }
}

/// Optional capabilities of a device. Bits unknown to this version are retained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities(pub u16);

impl Capabilities {
    /// STATE contains velocities.
    pub const VELOCITY: u16 = 1 << 0;
    /// STATE can be streamed; see [`super::Command::STREAM`].
    pub const STREAM: u16 = 1 << 1;
    /// The device detects when the host closes the port, and disarms.
    pub const SEES_LINK: u16 = 1 << 2;

    /// Whether every bit of `bits` is set.
    pub fn has(self, bits: u16) -> bool {
        self.0 & bits == bits
    }
}

/// A view of a HELLO_ACK payload with the correct length.
#[derive(Clone, Copy, Debug)]
pub struct HelloAckView<'a>(&'a [u8]);

impl<'a> HelloAckView<'a> {
    /// Creates a view of `payload` if its length is correct.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        checked(Kind::HelloAck, payload, ack_field::LENGTH).map(Self)
    }

    /// Protocol version of the device: major, minor.
    pub fn version(&self) -> (u8, u8) {
        (self.0[ack_field::MAJOR], self.0[ack_field::MINOR])
    }

    /// Nonce of the HELLO that this message answers.
    pub fn nonce(&self) -> u32 {
        read_u32(self.0, ack_field::NONCE)
    }

    /// Version of the firmware, `major << 16 | minor << 8 | patch`.
    pub fn firmware_version(&self) -> u32 {
        read_u32(self.0, ack_field::FIRMWARE_VERSION)
    }

    /// Unique identifier of the board.
    pub fn uid(&self) -> [u8; 8] {
        read_eight(self.0, ack_field::UID)
    }

    /// Number of axes, unchecked.
    pub fn axes(&self) -> u8 {
        self.0[ack_field::AXES]
    }

    /// Capabilities of the device.
    pub fn capabilities(&self) -> Capabilities {
        Capabilities(read_u16(self.0, ack_field::CAPABILITIES))
    }

    /// Maximum rate of CMD that the device supports, Hz; unchecked.
    pub fn max_rate_hz(&self) -> u16 {
        read_u16(self.0, ack_field::MAX_RATE_HZ)
    }
}

/// Device to host: reply to HELLO.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HelloAck {
    /// Protocol version of the device: major, minor. If the major version differs from the host's, no session was
    /// opened.
    pub version: (u8, u8),
    /// Nonce of the HELLO that this message answers.
    pub nonce: u32,
    /// Version of the firmware, `major << 16 | minor << 8 | patch`.
    pub firmware_version: u32,
    /// Unique identifier of the board.
    pub uid: [u8; 8],
    /// Number of axes, 1 or 2.
    pub axes: u8,
    /// Capabilities of the device.
    pub capabilities: Capabilities,
    /// Maximum rate of CMD that the device supports, Hz; never 0.
    pub max_rate_hz: u16,
}

impl HelloAck {
    /// Returns the start of a payload, which is the same in every version: the version of the device, and the nonce of
    /// the HELLO that this message answers. Returns `None` if the payload is too short.
    pub fn version_and_nonce(payload: &[u8]) -> Option<((u8, u8), u32)> {
        let start = payload.get(..ack_field::FIRMWARE_VERSION)?;
        Some(((start[ack_field::MAJOR], start[ack_field::MINOR]), read_u32(start, ack_field::NONCE)))
    }

    /// Parses a payload. Rejects an invalid number of axes and a rate of zero.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = HelloAckView::new_checked(payload)?;
        let reject = |field, found| Err(PayloadError::Value { kind: Kind::HelloAck, field, found });
        if view.axes() == 0 || usize::from(view.axes()) > MAX_AXES {
            return reject("n_axes", u32::from(view.axes()));
        }
        if view.max_rate_hz() == 0 {
            return reject("max_rate_hz", 0);
        }
        Ok(Self::from_view(view))
    }

    fn from_view(view: HelloAckView<'_>) -> Self {
        Self {
            version: view.version(),
            nonce: view.nonce(),
            firmware_version: view.firmware_version(),
            uid: view.uid(),
            axes: view.axes(),
            capabilities: view.capabilities(),
            max_rate_hz: view.max_rate_hz(),
        }
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        payload[ack_field::MAJOR] = self.version.0;
        payload[ack_field::MINOR] = self.version.1;
        write(payload, ack_field::NONCE, self.nonce.to_le_bytes());
        write(payload, ack_field::FIRMWARE_VERSION, self.firmware_version.to_le_bytes());
        write(payload, ack_field::UID, self.uid);
        payload[ack_field::AXES] = self.axes;
        write(payload, ack_field::CAPABILITIES, self.capabilities.0.to_le_bytes());
        write(payload, ack_field::MAX_RATE_HZ, self.max_rate_hz.to_le_bytes());
        ack_field::LENGTH
    }
}
