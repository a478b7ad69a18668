//! The `hid-native` backend: boards with native USB that speak our own protocol, one message a report.
//!
//! A report a millisecond each way carries both axes, so two axes go at 1 kHz, and no effect stands between command and motor.

use super::descriptor::Descriptor;
use super::field::{ReportKind, Usage};
use super::link::{Link, Opened, Port};
use super::report::{Report, Shape};
use crate::contract::{FaultCode, Identity, Kind, Limits, MAX_AXES};
use crate::threaded::{Connect, Connection, Next, Receive, Received, Send, ThreadedDevice};
use haptic_realtime::clock::monotonic_ns;
use haptic_wire::report::{REPORT_BYTES, USAGE, USAGE_PAGE, decode_report, encode_report};
use haptic_wire::{
    Arm, AxisInfo, AxisInfoRequest, AxisKind, Command, FULL_SCALE_Q15, Fault, Hello, HelloAck, Message, PerAxis, State,
    Status, VERSION, sequence,
};
use nalgebra::Vector2;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How long an answer may take while the session opens, and how often the question is put.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
const ATTEMPTS: u32 = 20;
/// A command at least so often, even if the tick has nothing new, ns.
const KEEP_ALIVE_NS: u64 = 2_000_000;

/// What the device file says of the board.
#[derive(Clone, Debug, PartialEq)]
pub struct NativeSettings {
    /// 1 or 2.
    pub axes: usize,
    /// Metres per radian of rotary axes.
    pub lever_m: f64,
    /// The largest force that will be asked for, N.
    pub max_force_n: f64,
    /// Silence after which the board cuts its force, ms.
    pub watchdog_ms: u16,
    /// Names the first session; later ones count on.
    pub nonce: u32,
}

/// True if a descriptor is that of a board with our protocol.
pub fn is_native(descriptor: &[u8]) -> bool {
    let Ok(descriptor) = Descriptor::parse(descriptor) else { return false };
    let is_ours = descriptor.applications().any(|usage| usage == Usage::new(USAGE_PAGE, USAGE));
    let bytes = |kind| descriptor.report_bytes(kind, 0);
    is_ours && [ReportKind::Input, ReportKind::Output].iter().all(|kind| bytes(*kind) == Some(REPORT_BYTES))
}

/// One axis in metres and newtons.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AxisScale {
    m_per_count: f64,
    full_scale_n: f64,
    ends_m: (f64, f64),
}

impl AxisScale {
    fn new(info: &AxisInfo, lever_m: f64) -> Self {
        let lever_m = if info.kind == AxisKind::Rotary { lever_m } else { 1.0 };
        let m_per_count = info.units_from_counts(1) * lever_m;
        let ends_m = (f64::from(info.range.0) * m_per_count, f64::from(info.range.1) * m_per_count);
        Self { m_per_count, full_scale_n: info.full_scale() / lever_m, ends_m }
    }
}

/// Opens a board, arms it with no force and starts to serve it by threads of that priority.
///
/// # Errors
/// In words: nothing there, not permitted, no answer, another version, other axes.
pub fn open(mut port: Box<dyn Port>, settings: NativeSettings, priority: u8) -> Result<ThreadedDevice, String> {
    let opened = port.open()?;
    let (name, serial_number) = (opened.name.clone(), opened.serial_number.clone());
    let mut connector = NativeConnector { port, settings, nonce: 0 };
    connector.nonce = connector.settings.nonce;
    let (connection, board, axes) = connector.arm(opened).map_err(|error| format!("{name}: {error}"))?;
    let identity = Identity {
        name: name.clone(),
        kind: Kind::HidNative,
        serial_number,
        firmware: version_text(board.firmware_version),
        axes: connector.settings.axes as u8,
    };
    let limits = limits(&axes, &board);
    let step_m = axes.iter().map(|axis| axis.m_per_count.abs()).fold(0.0, f64::max);
    ThreadedDevice::start(identity, limits, step_m, connection, Box::new(connector), priority)
        .map_err(|error| format!("{name}: no thread for its reports: {error}"))
}

fn version_text(version: u32) -> String {
    format!("{}.{}.{}", version >> 16, version >> 8 & 0xFF, version & 0xFF)
}

fn limits(axes: &[AxisScale], board: &HelloAck) -> Limits {
    let mut limits = Limits {
        max_force_n: axes.iter().map(|axis| axis.full_scale_n).fold(f64::INFINITY, f64::min),
        travel_min_m: Vector2::repeat(f64::NEG_INFINITY),
        travel_max_m: Vector2::repeat(f64::INFINITY),
        rate_hz: f64::from(board.max_rate_hz).min(1000.0),
    };
    for (axis, scale) in axes.iter().enumerate() {
        (limits.travel_min_m[axis], limits.travel_max_m[axis]) = scale.ends_m;
    }
    limits
}

