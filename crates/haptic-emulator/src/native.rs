//! Firmware of a board with the native protocol, as specified in `firmware-protocol/PROTOCOL.md`.
//!
//! The firmware has no I/O and no clock: messages, times and the handle's motion go in, messages and efforts come out.
//! [`crate::serial::NativeBoard`] runs it on a byte stream; [`crate::gadget::Gadget`] runs it in HID reports or on a
//! USB serial line.

mod cobs_stream;

pub use cobs_stream::CobsStream;

use crate::emergency_stop::StopButton;
use crate::interval::Interval;
use haptic_wire::{
    Arm, AxisInfo, AxisKind, AxisReading, Capabilities, Command, FULL_SCALE_Q15, Fault, FaultCode, Frame, Hello,
    HelloAck, HomeFlags, Kind, Message, PayloadError, PerAxis, PingReply, State, Status, VERSION, sequence,
};
use nalgebra::Vector2;

/// Encoder counts per metre; one count is 10 µm.
const COUNTS_PER_M: u32 = 100_000;
/// Watchdog time used when the host requests the default, ms.
const DEFAULT_WATCHDOG_MS: u16 = 20;
/// Longest watchdog time that the host can request, ms.
const MAX_WATCHDOG_MS: u16 = 100;
/// Slew limit of the reference boards: 4 ms from zero to full effort.
const REFERENCE_SLEW_Q15_PER_MS: u16 = 8192;

/// Bit of the type of a message that a device sends. A device ignores such messages, which may be its own echo.
const FROM_DEVICE: u8 = 0x80;

/// Version of the protocol from which on a board has an emergency stop.
const EMERGENCY_STOP_SINCE: (u8, u8) = (1, 1);
/// Fault of a stopped board.
const STOPPED: Fault = Fault { code: FaultCode::EmergencyStop, detail: 0 };

/// A reply from the board.
pub type Reply = Message<'static>;

/// Properties of an emulated board with the native protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NativeTraits {
    /// Number of axes, 1 or 2.
    pub axes: u8,
    /// Travel on each side of the centre, m.
    pub travel_m: f64,
    /// Force at full effort, N.
    pub full_scale_n: f64,
    /// Slew limit of the firmware, which applies to the rise of an effort; full scale for no limit.
    pub slew_q15_per_ms: u16,
    /// Whether STATE contains velocities.
    pub gives_velocity: bool,
    /// Whether STATE can be streamed.
    pub gives_stream: bool,
    /// Whether the board disarms when the port closes.
    pub sees_link: bool,
    /// Protocol version reported by the board: major, minor. A board before version 1.1 has no emergency stop.
    pub version: (u8, u8),
    /// Unique identifier of the board.
    pub uid: [u8; 8],
}

impl Default for NativeTraits {
    fn default() -> Self {
        Self {
            axes: 2,
            travel_m: 0.1,
            full_scale_n: 4.0,
            slew_q15_per_ms: REFERENCE_SLEW_Q15_PER_MS,
            gives_velocity: false,
            gives_stream: false,
            sees_link: true,
            version: VERSION,
            uid: *b"EMULATED",
        }
    }
}

/// Motion of the handle as measured by the board, device frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// Position, m.
    pub position_m: Vector2<f64>,
    /// Velocity, m/s.
    pub velocity_m_per_s: Vector2<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Silent,
    Ready,
    Armed,
    Faulted,
}

