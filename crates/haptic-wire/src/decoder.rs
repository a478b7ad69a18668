//! Decodes frames from a stream of arbitrary bytes, one byte at a time.

use crate::{
    cobs, crc,
    frame::{Frame, WIRE_MAX},
};

/// Minimum length of a body, bytes: kind, sequence number, empty payload and checksum.
const BODY_MIN: usize = 4;

/// Counters of received frames and errors. They wrap on overflow, so the difference between two readings stays correct.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Frames with a correct checksum.
    pub frames: u32,
    /// Frames with a wrong checksum.
    pub crc_errors: u32,
    /// Frames that have invalid COBS codes or are shorter than the shortest valid frame.
    pub framing_errors: u32,
    /// Runs of bytes without a delimiter that are longer than any frame.
    pub overlong: u32,
}

/// Collects bytes up to a delimiter, checks them, and returns the frame.
///
/// Every delimiter starts a new frame, so a damaged byte costs one frame, or two if it was a delimiter.
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
    /// Creates an empty decoder.
    pub const fn new() -> Self {
        let counters = Counters { frames: 0, crc_errors: 0, framing_errors: 0, overlong: 0 };
        Self { collected: [0; WIRE_MAX - 1], length: 0, overlong: false, counters }
    }

    /// Adds one byte and returns the frame that it completes, if any.
    ///
    /// Real-time: at most one pass over [`WIRE_MAX`] bytes; no allocation.
    pub fn push(&mut self, byte: u8) -> Option<Frame<'_>> {
        if byte != 0 {
            self.collect(byte);
            return None;
        }
        let length = core::mem::take(&mut self.length);
        let was_overlong = core::mem::take(&mut self.overlong);
        // Consecutive delimiters are not an error: a host sends an extra one to end a partial frame.
        if was_overlong || length == 0 { None } else { self.check(length) }
    }

    /// Adds bytes and passes every completed frame to `visit`, oldest first.
    ///
    /// Real-time: linear in the number of bytes; no allocation.
    pub fn push_all(&mut self, bytes: &[u8], mut visit: impl FnMut(Frame<'_>)) {
        for &byte in bytes {
            if let Some(frame) = self.push(byte) {
                visit(frame);
            }
        }
    }

    /// Discards a partial frame, for example after a port was reopened. The counters are kept.
    pub fn forget_partial(&mut self) {
        self.length = 0;
        self.overlong = false;
    }

    /// Returns the counters.
    pub fn counters(&self) -> Counters {
        self.counters
    }

    fn collect(&mut self, byte: u8) {
        if let Some(slot) = self.collected.get_mut(self.length) {
            *slot = byte;
            self.length += 1;
        } else if !self.overlong {
            self.overlong = true;
            self.counters.overlong = self.counters.overlong.wrapping_add(1);
        }
    }

    fn check(&mut self, length: usize) -> Option<Frame<'_>> {
        let bytes = &mut self.collected[..length];
        if !cobs::decode_in_place(bytes) || length < BODY_MIN + 1 {
            self.counters.framing_errors = self.counters.framing_errors.wrapping_add(1);
            return None;
        }
        let (content, check) = bytes[1..].split_at(length - 3);
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
    fn a_frame_is_complete_at_its_delimiter() {
        let mut decoder = Decoder::new();
        assert!(COMMAND[..10].iter().all(|&byte| decoder.push(byte).is_none()));
        let frame = decoder.push(0).unwrap();
        assert_eq!((frame.kind, frame.sequence), (0x10, 7));
        assert_eq!(frame.payload, [1, 0xd2, 0x04, 0x2e, 0xfb]);
    }

    #[test]
    fn a_changed_byte_is_a_checksum_error() {
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
    fn consecutive_delimiters_are_not_errors() {
        let mut decoder = Decoder::new();
        assert_eq!(frames_in(&mut decoder, &[0; 20]), 0);
        assert_eq!(decoder.counters(), Counters::default());
    }

    #[test]
    fn a_partial_frame_can_be_discarded() {
        let mut decoder = Decoder::new();
        frames_in(&mut decoder, &COMMAND[..5]);
        decoder.forget_partial();
        assert_eq!(frames_in(&mut decoder, &COMMAND), 1);
    }
}
