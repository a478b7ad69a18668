//! HELLO, AXIS_INFO for each axis, ARM: each repeated until it is answered.

use super::receive::NativeReceiveHalf;
use super::transmit::NativeTransmitHalf;
use super::{AxisScale, NativeSettings, Scales, spoken};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, HandshakeError, OpenSession, Step, TxBytes};
use haptic_device::{DeviceKind, Identity, Limits, MAX_AXES, MonotonicNs};
use haptic_wire::{
    Arm, AxisInfo, AxisInfoRequest, Capabilities, Decoder, FaultCode, Hello, HelloAck, Message, PerAxis, VERSION, rate,
};
use nalgebra::Vector2;
use std::sync::Arc;

/// HELLO and the others are repeated this often, ns; the specification asks for 50 ms or slower.
const REPEAT_EVERY_NS: u64 = 60_000_000;

/// A board that said hello and then leaves so many questions open has forgotten the session, as after a reset.
const QUESTIONS_BEFORE_HELLO: u32 = 3;

/// A board that resets when its port opens sits in its bootloader for up to 2 s.
const HELLO_WITHIN_S: u64 = 5;

/// A board that said hello answers the rest at once.
const REST_WITHIN_S: u64 = 1;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

/// What is being asked.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Question {
    Hello,
    Axis(u8),
    Arm,
}

/// A conversation up to the first command.
pub struct NativeHandshake {
    settings: NativeSettings,
    ledger: Arc<LinkMonitor>,
    nonce: u32,
    decoder: Decoder,
    bytes_heard: usize,
    question: Question,
    asked_at: Option<MonotonicNs>,
    times_asked: u32,
    deadline: MonotonicNs,
    board: Option<HelloAck>,
    axes: [Option<AxisInfo>; MAX_AXES],
    armed: Option<Arm>,
    failed: Option<HandshakeError>,
}

impl NativeHandshake {
    /// Begins now.
    pub fn new(settings: NativeSettings, ledger: Arc<LinkMonitor>, nonce: u32, now: MonotonicNs) -> Self {
        Self {
            settings,
            ledger,
            nonce,
            decoder: Decoder::new(),
            bytes_heard: 0,
            question: Question::Hello,
            asked_at: None,
            times_asked: 0,
            deadline: now.after(HELLO_WITHIN_S * NANOSECONDS_PER_SECOND),
            board: None,
            axes: [None; MAX_AXES],
            armed: None,
            failed: None,
        }
    }

    fn take(&mut self, message: &Message<'_>, now: MonotonicNs) {
        match (self.question, message) {
            (Question::Hello, Message::HelloAck(board)) if board.nonce == self.nonce => self.meet(board, now),
            (Question::Axis(index), Message::AxisInfo(info)) if info.index == index => self.learn(info, now),
            (Question::Arm, Message::ArmAck(arm)) if arm.nonce == self.nonce => self.armed = Some(*arm),
            (Question::Arm, Message::Fault(fault)) if fault.code == FaultCode::NonceMismatch => {
                // Somebody else greeted the board in between: begin anew.
                self.ask(Question::Hello, now);
            }
            _ => {}
        }
    }

    fn meet(&mut self, board: &HelloAck, now: MonotonicNs) {
        let wanted = self.settings.axes.unwrap_or(board.axes);
        if board.version.0 != VERSION.0 {
            self.failed = Some(HandshakeError::Version { theirs: board.version, ours: VERSION });
        } else if board.axes != wanted {
            self.failed = Some(HandshakeError::Axes { wanted, found: board.axes });
        } else {
            self.board = Some(*board);
            self.ask(Question::Axis(0), now);
        }
    }

    fn learn(&mut self, info: &AxisInfo, now: MonotonicNs) {
        self.axes[usize::from(info.index)] = Some(*info);
        let next = info.index + 1;
        self.ask(if next < self.axes_found() { Question::Axis(next) } else { Question::Arm }, now);
    }

    fn ask(&mut self, question: Question, now: MonotonicNs) {
        self.question = question;
        (self.asked_at, self.times_asked) = (None, 0);
        self.deadline = self.deadline.max(now.after(REST_WITHIN_S * NANOSECONDS_PER_SECOND));
    }

    fn words(&self) -> TxBytes {
        let message = match self.question {
            Question::Hello => Message::Hello(Hello { version: VERSION, nonce: self.nonce }),
            Question::Axis(index) => Message::AxisInfoRequest(AxisInfoRequest { index }),
            Question::Arm => Message::Arm(self.arm()),
        };
        // A zero in front ends whatever half frame the line may hold.
        let mut words = TxBytes::of(&[0]);
        words.append(spoken(&message, self.ledger.next_sequence()).bytes());
        words
    }

