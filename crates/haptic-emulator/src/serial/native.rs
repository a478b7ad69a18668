//! A board with the native protocol on a serial line.

use super::Board;
use crate::handle::EmulatedHandle;
use crate::native::{CobsStream, NativeFirmware, NativeTraits};
use nalgebra::Vector2;

/// An emulated board with the native protocol on a serial line.
pub struct NativeBoard {
    firmware: NativeFirmware,
    handle: EmulatedHandle,
    stream: CobsStream,
    time_us: u64,
}

impl NativeBoard {
    /// Creates a board in its state after power-up.
    pub fn new(traits: NativeTraits, handle: EmulatedHandle) -> Self {
        Self { firmware: NativeFirmware::new(traits), handle, stream: CobsStream::default(), time_us: 0 }
    }
}

impl Board for NativeBoard {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        self.stream.receive(&mut self.firmware, bytes, &self.handle.measured(), self.time_us, out);
    }

    fn tick(&mut self, out: &mut Vec<Vec<u8>>) {
        self.time_us += 1000;
        if let Some(fault) = self.firmware.advance(self.time_us) {
            out.extend(CobsStream::encode(&mut self.firmware, &fault));
        }
        self.handle.advance(self.firmware.force_n());
    }

    fn host_left(&mut self) {
        self.firmware.disconnect();
        self.stream.reset();
    }

    fn force_n(&self) -> Vector2<f64> {
        self.firmware.force_n()
    }

    fn handle(&self) -> &EmulatedHandle {
        &self.handle
    }

    fn next_event(&mut self) -> Option<String> {
        self.firmware.next_event()
    }
}
