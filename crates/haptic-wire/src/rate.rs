//! Maximum exchange rate of a serial line.

use crate::{frame::OVERHEAD, message};

/// Number of bits on the line per byte: start bit, eight data bits and stop bit.
const BITS_PER_BYTE: u32 = 10;

/// Length of a CMD on the wire, bytes.
pub fn command_wire_bytes(axes: usize) -> usize {
    message::command::payload_length(axes) + OVERHEAD
}

/// Length of a STATE on the wire, bytes.
pub fn state_wire_bytes(axes: usize, velocity_given: bool) -> usize {
    message::state::payload_length(axes, velocity_given) + OVERHEAD
}

/// Returns the maximum rate of exchanges, Hz, on a line with `baud` bits per second. The line is full duplex, so the
/// longer message, CMD or STATE, limits the rate.
///
/// A line that cannot carry 1000 Hz must be driven at an integer fraction of 1000 Hz, with a warning to the user.
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
