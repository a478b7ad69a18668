//! Emulated ODrive with firmware 0.5: an ASCII line protocol with optional checksums, properties, a state machine with
//! delays, and a watchdog that is off by default and, once enabled, runs in every state.

use super::Board;
use crate::handle::EmulatedHandle;
use nalgebra::Vector2;
use std::collections::BTreeMap;

/// Axis state with the motor off.
const IDLE: f64 = 1.0;
/// Axis state with the motor on.
const CLOSED_LOOP: f64 = 8.0;
/// Error code for an expired watchdog.
const WATCHDOG_EXPIRED: f64 = 2048.0;

/// Delay from requesting a state to entering it, ms.
const CHANGES_AFTER_MS: u32 = 3;
/// Maximum length of a property value in a reply, characters.
const MAX_VALUE_LENGTH: usize = 9;

const CURRENT_STATE: &str = "axis0.current_state";
const ERROR: &str = "axis0.error";
const TORQUE_LIMIT: &str = "axis0.motor.config.torque_lim";
const CURRENT_LIMIT: &str = "axis0.motor.config.current_lim";

/// An emulated ODrive motor controller with one motor.
pub struct OdriveBoard {
    lever_m: f64,
    handle: EmulatedHandle,
    line: String,
    properties: BTreeMap<String, f64>,
    torque_n_m: f64,
    unfed_s: f64,
    /// Requested axis state, and milliseconds until it is entered.
    requested: Option<(f64, u32)>,
    events: Vec<String>,
}

impl OdriveBoard {
    /// Creates a motor controller in its state after power-up. `handle` has one axis and moves by `lever_m` per radian
    /// of the motor.
    pub fn new(lever_m: f64, handle: EmulatedHandle) -> Self {
        let known = [
            ("fw_version_major", 0.0),
            ("serial_number", 35_399_415_611_703.0),
            ("axis0.controller.config.control_mode", 3.0),
            ("axis0.controller.config.input_mode", 1.0),
            (TORQUE_LIMIT, f64::INFINITY),
            ("axis0.motor.config.torque_constant", 0.04),
            (CURRENT_LIMIT, 10.0),
            ("axis0.config.watchdog_timeout", 0.0),
            ("axis0.config.enable_watchdog", 0.0),
            ("axis0.requested_state", 0.0),
            (CURRENT_STATE, IDLE),
            (ERROR, 0.0),
        ];
        let properties = known.map(|(name, value)| (name.to_owned(), value)).into();
        Self {
            lever_m,
            handle,
            line: String::new(),
            properties,
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
            ["sc"] => self.set(ERROR, 0.0),
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
                let state = if self.properties[ERROR] == 0.0 { *wanted } else { IDLE };
                self.requested = None;
                self.set(CURRENT_STATE, state);
                self.unfed_s = 0.0;
                self.events.push(format!("motor {}", if state == CLOSED_LOOP { "on, torque zero" } else { "off" }));
            }
        }
    }

    fn feedback(&self) -> Vec<u8> {
        let m_per_turn = self.lever_m * core::f64::consts::TAU;
        let measured = self.handle.measured();
        let (turns, speed) = (measured.position_m.x / m_per_turn, measured.velocity_m_per_s.x / m_per_turn);
        format!("{turns:.6} {speed:.6}\r\n").into_bytes()
    }

    fn watch(&mut self) {
        self.unfed_s += 0.001;
        let is_watched = self.value("axis0.config.enable_watchdog") == 1.0;
        if is_watched && self.unfed_s >= self.value("axis0.config.watchdog_timeout") {
            if self.value(CURRENT_STATE) == CLOSED_LOOP {
                self.events.push("watchdog: not fed, motor off".to_owned());
            }
            self.set(ERROR, WATCHDOG_EXPIRED);
            self.set(CURRENT_STATE, IDLE);
            self.torque_n_m = 0.0;
        }
    }

    fn motor_n_m(&self) -> f64 {
        if self.value(CURRENT_STATE) != CLOSED_LOOP {
            return 0.0;
        }
        let by_current = self.value(CURRENT_LIMIT) * self.value("axis0.motor.config.torque_constant");
        let limit = self.value(TORQUE_LIMIT).min(by_current).max(0.0);
        self.torque_n_m.clamp(-limit, limit)
    }
}

impl Board for OdriveBoard {
    fn receive(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        for &byte in bytes {
            if matches!(byte, b'\n' | b'\r' | b'!') {
                let line = std::mem::take(&mut self.line);
                self.receive_line(&line, out);
            } else if self.line.len() < 256 {
                self.line.push(char::from(byte));
            }
        }
    }

    fn tick(&mut self, _out: &mut Vec<Vec<u8>>) {
        self.watch();
        self.change_state();
        self.handle.advance(Vector2::new(self.motor_n_m() / self.lever_m, 0.0));
    }

    /// Logs an event. The motor controller does not detect that the port was closed; only its watchdog stops the motor.
    fn host_left(&mut self) {
        self.events.push("the host left".to_owned());
    }

    fn unplugged(&mut self) {
        *self = Self::new(self.lever_m, self.handle.clone());
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
