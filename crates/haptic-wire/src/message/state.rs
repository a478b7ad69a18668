//! STATE: axis positions, sample time and device status.

use crate::{
    MAX_AXES,
    axes::PerAxis,
    bytes::{read_i32, read_u32, write},
    error::PayloadError,
    frame::{Kind, PAYLOAD_MAX},
};

mod field {
    pub const ACKNOWLEDGED: usize = 0;
    pub const STATUS: usize = 1;
    pub const SAMPLED_AT_US: usize = 2;
    pub const POSITIONS: usize = 6;

    /// Offset of the velocities, bytes. It depends on the number of axes, because the positions come first.
    pub const fn velocities(axes: usize) -> usize {
        POSITIONS + 4 * axes
    }
}

/// Length of a STATE payload, bytes.
pub const fn payload_length(axes: usize, velocity_given: bool) -> usize {
    field::POSITIONS + 4 * axes * (1 + velocity_given as usize)
}

/// Status bits of a STATE. [`Self::VELOCITY`] describes the layout of the payload; a parsed [`State`] stores it in
/// [`State::velocity_given`] instead.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status(pub u8);

impl Status {
    /// The device is armed: effort is permitted.
    pub const ARMED: u8 = 1 << 0;
    /// The device is armed, and the newest CMD enabled effort.
    pub const ENABLED: u8 = 1 << 1;
    /// A fault is latched: the device applies no effort until the next ARM.
    pub const FAULT: u8 = 1 << 2;
    /// The newest commanded effort was reduced to a limit.
    pub const CLAMPED: u8 = 1 << 3;
    /// The applied effort has not yet reached the commanded one.
    pub const SLEWING: u8 = 1 << 4;
    /// The newest sensor reading was implausible; the position is the last good one.
    pub const HELD: u8 = 1 << 5;
    /// The payload contains velocities after the positions.
    pub const VELOCITY: u8 = 1 << 6;
    /// The STATE was sent on the device's own schedule, not in reply to a CMD.
    pub const STREAMED: u8 = 1 << 7;

    /// Whether every bit of `bits` is set.
    pub fn has(self, bits: u8) -> bool {
        self.0 & bits == bits
    }
}

/// A view of a STATE payload whose length is valid for its status.
#[derive(Clone, Copy, Debug)]
pub struct StateView<'a> {
    payload: &'a [u8],
    axes: usize,
}

impl<'a> StateView<'a> {
    /// Creates a view of `payload` if its length is valid. The status determines whether velocities follow the
    /// positions, and the length then determines the number of axes.
    pub fn new_checked(payload: &'a [u8]) -> Result<Self, PayloadError> {
        let wrong_length = PayloadError::Length { kind: Kind::State, found: payload.len() };
        let velocity_given = payload.get(field::STATUS).ok_or(wrong_length)? & Status::VELOCITY != 0;
        let axes = (1..=MAX_AXES).find(|axes| payload.len() == payload_length(*axes, velocity_given));
        axes.map(|axes| Self { payload, axes }).ok_or(wrong_length)
    }

    /// Number of axes.
    pub fn axes(&self) -> usize {
        self.axes
    }

    /// Sequence number of the newest CMD or STOP that the device has accepted.
    pub fn acknowledged(&self) -> u8 {
        self.payload[field::ACKNOWLEDGED]
    }

    /// The status bits.
    pub fn status(&self) -> Status {
        Status(self.payload[field::STATUS])
    }

    /// Device time at which the positions were sampled, µs.
    pub fn sampled_at_us(&self) -> u32 {
        read_u32(self.payload, field::SAMPLED_AT_US)
    }

    /// Position of one axis, counts; `axis` must be less than [`Self::axes`].
    pub fn position(&self, axis: usize) -> i32 {
        read_i32(self.payload, field::POSITIONS + 4 * axis)
    }

    /// Velocity of one axis, counts per second; `None` if the device does not measure it. `axis` must be less than
    /// [`Self::axes`].
    pub fn velocity(&self, axis: usize) -> Option<i32> {
        let at = field::velocities(self.axes) + 4 * axis;
        self.status().has(Status::VELOCITY).then(|| read_i32(self.payload, at))
    }
}

/// Position and velocity of one axis at one instant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AxisReading {
    /// Position in counts; AXIS_INFO gives the scale.
    pub position: i32,
    /// Velocity in counts per second; 0 if the device does not measure it.
    pub velocity: i32,
}

/// Device to host: axis positions and device status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// Sequence number of the newest CMD or STOP that the device has accepted.
    pub acknowledged: u8,
    /// The status bits, without [`Status::VELOCITY`].
    pub status: Status,
    /// Device time at which the positions were sampled, µs; wraps after 71 minutes.
    pub sampled_at_us: u32,
    /// Position and velocity of each axis.
    pub axes: PerAxis<AxisReading>,
    /// Whether the device measured the velocities.
    pub velocity_given: bool,
}

impl State {
    /// Parses a payload.
    pub fn parse(payload: &[u8]) -> Result<Self, PayloadError> {
        let view = StateView::new_checked(payload)?;
        let wrong_length = PayloadError::Length { kind: Kind::State, found: payload.len() };
        let reading =
            |axis| AxisReading { position: view.position(axis), velocity: view.velocity(axis).unwrap_or_default() };
        Ok(Self {
            acknowledged: view.acknowledged(),
            status: Status(view.status().0 & !Status::VELOCITY),
            sampled_at_us: view.sampled_at_us(),
            axes: PerAxis::from_fn(view.axes(), reading).ok_or(wrong_length)?,
            velocity_given: view.status().has(Status::VELOCITY),
        })
    }

    /// Writes the payload and returns its length.
    pub fn emit(&self, payload: &mut [u8; PAYLOAD_MAX]) -> usize {
        let velocity_bit = if self.velocity_given { Status::VELOCITY } else { 0 };
        payload[field::ACKNOWLEDGED] = self.acknowledged;
        payload[field::STATUS] = self.status.0 & !Status::VELOCITY | velocity_bit;
        write(payload, field::SAMPLED_AT_US, self.sampled_at_us.to_le_bytes());
        for (axis, reading) in self.axes.iter().enumerate() {
            write(payload, field::POSITIONS + 4 * axis, reading.position.to_le_bytes());
            if self.velocity_given {
                write(payload, field::velocities(self.axes.len()) + 4 * axis, reading.velocity.to_le_bytes());
            }
        }
        payload_length(self.axes.len(), self.velocity_given)
    }
}
