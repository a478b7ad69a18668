//! Bytes to frames, one byte at a time, whatever the bytes are.

use crate::{
    cobs, crc,
    frame::{Frame, WIRE_MAX},
};

/// The shortest body: kind, sequence and check sum around an empty payload.
const BODY_MIN: usize = 4;

/// What arrived, for the link's health. Counters wrap, so that differences stay right for ever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames with a right check sum.
    pub frames: u32,
    /// Frames with a wrong check sum.
    pub crc_errors: u32,
    /// Frames whose stuffing does not add up, or too short to hold a check sum.
    pub framing_errors: u32,
    /// Runs of more bytes without a delimiter than a frame can have.
    pub overlong: u32,
}

/// Collects bytes until a delimiter, checks them, and yields the frame.
///
/// Any delimiter starts afresh, so damage costs the frame it hit, and at most the one after when a delimiter was lost.
#[derive(Clone, Debug)]
pub struct Decoder {
    collected: [u8; WIRE_MAX - 1],
    length: usize,
    overlong: bool,
    counters: Counters,
}

impl Default for Decoder {
    fn default() -> Self {
        Self::new()
    }
}

impl Decoder {
    /// A decoder that has seen nothing.
    pub const fn new() -> Self {
        let counters = Counters { frames: 0, crc_errors: 0, framing_errors: 0, overlong: 0 };
        Self { collected: [0; WIRE_MAX - 1], length: 0, overlong: false, counters }
    }

    /// Takes one byte; the frame, if this byte completed one.
    ///
    /// Real-time: at most one pass over [`WIRE_MAX`] bytes; no allocation.
    pub fn push(&mut self, byte: u8) -> Option<Frame<'_>> {
        if byte != 0 {
            self.collect(byte);
            return None;
        }
        let length = core::mem::take(&mut self.length);
        let was_overlong = core::mem::take(&mut self.overlong);
        // Two delimiters in a row are an empty line, not damage: hosts send one first to flush a half-received frame.
        if was_overlong || length == 0 { None } else { self.check(length) }
    }

    /// Takes many bytes and hands every frame found to `visit`, oldest first.
    ///
    /// Real-time: linear in the bytes; no allocation.
    pub fn push_all(&mut self, bytes: &[u8], mut visit: impl FnMut(Frame<'_>)) {
        for &byte in bytes {
            if let Some(frame) = self.push(byte) {
                visit(frame);
            }
        }
    }

    /// Forgets a half-received frame, as after reopening a port; the counters stay.
    pub fn forget_partial(&mut self) {
        self.length = 0;
        self.overlong = false;
    }

    /// What has arrived so far.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn collect(&mut self, byte: u8) {
        if let Some(place) = self.collected.get_mut(self.length) {
            *place = byte;
            self.length += 1;
        } else if !self.overlong {
            self.overlong = true;
            self.counters.overlong = self.counters.overlong.wrapping_add(1);
        }
    }

    fn check(&mut self, length: usize) -> Option<Frame<'_>> {
        let stuffed = &mut self.collected[..length];
        if !cobs::decode_in_place(stuffed) || length < BODY_MIN + 1 {
            self.counters.framing_errors = self.counters.framing_errors.wrapping_add(1);
            return None;
        }
        let (content, check) = stuffed[1..].split_at(length - 3);
        if crc::crc16(content) != u16::from_le_bytes([check[0], check[1]]) {
            self.counters.crc_errors = self.counters.crc_errors.wrapping_add(1);
            return None;
        }
        self.counters.frames = self.counters.frames.wrapping_add(1);
        Some(Frame { kind: content[0], sequence: content[1], payload: &content[2..] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMMAND: [u8; 11] = [0x0a, 0x10, 0x07, 0x01, 0xd2, 0x04, 0x2e, 0xfb, 0x93, 0x46, 0x00];

    fn frames_in(decoder: &mut Decoder, bytes: &[u8]) -> usize {
        let mut count = 0;
        decoder.push_all(bytes, |_| count += 1);
        count
    }

    #[test]
    fn a_frame_comes_out_at_its_delimiter() {
        let mut decoder = Decoder::new();
        assert!(COMMAND[..10].iter().all(|&byte| decoder.push(byte).is_none()));
        let frame = decoder.push(0).unwrap();
        assert_eq!((frame.kind, frame.sequence), (0x10, 7));
        assert_eq!(frame.payload, [1, 0xd2, 0x04, 0x2e, 0xfb]);
    }

    #[test]
    fn a_changed_byte_is_a_check_sum_error() {
        let mut decoder = Decoder::new();
        let mut damaged = COMMAND;
        damaged[4] ^= 0x40;
        assert_eq!(frames_in(&mut decoder, &damaged), 0);
        assert_eq!(decoder.counters(), Counters { crc_errors: 1, ..Counters::default() });
    }

    #[test]
    fn a_lost_byte_is_a_framing_error() {
        let mut decoder = Decoder::new();
        assert_eq!(frames_in(&mut decoder, &[0x0a, 0x10, 0x07, 0x00]), 0);
        assert_eq!(decoder.counters(), Counters { framing_errors: 1, ..Counters::default() });
    }

    #[test]
    fn an_endless_run_is_counted_once_and_ends_at_the_delimiter() {
        let mut decoder = Decoder::new();
        assert_eq!(frames_in(&mut decoder, &[0x55; 500]), 0);
        assert_eq!(frames_in(&mut decoder, &[0]), 0);
        assert_eq!(decoder.counters(), Counters { overlong: 1, ..Counters::default() });
        assert_eq!(frames_in(&mut decoder, &COMMAND), 1);
    }

    #[test]
    fn empty_lines_are_no_errors() {
        let mut decoder = Decoder::new();
        assert_eq!(frames_in(&mut decoder, &[0; 20]), 0);
        assert_eq!(decoder.counters(), Counters::default());
    }

    #[test]
    fn a_half_frame_can_be_forgotten() {
        let mut decoder = Decoder::new();
        frames_in(&mut decoder, &COMMAND[..5]);
        decoder.forget_partial();
        assert_eq!(frames_in(&mut decoder, &COMMAND), 1);
    }
}