    fn axes_found(&self) -> u8 {
        self.board.map_or(1, |board| board.axes)
    }

    fn scales(&self) -> Scales {
        self.axes.map(|info| info.map_or_else(AxisScale::default, |info| AxisScale::of(&info, self.settings.lever_m)))
    }

    fn arm(&self) -> Arm {
        let scales = self.scales();
        let limit = |axis: usize| scales[axis].limit_q15(self.settings.max_force_n);
        let limits_q15 = if self.axes_found() == 1 { PerAxis::one(limit(0)) } else { PerAxis::two(limit(0), limit(1)) };
        Arm { nonce: self.nonce, watchdog_ms: self.settings.watchdog_ms, limits_q15, slew_q15_per_ms: 0 }
    }

    fn give_up(&self) -> HandshakeError {
        match (self.bytes_heard, self.decoder.counters().frames) {
            (0, _) => HandshakeError::Silent { within_s: HELLO_WITHIN_S },
            (bytes, 0) => HandshakeError::NotUnderstood { bytes, expected: "in the native protocol" },
            _ => HandshakeError::Refused(format!("no answer to {:?}; unplug it, plug it in again", self.question)),
        }
    }

    fn session(&self, board: &HelloAck) -> OpenSession {
        let (scales, axes) = (self.scales(), usize::from(self.axes_found()));
        let decoder = self.decoder.clone();
        OpenSession {
            identity: identity(board),
            limits: self.limits(board, &scales),
            voice: Box::new(NativeTransmitHalf::new(axes, scales, Arc::clone(&self.ledger))),
            ear: Box::new(NativeReceiveHalf::new(scales, Arc::clone(&self.ledger), self.arm(), decoder)),
        }
    }

    fn limits(&self, board: &HelloAck, scales: &Scales) -> Limits {
        let present = &scales[..usize::from(board.axes)];
        let of = |value: fn(&AxisScale) -> f64, absent: f64| {
            Vector2::from_fn(|axis, _| present.get(axis).map_or(absent, value))
        };
        Limits {
            max_force_n: present.iter().map(|scale| scale.full_scale_n).fold(f64::INFINITY, f64::min),
            travel_min_m: of(|scale| scale.travel_m.0, f64::NEG_INFINITY),
            travel_max_m: of(|scale| scale.travel_m.1, f64::INFINITY),
            rate_hz: self.rate_hz(board),
        }
    }

    fn rate_hz(&self, board: &HelloAck) -> f64 {
        let velocity_given = board.capabilities.has(Capabilities::VELOCITY);
        let line = |baud| rate::highest_rate_hz(baud, usize::from(board.axes), velocity_given);
        let line_hz = self.settings.baud.map_or(u32::MAX, line);
        f64::from(line_hz.min(u32::from(board.max_rate_hz)))
    }
}

impl Handshake for NativeHandshake {
    fn hear(&mut self, bytes: &[u8], now: MonotonicNs) {
        self.bytes_heard += bytes.len();
        let mut decoder = std::mem::take(&mut self.decoder);
        decoder.push_all(bytes, |frame| {
            if let Ok(message) = Message::parse(&frame) {
                self.take(&message, now);
            }
        });
        self.decoder = decoder;
    }

    fn step(&mut self, now: MonotonicNs) -> Step {
        if let Some(error) = self.failed.clone() {
            return Step::Failed(error);
        }
        if let (Some(board), Some(_)) = (self.board, self.armed) {
            return Step::Done(Box::new(self.session(&board)));
        }
        if now >= self.deadline {
            return Step::Failed(self.give_up());
        }
        match self.asked_at {
            Some(asked_at) if now.since(asked_at) < REPEAT_EVERY_NS => {
                Step::Wait { until: asked_at.after(REPEAT_EVERY_NS) }
            }
            _ => {
                if self.times_asked >= QUESTIONS_BEFORE_HELLO {
                    (self.question, self.times_asked) = (Question::Hello, 0);
                }
                self.times_asked += 1;
                self.asked_at = Some(now);
                Step::Say(self.words())
            }
        }
    }
}

fn identity(board: &HelloAck) -> Identity {
    let version = board.firmware_version;
    Identity {
        name: format!("{}-axis board", board.axes),
        kind: DeviceKind::Serial,
        serial_number: name_of(board.uid),
        firmware: format!("{}.{}.{}", version >> 16, version >> 8 & 0xFF, version & 0xFF),
        axes: board.axes,
    }
}

/// The identity of a board as text where it is text, else in hexadecimal.
fn name_of(uid: [u8; 8]) -> String {
    if uid.iter().all(u8::is_ascii_graphic) {
        uid.iter().map(|&byte| char::from(byte)).collect()
    } else {
        uid.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
