//! The `hid-native` backend with a scripted board, without a kernel. Each test replaces some of the board's replies.

use haptic_backends::OpenError;
use haptic_backends::hid::link::{HidLink, HidPort, Opened};
use haptic_backends::hid::native::{self, NativeSettings};
use haptic_backends::hid::report::Report;
use haptic_backends::threaded::ThreadedDevice;
use haptic_device::{Device, Effort, Health, MonotonicNs, Reading, WriteError, WriteOutcome};
use haptic_emulator::gadget::Gadget;
use haptic_realtime::clock::monotonic_ns;
use haptic_wire::report::{decode_report, encode_report};
use haptic_wire::{
    Arm, AxisInfo, AxisKind, AxisReading, Capabilities, Fault, FaultCode, HelloAck, HomeFlags, Message, PerAxis, State,
    Status, VERSION,
};
use nalgebra::Vector2;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Upper bound on every wait.
const TIMEOUT: Duration = Duration::from_secs(20);

/// A board's reaction to a message.
enum Reaction {
    /// Replies according to the specification.
    Usual,
    /// Sends this message instead, or nothing.
    Instead(Option<Message<'static>>),
}

/// A board that follows the specification, except where `script` replaces a reply.
struct Board {
    script: fn(&mut Board, &Message<'_>) -> Reaction,
    uid: [u8; 8],
    nonce: Option<u32>,
    is_armed: bool,
    /// Velocity of both axes in STATE, counts per second; `None` if STATE has no velocities.
    velocity: Option<i32>,
    /// Number of HELLO messages received.
    hellos: u32,
    /// Number of ARM messages received.
    arms: u32,
    acknowledged: u8,
    sequence: u8,
    /// Pending replies, each with its send time, monotonic clock, ns.
    replies: VecDeque<(u64, Vec<u8>)>,
    reply_delay_ns: u64,
    /// Number of the current connection; `None` while unplugged. Links from an earlier connection fail.
    plugged: Option<u32>,
}

impl Board {
    fn new(script: fn(&mut Board, &Message<'_>) -> Reaction) -> Self {
        Self {
            script,
            uid: *b"SCRIPTED",
            nonce: None,
            is_armed: false,
            velocity: None,
            hellos: 0,
            arms: 0,
            acknowledged: 0,
            sequence: 0,
            replies: VecDeque::new(),
            reply_delay_ns: 0,
            plugged: Some(1),
        }
    }

    fn receive(&mut self, report: &[u8]) {
        let frame = decode_report(report).expect("the host sends valid reports");
        let message = Message::parse(&frame).expect("the host sends valid messages");
        self.hellos += u32::from(matches!(message, Message::Hello(_)));
        self.arms += u32::from(matches!(message, Message::Arm(_)));
        let reply = match (self.script)(self, &message) {
            Reaction::Usual => self.reply(&message, frame.sequence),
            Reaction::Instead(reply) => reply,
        };
        if let Some(reply) = reply {
            self.send(&reply);
        }
    }

    fn send(&mut self, message: &Message<'_>) {
        self.sequence = self.sequence.wrapping_add(1);
        let report = encode_report(message, self.sequence).unwrap();
        self.replies.push_back((monotonic_ns() + self.reply_delay_ns, report.to_vec()));
    }

    fn reply(&mut self, message: &Message<'_>, sequence: u8) -> Option<Message<'static>> {
        match message {
            Message::Hello(hello) => {
                (self.nonce, self.is_armed) = (Some(hello.nonce), false);
                Some(self.hello_ack(hello.nonce))
            }
            Message::AxisInfoRequest(request) => Some(axis_info(request.index)),
            Message::Arm(arm) if Some(arm.nonce) == self.nonce => {
                self.is_armed = true;
                Some(Message::ArmAck(*arm))
            }
            Message::Arm(arm) => Some(nonce_mismatch(arm)),
            Message::Command(_) | Message::Stop => {
                self.acknowledged = sequence;
                Some(self.state())
            }
            _ => None,
        }
    }

    fn hello_ack(&self, nonce: u32) -> Message<'static> {
        Message::HelloAck(HelloAck {
            version: VERSION,
            nonce,
            firmware_version: 0x0001_0203,
            uid: self.uid,
            axes: 2,
            capabilities: Capabilities(0),
            max_rate_hz: 1000,
        })
    }

    fn state(&self) -> Message<'static> {
        let status = if self.is_armed { Status::ARMED } else { 0 };
        let axis = AxisReading { position: 1000, velocity: self.velocity.unwrap_or(0) };
        Message::State(State {
            acknowledged: self.acknowledged,
            status: Status(status),
            sampled_at_us: (monotonic_ns() / 1000) as u32,
            axes: PerAxis::two(axis, axis),
            velocity_given: self.velocity.is_some(),
        })
    }
}

fn axis_info(index: u8) -> Message<'static> {
    Message::AxisInfo(AxisInfo {
        index,
        kind: AxisKind::Linear,
        counts_per_unit: (100_000, 1),
        range: (-5000, 5000),
        full_scale_micro: 4_000_000,
        home_flags: HomeFlags(HomeFlags::ABSOLUTE),
    })
}

fn nonce_mismatch(arm: &Arm) -> Message<'static> {
    Message::Fault(Fault { code: FaultCode::NonceMismatch, detail: arm.nonce })
}

