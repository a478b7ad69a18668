//! The `hid-native` backend: boards with native USB that speak our own protocol, one message a report.
//!
//! A report a millisecond each way carries both axes, so two axes go at 1 kHz, and no effect stands between command and motor.

use super::descriptor::Descriptor;
use super::field::{ReportKind, Usage};
use super::layout::PidLayout;
use super::link::{HidLink, HidPort, Opened};
use super::report::{Report, Shape};
use crate::threaded::{Connect, Connection, Receive, Received, ReportingMode, Send, SendOutcome, ThreadedDevice};
use haptic_device::{DeviceKind, FaultCode, Identity, Limits, MAX_AXES};
use haptic_realtime::clock::monotonic_ns;
use haptic_wire::report::{REPORT_BYTES, USAGE, USAGE_PAGE, decode_report, encode_report};
use haptic_wire::{
    Arm, AxisInfo, AxisInfoRequest, AxisKind, Command, FULL_SCALE_Q15, Fault, Hello, HelloAck, Message, PerAxis, State,
    Status, VERSION, sequence,
};
use nalgebra::Vector2;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// How long an answer may take while the session opens, and how often the question is put.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);
const ATTEMPTS: u32 = 20;
/// A command at least so often, even if the tick has nothing new, ns.
const KEEP_ALIVE_NS: u64 = 2_000_000;
/// A board that let go by itself is asked to arm again this often, ns: soon enough to go on, too seldom to hide a lasting fault.
const REARM_EVERY_NS: u64 = 200_000_000;
/// A board that has been silent for so long, or cannot be armed for so long, has forgotten the session: it is greeted anew, ns.
const FORGOTTEN_NS: u64 = 1_000_000_000;

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

/// Why a device is none of ours, and what would drive it.
fn stranger(descriptor: &[u8]) -> String {
    let remedy = if PidLayout::find(descriptor, 1).is_ok() {
        "it has force feedback of the HID specification, write kind = \"hid-pid\""
    } else {
        "flash the firmware of this release, or choose another device with `path` or `vendor_id`: `hapticd devices` lists them"
    };
    format!("its descriptor is not that of a board with the native protocol; {remedy}")
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
pub fn open(mut port: Box<dyn HidPort>, settings: NativeSettings, priority: u8) -> Result<ThreadedDevice, String> {
    let opened = port.open()?;
    let (name, serial_number) = (opened.name.clone(), opened.serial_number.clone());
    let mut connector = NativeConnector { port, settings, nonce: 0, uid: None };
    connector.nonce = connector.settings.nonce;
    let (connection, board, axes) = connector.arm(opened).map_err(|error| format!("{name}: {error}"))?;
    let identity = Identity {
        name: name.clone(),
        kind: DeviceKind::HidNative,
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
    port: Box<dyn HidPort>,
    settings: NativeSettings,
    nonce: u32,
    /// The board of the first session; no other one is driven in its place.
    uid: Option<[u8; 8]>,
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
            return Err(stranger(&opened.descriptor));
        }
        self.nonce = self.nonce.wrapping_add(1);
        let mut talk = HandshakeIo { reading: opened.reading, writing: opened.writing, number: 0 };
        let (board, axes, arm) = self.handshake(&mut talk)?;
        self.uid = Some(board.uid);
        let session = Arc::new(Session::default());
        let receiving = NativeReceiver::new(talk.reading, axes.clone(), session.clone(), monotonic_ns());
        let sending = NativeSender {
            link: talk.writing,
            axes: axes.clone(),
            arm,
            number: talk.number,
            sent_ns: 0,
            rearmed_ns: None,
            session,
        };
        Ok((Connection { receiving: Box::new(receiving), sending: Box::new(sending) }, board, axes))
    }

    /// Restarts at HELLO if another host opened a session in between.
    fn handshake(&self, talk: &mut HandshakeIo) -> Result<(HelloAck, Vec<AxisScale>, Arm), String> {
        for _ in 0..ATTEMPTS {
            let board = self.greet(talk)?;
            let axes = (0..self.settings.axes).map(|axis| self.axis(talk, axis)).collect::<Result<Vec<_>, _>>()?;
            if let Some(arm) = self.ask_to_arm(talk, &axes)? {
                return Ok((board, axes, arm));
            }
        }
        Err("another program opens sessions of its own; end it".to_owned())
    }

    fn greet(&self, talk: &mut HandshakeIo) -> Result<HelloAck, String> {
        let hello = Message::Hello(Hello { version: VERSION, nonce: self.nonce });
        let nonce = self.nonce;
        let board = talk.ask(&hello, "HELLO", |message| match message {
            Message::HelloAck(board) if board.nonce == nonce => Some(*board),
            _ => None,
        })?;
        let (major, minor) = board.version;
        if major != VERSION.0 {
            return Err(format!(
                "the firmware speaks protocol {major}.{minor}, this program {}.{}; flash the firmware of this release",
                VERSION.0, VERSION.1
            ));
        }
        if usize::from(board.axes) != self.settings.axes {
            let (found, wanted) = (board.axes, self.settings.axes);
            return Err(format!("the board has {found} axes, the device file says {wanted}; write axes = {found}"));
        }
        if self.uid.is_some_and(|uid| uid != board.uid) {
            return Err("another board answers; plug the first one in again, or restart hapticd".to_owned());
        }
        Ok(board)
    }

    fn axis(&self, talk: &mut HandshakeIo, axis: usize) -> Result<AxisScale, String> {
        let index = axis as u8;
        let question = Message::AxisInfoRequest(AxisInfoRequest { index });
        let info = talk.ask(&question, "AXIS_INFO", |message| match message {
            Message::AxisInfo(info) if info.index == index => Some(*info),
            _ => None,
        })?;
        Ok(AxisScale::new(&info, self.settings.lever_m))
    }

    /// None if the board has another session.
    fn ask_to_arm(&self, talk: &mut HandshakeIo, axes: &[AxisScale]) -> Result<Option<Arm>, String> {
        let limit = |axis: &AxisScale| {
            let share = (self.settings.max_force_n / axis.full_scale_n).min(1.0);
            (share * f64::from(FULL_SCALE_Q15)) as u16
        };
        let limits: Vec<u16> = axes.iter().map(limit).collect();
        let limits_q15 = PerAxis::from_slice(&limits).ok_or("it has neither one nor two axes")?;
        let (nonce, watchdog_ms) = (self.nonce, self.settings.watchdog_ms);
        let arm = Arm { nonce, watchdog_ms, limits_q15, slew_q15_per_ms: 0 };
        // A reply of another session may still wait in the kernel's queue.
        talk.ask(&Message::Arm(arm), "ARM", |message| match message {
            Message::ArmAck(granted) if granted.nonce == nonce => Some(Some(arm)),
            Message::Fault(fault) if fault.code == haptic_wire::FaultCode::NonceMismatch => Some(None),
            _ => None,
        })
    }
}

