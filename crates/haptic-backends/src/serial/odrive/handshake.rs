//! Handshake: identifies the ODrive and its firmware, selects torque control, limits the torque, reads the limits that
//! it does not change, sets the watchdog time and enables the watchdog, sends zero torque and switches the motor on.
//! Settings and motor state are read back. Nothing is saved in the ODrive's flash.

use super::dialect::{Dialect, Firmware, too_old};
use super::motor_limits::MotorLimits;
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
/// Smallest limit that is written, N·m. Answers have too few digits for less.
const MIN_LIMIT: f64 = 1e-3;

/// A property that the handshake reads, after writing it if it is a setting. Each request is answered by one number,
/// except that any line counts as the serial number, because that is too long for some firmware versions.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Major,
    Minor,
    Revision,
    SerialNumber,
    ControlMode,
    InputMode,
    TorqueLimit,
    LowerTorqueLimit,
    TorqueConstant,
    CurrentLimit,
    VelocityLimit,
    VelocityGain,
    VelocityTolerance,
    ReducesTorque,
    SwitchesOff,
    WatchdogTime,
    Watchdog,
    State,
}

/// The questions, in the order in which they are asked. The names of those after the version depend on it.
const ORDER: [Question; 18] = {
    use Question::*;
    [
        Major,
        Minor,
        Revision,
        SerialNumber,
        ControlMode,
        InputMode,
        TorqueLimit,
        LowerTorqueLimit,
        TorqueConstant,
        CurrentLimit,
        VelocityLimit,
        VelocityGain,
        VelocityTolerance,
        ReducesTorque,
        SwitchesOff,
        WatchdogTime,
        Watchdog,
        State,
    ]
};

impl Question {
    /// Returns the name of the property; `None` if the firmware has no such property.
    fn property(self, dialect: &Dialect) -> Option<&'static str> {
        Some(match self {
            Self::Major => "fw_version_major",
            Self::Minor => "fw_version_minor",
            Self::Revision => "fw_version_revision",
            Self::SerialNumber => "serial_number",
            Self::ControlMode => "axis0.controller.config.control_mode",
            Self::InputMode => "axis0.controller.config.input_mode",
            Self::TorqueLimit => dialect.torque_limit,
            Self::LowerTorqueLimit => return dialect.lower_torque_limit,
            Self::TorqueConstant => dialect.torque_constant,
            Self::CurrentLimit => dialect.current_limit,
            Self::VelocityLimit => "axis0.controller.config.vel_limit",
            Self::VelocityGain => "axis0.controller.config.vel_gain",
            Self::VelocityTolerance => "axis0.controller.config.vel_limit_tolerance",
            Self::ReducesTorque => dialect.has_torque_reduction,
            Self::SwitchesOff => "axis0.controller.config.enable_overspeed_error",
            Self::WatchdogTime => "axis0.config.watchdog_timeout",
            Self::Watchdog => "axis0.config.enable_watchdog",
            Self::State => "axis0.current_state",
        })
    }

    /// Returns the value that is written before the property is read; `None` for a property that is only read.
    fn setting(self, settings: &OdriveSettings) -> Option<f64> {
        let torque_limit_n_m = settings.max_torque_n_m.max(MIN_LIMIT);
        match self {
            Self::ControlMode | Self::InputMode | Self::Watchdog => Some(1.0),
            Self::TorqueLimit => Some(torque_limit_n_m),
            Self::LowerTorqueLimit => Some(-torque_limit_n_m),
            Self::WatchdogTime => Some(settings.watchdog_s),
            _ => None,
        }
    }

    /// Whether the value read back is in agreement with the value written.
    fn is_adopted(self, written: f64, found: f64) -> bool {
        match self {
            Self::TorqueLimit | Self::LowerTorqueLimit => {
                found * written > 0.0 && found.abs() <= written.abs() * (1.0 + LIMIT_TOLERANCE)
            }
            Self::WatchdogTime => (found - written).abs() <= WATCHDOG_TOLERANCE_S,
            _ => found == written,
        }
    }

    /// Describes a setting that the ODrive did not adopt.
    fn describe_wrong(self, written: f64, found: f64) -> String {
        match self {
            Self::WatchdogTime => format!(
                "its watchdog time is {found} s although {written} s were written; update its firmware, or write \
                 watchdog_s = {found} into the device file if a force may last that long"
            ),
            Self::TorqueLimit | Self::LowerTorqueLimit => {
                format!("its torque limit is {found} N·m although {written:.4} N·m were written; update its firmware")
            }
            Self::Watchdog => "its watchdog cannot be enabled; update its firmware".to_owned(),
            _ => format!("its {self:?} is {found} although {written} was written; update its firmware"),
        }
    }
}

/// Handshake of one session, until the motor is on.
pub struct OdriveHandshake {
    settings: OdriveSettings,
    monitor: Arc<LinkMonitor>,
    dialect: &'static Dialect,
    question: Question,
    asked_at: Option<MonotonicNs>,
    times_asked: u32,
    deadline: MonotonicNs,
    lines: Lines,
    bytes_heard: usize,
    firmware: Firmware,
    serial_number: String,
    limits: MotorLimits,
    /// The previous answer to a question that is only read.
    seen: Option<f64>,
    /// Value read back, if it differs from the value written.
    wrong: Option<f64>,
    /// Whether the ODrive does not know the property.
    is_unknown: bool,
    outcome: Option<Result<(), HandshakeError>>,
}

