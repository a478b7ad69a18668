//! An ODrive motor controller as a haptic device with one axis, over its ASCII protocol.
//!
//! Its watchdog is off unless enabled: its time is set and it is enabled first, both are read back, and every torque
//! feeds it. Turns become metres over a lever.

mod handshake;
mod receive;
mod transmit;

use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, Protocol, TxBytes};
use handshake::OdriveHandshake;
use haptic_device::{KindSpec, MonotonicNs};
use std::sync::Arc;

/// ODrive motor controllers.
pub static ODRIVE: KindSpec = KindSpec {
    name: "odrive",
    about: "ODrive motor controllers, over their ASCII protocol",
    is_hardware: true,
    axes: Some(1),
    keys: &["port", "baud", "serial_number", "lever_m", "watchdog_s"],
    variants: &[],
};

/// What the host wants of a controller.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdriveSettings {
    /// Metres that the handle moves per radian of the motor.
    pub lever_m: f64,
    /// The controller lets go after so long a silence, s.
    pub watchdog_s: f64,
    /// Bits a second of the line; none for native USB.
    pub baud: Option<u32>,
}

impl OdriveSettings {
    /// Metres per turn of the motor.
    fn m_per_turn(&self) -> f64 {
        self.lever_m * core::f64::consts::TAU
    }

    /// How often an exchange of about 20 bytes out and 24 back fits on the line, Hz.
    fn rate_hz(&self) -> f64 {
        const ANSWER_BITS: u32 = 240;
        self.baud.map_or(1000.0, |baud| f64::from(baud / ANSWER_BITS).min(1000.0))
    }
}

/// The protocol with its settings.
pub struct OdriveProtocol {
    settings: OdriveSettings,
    monitor: Arc<LinkMonitor>,
}

impl OdriveProtocol {
    /// Ready to greet.
    pub fn new(settings: OdriveSettings, monitor: Arc<LinkMonitor>) -> Self {
        Self { settings, monitor }
    }
}

impl Protocol for OdriveProtocol {
    fn start_handshake(&mut self, now: MonotonicNs) -> Box<dyn Handshake> {
        Box::new(OdriveHandshake::new(self.settings, Arc::clone(&self.monitor), now))
    }
}

/// What clears errors and takes up the torque control again; the torque is zero before the motor is on. The watchdog
/// runs in every state, so it is fed before its error is cleared: the other way round it could expire again in between.
fn take_control() -> TxBytes {
    TxBytes::new(b"c 0 0\nsc\nw axis0.requested_state 8\n")
}

/// The state of an axis whose motor is on and controlled.
const CLOSED_LOOP: f64 = 8.0;

/// The number in an answer. Some firmwares write a `d` behind whole numbers, from a wrong format in their own code.
fn number_in(line: &str) -> Option<f64> {
    line.trim().trim_end_matches('d').parse().ok()
}

/// Collects bytes to lines; what is too long for one is dropped.
#[derive(Clone, Debug, Default)]
struct Lines {
    collected: String,
}

impl Lines {
    /// No answer is longer.
    const LONGEST: usize = 128;

    /// Takes a byte; the line, if it ends one that is not empty.
    fn push(&mut self, byte: u8) -> Option<String> {
        match byte {
            b'\r' | b'\n' => Some(std::mem::take(&mut self.collected)).filter(|line| !line.is_empty()),
            _ if self.collected.len() >= Self::LONGEST => {
                self.collected.clear();
                None
            }
            byte => {
                self.collected.push(char::from(byte));
                None
            }
        }
    }
}
