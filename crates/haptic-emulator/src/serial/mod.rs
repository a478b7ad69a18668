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

use haptic_device::simulated::{DeviceModel, HandModel, ModelError, SimulatedDevice, TrueState};
use haptic_device::{Device, Effort, MonotonicNs};
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

/// The handle with the hand that holds it.
#[derive(Clone, Debug)]
pub struct EmulatedHandle {
    device: SimulatedDevice,
    encoder_m: Vector2<f64>,
    force_n: Vector2<f64>,
    /// Work of the motors on the hand since the start, J, its least value, and the most that it rose above that.
    given_j: f64,
    given_least_j: f64,
    given_most_j: f64,
}

impl EmulatedHandle {
    /// A handle at the beginning of its hand's path.
    ///
    /// # Errors
    /// A model that cannot be simulated.
    pub fn new(axes: u8, model: &DeviceModel, hand: Option<&HandModel>) -> Result<Self, ModelError> {
        let device = SimulatedDevice::new(axes, model, hand)?;
        let encoder_m = device.true_state().position_m;
        Ok(Self { device, encoder_m, force_n: Vector2::zeros(), given_j: 0.0, given_least_j: 0.0, given_most_j: 0.0 })
    }

    /// A millisecond passes under a force of the motors.
    pub fn advance(&mut self, force_n: Vector2<f64>) {
        self.force_n = force_n;
        let before_m = self.device.true_state().position_m;
        self.device.write(Effort { force_n }, MonotonicNs(0));
        self.encoder_m = self.device.read(MonotonicNs(0)).position_m;
        self.given_j += force_n.dot(&(self.device.true_state().position_m - before_m));
        self.given_least_j = self.given_least_j.min(self.given_j);
        self.given_most_j = self.given_most_j.max(self.given_j - self.given_least_j);
    }

    /// What the encoder says, m.
    pub fn encoder_m(&self) -> Vector2<f64> {
        self.encoder_m
    }

    /// Where it really is, and how fast.
    pub fn true_state(&self) -> TrueState {
        self.device.true_state()
    }

    /// The most energy that the motors ever gave the hand on balance, J: a passive host gives back what it took, and what its
    /// world stored at the start.
    pub fn given_most_j(&self) -> f64 {
        self.given_most_j
    }

    /// What the motors did in the last millisecond, N.
    pub fn force_n(&self) -> Vector2<f64> {
        self.force_n
    }
}