/// Firmware of a board with the native protocol.
#[derive(Clone, Debug)]
pub struct NativeFirmware {
    traits: NativeTraits,
    mode: Mode,
    nonce: u32,
    sequence: u8,
    acknowledged: u8,
    watchdog_ms: u16,
    limits_q15: [u16; 2],
    slew_q15_per_ms: u16,
    /// Whether the newest command enabled its efforts.
    enabled: bool,
    /// Whether the newest effort was reduced by a limit.
    clamped: bool,
    /// Commanded efforts, clamped to the limits.
    targets_q15: [i16; 2],
    /// Efforts currently applied by the motors, which follow `targets_q15` within the slew limit.
    applied_q15: [i16; 2],
    /// Part of the slew that was less than one step of the effort, in 1/1000 steps.
    slew_rest: u64,
    /// Time of the last advance, µs.
    advanced_us: u64,
    /// Time of the newest command since the board was armed, µs. The watchdog starts at the first such command.
    pub commanded_us: Option<u64>,
    /// Time at which the watchdog last cut the effort, µs.
    pub expired_us: Option<u64>,
    /// Number of commands accepted.
    pub commands_taken: u64,
    /// Number of commands lost, according to their sequence numbers.
    pub commands_lost: u64,
    /// Number of received messages that violate the protocol.
    pub mistakes: u64,
    stop_button: StopButton,
    planned_stops: Vec<Interval>,
    /// Whether a planned press is active, as of the last advance.
    is_stop_planned: bool,
    /// Whether the emergency-stop input was active at its last check.
    was_stopped: bool,
    /// Fault latched since the last ARM or HELLO.
    latched: Option<FaultCode>,
    /// Fault that the host has not been sent yet.
    unsent: Option<Fault>,
    is_streaming: bool,
    /// Whether a state of the stream is still to be sent.
    is_state_due: bool,
    /// Time of the first advance, µs.
    started_us: Option<u64>,
    events: Vec<String>,
}

impl NativeFirmware {
    /// Creates a board in its state after power-up.
    pub fn new(traits: NativeTraits) -> Self {
        Self {
            traits,
            mode: Mode::Silent,
            nonce: 0,
            sequence: 0,
            acknowledged: 0,
            watchdog_ms: DEFAULT_WATCHDOG_MS,
            limits_q15: [0; 2],
            slew_q15_per_ms: traits.slew_q15_per_ms,
            enabled: false,
            clamped: false,
            targets_q15: [0; 2],
            applied_q15: [0; 2],
            slew_rest: 0,
            advanced_us: 0,
            commanded_us: None,
            expired_us: None,
            commands_taken: 0,
            commands_lost: 0,
            mistakes: 0,
            stop_button: StopButton::default(),
            planned_stops: Vec::new(),
            is_stop_planned: false,
            was_stopped: false,
            latched: None,
            unsent: None,
            is_streaming: false,
            is_state_due: false,
            started_us: None,
            events: Vec::new(),
        }
    }

    /// Whether a host has armed the board and has sent a command since then, even one that does not enable effort.
    pub fn is_driven(&self) -> bool {
        self.mode == Mode::Armed && self.commanded_us.is_some()
    }

    /// Plans presses of the emergency stop, in seconds after the first advance.
    pub fn plan_stops(&mut self, stops: Vec<Interval>) {
        self.planned_stops = stops;
    }

    /// Replaces the button of the emergency stop.
    pub fn set_stop_button(&mut self, button: StopButton) {
        self.stop_button = button;
    }

    /// Returns the button of the emergency stop.
    pub fn stop_button(&self) -> StopButton {
        self.stop_button.clone()
    }

    fn is_stopped(&self) -> bool {
        self.traits.version >= EMERGENCY_STOP_SINCE && (self.is_stop_planned || self.stop_button.is_pressed())
    }

    /// Motor force on the hand, N. The emergency stop acts on the motors directly.
    pub fn force_n(&self) -> Vector2<f64> {
        if self.is_stopped() {
            return Vector2::zeros();
        }
        let newtons = self.traits.full_scale_n / f64::from(FULL_SCALE_Q15);
        Vector2::from_fn(|axis, _| f64::from(self.applied_q15[axis]) * newtons)
    }

    /// Removes and returns the oldest event text, if any.
    pub fn next_event(&mut self) -> Option<String> {
        if self.events.is_empty() { None } else { Some(self.events.remove(0)) }
    }

    /// Disarms the board after the host has closed the port.
    pub fn disconnect(&mut self) {
        self.cut(Mode::Silent);
        self.events.push("the host left".to_owned());
    }

    /// Advances to `now_us`: checks the emergency stop and the watchdog, then slews the efforts.
    pub fn advance(&mut self, now_us: u64) {
        let before_us = std::mem::replace(&mut self.advanced_us, now_us);
        let elapsed_us = now_us.saturating_sub(before_us);
        let time_us = now_us.saturating_sub(*self.started_us.get_or_insert(now_us));
        self.is_stop_planned = self.planned_stops.iter().any(|stop| stop.contains(time_us));
        self.check_stop();
        self.check_watchdog(now_us);
        self.slew(elapsed_us);
        self.is_state_due |= self.is_streaming && now_us / 1000 > before_us / 1000;
    }

