//! Handshake: identifies the ODrive, selects torque control, limits torque and current, sets the watchdog time and
//! enables the watchdog, sends zero torque and switches the motor on. Settings and motor state are read back.

use super::receive::OdriveReceiveHalf;
use super::transmit::OdriveTransmitHalf;
use super::{CLOSED_LOOP, Lines, ODRIVE, OdriveSettings, append_command, number_in, take_control, verified};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, HandshakeError, OpenSession, Step, TxBytes};
use haptic_device::{Identity, Limits, MonotonicNs};
use nalgebra::Vector2;
use std::sync::Arc;

const MILLISECOND_NS: u64 = 1_000_000;
/// Interval between repetitions of a request, ns.
const REPEAT_NS: u64 = 200 * MILLISECOND_NS;
/// Interval between state requests while the motor switches on, ns. Each request also feeds the watchdog.
const REPEAT_STATE_NS: u64 = 20 * MILLISECOND_NS;
/// Number of state requests after which the handshake tries again to switch on a motor that is still off.
const QUESTIONS_BEFORE_SWITCHING_ON: u32 = 25;
const WITHIN_S: u64 = 5;
/// Maximum permitted difference between the watchdog time written and the time read back, s. The time is written in
/// whole milliseconds and stored in single precision.
const WATCHDOG_TOLERANCE_S: f64 = 1e-3;
/// Maximum permitted relative excess of a limit read back over the limit written. Answers have six decimals, or fewer.
const LIMIT_TOLERANCE: f64 = 0.01;
/// Smallest limit that is written, N·m or A. Answers have too few digits for less.
const MIN_LIMIT: f64 = 1e-3;

/// A request of the handshake. Each is answered by one number, except that any line counts as the answer to
/// `SerialNumber`, because the serial number is too long for some firmware versions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Firmware,
    SerialNumber,
    ControlMode,
    InputMode,
    TorqueLimit,
    TorqueConstant,
    CurrentLimit,
    WatchdogTime,
    Watchdog,
    State,
}

/// Handshake of one session, until the motor is on.
pub struct OdriveHandshake {
    settings: OdriveSettings,
    monitor: Arc<LinkMonitor>,
    question: Question,
    asked_at: Option<MonotonicNs>,
    times_asked: u32,
    deadline: MonotonicNs,
    lines: Lines,
    bytes_heard: usize,
    firmware: String,
    serial_number: String,
    /// Torque per current of the motor, N·m/A.
    torque_constant_n_m_per_a: f64,
    /// Value read back, if it differs from the value written.
    wrong: Option<f64>,
    outcome: Option<Result<(), HandshakeError>>,
}

impl OdriveHandshake {
    /// Creates a handshake that starts at `now`.
    pub fn new(settings: OdriveSettings, monitor: Arc<LinkMonitor>, now: MonotonicNs) -> Self {
        Self {
            settings,
            monitor,
            question: Question::Firmware,
            asked_at: None,
            times_asked: 0,
            deadline: now.after(WITHIN_S * 1000 * MILLISECOND_NS),
            lines: Lines::default(),
            bytes_heard: 0,
            firmware: String::new(),
            serial_number: String::new(),
            torque_constant_n_m_per_a: 0.0,
            wrong: None,
            outcome: None,
        }
    }

    /// Returns the bytes of the current request. A setting is written and read back in one message.
    fn words(&self) -> TxBytes {
        let mut words = TxBytes::EMPTY;
        match self.question {
            // The empty line terminates a partial command that the ODrive may have received.
            Question::Firmware => {
                words.append(b"\n");
                append_command(&mut words, format_args!("r fw_version_major"));
            }
            Question::SerialNumber => append_command(&mut words, format_args!("r serial_number")),
            Question::ControlMode => write_and_read(&mut words, "axis0.controller.config.control_mode", 1.0),
            Question::InputMode => write_and_read(&mut words, "axis0.controller.config.input_mode", 1.0),
            Question::TorqueLimit => write_and_read(&mut words, "axis0.motor.config.torque_lim", self.torque_limit()),
            Question::TorqueConstant => {
                append_command(&mut words, format_args!("r axis0.motor.config.torque_constant"));
            }
            Question::CurrentLimit => {
                write_and_read(&mut words, "axis0.motor.config.current_lim", self.current_limit())
            }
            Question::WatchdogTime => {
                write_and_read(&mut words, "axis0.config.watchdog_timeout", self.settings.watchdog_s);
            }
            Question::Watchdog => write_and_read(&mut words, "axis0.config.enable_watchdog", 1.0),
            Question::State => {
                let is_switched_on = self.times_asked.is_multiple_of(QUESTIONS_BEFORE_SWITCHING_ON);
                if is_switched_on {
                    words.append(take_control().bytes());
                } else {
                    append_command(&mut words, format_args!("u 0"));
                }
                append_command(&mut words, format_args!("r axis0.current_state"));
            }
        }
        words
    }

    /// Returns the torque limit, N·m.
    fn torque_limit(&self) -> f64 {
        self.settings.max_torque_n_m.max(MIN_LIMIT)
    }

    /// Returns the current that the largest torque needs, A.
    fn current_limit(&self) -> f64 {
        (self.torque_limit() / self.torque_constant_n_m_per_a).max(MIN_LIMIT)
    }

