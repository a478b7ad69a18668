//! Messages of the Haply 2diy: reset, setup, write, and the answer to a write. Angles, torques and encoder counts are
//! little-endian `f32`.

use super::HaplyVariant;
use crate::protocol::TxBytes;
use haptic_device::config::Rotation;

/// Board number, which the board repeats in its answers.
pub const BOARD: u8 = 5;
/// Bit mask of the ports with motors and encoders: 1 and 2.
const PORTS: u8 = 0b11;
const SETUP: u8 = 1;
const WRITE: u8 = 2;

/// Length of an answer, bytes: the board number and two angles.
pub const ANSWER_LENGTH: usize = 9;

/// Largest plausible joint angle, degrees: two turns in either direction.
const MAX_DEG: f32 = 720.0;
/// Smallest plausible joint angle other than zero, degrees; finer than any encoder. A board that was reset answers with
/// only its number, and nine such bytes look like an answer with two angles of 6e-36.
const MIN_DEG: f32 = 1e-3;

/// Byte that is not a command. As the highest byte of a torque, it gives about 1e-19 N·m, too little to drive a motor.
const FILLER: u8 = 0x20;
/// Maximum number of bytes that the board may still expect in a torque message: the board number and two torques.
const MAX_MISSING: usize = 9;

/// Returns more zeros than the longest message has bytes. They complete any partial message; the remaining zeros are
/// resets. A reset clears the board's motor setup and angles, while the motors keep their last torque, so it may only
/// be used right before a setup.
pub fn flush() -> TxBytes {
    TxBytes::new(&[0; 32])
}

/// Returns bytes that complete a partial torque message. A board that expects no more bytes ignores them and keeps its
/// motor setup and angles.
pub fn realign() -> TxBytes {
    TxBytes::new(&[FILLER; MAX_MISSING])
}

/// Returns bytes that end all torque, whatever the board received before. Zeros alone could be read as resets, and
/// after a reset no torque command reaches the motors, not even zero.
pub fn stop(variant: &HaplyVariant) -> TxBytes {
    let mut bytes = realign();
    bytes.append(write(variant, [0.0; 2]).bytes());
    bytes
}

/// Returns the message that sets up motors and encoders; the current pose becomes home.
pub fn setup(variant: &HaplyVariant) -> TxBytes {
    let by_port = |directions| variant.by_port(directions).map(direction);
    let ([motor_1, motor_2], [encoder_1, encoder_2]) =
        (by_port(variant.motor_directions), by_port(variant.encoder_directions));
    let mut bytes = TxBytes::new(&[SETUP, BOARD, PORTS, motor_1, motor_2, PORTS, encoder_1, encoder_2, 0, 0]);
    let encoders = [0, 1].map(|joint| (variant.home_deg[joint], variant.counts_per_turn[joint]));
    for (home_deg, counts_per_turn) in variant.by_port(encoders) {
        bytes.append(&home_deg.to_le_bytes());
        bytes.append(&counts_per_turn.to_le_bytes());
    }
    bytes
}

fn direction(rotation: Rotation) -> u8 {
    match rotation {
        Rotation::Clockwise => 0,
        Rotation::Anticlockwise => 1,
    }
}

/// Returns the message that sets the torques of joints 1 and 2, N·m.
///
/// Real-time: a short copy.
pub fn write(variant: &HaplyVariant, torques_n_m: [f32; 2]) -> TxBytes {
    let mut bytes = TxBytes::new(&[WRITE, BOARD]);
    for torque in variant.by_port(torques_n_m) {
        bytes.append(&torque.to_le_bytes());
    }
    bytes
}

/// Finds answers in a stream without framing. Skips bytes that do not start an answer or contain no plausible angles.
#[derive(Clone, Debug, Default)]
pub struct AnswerFinder {
    collected: Vec<u8>,
    skipped: u32,
}

impl AnswerFinder {
    /// Adds a byte. Returns the angles of joints 1 and 2, degrees, if the byte completes an answer.
    pub fn push(&mut self, byte: u8, variant: &HaplyVariant) -> Option<[f32; 2]> {
        self.collected.push(byte);
        while self.collected.first().is_some_and(|&first| first != BOARD) {
            self.skip();
        }
        if self.collected.len() < ANSWER_LENGTH {
            return None;
        }
        let degrees = [1, 5].map(|at| f32::from_le_bytes([0, 1, 2, 3].map(|offset| self.collected[at + offset])));
        if degrees.iter().all(|&angle| is_angle(angle)) {
            self.collected.clear();
            return Some(variant.by_port(degrees));
        }
        self.skip();
        None
    }

    /// Returns the number of damaged answers since the last call, estimated from the skipped bytes.
    pub fn take_damaged(&mut self) -> u32 {
        let damaged = self.skipped.div_ceil(ANSWER_LENGTH as u32);
        self.skipped = 0;
        damaged
    }

    fn skip(&mut self) {
        self.collected.remove(0);
        self.skipped += 1;
    }
}

fn is_angle(degrees: f32) -> bool {
    degrees == 0.0 || (MIN_DEG..=MAX_DEG).contains(&degrees.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }

    #[test]
    fn setup_messages_are_those_of_the_boards_byte_for_byte() {
        let v3 = "01 05 03 01 01 03 01 01 00 00 00 00 40 41 00 80 98 45 00 00 28 43 00 80 98 45";
        let v2 = "01 05 03 00 01 03 00 01 00 00 00 00 74 c2 00 00 28 46 00 00 71 43 00 00 28 46";
        assert_eq!(setup(&HaplyVariant::V3).bytes(), hex(v3));
        assert_eq!(setup(&HaplyVariant::V2).bytes(), hex(v2));
        assert_eq!(setup(&HaplyVariant::KIT).bytes().len(), 26);
    }

    #[test]
    fn the_first_number_on_the_wire_is_the_second_joint_where_ports_are_swapped() {
        let bytes = write(&HaplyVariant::V3, [0.1, -0.05]);
        assert_eq!(bytes.bytes()[2..6], (-0.05f32).to_le_bytes());
        assert_eq!(write(&HaplyVariant::KIT, [0.1, -0.05]).bytes()[2..6], 0.1f32.to_le_bytes());
    }

    #[test]
    fn answers_are_found_after_garbage() {
        let mut stream = vec![9, 7, BOARD, 1];
        for _ in 0..3 {
            stream.push(BOARD);
            stream.extend(12.5f32.to_le_bytes());
            stream.extend(168.25f32.to_le_bytes());
        }
        let mut finder = AnswerFinder::default();
        let found: Vec<_> = stream.iter().filter_map(|&byte| finder.push(byte, &HaplyVariant::V3)).collect();
        assert_eq!(found.last(), Some(&[168.25, 12.5]));
        assert!(found.len() >= 2 && finder.take_damaged() > 0, "{found:?}");
    }

    #[test]
    fn the_repeated_number_of_a_board_that_was_reset_is_not_an_answer() {
        let mut finder = AnswerFinder::default();
        assert_eq!((0..100).find_map(|_| finder.push(BOARD, &HaplyVariant::V3)), None);
        assert!(finder.take_damaged() > 0);
    }
}
