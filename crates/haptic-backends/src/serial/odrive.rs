//! An ODrive motor controller as a one-axis haptic device, using its ASCII protocol.
//!
//! The watchdog of an ODrive is off by default. Before switching the motor on, the handshake sets the watchdog time,
//! enables the watchdog, limits the torque, and reads these settings back. Every torque command feeds the
//! watchdog. The lever converts motor turns to metres. `docs/decisions/0014-odrive-settings.md` lists the settings that
//! are changed and those that are only read.
//!
//! Every command carries a checksum, and so does its answer: `*` and the exclusive or of the bytes before it, in
//! decimal notation. The ODrive ignores a command whose checksum is wrong. It accepts commands without one, so damage
//! to the `*` and to the torque in one line passes; the torque limit then bounds the force.

mod dialect;
mod handshake;
mod motor_limits;
mod receive;
mod transmit;

use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, Protocol, TxBytes};
use handshake::OdriveHandshake;
use haptic_device::{KindSpec, MonotonicNs};
use std::fmt::{self, Write};
use std::sync::Arc;

/// Device kind of ODrive motor controllers.
pub static ODRIVE: KindSpec = KindSpec {
    name: "odrive",
    about: "ODrive motor controllers, over their ASCII protocol",
    is_hardware: true,
    axes: Some(1),
    keys: &["port", "baud", "serial_number", "lever_m", "watchdog_s"],
    variants: &[],
    linkage: None,
};

/// Settings of an ODrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OdriveSettings {
    /// Handle displacement per radian of the motor, m.
    pub lever_m: f64,
    /// Largest torque that a command may set, N·m.
    pub max_torque_n_m: f64,
    /// Largest speed of the handle in use, m/s. Limits of the ODrive that take effect below it are reported.
    pub max_speed_m_per_s: f64,
    /// Watchdog time, s: the ODrive switches the motor off if no command arrives for this long.
    pub watchdog_s: f64,
    /// Line speed, bits per second; `None` for native USB.
    pub baud: Option<u32>,
}

impl OdriveSettings {
    /// Handle displacement per turn of the motor, m.
    fn m_per_turn(&self) -> f64 {
        self.lever_m * core::f64::consts::TAU
    }

    /// Force at the handle for a torque of the motor, N.
    fn force_n(&self, torque_n_m: f64) -> f64 {
        torque_n_m / self.lever_m
    }

    /// Returns the exchange rate that the line can carry, at most 1000 Hz. An exchange consists of about 25 bytes sent
    /// and 28 bytes received. Requests for the state of the axis, 50 per second, are about as long.
    fn rate_hz(&self) -> f64 {
        const ANSWER_BITS: u32 = 280;
        const REQUESTS_HZ: u32 = 50;
        let rate_hz = |baud: u32| (baud / ANSWER_BITS).saturating_sub(REQUESTS_HZ).max(1);
        self.baud.map_or(1000.0, |baud| f64::from(rate_hz(baud)).min(1000.0))
    }
}

/// The protocol of an ODrive with its settings.
pub struct OdriveProtocol {
    settings: OdriveSettings,
    monitor: Arc<LinkMonitor>,
}

impl OdriveProtocol {
    /// Creates the protocol, before its first session.
    pub fn new(settings: OdriveSettings, monitor: Arc<LinkMonitor>) -> Self {
        Self { settings, monitor }
    }
}

impl Protocol for OdriveProtocol {
    fn start_handshake(&mut self, now: MonotonicNs) -> Box<dyn Handshake> {
        Box::new(OdriveHandshake::new(self.settings, Arc::clone(&self.monitor), now))
    }
}

/// Returns the commands that clear errors and resume torque control, with zero torque set before the motor is switched
/// on. The watchdog runs in every state, so it is fed before its error is cleared; otherwise it could expire again
/// immediately.
fn take_control() -> TxBytes {
    commands(&["c 0 0", "sc", "w axis0.requested_state 8"])
}

/// Returns commands, each with its checksum.
fn commands(commands: &[&str]) -> TxBytes {
    let mut bytes = TxBytes::EMPTY;
    commands.iter().for_each(|command| append_command(&mut bytes, format_args!("{command}")));
    bytes
}

/// Appends a command with its checksum. A command that does not fit is truncated, and the ODrive ignores it.
///
/// Real-time: no allocation.
fn append_command(bytes: &mut TxBytes, command: fmt::Arguments<'_>) {
    let start = bytes.bytes().len();
    // Writing to this buffer never fails.
    let _ = bytes.write_fmt(command);
    let checksum = checksum(&bytes.bytes()[start..]);
    let _ = writeln!(bytes, "*{checksum}");
}

fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |checksum, byte| checksum ^ byte)
}

/// Returns an answer without its checksum; `None` if the checksum is missing or wrong.
fn verified(line: &str) -> Option<&str> {
    let (answer, sum) = line.rsplit_once('*')?;
    (sum.parse() == Ok(checksum(answer.as_bytes()))).then_some(answer)
}

/// Value of `current_state` for an axis whose motor is on and controlled.
const CLOSED_LOOP: f64 = 8.0;

/// Parses the number or truth value in an answer. Because of a wrong format string, some firmware versions append a `d`
/// to integers.
fn number_in(line: &str) -> Option<f64> {
    match line.trim() {
        "true" | "True" => Some(1.0),
        "false" | "False" => Some(0.0),
        number => number.trim_end_matches('d').parse().ok(),
    }
}

/// Collects bytes into lines. Drops the start of a line that is too long.
#[derive(Clone, Debug, Default)]
struct Lines {
    collected: String,
}

impl Lines {
    /// Maximum length of a line, bytes; no answer is longer.
    const LONGEST: usize = 128;

    /// Adds a byte. Returns the completed line, unless it is empty.
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
