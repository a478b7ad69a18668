//! A board that speaks the native protocol, with two linear axes: boots silent, arms by nonce, and lets go when its host is silent.

use haptic_wire::{
    Arm, AxisInfo, AxisKind, AxisReading, Capabilities, Command, FULL_SCALE_Q15, Fault, FaultCode, Frame, HelloAck,
    HomeFlags, Message, PerAxis, PingReply, State, Status, VERSION, sequence,
};

/// Counts per metre: 10 µm each.
const COUNTS_PER_M: u32 = 100_000;
/// Ends of travel, counts.
const TRAVEL_COUNTS: i32 = 5_000;
/// Silence after which effort ends when the host asked for the default, ms, and the longest it may ask for.
const WATCHDOG_MS: (u16, u16) = (20, 100);

/// What a board answers with.
pub type Answer = Message<'static>;

/// A board with two axes.
#[derive(Clone, Debug)]
pub struct NativeBoard {
    full_scale_n: f64,
    nonce: Option<u32>,
    armed: Option<Arm>,
    is_faulted: bool,
    efforts: [i16; 2],
    enabled: bool,
    newest: Option<u8>,
    /// When the newest command came, µs.
    pub heard_us: Option<u64>,
    /// When the watchdog cut the effort, µs.
    pub expired_us: Option<u64>,
    /// Commands taken.
    pub commands_taken: u64,
    /// Commands that never arrived, by their numbers.
    pub commands_lost: u64,
    /// Messages that a host should not send.
    pub mistakes: u64,
    counter: u8,
}

impl NativeBoard {
    /// A board that was just plugged in, whose motors push so hard at full scale.
    pub fn new(full_scale_n: f64) -> Self {
        Self {
            full_scale_n,
            nonce: None,
            armed: None,
            is_faulted: false,
            efforts: [0; 2],
            enabled: false,
            newest: None,
            heard_us: None,
            expired_us: None,
            commands_taken: 0,
            commands_lost: 0,
            mistakes: 0,
            counter: 0,
        }
    }

    /// Whether a host has armed it and commands it: a command of no force enables nothing, and is one all the same.
    pub fn is_driven(&self) -> bool {
        self.armed.is_some() && self.heard_us.is_some()
    }

    /// The number of the next message that the board sends.
    pub fn next_sequence(&mut self) -> u8 {
        self.counter = self.counter.wrapping_add(1);
        self.counter
    }

    /// Takes a frame; the answer, if there is one. `position_m` is where the handle is.
    pub fn take(&mut self, frame: &Frame<'_>, position_m: [f64; 2], now_us: u64) -> Option<Answer> {
        let message = Message::parse(frame);
        if self.nonce.is_none() && !matches!(message, Ok(Message::Hello(_))) {
            return None;
        }
        match message {
            Ok(Message::Hello(hello)) => self.greet(hello.nonce),
            Ok(Message::AxisInfoRequest(request)) => Some(self.axis_info(request.index)),
            Ok(Message::Arm(arm)) => Some(self.arm(arm)),
            Ok(Message::Command(command)) => self.command(command, frame.sequence, position_m, now_us),
            Ok(Message::Stop) => {
                self.let_go();
                Some(self.state(position_m, now_us))
            }
            Ok(Message::Ping(ping)) => {
                let clock_us = now_us as u32;
                Some(Message::PingReply(PingReply { host_us: ping.host_us, received_us: clock_us, sent_us: clock_us }))
            }
            Ok(_) | Err(_) => {
                self.mistakes += 1;
                Some(refusal(FaultCode::UnknownType, u32::from(frame.kind)))
            }
        }
    }

    fn let_go(&mut self) {
        (self.armed, self.enabled, self.efforts, self.newest, self.heard_us) = (None, false, [0; 2], None, None);
    }

    fn greet(&mut self, nonce: u32) -> Option<Answer> {
        if self.nonce != Some(nonce) {
            self.let_go();
            (self.nonce, self.is_faulted) = (Some(nonce), false);
        }
        Some(Message::HelloAck(HelloAck {
            version: VERSION,
            nonce,
            firmware_version: 0x0001_0000,
            uid: *b"EMULATED",
            axes: 2,
            capabilities: Capabilities(0),
            max_rate_hz: 1000,
        }))
    }

