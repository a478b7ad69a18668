//! A board that speaks the native protocol, as `firmware-protocol/PROTOCOL.md` asks of it.

use super::{Board, EmulatedHandle};
use haptic_wire::{
    Arm, AxisInfo, AxisKind, AxisReading, Capabilities, Command, Decoder, FULL_SCALE_Q15, Fault, FaultCode, Frame,
    Hello, HelloAck, HomeFlags, Message, PerAxis, PingReply, State, Status, VERSION, WIRE_MAX, encode, sequence,
};
use nalgebra::Vector2;

const COUNTS_PER_METRE: u32 = 100_000;
const DEFAULT_WATCHDOG_MS: u16 = 20;
const LONGEST_WATCHDOG_MS: u16 = 100;
/// The slew of the reference boards: 4 ms from zero to full effort.
const REFERENCE_SLEW_Q15_PER_MS: u16 = 8192;

/// What the board is like.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NativeTraits {
    /// 1 or 2.
    pub axes: u8,
    /// Force at full effort, N.
    pub full_scale_n: f64,
    /// Its own limit of how fast efforts change; what is cut is cut at once.
    pub slew_q15_per_ms: u16,
    /// Whether STATE carries velocities.
    pub gives_velocity: bool,
    /// The major version it pretends to speak.
    pub major_version: u8,
    /// Tells it from others.
    pub uid: [u8; 8],
}