struct NativeConnector {
    port: Box<dyn Port>,
    settings: NativeSettings,
    nonce: u32,
}

impl Connect for NativeConnector {
    fn connect(&mut self) -> Result<Connection, String> {
        let opened = self.port.open()?;
        self.arm(opened).map(|(connection, ..)| connection)
    }
}

impl NativeConnector {
    fn arm(&mut self, opened: Opened) -> Result<(Connection, HelloAck, Vec<AxisScale>), String> {
        if !is_native(&opened.descriptor) {
            return Err("its descriptor is not that of a board with the native protocol".to_owned());
        }
        self.nonce = self.nonce.wrapping_add(1);
        let mut talk = Talk { reading: opened.reading, writing: opened.writing, number: 0 };
        let board = self.greet(&mut talk)?;
        let axes = (0..self.settings.axes).map(|axis| self.axis(&mut talk, axis)).collect::<Result<Vec<_>, _>>()?;
        self.ask_to_arm(&mut talk, &axes)?;
        let damaged = Arc::new(AtomicU64::new(0));
        let lost = Arc::new(AtomicU64::new(0));
        let receiving = NativeReceiver {
            link: talk.reading,
            axes: axes.clone(),
            damaged: damaged.clone(),
            lost: lost.clone(),
            newest: None,
        };
        let sending =
            NativeSender { link: talk.writing, axes: axes.clone(), number: talk.number, sent_ns: 0, damaged, lost };
        Ok((Connection { receiving: Box::new(receiving), sending: Box::new(sending) }, board, axes))
    }

    fn greet(&self, talk: &mut Talk) -> Result<HelloAck, String> {
        let hello = Message::Hello(Hello { version: VERSION, nonce: self.nonce });
        let nonce = self.nonce;
        let board = talk.ask(&hello, "HELLO", |message| match message {
            Message::HelloAck(board) if board.nonce == nonce => Some(*board),
            _ => None,
        })?;
        let (major, minor) = board.version;
        if major != VERSION.0 {
            return Err(format!(
                "it speaks version {major}.{minor} of the protocol, this is {}.{}",
                VERSION.0, VERSION.1
            ));
        }
        if usize::from(board.axes) != self.settings.axes {
            return Err(format!("it has {} axes; write axes = {}", board.axes, board.axes));
        }
        Ok(board)
    }

    fn axis(&self, talk: &mut Talk, axis: usize) -> Result<AxisScale, String> {
        let index = axis as u8;
        let question = Message::AxisInfoRequest(AxisInfoRequest { index });
        let info = talk.ask(&question, "AXIS_INFO", |message| match message {
            Message::AxisInfo(info) if info.index == index => Some(*info),
            _ => None,
        })?;
        Ok(AxisScale::new(&info, self.settings.lever_m))
    }

    fn ask_to_arm(&self, talk: &mut Talk, axes: &[AxisScale]) -> Result<(), String> {
        let limit = |axis: &AxisScale| {
            let share = (self.settings.max_force_n / axis.full_scale_n).min(1.0);
            (share * f64::from(FULL_SCALE_Q15)) as u16
        };
        let limits: Vec<u16> = axes.iter().map(limit).collect();
        let limits_q15 = PerAxis::from_slice(&limits).ok_or("it has neither one nor two axes")?;
        let (nonce, watchdog_ms) = (self.nonce, self.settings.watchdog_ms);
        let arm = Message::Arm(Arm { nonce, watchdog_ms, limits_q15, slew_q15_per_ms: 0 });
        talk.ask(&arm, "ARM", |message| matches!(message, Message::ArmAck(_)).then_some(()))
    }
}

/// Question and answer while a session opens.
struct Talk {
    reading: Box<dyn Link>,
    writing: Box<dyn Link>,
    number: u8,
}