    fn axis_info(&mut self, index: u8) -> Answer {
        if index > 1 {
            self.mistakes += 1;
            return refusal(FaultCode::NoSuchAxis, u32::from(index));
        }
        Message::AxisInfo(AxisInfo {
            index,
            kind: AxisKind::Linear,
            counts_per_unit: (COUNTS_PER_M, 1),
            range: (-TRAVEL_COUNTS, TRAVEL_COUNTS),
            full_scale_micro: (self.full_scale_n * 1e6) as u32,
            home_flags: HomeFlags(HomeFlags::ABSOLUTE),
        })
    }

    fn arm(&mut self, arm: Arm) -> Answer {
        if Some(arm.nonce) != self.nonce {
            self.mistakes += 1;
            return refusal(FaultCode::NonceMismatch, arm.nonce);
        }
        let watchdog_ms = if arm.watchdog_ms == 0 { WATCHDOG_MS.0 } else { arm.watchdog_ms.min(WATCHDOG_MS.1) };
        let granted = Arm { watchdog_ms, ..arm };
        (self.armed, self.is_faulted, self.newest) = (Some(granted), false, None);
        Message::ArmAck(granted)
    }

    fn command(&mut self, command: Command, number: u8, position_m: [f64; 2], now_us: u64) -> Option<Answer> {
        if let (Some(newest), true) = (self.newest, self.armed.is_some()) {
            if !sequence::is_newer(number, newest) {
                return None;
            }
            self.commands_lost += u64::from(sequence::lost_between(newest, number));
        }
        self.commands_taken += 1;
        self.newest = Some(number);
        if let Some(arm) = self.armed {
            self.heard_us = Some(now_us);
            self.enabled = command.flags & Command::ENABLE != 0;
            self.efforts = [0, 1].map(|axis| clamped(&command, &arm, axis));
        }
        Some(self.state(position_m, now_us))
    }

    fn state(&self, position_m: [f64; 2], now_us: u64) -> Answer {
        let bit = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        let status = bit(self.armed.is_some(), Status::ARMED)
            | bit(self.enabled, Status::ENABLED)
            | bit(self.is_faulted, Status::FAULT);
        let reading = |axis: usize| AxisReading {
            position: libm::round(position_m[axis] * f64::from(COUNTS_PER_M)) as i32,
            velocity: 0,
        };
        Message::State(State {
            acknowledged: self.newest.unwrap_or(0),
            status: Status(status),
            sampled_at_us: now_us as u32,
            axes: PerAxis::two(reading(0), reading(1)),
            velocity_given: false,
        })
    }

    /// The force of the motors, N. A silence beyond the watchdog's time ends it here, and the fault is told once.
    pub fn force_n(&mut self, now_us: u64) -> ([f64; 2], Option<Answer>) {
        let silence_us = self.heard_us.map_or(0, |heard_us| now_us.saturating_sub(heard_us));
        let fault = match self.armed {
            Some(arm) if silence_us > u64::from(arm.watchdog_ms) * 1000 => {
                self.let_go();
                (self.is_faulted, self.expired_us) = (true, Some(now_us));
                Some(refusal(FaultCode::Watchdog, (silence_us / 1000) as u32))
            }
            _ => None,
        };
        let newtons = |effort: i16| f64::from(effort) / f64::from(FULL_SCALE_Q15) * self.full_scale_n;
        (if self.enabled { self.efforts.map(newtons) } else { [0.0; 2] }, fault)
    }
}

fn clamped(command: &Command, arm: &Arm, axis: usize) -> i16 {
    let limit = arm.limits_q15.get(axis).copied().unwrap_or(0).min(FULL_SCALE_Q15) as i16;
    command.efforts_q15.get(axis).copied().unwrap_or(0).clamp(-limit, limit)
}

fn refusal(code: FaultCode, detail: u32) -> Answer {
    Message::Fault(Fault { code, detail })
}

/// A report descriptor of a board that carries the protocol in HID reports.
pub fn descriptor() -> Vec<u8> {
    use haptic_wire::report::{REPORT_BYTES, USAGE, USAGE_PAGE};
    let [page_low, page_high] = USAGE_PAGE.to_le_bytes();
    let [usage_low, usage_high] = USAGE.to_le_bytes();
    let mut bytes = vec![0x06, page_low, page_high, 0x0A, usage_low, usage_high, 0xA1, 0x01];
    bytes.extend_from_slice(&[0x15, 0x00, 0x26, 0xFF, 0x00, 0x75, 0x08, 0x95, REPORT_BYTES as u8]);
    bytes.extend_from_slice(&[0x09, 0x01, 0x81, 0x02, 0x09, 0x02, 0x91, 0x02, 0xC0]);
    bytes
}