/// A board shared by the test and the backend.
#[derive(Clone)]
struct Socket(Arc<Mutex<Board>>);

impl Socket {
    fn new(script: fn(&mut Board, &Message<'_>) -> Reaction) -> Self {
        Self(Arc::new(Mutex::new(Board::new(script))))
    }

    fn board(&self) -> MutexGuard<'_, Board> {
        self.0.lock().unwrap()
    }

    fn open(&self) -> Result<ThreadedDevice, OpenError> {
        let settings = NativeSettings { axes: Some(2), lever_m: 0.05, max_force_n: 4.0, watchdog_ms: 100, baud: None };
        native::open(Box::new(self.clone()), settings, 7, 0)
    }
}

struct SocketLink {
    socket: Socket,
    session: Option<u32>,
}

impl SocketLink {
    fn board(&self) -> io::Result<MutexGuard<'_, Board>> {
        let board = self.socket.board();
        let is_plugged = board.plugged.is_some() && board.plugged == self.session;
        if is_plugged { Ok(board) } else { Err(io::ErrorKind::NotConnected.into()) }
    }
}

impl HidPort for Socket {
    fn open(&mut self) -> Result<Opened, OpenError> {
        let session = self.board().plugged;
        if session.is_none() {
            return Err(OpenError::NotFound { wanted: "HID device", present: String::new() });
        }
        let link = || Box::new(SocketLink { socket: self.clone(), session });
        Ok(Opened {
            reading: link(),
            writing: link(),
            descriptor: Gadget::descriptor(None),
            name: "scripted".to_owned(),
            serial_number: "S1".to_owned(),
            interval_ns: 1_000_000,
        })
    }
}

impl HidLink for SocketLink {
    fn write(&mut self, report: &Report) -> io::Result<()> {
        self.board()?.receive(&report.bytes()[1..]);
        Ok(())
    }

    fn read(&mut self, into: &mut [u8], wait: Duration) -> io::Result<usize> {
        std::thread::sleep(wait.min(Duration::from_millis(1)));
        let mut board = self.board()?;
        if board.replies.front().is_none_or(|(due_ns, _)| *due_ns > monotonic_ns()) {
            return Ok(0);
        }
        let Some((_, report)) = board.replies.pop_front() else { return Ok(0) };
        into[..report.len()].copy_from_slice(&report);
        Ok(report.len())
    }

