//! Emulated ODrive: an ASCII line protocol with optional checksums, properties, a state machine with delays, a watchdog
//! that is off by default and, once enabled, runs in every state, and limits of torque, current and velocity. Firmware
//! 0.5 follows its source code; firmware 0.6, whose source code is not public, follows its documentation.

use super::Board;
use crate::handle::EmulatedHandle;
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// Axis state with the motor off.
const IDLE: f64 = 1.0;
/// Axis state with the motor on.
const CLOSED_LOOP: f64 = 8.0;

/// Delay from requesting a state to entering it, ms.
const CHANGES_AFTER_MS: u32 = 3;
/// Maximum length of a property value in a reply, characters.
const MAX_VALUE_LENGTH: usize = 9;

const CURRENT_STATE: &str = "axis0.current_state";
const VELOCITY_LIMIT: &str = "axis0.controller.config.vel_limit";
const VELOCITY_GAIN: &str = "axis0.controller.config.vel_gain";
const VELOCITY_TOLERANCE: &str = "axis0.controller.config.vel_limit_tolerance";
const REDUCES_TORQUE: &str = "axis0.controller.config.enable_torque_mode_vel_limit";
const SWITCHES_OFF: &str = "axis0.controller.config.enable_overspeed_error";

/// Properties of every firmware, with their values after power-up.
const COMMON: [(&str, f64); 13] = [
    ("fw_version_major", 0.0),
    ("serial_number", 35_399_415_611_703.0),
    ("axis0.controller.config.control_mode", 3.0),
    ("axis0.controller.config.input_mode", 1.0),
    (VELOCITY_LIMIT, 2.0),
    (VELOCITY_GAIN, 1.0 / 6.0),
    (VELOCITY_TOLERANCE, 1.2),
    (REDUCES_TORQUE, 1.0),
    (SWITCHES_OFF, 1.0),
    ("axis0.config.watchdog_timeout", 0.0),
    ("axis0.config.enable_watchdog", 0.0),
    ("axis0.requested_state", 0.0),
    (CURRENT_STATE, IDLE),
];

/// Firmware of an emulated ODrive.
#[derive(Debug, PartialEq)]
pub struct OdriveFirmware {
    /// Its version on the command line.
    pub version: &'static str,
    /// Its properties in addition to the common ones, with their values after power-up.
    properties: &'static [(&'static str, f64)],
    /// Largest and smallest torque, N·m. One limit applies to both directions if there is no smallest.
    torque_limits: (&'static str, Option<&'static str>),
    current_limit: &'static str,
    torque_constant: &'static str,
    /// What switched the motor off.
    reason: &'static str,
    /// Errors that keep the motor off until they are cleared.
    errors: &'static str,
    watchdog_expired: f64,
    /// The velocity exceeds its limit by more than the tolerance.
    overspeed: f64,
    /// Whether an answer is discarded while another is being sent.
    discards_answers: bool,
}

impl OdriveFirmware {
    /// Firmware 0.5.6 of the boards of the 3.x series.
    pub const V0_5: Self = Self {
        version: "0.5",
        properties: &[
            ("fw_version_minor", 5.0),
            ("fw_version_revision", 6.0),
            ("axis0.motor.config.torque_lim", f64::INFINITY),
            ("axis0.motor.config.torque_constant", 0.04),
            ("axis0.motor.config.current_lim", 10.0),
            ("axis0.error", 0.0),
        ],
        torque_limits: ("axis0.motor.config.torque_lim", None),
        current_limit: "axis0.motor.config.current_lim",
        torque_constant: "axis0.motor.config.torque_constant",
        reason: "axis0.error",
        errors: "axis0.error",
        watchdog_expired: 2048.0,
        // The controller failed. The code of the controller itself is 1.
        overspeed: 512.0,
        discards_answers: false,
    };

    /// Firmware 0.6 of the Pro, S1 and Micro.
    pub const V0_6: Self = Self {
        version: "0.6",
        properties: &[
            ("fw_version_minor", 6.0),
            ("fw_version_revision", 11.0),
            ("axis0.config.torque_soft_max", f64::INFINITY),
            ("axis0.config.torque_soft_min", f64::NEG_INFINITY),
            ("axis0.config.motor.torque_constant", 0.04),
            ("axis0.config.motor.current_soft_max", 10.0),
            ("axis0.active_errors", 0.0),
            ("axis0.disarm_reason", 0.0),
        ],
        torque_limits: ("axis0.config.torque_soft_max", Some("axis0.config.torque_soft_min")),
        current_limit: "axis0.config.motor.current_soft_max",
        torque_constant: "axis0.config.motor.torque_constant",
        reason: "axis0.disarm_reason",
        errors: "axis0.active_errors",
        watchdog_expired: 16_777_216.0,
        overspeed: 32_768.0,
        discards_answers: true,
    };

