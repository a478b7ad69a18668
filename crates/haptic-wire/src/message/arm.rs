//! ARM and ARM_ACK: watchdog time, effort limits and slew limit.

use crate::{
    FULL_SCALE_Q15, MAX_AXES,
    axes::PerAxis,
    bytes::{read_u16, read_u32, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};

mod field {
    pub const NONCE: usize = 0;
    pub const WATCHDOG_MS: usize = 4;
    pub const LIMITS: usize = 6;

    /// Offset of the slew limit, bytes. It depends on the number of axes, because the effort limits precede it.
    pub const fn slew(axes: usize) -> usize {
        LIMITS + 2 * axes
    }

    pub const fn length(axes: usize) -> usize {
        slew(axes) + 2
    }
}

/// A view of an ARM or ARM_ACK payload with a valid length.
#[derive(Clone, Copy, Debug)]
pub struct ArmView<'a> {
    payload: &'a [u8],
    axes: usize,
}

impl<'a> ArmView<'a> {
    /// Creates a view of `payload` if its length is valid. The length determines the number of axes.
    pub fn new_checked(kind: Kind, payload: &'a [u8]) -> Result<Self, PayloadError> {
        let axes = (1..=MAX_AXES).find(|axes| payload.len() == field::length(*axes));
        axes.map(|axes| Self { payload, axes }).ok_or(PayloadError::Length { kind, found: payload.len() })
    }

    /// Number of axes.
    pub fn axes(&self) -> usize {
        self.axes
    }

    /// Session nonce.
    pub fn nonce(&self) -> u32 {
        read_u32(self.payload, field::NONCE)
    }

    /// Watchdog time, ms: the device ends all effort if no CMD arrives for this long.
    pub fn watchdog_ms(&self) -> u16 {
        read_u16(self.payload, field::WATCHDOG_MS)
    }

    /// Effort limit of one axis, Q15, unchecked; `axis` must be less than [`Self::axes`].
    pub fn limit_q15(&self, axis: usize) -> u16 {
        read_u16(self.payload, field::LIMITS + 2 * axis)
    }

    /// Maximum rise of effort per millisecond, Q15; unchecked.
    pub fn slew_q15_per_ms(&self) -> u16 {
        read_u16(self.payload, field::slew(self.axes))
    }
}

/// Limits requested by the host (ARM) or in effect on the device (ARM_ACK).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arm {
    /// Nonce of the session's HELLO.
    pub nonce: u32,
    /// Watchdog time, ms: the device ends all effort if no CMD arrives for this long. In ARM, 0 requests the device's
    /// default, and values above the device's maximum (at most 100 ms) are reduced to that maximum.
    pub watchdog_ms: u16,
    /// Effort limit of each axis, Q15 of full scale. The device applies the smaller of the requested limit and its own.
    pub limits_q15: PerAxis<u16>,
    /// Maximum rise of effort per millisecond, Q15. In ARM, 0 requests the device's default.
    pub slew_q15_per_ms: u16,
}

impl Arm {
    /// Parses a payload. An effort limit or slew limit beyond full scale is taken as full scale.
    pub fn parse(kind: Kind, payload: &[u8]) -> Result<Self, PayloadError> {
        let view = ArmView::new_checked(kind, payload)?;
        let wrong_length = PayloadError::Length { kind, found: payload.len() };
        let limit_q15 = |axis| view.limit_q15(axis).min(FULL_SCALE_Q15);
        let limits_q15 = PerAxis::from_fn(view.axes(), limit_q15).ok_or(wrong_length)?;
        let slew_q15_per_ms = view.slew_q15_per_ms().min(FULL_SCALE_Q15);
        Ok(Self { nonce: view.nonce(), watchdog_ms: view.watchdog_ms(), limits_q15, slew_q15_per_ms })
    }

    /// Writes the payload and returns its length. Values beyond full scale are written as full scale.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        let axes = self.limits_q15.len();
        write(payload, field::NONCE, self.nonce.to_le_bytes());
        write(payload, field::WATCHDOG_MS, self.watchdog_ms.to_le_bytes());
        for (axis, limit) in self.limits_q15.iter().enumerate() {
            write(payload, field::LIMITS + 2 * axis, limit.min(&FULL_SCALE_Q15).to_le_bytes());
        }
        write(payload, field::slew(axes), self.slew_q15_per_ms.min(FULL_SCALE_Q15).to_le_bytes());
        field::length(axes)
    }
}