impl Default for NativeTraits {
    fn default() -> Self {
        Self {
            axes: 2,
            full_scale_n: 4.0,
            slew_q15_per_ms: REFERENCE_SLEW_Q15_PER_MS,
            gives_velocity: false,
            major_version: VERSION.0,
            uid: *b"EMULATED",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Silent,
    Ready,
    Armed,
    Faulted,
}

/// The board.
pub struct NativeBoard {
    traits: NativeTraits,
    body: EmulatedHandle,
    decoder: Decoder,
    mode: Mode,
    nonce: u32,
    sequence: u8,
    acknowledged: u8,
    /// A command came since ARM, so the watchdog runs.
    commanded: bool,
    silent_ms: u16,
    watchdog_ms: u16,
    limits_q15: [u16; 2],
    slew_q15_per_ms: u16,
    /// The newest command enabled its efforts.
    enabled: bool,
    /// What was commanded, within the limits, and what the motors do now.
    targets_q15: [i16; 2],
    applied_q15: [i16; 2],
    time_us: u32,
    news: Vec<String>,
}

impl NativeBoard {
    /// A board that was just switched on.
    pub fn new(traits: NativeTraits, body: EmulatedHandle) -> Self {
        Self {
            traits,
            body,
            decoder: Decoder::new(),
            mode: Mode::Silent,
            nonce: 0,
            sequence: 0,
            acknowledged: 0,
            commanded: false,
            silent_ms: 0,
            watchdog_ms: DEFAULT_WATCHDOG_MS,
            limits_q15: [0; 2],
            slew_q15_per_ms: traits.slew_q15_per_ms,
            enabled: false,
            targets_q15: [0; 2],
            applied_q15: [0; 2],
            time_us: 0,
            news: Vec::new(),
        }
    }

    fn take(&mut self, frame: &Frame<'_>, out: &mut Vec<Vec<u8>>) {
        match Message::parse(frame) {
            Ok(Message::Hello(hello)) => self.on_hello(&hello, out),
            _ if self.mode == Mode::Silent => {}
            Ok(Message::AxisInfoRequest(request)) => self.on_axis_info(request.index, out),
            Ok(Message::Arm(arm)) => self.on_arm(&arm, out),
            Ok(Message::Command(command)) => self.on_command(&command, frame.sequence, out),
            Ok(Message::Stop) => self.on_stop(frame.sequence, out),
            Ok(Message::Ping(ping)) => {
                let (received_us, sent_us) = (self.time_us, self.time_us);
                self.answer(&Message::PingReply(PingReply { host_us: ping.host_us, received_us, sent_us }), out);
            }
            _ => {}
        }
    }

    fn answer(&mut self, message: &Message<'_>, out: &mut Vec<Vec<u8>>) {
        let mut wire = [0; WIRE_MAX];
        if let Ok(length) = encode(message, self.sequence, &mut wire) {
            self.sequence = self.sequence.wrapping_add(1);
            out.push(wire[..length].to_vec());
        }
    }

    fn on_hello(&mut self, hello: &Hello, out: &mut Vec<Vec<u8>>) {
        let is_retry = self.mode != Mode::Silent && hello.nonce == self.nonce;
        if hello.version.0 == self.traits.major_version && !is_retry {
            self.cut(Mode::Ready);
            self.nonce = hello.nonce;
            self.news.push("a host says hello".to_owned());
        }
        let velocity = if self.traits.gives_velocity { Capabilities::VELOCITY } else { 0 };
        let board = HelloAck {
            version: (self.traits.major_version, VERSION.1),
            nonce: hello.nonce,
            firmware_version: 0x01_00_00,
            uid: self.traits.uid,
            axes: self.traits.axes,
            capabilities: Capabilities(velocity | Capabilities::SEES_LINK),
            max_rate_hz: 1000,
        };
        self.answer(&Message::HelloAck(board), out);
    }

    fn on_axis_info(&mut self, index: u8, out: &mut Vec<Vec<u8>>) {
        if index >= self.traits.axes {
            let fault = Fault { code: FaultCode::NoSuchAxis, detail: u32::from(index) };
            return self.answer(&Message::Fault(fault), out);
        }
        let reach = (COUNTS_PER_METRE / 10) as i32;
        let info = AxisInfo {
            index,
            kind: AxisKind::Linear,
            counts_per_unit: (COUNTS_PER_METRE, 1),
            range: (-reach, reach),
            full_scale_micro: (self.traits.full_scale_n * 1e6) as u32,
            home_flags: HomeFlags(HomeFlags::ABSOLUTE),
        };
        self.answer(&Message::AxisInfo(info), out);
    }

    fn on_arm(&mut self, arm: &Arm, out: &mut Vec<Vec<u8>>) {
        if arm.nonce != self.nonce {
            let fault = Fault { code: FaultCode::NonceMismatch, detail: arm.nonce };
            return self.answer(&Message::Fault(fault), out);
        }
        if self.mode != Mode::Armed {
            self.cut(Mode::Armed);
            self.commanded = false;
            self.news.push(format!("armed, watchdog {} ms", self.watchdog_for(arm)));
        }
        self.watchdog_ms = self.watchdog_for(arm);
        for (own, &asked) in self.limits_q15.iter_mut().zip(arm.limits_q15.iter()) {
            *own = asked.min(FULL_SCALE_Q15);
        }
        self.slew_q15_per_ms = self.slew_for(arm);
        let held = Arm { watchdog_ms: self.watchdog_ms, slew_q15_per_ms: self.slew_q15_per_ms, ..*arm };
        self.answer(&Message::ArmAck(held), out);
    }

    fn watchdog_for(&self, arm: &Arm) -> u16 {
        if arm.watchdog_ms == 0 { DEFAULT_WATCHDOG_MS } else { arm.watchdog_ms.min(LONGEST_WATCHDOG_MS) }
    }

    fn slew_for(&self, arm: &Arm) -> u16 {
        let own = self.traits.slew_q15_per_ms;
        if arm.slew_q15_per_ms == 0 { own } else { arm.slew_q15_per_ms.min(own) }
    }

    fn on_command(&mut self, command: &Command, number: u8, out: &mut Vec<Vec<u8>>) {
        let is_armed = self.mode == Mode::Armed;
        if is_armed && self.commanded && !sequence::is_newer(number, self.acknowledged) {
            return;
        }
        self.acknowledged = number;
        if is_armed {
            self.adopt(command);
        }
        let state = self.state();
        self.answer(&Message::State(state), out);
    }

    fn adopt(&mut self, command: &Command) {
        (self.commanded, self.silent_ms) = (true, 0);
        if command.flags & Command::ENABLE == 0 {
            return self.let_go();
        }
        self.enabled = true;
        for (axis, &effort) in command.efforts_q15.iter().enumerate() {
            let limit = self.limits_q15[axis] as i16;
            self.targets_q15[axis] = effort.clamp(-limit, limit);
        }
    }

    /// No effort from here on, at once.
    fn let_go(&mut self) {
        (self.enabled, self.targets_q15, self.applied_q15) = (false, [0; 2], [0; 2]);
    }

    /// A millisecond of the way to what was commanded.
    fn slew(&mut self) {
        let step = i32::from(self.slew_q15_per_ms);
        for (applied, target) in self.applied_q15.iter_mut().zip(self.targets_q15) {
            let change = (i32::from(target) - i32::from(*applied)).clamp(-step, step);
            *applied = (i32::from(*applied) + change) as i16;
        }
    }

    fn on_stop(&mut self, number: u8, out: &mut Vec<Vec<u8>>) {
        self.acknowledged = number;
        if self.mode == Mode::Armed {
            self.cut(Mode::Ready);
            self.news.push("stopped by the host".to_owned());
        }
        let state = self.state();
        self.answer(&Message::State(state), out);
    }

    fn cut(&mut self, mode: Mode) {
        self.mode = mode;
        self.let_go();
        self.silent_ms = 0;
    }

    fn state(&self) -> State {
        let bit = |condition: bool, bit: u8| if condition { bit } else { 0 };
        let counts = |value: f64| libm::round(value * f64::from(COUNTS_PER_METRE)) as i32;
        let (position_m, speed) = (self.body.encoder_m(), self.body.true_state().velocity_m_per_s);
        let reading = |axis: usize| AxisReading { position: counts(position_m[axis]), velocity: counts(speed[axis]) };
        let axes = if self.traits.axes == 1 { PerAxis::one(reading(0)) } else { PerAxis::two(reading(0), reading(1)) };
        let status = bit(self.mode == Mode::Armed, Status::ARMED)
            | bit(self.enabled, Status::ENABLED)
            | bit(self.mode == Mode::Faulted, Status::FAULT)
            | bit(self.applied_q15 != self.targets_q15, Status::SLEWING);
        State {
            acknowledged: self.acknowledged,
            status: Status(status),
            sampled_at_us: self.time_us,
            axes,
            velocity_given: self.traits.gives_velocity,
        }
    }

    fn watch(&mut self, out: &mut Vec<Vec<u8>>) {
        if self.mode != Mode::Armed || !self.commanded {
            return;
        }
        self.silent_ms += 1;
        if self.silent_ms >= self.watchdog_ms {
            self.cut(Mode::Faulted);
            self.news.push(format!("watchdog: no command for {} ms, motors off", self.watchdog_ms));
            let fault = Fault { code: FaultCode::Watchdog, detail: u32::from(self.watchdog_ms) };
            self.answer(&Message::Fault(fault), out);
        }
    }

    fn motors_n(&self) -> Vector2<f64> {
        let newton = self.traits.full_scale_n / f64::from(FULL_SCALE_Q15);
        Vector2::from_fn(|axis, _| f64::from(self.applied_q15[axis]) * newton)
    }
}

impl Board for NativeBoard {
    fn hear(&mut self, bytes: &[u8], out: &mut Vec<Vec<u8>>) {
        let mut decoder = std::mem::take(&mut self.decoder);
        decoder.push_all(bytes, |frame| self.take(&frame, out));
        self.decoder = decoder;
    }

    fn tick(&mut self, out: &mut Vec<Vec<u8>>) {
        self.time_us = self.time_us.wrapping_add(1000);
        self.watch(out);
        self.slew();
        self.body.advance(self.motors_n());
    }

    fn host_left(&mut self) {
        self.cut(Mode::Silent);
        self.decoder.forget_partial();
        self.news.push("the host left".to_owned());
    }

    fn force_n(&self) -> Vector2<f64> {
        self.motors_n()
    }

    fn body(&self) -> &EmulatedHandle {
        &self.body
    }

    fn news(&mut self) -> Option<String> {
        if self.news.is_empty() { None } else { Some(self.news.remove(0)) }
    }
}