/// Question and answer while a session opens.
struct HandshakeIo {
    reading: Box<dyn HidLink>,
    writing: Box<dyn HidLink>,
    number: u8,
}

impl HandshakeIo {
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
        let waited_s = ATTEMPTS * ANSWER_WITHIN.as_millis() as u32 / 1000;
        Err(format!(
            "no answer to {what} within {waited_s} s; unplug it and plug it in again, end other programs that use it, or \
             flash the firmware of this release"
        ))
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

/// What the two directions of a session tell each other.
#[derive(Debug, Default)]
struct Session {
    damaged: AtomicU64,
    lost: AtomicU64,
    /// The board let go by itself.
    is_disarmed: AtomicBool,
}

struct NativeSender {
    link: Box<dyn HidLink>,
    axes: Vec<AxisScale>,
    /// What the board was armed with.
    arm: Arm,
    number: u8,
    sent_ns: u64,
    rearmed_ns: Option<u64>,
    session: Arc<Session>,
}

impl NativeSender {
    fn say(&mut self, message: &Message<'_>) -> io::Result<()> {
        self.number = self.number.wrapping_add(1);
        self.link.write(&in_report(message, self.number))
    }

    fn must_rearm(&self, now_ns: u64) -> bool {
        let has_waited = self.rearmed_ns.is_none_or(|before_ns| now_ns.saturating_sub(before_ns) >= REARM_EVERY_NS);
        self.session.is_disarmed.load(Relaxed) && has_waited
    }

    fn command(&self, force_n: Vector2<f64>) -> io::Result<Command> {
        let mut efforts = [0; MAX_AXES];
        for (axis, scale) in self.axes.iter().enumerate() {
            let share = (force_n[axis] / scale.full_scale_n).clamp(-1.0, 1.0);
            efforts[axis] = libm::round(share * f64::from(FULL_SCALE_Q15)) as i16;
        }
        let efforts_q15 = PerAxis::from_slice(&efforts[..self.axes.len()]).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Command::with_efforts(efforts_q15))
    }
}

impl Send for NativeSender {
    fn send(&mut self, force_n: Vector2<f64>, is_new: bool, now_ns: u64) -> io::Result<SendOutcome> {
        if self.must_rearm(now_ns) {
            self.rearmed_ns = Some(now_ns);
            return self.say(&Message::Arm(self.arm)).map(|()| SendOutcome::Again);
        }
        let due_ns = self.sent_ns + KEEP_ALIVE_NS;
        if !is_new && now_ns < due_ns {
            return Ok(SendOutcome::Idle { until_ns: due_ns });
        }
        self.sent_ns = now_ns;
        let command = self.command(force_n)?;
        self.say(&Message::Command(command)).map(|()| SendOutcome::Again)
    }