    /// All emulated versions.
    pub const ALL: [&'static Self; 2] = [&Self::V0_5, &Self::V0_6];

    /// Returns the emulated firmware with a version; `None` if there is none.
    pub fn by_version(version: &str) -> Option<&'static Self> {
        Self::ALL.into_iter().find(|known| known.version == version)
    }
}

/// An emulated ODrive motor controller with one motor.
pub struct OdriveBoard {
    firmware: &'static OdriveFirmware,
    lever_m: f64,
    handle: EmulatedHandle,
    line: String,
    properties: BTreeMap<String, f64>,
    /// Properties that differ from those of the firmware after power-up.
    saved: Vec<(&'static str, f64)>,
    torque_n_m: f64,
    unfed_s: f64,
    /// Requested axis state, and milliseconds until it is entered.
    requested: Option<(f64, u32)>,
    events: Vec<String>,
}

impl OdriveBoard {
    /// Creates a motor controller in its state after power-up. `handle` has one axis and moves by `lever_m` per radian
    /// of the motor.
    pub fn new(firmware: &'static OdriveFirmware, lever_m: f64, handle: EmulatedHandle) -> Self {
        Self::with_saved(firmware, lever_m, handle, Vec::new())
    }

    /// Creates a motor controller whose configuration has been changed with odrivetool and saved.
    pub fn with_saved(
        firmware: &'static OdriveFirmware,
        lever_m: f64,
        handle: EmulatedHandle,
        saved: Vec<(&'static str, f64)>,
    ) -> Self {
        let known = COMMON.iter().chain(firmware.properties).chain(&saved);
        Self {
            firmware,
            lever_m,
            handle,
            line: String::new(),
            properties: known.map(|&(name, value)| (name.to_owned(), value)).collect(),
            saved,
            torque_n_m: 0.0,
            unfed_s: 0.0,
            requested: None,
            events: Vec::new(),
        }
    }

    fn value(&self, name: &str) -> f64 {
        self.properties.get(name).copied().unwrap_or(0.0)
    }

    fn set(&mut self, name: &str, value: f64) {
        self.properties.insert(name.to_owned(), value);
    }

    /// Executes a line. With a checksum, a damaged line is ignored and the answers carry one too.
    fn receive_line(&mut self, line: &str, out: &mut Vec<Vec<u8>>) {
        let Some((command, sum)) = line.split_once('*') else { return self.obey(line, out) };
        let digits = sum.trim_start().split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
        if digits.parse() != Ok(u32::from(checksum(command.as_bytes()))) {
            return;
        }
        let first = out.len();
        self.obey(command, out);
        for answer in &mut out[first..] {
            answer.truncate(answer.len() - 2);
            answer.extend(format!("*{}\r\n", checksum(answer)).into_bytes());
        }
    }

    fn obey(&mut self, line: &str, out: &mut Vec<Vec<u8>>) {
        let words: Vec<&str> = line.split_ascii_whitespace().collect();
        match words[..] {
            [] => {}
            ["c", "0", torque, ..] => match number_at_start(torque) {
                Some(torque) => (self.torque_n_m, self.unfed_s) = (torque, 0.0),
                None => out.push(b"invalid command format\r\n".to_vec()),
            },
            ["f", "0"] => out.push(self.feedback()),
            ["u", "0"] => self.unfed_s = 0.0,
            ["sc"] => [self.firmware.errors, self.firmware.reason].iter().for_each(|name| self.set(name, 0.0)),
            ["r", name] if self.properties.contains_key(name) => {
                let text: String = written(self.value(name)).chars().take(MAX_VALUE_LENGTH).collect();
                out.push(format!("{text}\r\n").into_bytes());
            }
            ["w", name, value] if self.properties.contains_key(name) => self.write(name, value, out),
            ["r" | "w", ..] => out.push(b"invalid property\r\n".to_vec()),
            _ => out.push(b"unknown command\r\n".to_vec()),
        }
    }

    fn write(&mut self, name: &str, value: &str, out: &mut Vec<Vec<u8>>) {
        let Ok(value) = value.parse() else { return out.push(b"invalid property value\r\n".to_vec()) };
        self.set(name, value);
        if name == "axis0.requested_state" {
            self.requested = Some((value, CHANGES_AFTER_MS));
        }
    }

    /// Enters the requested axis state after its delay, or the idle state if there is an error.
    fn change_state(&mut self) {
        match &mut self.requested {
            None => {}
            Some((_, left_ms)) if *left_ms > 0 => *left_ms -= 1,
            Some((wanted, _)) => {
                let state = if self.properties[self.firmware.errors] == 0.0 { *wanted } else { IDLE };
                self.requested = None;
                self.set(CURRENT_STATE, state);
                self.unfed_s = 0.0;
                self.events.push(format!("motor {}", if state == CLOSED_LOOP { "on, torque zero" } else { "off" }));
            }
        }
    }

    fn feedback(&self) -> Vec<u8> {
        let measured = self.handle.measured();
        let (turns, speed) = (measured.position_m.x, measured.velocity_m_per_s.x);
        let (turns, speed) = (turns / self.m_per_turn(), speed / self.m_per_turn());
        format!("{turns:.6} {speed:.6}\r\n").into_bytes()
    }

    fn watch(&mut self) {
        self.unfed_s += 0.001;
        let is_watched = self.value("axis0.config.enable_watchdog") == 1.0;
        if is_watched && self.unfed_s >= self.value("axis0.config.watchdog_timeout") {
            self.set(self.firmware.errors, self.firmware.watchdog_expired);
            self.switch_off(self.firmware.watchdog_expired, "watchdog: not fed, motor off");
            self.torque_n_m = 0.0;
        }
    }

    /// Switches the motor off if it turns too fast.
    fn check_speed(&mut self) {
        let limit = self.value(VELOCITY_LIMIT) * self.value(VELOCITY_TOLERANCE);
        if self.value(SWITCHES_OFF) == 1.0 && self.turns_per_s().abs() > limit {
            self.switch_off(self.firmware.overspeed, "overspeed: motor off");
        }
    }

    /// Switches the motor off, if it is on, for the given reason.
    fn switch_off(&mut self, reason: f64, event: &str) {
        if self.value(CURRENT_STATE) == CLOSED_LOOP {
            self.events.push(event.to_owned());
            self.set(self.firmware.reason, reason);
            self.set(CURRENT_STATE, IDLE);
        }
    }

    fn m_per_turn(&self) -> f64 {
        self.lever_m * core::f64::consts::TAU
    }

    fn turns_per_s(&self) -> f64 {
        self.handle.true_state().velocity_m_per_s.x / self.m_per_turn()
    }

    fn motor_n_m(&self) -> f64 {
        if self.value(CURRENT_STATE) != CLOSED_LOOP {
            return 0.0;
        }
        let mut torque_n_m = self.torque_n_m;
        if self.value(REDUCES_TORQUE) == 1.0 {
            let (limit, gain) = (self.value(VELOCITY_LIMIT), self.value(VELOCITY_GAIN));
            let slack = |limit: f64| (limit - self.turns_per_s()) * gain;
            torque_n_m = torque_n_m.max(slack(-limit)).min(slack(limit));
        }
        let by_current = self.value(self.firmware.current_limit) * self.value(self.firmware.torque_constant);
        let (largest, smallest) = self.firmware.torque_limits;
        let most = self.value(largest);
        let least = smallest.map_or(-most, |name| self.value(name));
        torque_n_m.min(most.min(by_current)).max(least.max(-by_current))
    }
}

impl Board for OdriveBoard {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let first = out.len();
        for &byte in bytes {
            if matches!(byte, b'\n' | b'\r' | b'!') {
                let line = std::mem::take(&mut self.line);
                self.receive_line(&line, out);
            } else if self.line.len() < 256 {
                self.line.push(char::from(byte));
            }
        }
        if self.firmware.discards_answers {
            out.truncate(first + 1);
        }
    }

