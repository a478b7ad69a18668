//! CMD: the newest efforts, sent every period.

use crate::{
    MAX_AXES,
    axes::PerAxis,
    bytes::{read_i16, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};

mod field {
    pub const FLAGS: usize = 0;
    pub const EFFORTS: usize = 1;
}

/// Length of a CMD payload, bytes.
pub const fn payload_length(axes: usize) -> usize {
    field::EFFORTS + 2 * axes
}

/// A view of a CMD payload with a valid length.
#[derive(Clone, Copy, Debug)]
pub struct CommandView<'a> {
    payload: &'a [u8],
    axes: usize,
}

impl<'a> CommandView<'a> {
    /// Creates a view of `payload` if its length is valid. The length determines the number of axes.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        let axes = (1..=MAX_AXES).find(|axes| payload.len() == payload_length(*axes));
        let wrong_length = PayloadError::Length { kind: Kind::Command, found: payload.len() };
        axes.map(|axes| Self { payload, axes }).ok_or(wrong_length)
    }

    /// Number of axes.
    pub fn axes(&self) -> usize {
        self.axes
    }

    /// The flag bits.
    pub fn flags(&self) -> u8 {
        self.payload[field::FLAGS]
    }

    /// Effort of one axis, Q15; `axis` must be less than [`Self::axes`].
    pub fn effort_q15(&self, axis: usize) -> i16 {
        read_i16(self.payload, field::EFFORTS + 2 * axis)
    }
}

/// Host to device: efforts to apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Bits [`Self::ENABLE`] and [`Self::STREAM`]. Other bits are reserved for later versions and are retained.
    pub flags: u8,
    /// Effort of each axis, Q15 of full scale; positive towards increasing positions. The device treats -32768 as
    /// -32767.
    pub efforts_q15: PerAxis<i16>,
}

impl Command {
    /// Flag: apply the efforts. Without this flag, the device applies no effort.
    pub const ENABLE: u8 = 1 << 0;
    /// Flag: send a STATE every millisecond instead of one per CMD, until a CMD without this flag arrives.
    pub const STREAM: u8 = 1 << 1;

    /// Creates a command with these efforts. Sets [`Self::ENABLE`] unless all efforts are zero.
    ///
    /// A command without the flag ends all effort before the device replies, but the device stays armed. With the flag,
    /// zero effort waits for the device's next tick, and devices before version 1.2 slew to it.
    ///
    /// Real-time: one comparison per axis.
    pub fn with_efforts(efforts_q15: PerAxis<i16>) -> Self {
        let is_zero = efforts_q15.iter().all(|&effort| effort == 0);
        Self { flags: if is_zero { 0 } else { Self::ENABLE }, efforts_q15 }
    }

    /// Parses a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = CommandView::new_checked(payload)?;
        let wrong_length = PayloadError::Length { kind: Kind::Command, found: payload.len() };
        let efforts_q15 = PerAxis::from_fn(view.axes(), |axis| view.effort_q15(axis)).ok_or(wrong_length)?;
        Ok(Self { flags: view.flags(), efforts_q15 })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        payload[field::FLAGS] = self.flags;
        for (axis, effort) in self.efforts_q15.iter().enumerate() {
            write(payload, field::EFFORTS + 2 * axis, effort.to_le_bytes());
        }
        payload_length(self.efforts_q15.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_command_without_any_effort_is_not_enabled() {
        let flags = |first, second| Command::with_efforts(PerAxis::two(first, second)).flags;
        assert_eq!([flags(0, 0), flags(1, 0), flags(0, -1)], [0, Command::ENABLE, Command::ENABLE]);
        assert_eq!(Command::with_efforts(PerAxis::one(0)).flags, 0);
        assert_eq!(
            Command::with_efforts(PerAxis::one(-5)),
            Command { flags: Command::ENABLE, efforts_q15: PerAxis::one(-5) }
        );
    }
}