    /// Removes and returns the message that is still to be sent, if any: a fault, or a state of a stream, which the
    /// fault would have ended.
    pub fn take_due(&mut self, handle: &Measured) -> Option<Reply> {
        let is_state_due = std::mem::take(&mut self.is_state_due);
        self.take_fault().or_else(|| is_state_due.then(|| self.state(Status::STREAMED, handle, self.advanced_us)))
    }

    fn take_fault(&mut self) -> Option<Reply> {
        self.unsent.take().map(Message::Fault)
    }

    /// Handles a frame and returns the replies. A fault that is still to be sent precedes the first state that shows
    /// it.
    pub fn receive(&mut self, frame: &Frame<'_>, handle: &Measured, now_us: u64) -> Vec<Reply> {
        self.check_stop();
        match self.reply(frame, handle, now_us) {
            Some(state @ Message::State(_)) => self.take_fault().into_iter().chain([state]).collect(),
            Some(ack @ Message::ArmAck(_)) => [ack].into_iter().chain(self.take_fault()).collect(),
            reply => reply.into_iter().collect(),
        }
    }

    fn reply(&mut self, frame: &Frame<'_>, handle: &Measured, now_us: u64) -> Option<Reply> {
        let axes = usize::from(self.traits.axes);
        match Message::parse(frame) {
            Ok(Message::Hello(hello)) => Some(self.on_hello(&hello)),
            _ if self.mode == Mode::Silent || frame.kind == Kind::Hello as u8 || frame.kind & FROM_DEVICE != 0 => None,
            Ok(Message::AxisInfoRequest(request)) => Some(self.axis_info(request.index)),
            Ok(Message::Arm(arm)) if arm.limits_q15.len() == axes => Some(self.on_arm(&arm)),
            Ok(Message::Command(command)) if command.efforts_q15.len() == axes => {
                self.on_command(&command, frame.sequence, handle, now_us)
            }
            Ok(Message::Stop) => Some(self.on_stop(frame.sequence, handle, now_us)),
            Ok(Message::Ping(ping)) => {
                let (received_us, sent_us) = (now_us as u32, now_us as u32);
                Some(Message::PingReply(PingReply { host_us: ping.host_us, received_us, sent_us }))
            }
            Err(PayloadError::UnknownKind { kind }) => Some(self.reject(FaultCode::UnknownType, u32::from(kind))),
            _ => Some(self.reject(FaultCode::WrongLength, u32::from(frame.kind) << 8 | frame.payload.len() as u32)),
        }
    }

    /// Returns the sequence number for the board's next message and increments it.
    pub fn next_sequence(&mut self) -> u8 {
        let number = self.sequence;
        self.sequence = number.wrapping_add(1);
        number
    }

    fn on_hello(&mut self, hello: &Hello) -> Reply {
        let is_retry = self.mode != Mode::Silent && hello.nonce == self.nonce;
        if hello.version.0 == self.traits.version.0 && !is_retry {
            self.cut(Mode::Ready);
            self.nonce = hello.nonce;
            self.events.push("a host says hello".to_owned());
        }
        let bit = |is_set: bool, bit: u16| if is_set { bit } else { 0 };
        let capabilities = bit(self.traits.gives_velocity, Capabilities::VELOCITY)
            | bit(self.traits.gives_stream, Capabilities::STREAM)
            | bit(self.traits.sees_link, Capabilities::SEES_LINK);
        Message::HelloAck(HelloAck {
            version: self.traits.version,
            nonce: hello.nonce,
            firmware_version: 0x01_00_00,
            uid: self.traits.uid,
            axes: self.traits.axes,
            capabilities: Capabilities(capabilities),
            max_rate_hz: 1000,
        })
    }

    fn axis_info(&mut self, index: u8) -> Reply {
        if index >= self.traits.axes {
            return self.reject(FaultCode::NoSuchAxis, u32::from(index));
        }
        let reach = libm::round(self.traits.travel_m * f64::from(COUNTS_PER_M)) as i32;
        Message::AxisInfo(AxisInfo {
            index,
            kind: AxisKind::Linear,
            counts_per_unit: (COUNTS_PER_M, 1),
            range: (-reach, reach),
            full_scale_micro: (self.traits.full_scale_n * 1e6) as u32,
            home_flags: HomeFlags(HomeFlags::ABSOLUTE),
        })
    }