impl Talk {
    fn ask<T>(
        &mut self,
        question: &Message<'_>,
        what: &str,
        wanted: impl Fn(&Message<'_>) -> Option<T>,
    ) -> Result<T, String> {
        let told = |error: io::Error| format!("{what}: {error}");
        for _ in 0..ATTEMPTS {
            self.number = self.number.wrapping_add(1);
            self.writing.write(&in_report(question, self.number)).map_err(told)?;
            let deadline_ns = monotonic_ns() + ANSWER_WITHIN.as_nanos() as u64;
            while monotonic_ns() < deadline_ns {
                let mut bytes = [0; REPORT_BYTES];
                let left = Duration::from_nanos(deadline_ns.saturating_sub(monotonic_ns()));
                let length = self.reading.read(&mut bytes, left).map_err(told)?;
                let message = decode_report(&bytes[..length]).and_then(|frame| Message::parse(&frame).ok());
                if let Some(answer) = message.as_ref().and_then(&wanted) {
                    return Ok(answer);
                }
            }
        }
        Err(format!("it does not answer {what}"))
    }
}

/// A message as a report without an id.
fn in_report(message: &Message<'_>, number: u8) -> Report {
    let Some(shape) = Shape::new(ReportKind::Output, 0, REPORT_BYTES) else { unreachable!("64 bytes are a report") };
    let mut report = shape.empty();
    // Every message of the protocol fits: the payloads are bounded by their types.
    if let Ok(bytes) = encode_report(message, number) {
        report.bytes_mut()[1..].copy_from_slice(&bytes);
    }
    report
}

struct NativeSender {
    link: Box<dyn Link>,
    axes: Vec<AxisScale>,
    number: u8,
    sent_ns: u64,
    damaged: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
}

impl Send for NativeSender {
    fn send(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) -> io::Result<Next> {
        let due_ns = self.sent_ns + KEEP_ALIVE_NS;
        if !is_new && now_ns < due_ns {
            return Ok(Next::Idle { until_ns: due_ns });
        }
        let effort = |axis: usize| {
            let share = (force_n[axis] / self.axes[axis].full_scale_n).clamp(-1.0, 1.0);
            libm::round(share * f64::from(FULL_SCALE_Q15)) as i16
        };
        let mut efforts = [0; MAX_AXES];
        (0..self.axes.len()).for_each(|axis| efforts[axis] = effort(axis));
        let Some(efforts_q15) = PerAxis::from_slice(&efforts[..self.axes.len()]) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        self.number = self.number.wrapping_add(1);
        self.sent_ns = now_ns;
        let command = Message::Command(Command { flags: Command::ENABLE, efforts_q15 });
        self.link.write(&in_report(&command, self.number)).map(|()| Next::Again)
    }

    fn let_go(&mut self) {
        self.number = self.number.wrapping_add(1);
        // Should it not arrive, the board's watchdog does the same.
        let _ = self.link.write(&in_report(&Message::Stop, self.number));
    }

    fn losses(&self) -> (u64, u64) {
        (self.lost.load(Relaxed), self.damaged.load(Relaxed))
    }
}

struct NativeReceiver {
    link: Box<dyn Link>,
    axes: Vec<AxisScale>,
    damaged: Arc<AtomicU64>,
    lost: Arc<AtomicU64>,
    /// Number of the newest command that was answered.
    newest: Option<u8>,
}

impl Receive for NativeReceiver {
    fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        let mut bytes = [0; REPORT_BYTES];
        let length = self.link.read(&mut bytes, wait)?;
        if length == 0 {
            return Ok(Received::Nothing);
        }
        let message = decode_report(&bytes[..length]).and_then(|frame| Message::parse(&frame).ok());
        Ok(match message {
            Some(Message::State(state)) => self.take(&state),
            Some(Message::Fault(fault)) if fault.code.latches() => Received::Condition(Some(told(&fault))),
            Some(_) => Received::Nothing,
            None => {
                self.damaged.fetch_add(1, Relaxed);
                Received::Nothing
            }
        })
    }
}

impl NativeReceiver {
    fn take(&mut self, state: &State) -> Received {
        if let Some(newest) = self.newest {
            self.lost.fetch_add(u64::from(sequence::lost_between(newest, state.acknowledged)), Relaxed);
        }
        self.newest = Some(state.acknowledged);
        if !state.status.has(Status::ARMED) {
            return Received::Condition(Some(FaultCode::Disarmed));
        }
        let mut position_m = Vector2::zeros();
        for (axis, (scale, reading)) in self.axes.iter().zip(state.axes.iter()).enumerate() {
            position_m[axis] = f64::from(reading.position) * scale.m_per_count;
        }
        Received::Position(position_m, None)
    }
}

fn told(fault: &Fault) -> FaultCode {
    match fault.code {
        haptic_wire::FaultCode::Watchdog => FaultCode::Watchdog,
        haptic_wire::FaultCode::EncoderJump => FaultCode::EncoderJump { axis: (fault.detail >> 24) as u8 },
        code => FaultCode::Device { code: code.byte(), detail: fault.detail },
    }
}