    fn take(&mut self, line: &str) {
        if self.question == Question::SerialNumber {
            self.serial_number = line.trim().to_owned();
            return self.ask(Question::ControlMode);
        }
        let Some(number) = number_in(line) else { return };
        match (self.question, number) {
            (Question::Firmware, _) => {
                self.firmware = line.trim().to_owned();
                self.ask(Question::SerialNumber);
            }
            (Question::ControlMode, 1.0) => self.ask(Question::InputMode),
            (Question::InputMode, 1.0) => self.ask(Question::TorqueLimit),
            (Question::TorqueLimit, found) => {
                let is_right = is_limited(found, self.torque_limit());
                self.compare(found, is_right, Question::TorqueConstant);
            }
            (Question::TorqueConstant, found) if found > 0.0 => {
                self.torque_constant_n_m_per_a = found;
                self.ask(Question::CurrentLimit);
            }
            (Question::CurrentLimit, found) => {
                let is_right = is_limited(found, self.current_limit());
                self.compare(found, is_right, Question::WatchdogTime);
            }
            (Question::WatchdogTime, found) => {
                let is_right = (found - self.settings.watchdog_s).abs() <= WATCHDOG_TOLERANCE_S;
                self.compare(found, is_right, Question::Watchdog);
            }
            (Question::Watchdog, 1.0) => self.ask(Question::State),
            // A value other than 0 and 1 is a late answer to the previous request.
            (Question::Watchdog, 0.0) => self.refuse("its watchdog cannot be enabled; update its firmware"),
            (Question::State, CLOSED_LOOP) => self.outcome = Some(Ok(())),
            _ => {}
        }
    }

    /// Handles a setting read back. A wrong value may be a late answer to the previous request, so the setting is
    /// written and requested again; a wrong value becomes an error only at the deadline.
    fn compare(&mut self, found: f64, is_right: bool, next: Question) {
        if is_right {
            self.ask(next);
        } else {
            self.wrong = Some(found);
        }
    }

    fn refuse(&mut self, text: &str) {
        self.outcome = Some(Err(HandshakeError::Refused(text.to_owned())));
    }

    fn ask(&mut self, question: Question) {
        (self.question, self.asked_at, self.times_asked, self.wrong) = (question, None, 0, None);
    }

    fn give_up(&self) -> HandshakeError {
        if let Some(text) = self.wrong.and_then(|found| self.describe_wrong(found)) {
            return HandshakeError::Refused(text);
        }
        match (self.bytes_heard, self.question) {
            (0, _) => HandshakeError::Silent { within_s: WITHIN_S },
            (bytes, Question::Firmware) => HandshakeError::NotUnderstood { bytes, expected: "like an ODrive" },
            (_, Question::State) => {
                let text = "the motor does not come on; calibrate it with odrivetool and try again";
                HandshakeError::Refused(text.to_owned())
            }
            (_, question) => HandshakeError::Refused(format!("no right answer to {question:?}")),
        }
    }

    /// Describes a setting that the ODrive did not adopt.
    fn describe_wrong(&self, found: f64) -> Option<String> {
        match self.question {
            Question::WatchdogTime => Some(format!(
                "its watchdog time is {found} s although {} s were written; update its firmware, or write watchdog_s = \
                 {found} into the device file if a force may last that long",
                self.settings.watchdog_s
            )),
            Question::TorqueLimit => Some(format!(
                "its torque limit is {found} N·m although {:.4} N·m were written; update its firmware",
                self.torque_limit()
            )),
            Question::CurrentLimit => Some(format!(
                "its current limit is {found} A although {:.4} A were written; update its firmware",
                self.current_limit()
            )),
            _ => None,
        }
    }

    fn session(&self) -> OpenSession {
        let (settings, monitor) = (&self.settings, &self.monitor);
        let everywhere = Vector2::new(f64::INFINITY, f64::INFINITY);
        let name = "ODrive".to_owned();
        let (serial_number, firmware) = (self.serial_number.clone(), self.firmware.clone());
        OpenSession {
            identity: Identity { name, kind: &ODRIVE, serial_number, firmware, axes: 1 },
            limits: Limits {
                max_force_n: f64::INFINITY,
                travel_min_m: -everywhere,
                travel_max_m: everywhere,
                rate_hz: settings.rate_hz(),
            },
            transmit: Box::new(OdriveTransmitHalf::new(settings, Arc::clone(monitor))),
            receive: Box::new(OdriveReceiveHalf::new(settings, Arc::clone(monitor))),
        }
    }
}

/// Appends a command that writes a setting, with four digits, and one that reads it back.
fn write_and_read(words: &mut TxBytes, property: &str, value: f64) {
    append_command(words, format_args!("w {property} {}", (value * 1e4).round() / 1e4));
    append_command(words, format_args!("r {property}"));
}

/// Whether a limit that was read back limits at least as much as the one written.
fn is_limited(found: f64, written: f64) -> bool {
    found > 0.0 && found <= written * (1.0 + LIMIT_TOLERANCE)
}

impl Handshake for OdriveHandshake {
    fn receive(&mut self, bytes: &[u8], _now: MonotonicNs) {
        self.bytes_heard += bytes.len();
        for &byte in bytes {
            if let Some(answer) = self.lines.push(byte).as_deref().and_then(verified) {
                self.take(answer);
            }
        }
    }

    fn step(&mut self, now: MonotonicNs) -> Step {
        match &self.outcome {
            Some(Ok(())) => return Step::Done(Box::new(self.session())),
            Some(Err(error)) => return Step::Failed(error.clone()),
            None if now >= self.deadline => return Step::Failed(self.give_up()),
            None => {}
        }
        let repeat_ns = if self.question == Question::State { REPEAT_STATE_NS } else { REPEAT_NS };
        match self.asked_at {
            Some(asked_at) if now.since(asked_at) < repeat_ns => Step::Wait { until: asked_at.after(repeat_ns) },
            _ => {
                let words = self.words();
                self.asked_at = Some(now);
                self.times_asked += 1;
                Step::Send(words)
            }
        }
    }
}