    fn let_go(&mut self) {
        // Should it not arrive, the board's watchdog does the same.
        let _ = self.say(&Message::Stop);
    }

    fn losses(&self) -> (u64, u64) {
        (self.session.lost.load(Relaxed), self.session.damaged.load(Relaxed))
    }
}

struct NativeReceiver {
    link: Box<dyn HidLink>,
    axes: Vec<AxisScale>,
    session: Arc<Session>,
    /// Number of the newest command that was answered while the board was armed.
    newest: Option<u8>,
    /// Why the board let go, until it is armed again.
    fault: Option<FaultCode>,
    heard_ns: u64,
    disarmed_since_ns: Option<u64>,
}

impl Receive for NativeReceiver {
    fn receive(&mut self, wait: Duration) -> io::Result<Received> {
        let mut bytes = [0; REPORT_BYTES];
        let length = self.link.read(&mut bytes, wait)?;
        let now_ns = monotonic_ns();
        let received = if length == 0 { Received::Nothing } else { self.hear(&bytes[..length], now_ns) };
        if self.has_forgotten(now_ns) { Err(io::ErrorKind::TimedOut.into()) } else { Ok(received) }
    }

    /// It answers every command, and commands go out all the time.
    fn habit(&self) -> ReportingMode {
        ReportingMode::Streams
    }
}

impl NativeReceiver {
    /// The direction from a board that was just armed.
    fn new(link: Box<dyn HidLink>, axes: Vec<AxisScale>, session: Arc<Session>, now_ns: u64) -> Self {
        Self { link, axes, session, newest: None, fault: None, heard_ns: now_ns, disarmed_since_ns: None }
    }

    fn has_forgotten(&self, now_ns: u64) -> bool {
        let is_long_past = |since_ns: u64| now_ns.saturating_sub(since_ns) >= FORGOTTEN_NS;
        is_long_past(self.heard_ns) || self.disarmed_since_ns.is_some_and(is_long_past)
    }

    fn hear(&mut self, report: &[u8], now_ns: u64) -> Received {
        let Some(message) = decode_report(report).and_then(|frame| Message::parse(&frame).ok()) else {
            self.session.damaged.fetch_add(1, Relaxed);
            return Received::Nothing;
        };
        self.heard_ns = now_ns;
        match message {
            Message::State(state) => self.take(&state, now_ns),
            Message::Fault(fault) if fault.code.latches() => {
                self.disarmed(told(&fault), now_ns);
                Received::Condition(self.fault)
            }
            _ => Received::Nothing,
        }
    }

    fn take(&mut self, state: &State, now_ns: u64) -> Received {
        if let Some(newest) = self.newest {
            self.session.lost.fetch_add(u64::from(sequence::lost_between(newest, state.acknowledged)), Relaxed);
        }
        if state.status.has(Status::ARMED) && !state.status.has(Status::FAULT) {
            self.armed(state.acknowledged);
        } else {
            self.disarmed(self.fault.unwrap_or(FaultCode::Disarmed), now_ns);
        }
        let mut position_m = Vector2::zeros();
        for (axis, (scale, reading)) in self.axes.iter().zip(state.axes.iter()).enumerate() {
            position_m[axis] = f64::from(reading.position) * scale.m_per_count;
        }
        Received::Position(position_m, self.fault)
    }

    fn armed(&mut self, acknowledged: u8) {
        (self.newest, self.fault, self.disarmed_since_ns) = (Some(acknowledged), None, None);
        self.session.is_disarmed.store(false, Relaxed);
    }

    fn disarmed(&mut self, why: FaultCode, now_ns: u64) {
        self.disarmed_since_ns.get_or_insert(now_ns);
        // The next command comes after an ARM, whose number would be taken for a lost command's.
        (self.newest, self.fault) = (None, Some(why));
        self.session.is_disarmed.store(true, Relaxed);
    }
}

