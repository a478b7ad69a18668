//! Framings of the native protocol: COBS on a byte stream, or one message per HID report.

use super::{HID_NATIVE, SERIAL};
use crate::protocol::TxBytes;
use haptic_device::KindSpec;
use haptic_wire::report::{decode_report, encode_report};
use haptic_wire::{Decoder, Frame, Message, WIRE_MAX, encode};

/// Encodes messages as bytes and decodes bytes into frames.
pub trait Framing: Clone + Default + Send + 'static {
    /// Device kind of the boards that use this framing.
    const KIND: &'static KindSpec;

    /// Bytes sent before each message of a handshake, to terminate a partial frame on the link.
    const TERMINATOR: &'static [u8];

    /// Encodes one message.
    ///
    /// Real-time: bounded by [`WIRE_MAX`]; no allocation.
    fn encode(message: &Message<'_>, sequence: u8) -> TxBytes;

    /// Decodes received bytes and passes every intact frame to `visit`, oldest first.
    fn decode(&mut self, bytes: &[u8], visit: impl FnMut(Frame<'_>));

    /// Returns the counts of intact and damaged frames received so far.
    fn counts(&self) -> FrameCounts;
}

/// Counts of received frames. Both wrap on overflow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrameCounts {
    /// Frames with a correct checksum.
    pub intact: u32,
    /// Damaged frames, which were dropped.
    pub damaged: u32,
}

/// COBS frames on a byte stream.
#[derive(Clone, Debug, Default)]
pub struct Cobs(Decoder);

impl Framing for Cobs {
    const KIND: &'static KindSpec = &SERIAL;
    const TERMINATOR: &'static [u8] = &[0];

    fn encode(message: &Message<'_>, sequence: u8) -> TxBytes {
        let mut wire = [0; WIRE_MAX];
        // A buffer of this length holds any message.
        let length = encode(message, sequence, &mut wire).unwrap_or(0);
        TxBytes::new(&wire[..length])
    }

    fn decode(&mut self, bytes: &[u8], visit: impl FnMut(Frame<'_>)) {
        self.0.push_all(bytes, visit);
    }

    fn counts(&self) -> FrameCounts {
        let counters = self.0.counters();
        let damaged = counters.crc_errors.wrapping_add(counters.framing_errors).wrapping_add(counters.overlong);
        FrameCounts { intact: counters.frames, damaged }
    }
}

/// One message per HID report, without a report id.
#[derive(Clone, Copy, Debug, Default)]
pub struct HidReport(FrameCounts);

impl Framing for HidReport {
    const KIND: &'static KindSpec = &HID_NATIVE;
    const TERMINATOR: &'static [u8] = &[];

    fn encode(message: &Message<'_>, sequence: u8) -> TxBytes {
        // Every message fits into a report, because its type bounds its payload.
        encode_report(message, sequence).map_or(TxBytes::EMPTY, |report| TxBytes::new(&report))
    }

    /// `bytes` must be one report, or empty.
    fn decode(&mut self, bytes: &[u8], mut visit: impl FnMut(Frame<'_>)) {
        match decode_report(bytes) {
            Some(frame) => {
                self.0.intact = self.0.intact.wrapping_add(1);
                visit(frame);
            }
            None if bytes.is_empty() => {}
            None => self.0.damaged = self.0.damaged.wrapping_add(1),
        }
    }

    fn counts(&self) -> FrameCounts {
        self.0
    }
}
