//! The bytes: reset, setup, write, and the answer to a write. All numbers are little-endian `f32`.

use super::HaplyVariant;
use crate::protocol::TxBytes;

/// The board repeats this number in its answers.
pub const BOARD: u8 = 5;
/// Motors and encoders on ports 1 and 2.
const PORTS: u8 = 0b11;
const SETUP: u8 = 1;
const WRITE: u8 = 2;

/// Bytes of an answer: the board's number and two angles.
pub const ANSWER_LENGTH: usize = 9;

/// Angles beyond this are no angles of an arm, degrees: two turns either way.
const FARTHEST_DEG: f32 = 720.0;
/// Nor are angles below this that are not zero, degrees: no encoder counts so finely. A board that was reset answers with its number
/// alone, and nine of those look like two angles of 6e-36.
const FINEST_DEG: f32 = 1e-3;

/// No command, and the highest byte of a torque that is too small to drive a motor, 1e-19 N·m.
const FILLER: u8 = 0x20;
/// What the board can still wait for in a torque message: its own number and two torques.
const LONGEST_WAIT: usize = 9;

/// More zeros than the longest message has bytes: whatever the board was waiting for, it ends as resets. A reset makes the board
/// forget its motors, with the last torque still on them, and its angles: only for a board that is set up right after.
pub fn flush() -> TxBytes {
    TxBytes::new(&[0; 32])
}

/// Ends a torque message that was cut short; a board that waits for nothing passes it over, and nothing is forgotten.
pub fn realign() -> TxBytes {
    TxBytes::new(&[FILLER; LONGEST_WAIT])
}

/// Ends all torque, whatever the board heard before: in the middle of a message bare zeros would be taken for resets, after which
/// no torque reaches the motors any more, not even zero.
pub fn let_go(variant: &HaplyVariant) -> TxBytes {
    let mut spoken = realign();
    spoken.append(write(variant, [0.0; 2]).bytes());
    spoken
}

/// Sets motors and encoders up; the present place becomes home.
pub fn setup(variant: &HaplyVariant) -> TxBytes {
    let [first, second] = variant.directions;
    let mut spoken = TxBytes::new(&[SETUP, BOARD, PORTS, first, second, PORTS, first, second, 0, 0]);
    for offset_deg in variant.by_port(variant.home_deg) {
        spoken.append(&offset_deg.to_le_bytes());
        spoken.append(&variant.counts_per_turn.to_le_bytes());
    }
    spoken
}

/// Asks for torques of joints 1 and 2, N·m.
///
/// Real-time: a short copy.
pub fn write(variant: &HaplyVariant, torques_n_m: [f32; 2]) -> TxBytes {
    let mut spoken = TxBytes::new(&[WRITE, BOARD]);
    for torque in variant.by_port(torques_n_m) {
        spoken.append(&torque.to_le_bytes());
    }
    spoken
}

/// Finds answers in a stream without framing: what does not begin like one or holds no angles is passed over.
#[derive(Clone, Debug, Default)]
pub struct AnswerFinder {
    collected: Vec<u8>,
    skipped: u32,
}

impl AnswerFinder {
    /// Takes a byte; the angles of joints 1 and 2 in degrees, if it completes an answer.
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

    /// Bytes passed over since the last time, as a number of spoilt answers.
    pub fn take_spoilt(&mut self) -> u32 {
        let spoilt = self.skipped.div_ceil(ANSWER_LENGTH as u32);
        self.skipped = 0;
        spoilt
    }

    fn skip(&mut self) {
        self.collected.remove(0);
        self.skipped += 1;
    }
}

fn is_angle(degrees: f32) -> bool {
    degrees == 0.0 || (FINEST_DEG..=FARTHEST_DEG).contains(&degrees.abs())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hex(text: &str) -> Vec<u8> {
        text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }

    #[test]
    fn setups_are_byte_for_byte_what_the_boards_take() {
        let v3 = "01 05 03 01 01 03 01 01 00 00 00 00 40 41 00 80 98 45 00 00 28 43 00 80 98 45";
        let v2 = "01 05 03 00 01 03 00 01 00 00 00 00 74 c2 00 00 28 46 00 00 71 43 00 00 28 46";
        assert_eq!(setup(&HaplyVariant::V3).bytes(), hex(v3));
        assert_eq!(setup(&HaplyVariant::V2).bytes(), hex(v2));
        assert_eq!(setup(&HaplyVariant::KIT).bytes().len(), 26);
    }

    #[test]
    fn the_first_number_on_the_wire_is_the_second_joint_where_ports_are_swapped() {
        let spoken = write(&HaplyVariant::V3, [0.1, -0.05]);
        assert_eq!(spoken.bytes()[2..6], (-0.05f32).to_le_bytes());
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
        assert!(found.len() >= 2 && finder.take_spoilt() > 0, "{found:?}");
    }

    #[test]
    fn the_number_of_a_board_that_was_reset_said_again_and_again_is_no_answer() {
        let mut finder = AnswerFinder::default();
        assert_eq!((0..100).find_map(|_| finder.push(BOARD, &HaplyVariant::V3)), None);
        assert!(finder.take_spoilt() > 0);
    }
}
