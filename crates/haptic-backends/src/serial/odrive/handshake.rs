//! Handshake: identifies the ODrive, selects torque control, sets the watchdog time and enables the watchdog, sends
//! zero torque and switches the motor on. Settings and motor state are read back.

use super::receive::OdriveReceiveHalf;
use super::transmit::OdriveTransmitHalf;
use super::{CLOSED_LOOP, Lines, ODRIVE, OdriveSettings, number_in, take_control};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, HandshakeError, OpenSession, Step, TxBytes};
use haptic_device::{Identity, Limits, MonotonicNs};
use nalgebra::Vector2;
use std::fmt::Write;
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

/// A request of the handshake. Each is answered by one number, except that any line counts as the answer to
/// `SerialNumber`, because the serial number is too long for some firmware versions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Firmware,
    SerialNumber,
    ControlMode,
    InputMode,
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
    /// Watchdog time read back, s, if it differs from the time written.
    wrong_watchdog_s: Option<f64>,
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
            wrong_watchdog_s: None,
            outcome: None,
        }
    }

    /// Returns the bytes of the current request. A setting is written and read back in one message.
    fn words(&self) -> TxBytes {
        let mut words = TxBytes::EMPTY;
        match self.question {
            // The empty line terminates a partial command that the ODrive may have received.
            Question::Firmware => words.append(b"\nr fw_version_major\n"),
            Question::SerialNumber => words.append(b"r serial_number\n"),
            Question::ControlMode => write_and_read(&mut words, "axis0.controller.config.control_mode", 1.0),
            Question::InputMode => write_and_read(&mut words, "axis0.controller.config.input_mode", 1.0),
            Question::WatchdogTime => {
                // The text fits into the buffer.
                let property = "axis0.config.watchdog_timeout";
                let _ = writeln!(words, "w {property} {:.3}\nr {property}", self.settings.watchdog_s);
            }
            Question::Watchdog => write_and_read(&mut words, "axis0.config.enable_watchdog", 1.0),
            Question::State => {
                let is_switched_on = self.times_asked.is_multiple_of(QUESTIONS_BEFORE_SWITCHING_ON);
                words.append(if is_switched_on { take_control() } else { TxBytes::new(b"u 0\n") }.bytes());
                words.append(b"r axis0.current_state\n");
            }
        }
        words
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
            (Question::InputMode, 1.0) => self.ask(Question::WatchdogTime),
            (Question::WatchdogTime, found_s) => self.take_watchdog_time(found_s),
            (Question::Watchdog, 1.0) => self.ask(Question::State),
            // A value other than 0 and 1 is a late answer to the previous request.
            (Question::Watchdog, 0.0) => self.refuse("its watchdog cannot be enabled; update its firmware"),
            (Question::State, CLOSED_LOOP) => self.outcome = Some(Ok(())),
            _ => {}
        }
    }

    /// Handles the watchdog time read back. A wrong value may be a late answer to the previous request, so the time is
    /// requested again; a wrong value becomes an error only at the deadline.
    fn take_watchdog_time(&mut self, found_s: f64) {
        if (found_s - self.settings.watchdog_s).abs() <= WATCHDOG_TOLERANCE_S {
            self.ask(Question::Watchdog);
        } else {
            self.wrong_watchdog_s = Some(found_s);
        }
    }

    fn refuse(&mut self, text: &str) {
        self.outcome = Some(Err(HandshakeError::Refused(text.to_owned())));
    }

    fn ask(&mut self, question: Question) {
        (self.question, self.asked_at, self.times_asked) = (question, None, 0);
    }

    fn give_up(&self) -> HandshakeError {
        if let (Question::WatchdogTime, Some(found_s)) = (self.question, self.wrong_watchdog_s) {
            let wanted_s = self.settings.watchdog_s;
            return HandshakeError::Refused(format!(
                "its watchdog time is {found_s} s although {wanted_s} s were written; update its firmware, or write \
                 watchdog_s = {found_s} into the device file if a force may last that long"
            ));
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

fn write_and_read(words: &mut TxBytes, property: &str, value: f64) {
    // The longest setting fits into the buffer.
    let _ = writeln!(words, "w {property} {value}\nr {property}");
}

impl Handshake for OdriveHandshake {
    fn receive(&mut self, bytes: &[u8], _now: MonotonicNs) {
        self.bytes_heard += bytes.len();
        for &byte in bytes {
            if let Some(line) = self.lines.push(byte) {
                self.take(&line);
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
