//! A board with the native protocol on a serial line.

use super::Board;
use crate::emergency_stop::StopButton;
use crate::handle::EmulatedHandle;
use crate::interval::Interval;
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

    /// Plans presses of the emergency stop, in seconds after the start of the board.
    #[must_use]
    pub fn with_planned_stops(mut self, stops: Vec<Interval>) -> Self {
        self.firmware.plan_stops(stops);
        self
    }

    /// Replaces the button of the emergency stop by one that another thread operates.
    #[must_use]
    pub fn with_stop_button(mut self, button: StopButton) -> Self {
        self.firmware.set_stop_button(button);
        self
    }

    /// Returns the button of the emergency stop.
    pub fn stop_button(&self) -> StopButton {
        self.firmware.stop_button()
    }
}

impl Board for NativeBoard {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        self.stream.receive(&mut self.firmware, bytes, &self.handle.measured(), self.time_us, out);
    }

    fn tick(&mut self, out: &mut Vec<Vec<u8>>) {
        self.time_us += 1000;
        self.firmware.advance(self.time_us);
        if let Some(message) = self.firmware.take_due(&self.handle.measured()) {
            out.extend(CobsStream::encode(&mut self.firmware, &message));
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

    fn handle_mut(&mut self) -> &mut EmulatedHandle {
        &mut self.handle
    }

    fn next_event(&mut self) -> Option<String> {
        self.firmware.next_event()
    }
}