    fn tick(&mut self, _out: &mut Vec<Vec<u8>>) {
        self.watch();
        self.change_state();
        self.check_speed();
        self.handle.advance(Vector2::new(self.motor_n_m() / self.lever_m, 0.0));
    }

    /// Logs an event. The motor controller does not detect that the port was closed; only its watchdog stops the motor.
    fn host_left(&mut self) {
        self.events.push("the host left".to_owned());
    }

    fn unplugged(&mut self) {
        *self = Self::with_saved(self.firmware, self.lever_m, self.handle.clone(), self.saved.clone());
    }

    fn force_n(&self) -> Vector2<f64> {
        Vector2::new(self.motor_n_m() / self.lever_m, 0.0)
    }

    fn handle(&self) -> &EmulatedHandle {
        &self.handle
    }

    fn handle_mut(&mut self) -> &mut EmulatedHandle {
        &mut self.handle
    }

    fn next_event(&mut self) -> Option<String> {
        if self.events.is_empty() { None } else { Some(self.events.remove(0)) }
    }
}

/// Returns the number with which a text starts, whatever follows it, as the firmware does.
fn number_at_start(text: &str) -> Option<f64> {
    let ends = text.char_indices().map(|(end, letter)| end + letter.len_utf8()).rev();
    ends.filter_map(|end| text.get(..end)).find_map(|start| start.parse().ok())
}

fn checksum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |checksum, byte| checksum ^ byte)
}

/// Formats a value as the firmware does: whole numbers without decimals, others in single precision with six decimals.
fn written(value: f64) -> String {
    if value.fract() == 0.0 { value.to_string() } else { format!("{:.6}", value as f32) }
}
