//! The firmware on a byte stream.

use super::{Measured, NativeFirmware};
use haptic_wire::{Decoder, Message, WIRE_MAX, encode};

/// The byte stream of a serial line, with COBS frames in both directions.
#[derive(Clone, Debug, Default)]
pub struct CobsStream(Decoder);

impl CobsStream {
    /// Passes the frames in `bytes` to the firmware and adds its replies to `out`, one entry per frame.
    pub fn receive(
        &mut self,
        firmware: &mut NativeFirmware,
        bytes: &[u8],
        handle: &Measured,
        now_us: u64,
        out: &mut Vec<Vec<u8>>,
    ) {
        self.0.push_all(bytes, |frame| {
            for reply in firmware.receive(&frame, handle, now_us) {
                out.extend(Self::encode(firmware, &reply));
            }
        });
    }

    /// Encodes a message as a frame for the stream; `None` if it cannot be encoded.
    pub fn encode(firmware: &mut NativeFirmware, message: &Message<'_>) -> Option<Vec<u8>> {
        let mut wire = [0; WIRE_MAX];
        let length = encode(message, firmware.next_sequence(), &mut wire).ok()?;
        Some(wire[..length].to_vec())
    }

    /// Drops a partial frame.
    pub fn reset(&mut self) {
        self.0.forget_partial();
    }
}