impl OdriveHandshake {
    /// Creates a handshake that starts at `now`.
    pub fn new(settings: OdriveSettings, monitor: Arc<LinkMonitor>, now: MonotonicNs) -> Self {
        Self {
            settings,
            monitor,
            dialect: Dialect::newest(),
            question: ORDER[0],
            asked_at: None,
            times_asked: 0,
            deadline: now.after(WITHIN_S * 1000 * MILLISECOND_NS),
            lines: Lines::default(),
            bytes_heard: 0,
            firmware: Firmware::default(),
            serial_number: String::new(),
            limits: MotorLimits::default(),
            seen: None,
            wrong: None,
            is_unknown: false,
            outcome: None,
        }
    }

    /// Returns the bytes of the current request. A setting is written and read back in one message.
    fn words(&self) -> TxBytes {
        let mut words = TxBytes::EMPTY;
        match (self.question, self.question.setting(&self.settings)) {
            // The empty line terminates a partial command that the ODrive may have received.
            (Question::Major, _) => words.append(b"\n"),
            (Question::State, _) if self.times_asked.is_multiple_of(QUESTIONS_BEFORE_SWITCHING_ON) => {
                words.append(take_control().bytes());
            }
            (Question::State, _) => append_command(&mut words, format_args!("u 0")),
            (_, Some(value)) => {
                let rounded = (value * 1e4).round() / 1e4;
                append_command(&mut words, format_args!("w {} {rounded}", self.property()));
            }
            (_, None) => {}
        }
        append_command(&mut words, format_args!("r {}", self.property()));
        words
    }

    fn property(&self) -> &'static str {
        self.question.property(self.dialect).unwrap_or_default()
    }

    fn take(&mut self, line: &str) {
        if self.question == Question::SerialNumber {
            self.serial_number = line.trim().to_owned();
            return self.proceed();
        }
        self.is_unknown = line.starts_with("invalid property");
        let Some(number) = number_in(line) else { return };
        match self.question.setting(&self.settings) {
            _ if self.question == Question::State => {
                if number == CLOSED_LOOP {
                    self.outcome = Some(Ok(()));
                }
            }
            Some(written) if self.question.is_adopted(written, number) => self.proceed(),
            // A wrong value may be a late answer to the previous request, so the setting is written and requested
            // again; it becomes an error only at the deadline.
            Some(_) => self.wrong = Some(number),
            // For the same reason, a value counts once two successive answers agree.
            None if self.seen == Some(number) => self.adopt(number),
            None => (self.seen, self.asked_at) = (Some(number), None),
        }
    }

    fn adopt(&mut self, number: f64) {
        match self.question {
            Question::Major => self.firmware.major = number as u32,
            Question::Minor => self.firmware.minor = number as u32,
            Question::Revision => {
                self.firmware.revision = number as u32;
                match Dialect::of(self.firmware) {
                    Some(dialect) => self.dialect = dialect,
                    None => return self.refuse(too_old(self.firmware)),
                }
            }
            Question::TorqueConstant => self.limits.torque_constant_n_m_per_a = number,
            Question::CurrentLimit => self.limits.current_a = number,
            Question::VelocityLimit => self.limits.velocity_turns_per_s = number,
            Question::VelocityGain => self.limits.gain_n_m_s_per_turn = number,
            Question::VelocityTolerance => self.limits.tolerance = number,
            Question::ReducesTorque => self.limits.reduces_torque = number != 0.0,
            Question::SwitchesOff => {
                self.limits.switches_off = number != 0.0;
                if let Some(text) = self.limits.rejection() {
                    return self.refuse(text);
                }
            }
            _ => {}
        }
        self.proceed();
    }

    fn refuse(&mut self, text: String) {
        self.outcome = Some(Err(HandshakeError::Refused(text)));
    }

    /// Moves to the next question whose property the firmware has.
    fn proceed(&mut self) {
        let mut later = ORDER.into_iter().skip_while(|&question| question != self.question).skip(1);
        if let Some(next) = later.find(|next| next.property(self.dialect).is_some()) {
            (self.question, self.asked_at, self.times_asked) = (next, None, 0);
            (self.seen, self.wrong, self.is_unknown) = (None, None, false);
        }
    }

    fn give_up(&self) -> HandshakeError {
        let property = self.property();
        let text = match (self.bytes_heard, self.question, self.wrong, self.question.setting(&self.settings)) {
            (0, ..) => return HandshakeError::Silent { within_s: WITHIN_S },
            (bytes, Question::Major, ..) => {
                return HandshakeError::NotUnderstood { bytes, expected: "like an ODrive" };
            }
            (_, question, Some(found), Some(written)) => question.describe_wrong(written, found),
            _ if self.is_unknown => {
                format!("its firmware {} has no property {property}; update it, or hapticd", self.firmware)
            }
            (_, Question::State, ..) => {
                "the motor does not come on; calibrate it with odrivetool and try again".to_owned()
            }
            _ => format!("no right answer to a request for {property}; check cable and baud rate"),
        };
        HandshakeError::Refused(text)
    }

    fn session(&self) -> OpenSession {
        let (settings, monitor) = (&self.settings, &self.monitor);
        let everywhere = Vector2::new(f64::INFINITY, f64::INFINITY);
        let name = "ODrive".to_owned();
        let (serial_number, firmware) = (self.serial_number.clone(), self.firmware.to_string());
        OpenSession {
            identity: Identity { name, kind: &ODRIVE, serial_number, firmware, axes: 1 },
            limits: Limits {
                max_force_n: f64::INFINITY,
                travel_min_m: -everywhere,
                travel_max_m: everywhere,
                rate_hz: settings.rate_hz(),
            },
            transmit: Box::new(OdriveTransmitHalf::new(settings, Arc::clone(monitor))),
            receive: Box::new(OdriveReceiveHalf::new(settings, self.dialect, Arc::clone(monitor))),
        }
    }
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

    fn warnings(&self) -> Vec<String> {
        self.limits.warnings(&self.settings)
    }
}
