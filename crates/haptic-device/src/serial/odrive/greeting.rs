//! Who is it; zero torque; torque control; watchdog on and read back; motor on and read back.

use super::ear::OdriveEar;
use super::voice::OdriveVoice;
use super::{Lines, OdriveSettings, take_control};
use crate::contract::{Identity, Kind, Limits, MonotonicNs};
use crate::serial::ledger::Ledger;
use crate::serial::protocol::{Greeting, GreetingError, Session, Spoken, Step};
use nalgebra::Vector2;
use std::fmt::Write;
use std::sync::Arc;

const MILLISECOND_NS: u64 = 1_000_000;
/// A question is repeated after this.
const REPEAT_NS: u64 = 200 * MILLISECOND_NS;
const WITHIN_S: u64 = 5;
/// The state of an axis whose motor is on and controlled.
const CLOSED_LOOP: f64 = 8.0;

/// What is being asked; each has one number for an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Firmware,
    SerialNumber,
    ControlMode,
    InputMode,
    Watchdog,
    State,
}

/// A conversation up to the first torque.
pub struct OdriveGreeting {
    settings: OdriveSettings,
    ledger: Arc<Ledger>,
    question: Question,
    asked_at: Option<MonotonicNs>,
    deadline: MonotonicNs,
    lines: Lines,
    bytes_heard: usize,
    firmware: String,
    serial_number: String,
    outcome: Option<Result<(), GreetingError>>,
}

impl OdriveGreeting {
    /// Begins now.
    pub fn new(settings: OdriveSettings, ledger: Arc<Ledger>, now: MonotonicNs) -> Self {
        Self {
            settings,
            ledger,
            question: Question::Firmware,
            asked_at: None,
            deadline: now.after(WITHIN_S * 1000 * MILLISECOND_NS),
            lines: Lines::default(),
            bytes_heard: 0,
            firmware: String::new(),
            serial_number: String::new(),
            outcome: None,
        }
    }

    /// Settings are written and read back in one breath.
    fn words(&self) -> Spoken {
        let mut words = Spoken::nothing();
        match self.question {
            // The empty line ends whatever half command the line may hold.
            Question::Firmware => words.append(b"\nr fw_version_major\n"),
            Question::SerialNumber => words.append(b"r serial_number\n"),
            Question::ControlMode => write_and_read(&mut words, "axis0.controller.config.control_mode", 1.0),
            Question::InputMode => write_and_read(&mut words, "axis0.controller.config.input_mode", 1.0),
            Question::Watchdog => {
                // Without this line the question stays right; the watchdog then waits as long as it did before.
                let _ = writeln!(words, "w axis0.config.watchdog_timeout {:.3}", self.settings.watchdog_s);
                write_and_read(&mut words, "axis0.config.enable_watchdog", 1.0);
            }
            Question::State => {
                words.append(take_control().bytes());
                words.append(b"r axis0.current_state\n");
            }
        }
        words
    }

    fn take(&mut self, line: &str) {
        let Ok(number) = line.trim().parse::<f64>() else { return };
        match (self.question, number) {
            (Question::Firmware, _) => {
                self.firmware = line.trim().to_owned();
                self.ask(Question::SerialNumber);
            }
            (Question::SerialNumber, _) => {
                self.serial_number = line.trim().to_owned();
                self.ask(Question::ControlMode);
            }
            (Question::ControlMode, 1.0) => self.ask(Question::InputMode),
            (Question::InputMode, 1.0) => self.ask(Question::Watchdog),
            (Question::Watchdog, 1.0) => self.ask(Question::State),
            (Question::Watchdog, _) => self.refuse("its watchdog cannot be enabled; update its firmware"),
            (Question::State, CLOSED_LOOP) => self.outcome = Some(Ok(())),
            _ => {}
        }
    }

    fn refuse(&mut self, text: &str) {
        self.outcome = Some(Err(GreetingError::Refused(text.to_owned())));
    }

    fn ask(&mut self, question: Question) {
        (self.question, self.asked_at) = (question, None);
    }

    fn give_up(&self) -> GreetingError {
        match (self.bytes_heard, self.question) {
            (0, _) => GreetingError::Silent { within_s: WITHIN_S },
            (bytes, Question::Firmware) => GreetingError::NotUnderstood { bytes, expected: "like an ODrive" },
            (_, Question::State) => {
                let text = "the motor does not come on; calibrate it with odrivetool and try again";
                GreetingError::Refused(text.to_owned())
            }
            (_, question) => GreetingError::Refused(format!("no right answer to {question:?}")),
        }
    }

    fn session(&self) -> Session {
        let (settings, ledger) = (&self.settings, &self.ledger);
        let everywhere = Vector2::new(f64::INFINITY, f64::INFINITY);
        let name = "ODrive".to_owned();
        let (serial_number, firmware) = (self.serial_number.clone(), self.firmware.clone());
        Session {
            identity: Identity { name, kind: Kind::Odrive, serial_number, firmware, axes: 1 },
            limits: Limits {
                max_force_n: f64::INFINITY,
                travel_min_m: -everywhere,
                travel_max_m: everywhere,
                rate_hz: settings.rate_hz(),
            },
            voice: Box::new(OdriveVoice::new(settings, Arc::clone(ledger))),
            ear: Box::new(OdriveEar::new(settings, Arc::clone(ledger))),
        }
    }
}

fn write_and_read(words: &mut Spoken, property: &str, value: f64) {
    // There is room for the longest of our settings.
    let _ = writeln!(words, "w {property} {value}\nr {property}");
}

impl Greeting for OdriveGreeting {
    fn hear(&mut self, bytes: &[u8], _now: MonotonicNs) {
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
        match self.asked_at {
            Some(asked_at) if now.since(asked_at) < REPEAT_NS => Step::Wait { until: asked_at.after(REPEAT_NS) },
            _ => {
                self.asked_at = Some(now);
                Step::Say(self.words())
            }
        }
    }
}
