//! Emulated boards on a pseudo-terminal: the device side of each serial protocol, with a model of the handle and a
//! simulated hand.
//!
//! A [`Board`] has no I/O and no clock: bytes and milliseconds go in, bytes come out. [`server`] connects a board to a
//! port and a clock, and [`faults`] injects faults into the line between them.

pub mod faults;
pub mod haply;
pub mod native;
pub mod odrive;
pub mod pty;
pub mod server;
mod trace;

pub use faults::LineFaults;
pub use haply::HaplyBoard;
pub use native::NativeBoard;
pub use odrive::{OdriveBoard, OdriveFirmware};
pub use server::{ServeOptions, serve};

use crate::handle::EmulatedHandle;
use nalgebra::Vector2;

/// Device side of a serial protocol.
pub trait Board: Send {
    /// Handles bytes from the host and adds the replies to `out`, one entry per frame.
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>);

    /// Advances by one millisecond and adds unsolicited messages to `out`, one entry per frame.
    fn tick(&mut self, out: &mut Vec<Vec<u8>>);

    /// Called when the host closes the port.
    fn host_left(&mut self);

    /// Called when the board is unplugged and loses power. By default, the same as a closed port.
    fn unplugged(&mut self) {
        self.host_left();
    }

    /// Motor output: the force on the hand, N; for the Haply 2diy, the torque of each motor, N·m.
    fn force_n(&self) -> Vector2<f64>;

    /// The board's handle and the hand that holds it.
    fn handle(&self) -> &EmulatedHandle;

    /// The same handle, to set the faults of its encoders.
    fn handle_mut(&mut self) -> &mut EmulatedHandle;

    /// Removes and returns the oldest event text, if any.
    fn next_event(&mut self) -> Option<String>;
}
