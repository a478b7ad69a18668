//! Devices made of software, as real as a program can make them: the far side of each serial protocol, with a physical
//! model and a hand, behind a pseudo-terminal.
//!
//! A [`Board`] is pure: bytes and milliseconds in, bytes out. [`server`] gives it a port and the wall clock, and [`faults`]
//! spoil what passes between.

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

/// The device's side of a serial protocol.
pub trait Board: Send {
    /// Takes what the host sent; answers are added to `out`, one entry a frame.
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>);

    /// A millisecond passes.
    fn tick(&mut self, out: &mut Vec<Vec<u8>>);

    /// The host closed the port.
    fn host_left(&mut self);

    /// The board lost its power as well.
    fn unplugged(&mut self) {
        self.host_left();
    }

    /// What the motors do now: force on the hand, N, or torque, N·m; not zero if they push.
    fn force_n(&self) -> Vector2<f64>;

    /// The handle with the hand that holds it.
    fn body(&self) -> &EmulatedHandle;

    /// Something worth telling a person, once.
    fn news(&mut self) -> Option<String>;
}