    fn set_feature(&mut self, _: &Report) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn get_feature(&mut self, _: &mut Report) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// Runs ticks without force until a reading satisfies `holds`.
fn tick_until(device: &mut dyn Device, holds: impl Fn(&Reading) -> bool) -> Reading {
    let start = Instant::now();
    loop {
        let reading = device.read(MonotonicNs(monotonic_ns()));
        if holds(&reading) {
            return reading;
        }
        assert!(start.elapsed() < TIMEOUT, "last reading: {reading:?}");
        device.write(Effort::zero(), MonotonicNs(monotonic_ns()));
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn an_arm_ack_of_another_session_does_not_complete_the_handshake() {
    let socket = Socket::new(|board, message| match message {
        Message::Arm(arm) if board.arms == 1 => {
            Reaction::Instead(Some(Message::ArmAck(Arm { nonce: arm.nonce ^ 1, ..*arm })))
        }
        _ => Reaction::Usual,
    });
    let mut device = socket.open().unwrap();
    let arms = socket.board().arms;
    assert_eq!(arms, 2);
    tick_until(&mut device, |reading| reading.health == Health::Ready);
}

#[test]
fn a_nonce_mismatch_while_arming_restarts_the_handshake() {
    let socket = Socket::new(|board, message| {
        // Another host opens a session between this host's HELLO and its first ARM.
        if matches!(message, Message::Arm(_)) && board.arms == 1 {
            board.nonce = Some(0);
        }
        Reaction::Usual
    });
    let mut device = socket.open().unwrap();
    let hellos = socket.board().hellos;
    assert_eq!(hellos, 2);
    tick_until(&mut device, |reading| reading.health == Health::Ready);
}

#[test]
fn a_board_that_stays_silent_for_thirty_messages_is_still_opened() {
    let socket = Socket::new(|board, _| if board.hellos > 30 { Reaction::Usual } else { Reaction::Instead(None) });
    let start = Instant::now();
    socket.open().unwrap();
    assert!(start.elapsed() >= Duration::from_millis(30 * 50), "HELLO is repeated every 50 ms or slower");
}

#[test]
fn a_board_that_resets_during_the_handshake_is_opened_with_a_new_hello() {
    let socket = Socket::new(|board, message| match message {
        Message::Hello(_) => Reaction::Usual,
        // The board is silent until the next HELLO, as after a reset.
        _ if board.hellos == 1 => Reaction::Instead(None),
        _ => Reaction::Usual,
    });
    socket.open().unwrap();
    let hellos = socket.board().hellos;
    assert_eq!(hellos, 2);
}

#[test]
fn the_velocity_of_a_board_that_measures_it_is_used() {
    let socket = Socket::new(|_, _| Reaction::Usual);
    socket.board().velocity = Some(2000);
    let mut device = socket.open().unwrap();
    let reading = tick_until(&mut device, |reading| reading.health == Health::Ready && reading.fresh);
    assert_eq!(reading.velocity_m_per_s, Vector2::new(0.02, 0.02));
}

#[test]
fn a_sample_is_as_old_as_the_command_that_it_answers() {
    let socket = Socket::new(|_, _| Reaction::Usual);
    let mut device = socket.open().unwrap();
    let delay_ns = 30_000_000;
    socket.board().reply_delay_ns = delay_ns;
    // Replies that were sent before the delay began come first.
    let start = Instant::now();
    let reading = tick_until(&mut device, |reading| reading.fresh && start.elapsed() > Duration::from_millis(200));
    assert!(reading.age_ns >= delay_ns, "{} ns", reading.age_ns);
}

#[test]
fn the_watchdog_of_a_board_that_is_armed_again_before_the_tick_reads_is_still_reported() {
    let socket = Socket::new(|_, _| Reaction::Usual);
    let mut device = socket.open().unwrap();
    tick_until(&mut device, |reading| reading.health == Health::Ready);
    let mut board = socket.board();
    let arms = board.arms;
    board.is_armed = false;
    board.send(&Message::Fault(Fault { code: FaultCode::Watchdog, detail: 100 }));
    drop(board);
    wait_until(|| socket.board().arms > arms && socket.board().is_armed);
    // Before the second answer is read, the first one has been published.
    for _ in 0..2 {
        let before = socket.board().acknowledged;
        device.write(Effort::zero(), MonotonicNs(monotonic_ns()));
        wait_until(|| socket.board().acknowledged != before && socket.board().replies.is_empty());
    }
    let health = device.read(MonotonicNs(monotonic_ns())).health;
    assert_eq!(health, Health::Faulted(haptic_device::FaultCode::Watchdog));
    tick_until(&mut device, |reading| reading.health == Health::Ready);
}

fn wait_until(holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT);
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn another_board_in_place_of_the_one_that_was_opened_is_refused() {
    let socket = Socket::new(|_, _| Reaction::Usual);
    let mut device = socket.open().unwrap();
    tick_until(&mut device, |reading| reading.health == Health::Ready);
    replug(&socket, *b"ANOTHER.", 2);
    tick_until(&mut device, |reading| reading.health == Health::Lost);
    let start = Instant::now();
    tick_until(&mut device, |reading| {
        assert_eq!(reading.health, Health::Lost);
        start.elapsed() > Duration::from_millis(500)
    });
    let board = socket.board();
    assert!(board.hellos > 0 && !board.is_armed, "it was asked for its identity and is not left armed");
    drop(board);
    replug(&socket, *b"SCRIPTED", 3);
    tick_until(&mut device, |reading| reading.health == Health::Ready);
}

/// The write that failed before would otherwise be a fault of its own.
#[test]
fn a_board_that_is_back_counts_as_lost_until_it_has_accepted_a_force() {
    let socket = Socket::new(|_, _| Reaction::Usual);
    let mut device = socket.open().unwrap();
    tick_until(&mut device, |reading| reading.health == Health::Ready);
    socket.board().plugged = None;
    tick_until(&mut device, |reading| reading.health == Health::Lost);
    let lost = WriteOutcome::Failed(WriteError::NotConnected);
    let write = |device: &mut ThreadedDevice| device.write(Effort::zero(), MonotonicNs(monotonic_ns()));
    assert_eq!(write(&mut device), lost);
    replug(&socket, *b"SCRIPTED", 2);
    wait_until(|| socket.board().is_armed);
    // Long enough for the session to open.
    for _ in 0..50 {
        assert_eq!(device.read(MonotonicNs(monotonic_ns())).health, Health::Lost);
        std::thread::sleep(Duration::from_millis(1));
    }
    let start = Instant::now();
    while write(&mut device) == lost {
        assert!(start.elapsed() < TIMEOUT);
    }
    tick_until(&mut device, |reading| reading.health == Health::Ready);
}

/// Unplugs the board and immediately plugs in one with this uid.
fn replug(socket: &Socket, uid: [u8; 8], session: u32) {
    let mut board = socket.board();
    *board = Board { uid, plugged: Some(session), ..Board::new(board.script) };
}
