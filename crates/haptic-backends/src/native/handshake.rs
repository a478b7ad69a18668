//! Handshake of the native protocol: HELLO, AXIS_INFO for each axis, ARM. Each request is repeated until it is
//! answered.

use super::framing::Framing;
use super::receive::NativeReceive;
use super::transmit::NativeTransmit;
use super::{FirstBoard, NativeSettings, Scales, per_axis};
use crate::link_monitor::LinkMonitor;
use crate::protocol::{Handshake, HandshakeError, OpenSession, Step, TxBytes};
use crate::scale::{AxisScale, limits};
use haptic_device::{Identity, MAX_AXES, MonotonicNs};
use haptic_wire::{
    Arm, AxisInfo, AxisInfoRequest, Capabilities, Fault, FaultCode, Frame, Hello, HelloAck, Kind, Message, VERSION,
    rate,
};
use std::sync::Arc;

/// Interval between repetitions of a request, ns; the specification requires 50 ms or more.
const REPEAT_EVERY_NS: u64 = 60_000_000;
/// Difference of the nonces of two sessions of one handshake. Those of successive handshakes differ by one.
const RESTART_NONCE: u32 = 0x1_0000;

/// Number of unanswered requests after which the handshake restarts at HELLO, because the board may have lost the
/// session in a reset.
const REQUESTS_BEFORE_HELLO: u32 = 3;

/// Maximum wait for HELLO_ACK, s. A board that resets when its port is opened stays in its bootloader for up to 2 s.
const HELLO_WITHIN_S: u64 = 5;

/// Minimum time allowed for the board to answer each later request, s.
const REST_WITHIN_S: u64 = 1;

const NANOSECONDS_PER_SECOND: u64 = 1_000_000_000;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Request {
    Hello,
    Axis(u8),
    Arm,
}

impl Request {
    fn name(self) -> &'static str {
        match self {
            Self::Hello => "HELLO",
            Self::Axis(_) => "AXIS_INFO",
            Self::Arm => "ARM",
        }
    }
}

/// Handshake of one session, from the first HELLO to ARM_ACK.
pub struct NativeHandshake<F> {
    framing: F,
    settings: NativeSettings,
    monitor: Arc<LinkMonitor>,
    first_board: FirstBoard,
    nonce: u32,
    received_bytes: usize,
    request: Request,
    sent_at: Option<MonotonicNs>,
    times_sent: u32,
    deadline: MonotonicNs,
    board: Option<HelloAck>,
    axes: [Option<AxisInfo>; MAX_AXES],
    is_armed: bool,
    /// Fault that followed ARM_ACK: the board is not armed after all.
    fault: Option<Fault>,
    failed: Option<HandshakeError>,
}

impl<F: Framing> NativeHandshake<F> {
    /// Creates a handshake that starts at `now`.
    pub fn new(
        settings: NativeSettings,
        monitor: Arc<LinkMonitor>,
        first_board: FirstBoard,
        nonce: u32,
        now: MonotonicNs,
    ) -> Self {
        Self {
            framing: F::default(),
            settings,
            monitor,
            first_board,
            nonce,
            received_bytes: 0,
            request: Request::Hello,
            sent_at: None,
            times_sent: 0,
            deadline: now.after(HELLO_WITHIN_S * NANOSECONDS_PER_SECOND),
            board: None,
            axes: [None; MAX_AXES],
            is_armed: false,
            fault: None,
            failed: None,
        }
    }

    fn on_frame(&mut self, frame: &Frame<'_>, now: MonotonicNs) {
        if let Some(theirs) = self.other_version(frame) {
            self.failed = Some(HandshakeError::Version { theirs, ours: VERSION });
        } else if let Ok(message) = Message::parse(frame) {
            self.on_message(&message, now);
        }
    }

    /// Returns the version of a board with another major version, if the frame is its HELLO_ACK. Only the start of that
    /// message is known then.
    fn other_version(&self, frame: &Frame<'_>) -> Option<(u8, u8)> {
        let is_reply = self.request == Request::Hello && frame.kind == Kind::HelloAck as u8;
        let (version, nonce) = HelloAck::version_and_nonce(frame.payload).filter(|_| is_reply)?;
        (nonce == self.nonce && version.0 != VERSION.0).then_some(version)
    }

    fn on_message(&mut self, message: &Message<'_>, now: MonotonicNs) {
        match (self.request, message) {
            (Request::Hello, Message::HelloAck(board)) if board.nonce == self.nonce => self.on_board(board, now),
            (Request::Axis(index), Message::AxisInfo(info)) if info.index == index => self.on_axis(info, now),
            (Request::Arm, Message::ArmAck(arm)) if arm.nonce == self.nonce => self.is_armed = true,
            (Request::Arm, Message::Fault(fault)) if self.is_armed && fault.code.latches() => {
                self.fault = Some(*fault);
            }
            (Request::Arm, Message::Fault(fault)) if fault.code == FaultCode::NonceMismatch => {
                // Another host has opened a session in the meantime.
                self.start_over(now);
            }
            _ => {}
        }
    }

    fn on_board(&mut self, board: &HelloAck, now: MonotonicNs) {
        let wanted = self.settings.axes.unwrap_or(board.axes);
        if board.axes != wanted {
            self.failed = Some(HandshakeError::Axes { wanted, found: board.axes });
        } else if let Some((uid, _)) = self.first_board.get().filter(|first| **first != (board.uid, board.axes)) {
            self.failed = Some(HandshakeError::OtherBoard { wanted: uid_text(*uid), found: uid_text(board.uid) });
        } else {
            self.board = Some(*board);
            self.start_request(Request::Axis(0), now);
        }
    }

