//! AXIS_INFO: scale, travel and full-scale effort of an axis.

use super::checked;
use crate::{
    MAX_AXES,
    bytes::{read_i32, read_u32, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};

mod field {
    pub const INDEX: usize = 0;
    pub const KIND: usize = 1;
    pub const COUNTS_NUMERATOR: usize = 2;
    pub const COUNTS_DENOMINATOR: usize = 6;
    pub const MINIMUM: usize = 10;
    pub const MAXIMUM: usize = 14;
    pub const FULL_SCALE: usize = 18;
    pub const HOME_FLAGS: usize = 22;
    pub const LENGTH: usize = 23;
}

/// Host to device: requests the properties of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisInfoRequest {
    /// Index of the axis, counted from zero.
    pub index: u8,
}

impl AxisInfoRequest {
    const LENGTH: usize = 1;

    /// Parses a payload. Accepts any index; the device rejects an axis that it does not have.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        checked(Kind::AxisInfoRequest, payload, Self::LENGTH).map(|payload| Self { index: payload[field::INDEX] })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        payload[field::INDEX] = self.index;
        Self::LENGTH
    }
}

/// Type of motion of an axis, which determines its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum AxisKind {
    /// Linear motion: the scale is in counts per metre, and efforts are in micronewtons.
    Linear = 0,
    /// Rotation: the scale is in counts per radian, and efforts are in micronewton metres.
    Rotary = 1,
}

/// Flags that state which position is zero. Bits unknown to this version are retained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HomeFlags(pub u8);

impl HomeFlags {
    /// The sensor is absolute: zero is always the same position.
    pub const ABSOLUTE: u8 = 1 << 0;
    /// Zero is the position of the axis when the device started.
    pub const ZERO_AT_BOOT: u8 = 1 << 1;

    /// Whether every bit of `bits` is set.
    pub fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// A view of an AXIS_INFO payload with the correct length.
#[derive(Clone, Copy, Debug)]
pub struct AxisInfoView<'a>(&'a [u8]);

impl<'a> AxisInfoView<'a> {
    /// Creates a view of `payload` if its length is correct.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        checked(Kind::AxisInfo, payload, field::LENGTH).map(Self)
    }

    /// Index of the axis, counted from zero.
    pub fn index(&self) -> u8 {
        self.0[field::INDEX]
    }

    /// Kind of the axis, as an unchecked byte.
    pub fn axis_kind(&self) -> u8 {
        self.0[field::KIND]
    }

    /// Counts per metre or radian, as numerator and denominator.
    pub fn counts_per_unit(&self) -> (u32, u32) {
        (read_u32(self.0, field::COUNTS_NUMERATOR), read_u32(self.0, field::COUNTS_DENOMINATOR))
    }

    /// Ends of travel, counts: minimum and maximum, unchecked.
    pub fn range(&self) -> (i32, i32) {
        (read_i32(self.0, field::MINIMUM), read_i32(self.0, field::MAXIMUM))
    }

    /// Effort at Q15 full scale, in micronewtons or micronewton metres.
    pub fn full_scale_micro(&self) -> u32 {
        read_u32(self.0, field::FULL_SCALE)
    }

    /// Flags that state which position is zero.
    pub fn home_flags(&self) -> HomeFlags {
        HomeFlags(self.0[field::HOME_FLAGS])
    }
}

/// Device to host: properties of one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AxisInfo {
    /// Index of the axis, counted from zero.
    pub index: u8,
    /// Kind of the axis.
    pub kind: AxisKind,
    /// Counts per metre or radian, as numerator and denominator; neither is 0.
    pub counts_per_unit: (u32, u32),
    /// Ends of travel, counts: minimum and maximum.
    pub range: (i32, i32),
    /// Effort at Q15 full scale, in micronewtons or micronewton metres; never 0.
    pub full_scale_micro: u32,
    /// Flags that state which position is zero.
    pub home_flags: HomeFlags,
}

impl AxisInfo {
    /// Parses a payload. Rejects an unknown kind, an invalid index, a zero in the scale, an empty travel range and a
    /// full-scale effort of zero.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = AxisInfoView::new_checked(payload)?;
        let reject = |field, found| Err(PayloadError::Value { kind: Kind::AxisInfo, field, found });
        let kind = match view.axis_kind() {
            0 => AxisKind::Linear,
            1 => AxisKind::Rotary,
            other => return reject("kind", u32::from(other)),
        };
        match (view.counts_per_unit(), view.range()) {
            _ if usize::from(view.index()) >= MAX_AXES => reject("index", u32::from(view.index())),
            ((0, _), _) => reject("counts_numerator", 0),
            ((_, 0), _) => reject("counts_denominator", 0),
            (_, (minimum, maximum)) if minimum >= maximum => reject("minimum", minimum as u32),
            _ if view.full_scale_micro() == 0 => reject("full_scale", 0),
            _ => Ok(Self::from_view(view, kind)),
        }
    }

    fn from_view(view: AxisInfoView<'_>, kind: AxisKind) -> Self {
        Self {
            index: view.index(),
            kind,
            counts_per_unit: view.counts_per_unit(),
            range: view.range(),
            full_scale_micro: view.full_scale_micro(),
            home_flags: view.home_flags(),
        }
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        payload[field::INDEX] = self.index;
        payload[field::KIND] = self.kind as u8;
        write(payload, field::COUNTS_NUMERATOR, self.counts_per_unit.0.to_le_bytes());
        write(payload, field::COUNTS_DENOMINATOR, self.counts_per_unit.1.to_le_bytes());
        write(payload, field::MINIMUM, self.range.0.to_le_bytes());
        write(payload, field::MAXIMUM, self.range.1.to_le_bytes());
        write(payload, field::FULL_SCALE, self.full_scale_micro.to_le_bytes());
        payload[field::HOME_FLAGS] = self.home_flags.0;
        field::LENGTH
    }

    /// Converts counts to metres or radians.
    pub fn units_from_counts(&self, counts: i32) -> f64 {
        f64::from(counts) * f64::from(self.counts_per_unit.1) / f64::from(self.counts_per_unit.0)
    }

    /// Returns the full-scale effort in newtons or newton metres.
    pub fn full_scale(&self) -> f64 {
        f64::from(self.full_scale_micro) * 1e-6
    }
}