    fn on_arm(&mut self, arm: &Arm) -> Reply {
        if arm.nonce != self.nonce {
            return self.reject(FaultCode::NonceMismatch, arm.nonce);
        }
        self.watchdog_ms =
            if arm.watchdog_ms == 0 { DEFAULT_WATCHDOG_MS } else { arm.watchdog_ms.min(MAX_WATCHDOG_MS) };
        if self.is_stopped() {
            self.latch(STOPPED.code, STOPPED.detail);
            // Sent after every ARM, even if it has been sent before.
            self.unsent = Some(STOPPED);
        } else if self.mode != Mode::Armed {
            self.cut(Mode::Armed);
            self.events.push(format!("armed, watchdog {} ms", self.watchdog_ms));
        }
        for (axis, &limit) in arm.limits_q15.iter().enumerate() {
            self.limits_q15[axis] = limit;
            self.applied_q15[axis] = self.clamp(axis, self.applied_q15[axis]);
            let target = self.clamp(axis, self.targets_q15[axis]);
            self.clamped |= std::mem::replace(&mut self.targets_q15[axis], target) != target;
        }
        let own = self.traits.slew_q15_per_ms;
        self.slew_q15_per_ms = if arm.slew_q15_per_ms == 0 { own } else { arm.slew_q15_per_ms.min(own) };
        // The field of the message cannot exceed full scale.
        let slew_q15_per_ms = self.slew_q15_per_ms.min(FULL_SCALE_Q15);
        Message::ArmAck(Arm { watchdog_ms: self.watchdog_ms, slew_q15_per_ms, ..*arm })
    }

    fn on_command(&mut self, command: &Command, number: u8, handle: &Measured, now_us: u64) -> Option<Reply> {
        if self.is_driven() {
            if !sequence::is_newer(number, self.acknowledged) {
                return None;
            }
            self.commands_lost += u64::from(sequence::lost_between(self.acknowledged, number));
        }
        self.acknowledged = number;
        self.commands_taken += 1;
        if self.mode == Mode::Armed {
            self.commanded_us = Some(now_us);
            self.adopt(command);
        }
        let is_wanted = self.traits.gives_stream && command.flags & Command::STREAM != 0;
        self.is_streaming = is_wanted && self.mode == Mode::Armed;
        self.is_state_due &= self.is_streaming;
        (!self.is_streaming).then(|| self.state(0, handle, now_us))
    }

    fn adopt(&mut self, command: &Command) {
        if command.flags & Command::ENABLE == 0 {
            return self.disable();
        }
        self.enabled = true;
        self.clamped = false;
        for (axis, &effort) in command.efforts_q15.iter().enumerate() {
            self.targets_q15[axis] = self.clamp(axis, effort);
            // -32768 is taken as -32767, which is no reduction.
            self.clamped |= self.targets_q15[axis] != effort.max(-i16::MAX);
        }
    }

    fn clamp(&self, axis: usize, effort_q15: i16) -> i16 {
        let limit = self.limits_q15[axis] as i16;
        effort_q15.clamp(-limit, limit)
    }

    fn on_stop(&mut self, number: u8, handle: &Measured, now_us: u64) -> Reply {
        self.acknowledged = number;
        if self.mode == Mode::Armed {
            self.cut(Mode::Ready);
            self.events.push("stopped by the host".to_owned());
        }
        self.state(0, handle, now_us)
    }

    /// Sets the effort to zero without slewing.
    fn disable(&mut self) {
        (self.enabled, self.clamped, self.targets_q15, self.applied_q15) = (false, false, [0; 2], [0; 2]);
    }

    /// Changes the mode and ends the effort. A fault ends with the mode `Faulted`.
    fn cut(&mut self, mode: Mode) {
        self.mode = mode;
        self.disable();
        self.commanded_us = None;
        (self.is_streaming, self.is_state_due) = (false, false);
        (self.latched, self.unsent) = (None, None);
    }