fn told(fault: &Fault) -> FaultCode {
    match fault.code {
        haptic_wire::FaultCode::Watchdog => FaultCode::Watchdog,
        haptic_wire::FaultCode::EncoderJump => FaultCode::EncoderJump { axis: (fault.detail >> 24) as u8 },
        code => FaultCode::Device { code: code.byte(), detail: fault.detail },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_wire::{AxisReading, Kind as WireKind};
    use std::sync::Mutex;

    const MS: u64 = 1_000_000;

    /// A link that keeps what is written.
    #[derive(Clone, Default)]
    struct Paper(Arc<Mutex<Vec<Report>>>);

    impl HidLink for Paper {
        fn write(&mut self, report: &Report) -> io::Result<()> {
            self.0.lock().unwrap().push(*report);
            Ok(())
        }

        fn read(&mut self, _: &mut [u8], _: Duration) -> io::Result<usize> {
            Ok(0)
        }

        fn set_feature(&mut self, _: &Report) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }

        fn get_feature(&mut self, _: &mut Report) -> io::Result<()> {
            Err(io::ErrorKind::Unsupported.into())
        }
    }

    const AXIS: AxisScale = AxisScale { m_per_count: 1e-5, full_scale_n: 4.0, ends_m: (-0.05, 0.05) };

    fn sender(paper: &Paper, session: &Arc<Session>) -> NativeSender {
        NativeSender {
            link: Box::new(paper.clone()),
            axes: vec![AXIS; 2],
            arm: Arm { nonce: 7, watchdog_ms: 20, limits_q15: PerAxis::two(100, 100), slew_q15_per_ms: 0 },
            number: 0,
            sent_ns: 0,
            rearmed_ns: None,
            session: session.clone(),
        }
    }

    fn receiver(session: &Arc<Session>) -> NativeReceiver {
        NativeReceiver::new(Box::new(Paper::default()), vec![AXIS; 2], session.clone(), 0)
    }

    fn state(acknowledged: u8, status: u8) -> [u8; REPORT_BYTES] {
        let axis = AxisReading { position: 1000, velocity: 0 };
        let axes = PerAxis::two(axis, axis);
        let state = State { acknowledged, status: Status(status), sampled_at_us: 0, axes, velocity_given: false };
        encode_report(&Message::State(state), acknowledged).unwrap()
    }

    fn watchdog_fault() -> [u8; REPORT_BYTES] {
        let fault = Fault { code: haptic_wire::FaultCode::Watchdog, detail: 20 };
        encode_report(&Message::Fault(fault), 1).unwrap()
    }

    #[test]
    fn no_force_is_a_command_without_enable_so_that_a_board_does_not_slew_to_it() {
        let sender = sender(&Paper::default(), &Arc::default());
        let flags = |x_n: f64, y_n: f64| sender.command(Vector2::new(x_n, y_n)).unwrap().flags;
        assert_eq!([flags(0.0, 0.0), flags(-0.0, 1e-9), flags(f64::NAN, 0.0)], [0; 3]);
        assert_eq!([flags(1.0, 0.0), flags(0.0, -1.0)], [Command::ENABLE; 2]);
    }

    #[test]
    fn a_board_that_let_go_is_asked_to_arm_at_once_and_then_five_times_a_second_between_commands() {
        let (paper, session) = (Paper::default(), Arc::<Session>::default());
        let mut sender = sender(&paper, &session);
        session.is_disarmed.store(true, Relaxed);
        for step in 0..2000 {
            sender.send(Vector2::zeros(), true, 10_000 * MS + step * MS / 2).unwrap();
        }
        let written = paper.0.lock().unwrap();
        let is_arm = |report: &Report| {
            decode_report(&report.bytes()[1..]).is_some_and(|frame| frame.kind == WireKind::Arm as u8)
        };
        let arms: Vec<usize> = (0..written.len()).filter(|index| is_arm(&written[*index])).collect();
        assert_eq!(arms, [0, 400, 800, 1200, 1600]);
    }

    #[test]
    fn a_fault_lasts_until_the_board_says_that_it_is_armed_and_costs_no_command() {
        let session = Arc::<Session>::default();
        let mut receiver = receiver(&session);
        let at = Vector2::new(0.01, 0.01);
        let why = Some(FaultCode::Watchdog);
        assert_eq!(receiver.hear(&state(1, Status::ARMED), MS), Received::Position(at, None));
        assert_eq!(receiver.hear(&watchdog_fault(), 2 * MS), Received::Condition(why));
        assert!(session.is_disarmed.load(Relaxed));
        assert_eq!(receiver.hear(&state(2, Status::FAULT), 3 * MS), Received::Position(at, why));
        // ARM was number 3.
        assert_eq!(receiver.hear(&state(4, Status::ARMED), 4 * MS), Received::Position(at, None));
        assert!(!session.is_disarmed.load(Relaxed));
        assert_eq!(session.lost.load(Relaxed), 0);
    }

    #[test]
    fn a_board_that_stays_silent_or_disarmed_for_a_second_is_given_up() {
        let mut receiver = receiver(&Arc::default());
        receiver.hear(&state(1, Status::ARMED), 10 * MS);
        assert!(!receiver.has_forgotten(1009 * MS) && receiver.has_forgotten(1010 * MS));
        receiver.hear(&state(2, 0), 1000 * MS);
        receiver.hear(&state(3, 0), 1900 * MS);
        assert!(!receiver.has_forgotten(1999 * MS) && receiver.has_forgotten(2000 * MS));
        receiver.hear(&state(4, Status::ARMED), 2001 * MS);
        assert!(!receiver.has_forgotten(2002 * MS));
    }
}
