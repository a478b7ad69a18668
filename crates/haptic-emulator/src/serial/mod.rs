//! Emulated boards on a pseudo-terminal: the device side of each serial protocol, with a model and a simulated hand.
//!
//! A [`Board`] is pure: bytes and milliseconds in, bytes out. [`server`] connects it to a port and the wall clock, and
//! [`faults`] injects faults into the line.

pub mod faults;
pub mod haply;
pub mod native;
pub mod odrive;
pub mod pty;
pub mod server;

pub use faults::LineFaults;
pub use haply::HaplyBoard;
pub use native::NativeBoard;
pub use odrive::OdriveBoard;
pub use server::{ServeOptions, serve};

use crate::handle::EmulatedHandle;
use nalgebra::Vector2;

/// Device side of a serial protocol.
pub trait Board: Send {
    /// Handles bytes of the host; adds the answers to `out`, one entry per frame.
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>);

    /// Advances by a millisecond.
    fn tick(&mut self, out: &mut Vec<Vec<u8>>);

    /// The host closed the port.
    fn host_left(&mut self);

    /// The board was disconnected and lost its power.
    fn unplugged(&mut self) {
        self.host_left();
    }

    /// Output of the motors: force on the hand, N, or torque, N·m.
    fn force_n(&self) -> Vector2<f64>;

    /// The handle with the hand that holds it.
    fn handle(&self) -> &EmulatedHandle;

    /// The oldest event that was not returned yet, as text.
    fn next_event(&mut self) -> Option<String>;
}