    /// Ends the effort and latches a fault. A silent board stays silent. Only the first fault is sent, but an emergency
    /// stop replaces any other.
    fn latch(&mut self, code: FaultCode, detail: u32) {
        let is_known = self.latched == Some(code) || (self.latched.is_some() && code != FaultCode::EmergencyStop);
        if self.mode == Mode::Silent || is_known {
            return self.disable();
        }
        self.cut(Mode::Faulted);
        (self.latched, self.unsent) = (Some(code), Some(Fault { code, detail }));
    }

    fn check_stop(&mut self) {
        let is_stopped = self.is_stopped();
        if std::mem::replace(&mut self.was_stopped, is_stopped) != is_stopped {
            let what = if is_stopped { "pressed, motors off" } else { "released" };
            self.events.push(format!("emergency stop {what}"));
        }
        if is_stopped {
            self.latch(STOPPED.code, STOPPED.detail);
        }
    }

    /// Moves the efforts towards their targets. Only a rise is slewed: an effort falls at once, and changes its sign by
    /// falling to zero and rising from there.
    fn slew(&mut self, elapsed_us: u64) {
        if self.slew_q15_per_ms >= FULL_SCALE_Q15 {
            self.applied_q15 = self.targets_q15;
            return;
        }
        let steps = u64::from(self.slew_q15_per_ms) * elapsed_us + self.slew_rest;
        self.slew_rest = steps % 1000;
        let step = (steps / 1000).min(u64::from(FULL_SCALE_Q15)) as i16;
        for (applied, target) in self.applied_q15.iter_mut().zip(self.targets_q15) {
            *applied = target.clamp((*applied).min(0).saturating_sub(step), (*applied).max(0).saturating_add(step));
        }
    }

    fn check_watchdog(&mut self, now_us: u64) {
        let Some(commanded_us) = self.commanded_us.filter(|_| self.mode == Mode::Armed) else { return };
        let silence_ms = now_us.saturating_sub(commanded_us) / 1000;
        if silence_ms >= u64::from(self.watchdog_ms) {
            self.latch(FaultCode::Watchdog, u32::from(self.watchdog_ms));
            self.expired_us = Some(now_us);
            self.events.push(format!("watchdog: no command for {} ms, motors off", self.watchdog_ms));
        }
    }

    fn state(&self, origin: u8, handle: &Measured, now_us: u64) -> Reply {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let counts = |value: f64| libm::round(value * f64::from(COUNTS_PER_M)) as i32;
        let reading = |axis: usize| AxisReading {
            position: counts(handle.position_m[axis]),
            velocity: counts(handle.velocity_m_per_s[axis]),
        };
        let axes = if self.traits.axes == 1 { PerAxis::one(reading(0)) } else { PerAxis::two(reading(0), reading(1)) };
        let status = origin
            | bit(self.mode == Mode::Armed, Status::ARMED)
            | bit(self.enabled, Status::ENABLED)
            | bit(self.mode == Mode::Faulted, Status::FAULT)
            | bit(self.clamped, Status::CLAMPED)
            | bit(self.applied_q15 != self.targets_q15, Status::SLEWING);
        Message::State(State {
            acknowledged: self.acknowledged,
            status: Status(status),
            sampled_at_us: now_us as u32,
            axes,
            velocity_given: self.traits.gives_velocity,
        })
    }

    fn reject(&mut self, code: FaultCode, detail: u32) -> Reply {
        self.mistakes += 1;
        Message::Fault(Fault { code, detail })
    }
}

/// Returns the report descriptor of a board that carries the native protocol in HID reports.
pub fn descriptor() -> Vec<u8> {
    use haptic_wire::report::{REPORT_BYTES, USAGE, USAGE_PAGE};
    let [page_low, page_high] = USAGE_PAGE.to_le_bytes();
    let [usage_low, usage_high] = USAGE.to_le_bytes();
    let mut bytes = vec![0x06, page_low, page_high, 0x0A, usage_low, usage_high, 0xA1, 0x01];
    bytes.extend_from_slice(&[0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, REPORT_BYTES as u8]);
    bytes.extend_from_slice(&[0x09, 0x01, 0x81, 0x02, 0x09, 0x02, 0x91, 0x02, 0xC0]);
    bytes
}

#[cfg(test)]
mod tests;