    fn on_axis(&mut self, info: &AxisInfo, now: MonotonicNs) {
        self.axes[usize::from(info.index)] = Some(*info);
        let next = info.index + 1;
        let is_complete = usize::from(next) >= self.axis_count();
        self.start_request(if is_complete { Request::Arm } else { Request::Axis(next) }, now);
    }

    /// Opens a new session, with a new nonce, because the board is in another one.
    fn start_over(&mut self, now: MonotonicNs) {
        self.nonce = self.nonce.wrapping_add(RESTART_NONCE);
        self.start_request(Request::Hello, now);
    }

    fn start_request(&mut self, request: Request, now: MonotonicNs) {
        self.request = request;
        (self.sent_at, self.times_sent) = (None, 0);
        self.deadline = self.deadline.max(now.after(REST_WITHIN_S * NANOSECONDS_PER_SECOND));
    }

    fn request_bytes(&self) -> TxBytes {
        let message = match self.request {
            Request::Hello => Message::Hello(Hello { version: VERSION, nonce: self.nonce }),
            Request::Axis(index) => Message::AxisInfoRequest(AxisInfoRequest { index }),
            Request::Arm => Message::Arm(self.arm()),
        };
        let mut bytes = TxBytes::new(F::TERMINATOR);
        bytes.append(F::encode(&message, self.monitor.next_sequence()).bytes());
        bytes
    }

    fn axis_count(&self) -> usize {
        self.board.map_or(1, |board| usize::from(board.axes))
    }

    fn scales(&self) -> Scales {
        let lever_m = self.settings.lever_m;
        per_axis(self.axis_count(), |axis| {
            self.axes[axis].map_or_else(AxisScale::default, |info| AxisScale::from_axis_info(&info, lever_m))
        })
    }

    fn arm(&self) -> Arm {
        let limits_q15 = self.scales().map(|scale| scale.limit_q15(self.settings.max_force_n));
        Arm { nonce: self.nonce, watchdog_ms: self.settings.watchdog_ms, limits_q15, slew_q15_per_ms: 0 }
    }

    fn timeout(&self) -> HandshakeError {
        match (self.received_bytes, self.framing.counts().intact) {
            (0, _) => HandshakeError::Silent { within_s: HELLO_WITHIN_S },
            (bytes, 0) => HandshakeError::NotUnderstood { bytes, expected: "in the native protocol" },
            _ => HandshakeError::Refused(format!("no answer to {}; unplug it, plug it in again", self.request.name())),
        }
    }

    fn session(&self, board: &HelloAck) -> OpenSession {
        let (scales, monitor) = (self.scales(), || Arc::clone(&self.monitor));
        let receive = NativeReceive::new(self.framing.clone(), scales, monitor(), self.arm(), self.fault.as_ref());
        self.first_board.get_or_init(|| (board.uid, board.axes));
        OpenSession {
            identity: identity::<F>(board),
            limits: limits(&scales, self.rate_hz(board)),
            transmit: Box::new(NativeTransmit::<F>::new(scales, monitor())),
            receive: Box::new(receive),
        }
    }

    fn rate_hz(&self, board: &HelloAck) -> f64 {
        let velocity_given = board.capabilities.has(Capabilities::VELOCITY);
        let line = |baud| rate::highest_rate_hz(baud, usize::from(board.axes), velocity_given);
        let line_hz = self.settings.baud.map_or(u32::MAX, line);
        f64::from(line_hz.min(u32::from(board.max_rate_hz)))
    }
}

impl<F: Framing> Handshake for NativeHandshake<F> {
    fn receive(&mut self, bytes: &[u8], now: MonotonicNs) {
        self.received_bytes += bytes.len();
        // Frames borrow the framing, so it is moved out of `self` while they are handled.
        let mut framing = std::mem::take(&mut self.framing);
        framing.decode(bytes, |frame| self.on_frame(&frame, now));
        self.framing = framing;
    }

    fn step(&mut self, now: MonotonicNs) -> Step {
        if let Some(error) = self.failed.clone() {
            return Step::Failed(error);
        }
        if let (Some(board), true) = (self.board, self.is_armed) {
            return Step::Done(Box::new(self.session(&board)));
        }
        if now >= self.deadline {
            return Step::Failed(self.timeout());
        }
        match self.sent_at {
            Some(sent_at) if now.since(sent_at) < REPEAT_EVERY_NS => {
                Step::Wait { until: sent_at.after(REPEAT_EVERY_NS) }
            }
            _ => {
                if self.times_sent >= REQUESTS_BEFORE_HELLO && self.request != Request::Hello {
                    self.nonce = self.nonce.wrapping_add(RESTART_NONCE);
                    (self.request, self.times_sent) = (Request::Hello, 0);
                }
                self.times_sent += 1;
                self.sent_at = Some(now);
                Step::Send(self.request_bytes())
            }
        }
    }
}

fn identity<F: Framing>(board: &HelloAck) -> Identity {
    let version = board.firmware_version;
    Identity {
        name: format!("{}-axis board", board.axes),
        kind: F::KIND,
        serial_number: uid_text(board.uid),
        firmware: format!("{}.{}.{}", version >> 16, version >> 8 & 0xFF, version & 0xFF),
        axes: board.axes,
    }
}

/// Formats the uid of a board: as text if all bytes are printable, otherwise in hexadecimal.
fn uid_text(uid: [u8; 8]) -> String {
    if uid.iter().all(u8::is_ascii_graphic) {
        uid.iter().map(|&byte| char::from(byte)).collect()
    } else {
        uid.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}
