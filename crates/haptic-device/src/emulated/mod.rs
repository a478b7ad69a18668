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
pub use server::{Life, serve};

use crate::contract::{Device, Effort, MonotonicNs};
use crate::simulated::{DeviceModel, HandModel, ModelError, SimulatedDevice, TrueState};
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

    /// Something worth telling a person, once.
    fn news(&mut self) -> Option<String>;
}

/// The handle with the hand that holds it.
#[derive(Clone, Debug)]
pub struct Body {
    device: SimulatedDevice,
    encoder_m: Vector2<f64>,
    force_n: Vector2<f64>,
}

impl Body {
    /// A handle at the beginning of its hand's path.
    ///
    /// # Errors
    /// A model that cannot be simulated.
    pub fn new(axes: u8, model: &DeviceModel, hand: Option<&HandModel>) -> Result<Self, ModelError> {
        let device = SimulatedDevice::new(axes, model, hand)?;
        let encoder_m = device.true_state().position_m;
        Ok(Self { device, encoder_m, force_n: Vector2::zeros() })
    }

    /// A millisecond passes under a force of the motors.
    pub fn advance(&mut self, force_n: Vector2<f64>) {
        self.force_n = force_n;
        self.device.write(Effort { force_n }, MonotonicNs(0));
        self.encoder_m = self.device.read(MonotonicNs(0)).position_m;
    }

    /// What the encoder says, m.
    pub fn encoder_m(&self) -> Vector2<f64> {
        self.encoder_m
    }

    /// Where it really is, and how fast.
    pub fn true_state(&self) -> TrueState {
        self.device.true_state()
    }

    /// What the motors did in the last millisecond, N.
    pub fn force_n(&self) -> Vector2<f64> {
        self.force_n
    }
}
