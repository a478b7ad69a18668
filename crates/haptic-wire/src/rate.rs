//! How many exchanges a second a line can carry.

use crate::{frame::OVERHEAD, message};

/// Start bit, eight data bits, stop bit.
const BITS_PER_BYTE: u32 = 10;

/// Bytes of one CMD on the wire.
pub fn command_wire_bytes(axes: usize) -> usize {
    message::command::payload_length(axes) + OVERHEAD
}

/// Bytes of one STATE on the wire.
pub fn state_wire_bytes(axes: usize, velocity_given: bool) -> usize {
    message::state::payload_length(axes, velocity_given) + OVERHEAD
}

/// The highest rate at which STATE frames fit on the line, which is full duplex: the longer of the two messages decides.
///
/// A line that cannot reach 1000 Hz must be driven at a divisor of it, and the user must be told.
pub fn highest_rate_hz(baud: u32, axes: usize, velocity_given: bool) -> u32 {
    let longest = state_wire_bytes(axes, velocity_given).max(command_wire_bytes(axes));
    baud / BITS_PER_BYTE / longest as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_sizes_of_the_specification() {
        assert_eq!((command_wire_bytes(1), command_wire_bytes(2)), (9, 11));
        assert_eq!((state_wire_bytes(1, false), state_wire_bytes(2, false)), (16, 20));
        assert_eq!((state_wire_bytes(1, true), state_wire_bytes(2, true)), (20, 28));
    }

    #[test]
    fn the_common_slow_rate_cannot_carry_a_kilohertz() {
        assert_eq!(highest_rate_hz(115_200, 1, false), 720);
        assert_eq!(highest_rate_hz(115_200, 2, false), 576);
        assert!(highest_rate_hz(500_000, 2, true) > 1000);
    }
}
