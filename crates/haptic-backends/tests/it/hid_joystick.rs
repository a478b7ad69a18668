//! The joystick and native backends on emulated devices, without a kernel between them. The tests do not depend on the
//! speed of the machine: they wait for conditions, with a generous timeout.

use haptic_backends::OpenError;
use haptic_backends::hid::joystick::{self, JoystickSettings};
use haptic_backends::hid::link::{HidLink, HidPort, Opened};
use haptic_backends::hid::native::{self, NativeSettings};
use haptic_backends::hid::report::Report;
use haptic_device::{Device, Effort, FaultCode, Health, MonotonicNs, Reading, WriteOutcome};
use haptic_emulator::gadget::{Firmware, Gadget};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::style::{ARDUINO, OPEN_FFBOARD, STYLES, Style, VPFORCE};
use haptic_realtime::clock::monotonic_ns;
use nalgebra::Vector2;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const FULL_SCALE_N: f64 = 4.0;
const TIMEOUT: Duration = Duration::from_secs(20);

/// An emulated device that can be unplugged and plugged in again.
struct Socket {
    gadget: Gadget,
    descriptor: Vec<u8>,
    is_plugged: bool,
    /// Number of times the device was plugged in. Links from an earlier connection fail.
    life: u32,
    answers: VecDeque<Vec<u8>>,
    /// Whether the firmware hangs: writes are accepted but have no effect.
    is_hung: bool,
    /// Whether reading reports fails, as with a halted input endpoint.
    is_unreadable: bool,
    /// Number of reports that the host has read.
    reports_read: u32,
    /// Number of writes after which the device is unplugged; `None` for no limit.
    writes_left: Option<u32>,
}

type SharedSocket = Arc<Mutex<Socket>>;

fn socket(style: Option<Style>, room: Option<usize>) -> SharedSocket {
    let handle = EmulatedHandle::still().unwrap();
    let gadget = match style {
        Some(style) => Gadget::joystick(style, room, FULL_SCALE_N, handle),
        None => Gadget::board(FULL_SCALE_N, handle),
    };
    let descriptor = Gadget::descriptor(style.as_ref());
    Arc::new(Mutex::new(Socket {
        gadget,
        descriptor,
        is_plugged: true,
        life: 1,
        answers: VecDeque::new(),
        is_hung: false,
        is_unreadable: false,
        reports_read: 0,
        writes_left: None,
    }))
}

struct SocketPort(SharedSocket);
struct SocketLink(SharedSocket, u32);

impl HidPort for SocketPort {
    fn open(&mut self) -> Result<Opened, OpenError> {
        let socket = self.0.lock().unwrap();
        if !socket.is_plugged || socket.is_unreadable {
            return Err(OpenError::NotFound { wanted: "HID device", present: String::new() });
        }
        Ok(Opened {
            reading: Box::new(SocketLink(self.0.clone(), socket.life)),
            writing: Box::new(SocketLink(self.0.clone(), socket.life)),
            descriptor: socket.descriptor.clone(),
            name: "emulated".to_owned(),
            serial_number: "S1".to_owned(),
            interval_ns: 1_000_000,
        })
    }
}

impl SocketLink {
    fn with<T>(&self, use_it: impl FnOnce(&mut Socket) -> T) -> io::Result<T> {
        let mut socket = self.0.lock().unwrap();
        let is_there = socket.is_plugged && socket.life == self.1;
        if is_there { Ok(use_it(&mut socket)) } else { Err(io::ErrorKind::NotConnected.into()) }
    }
}

fn now_us() -> u64 {
    monotonic_ns() / 1000
}

impl HidLink for SocketLink {
    fn write(&mut self, report: &Report) -> io::Result<()> {
        self.with(|socket| {
            socket.writes_left = socket.writes_left.map(|left| left.saturating_sub(1));
            if socket.writes_left == Some(0) {
                (socket.is_plugged, socket.writes_left) = (false, None);
                return;
            }
            if socket.is_hung {
                return;
            }
            let bytes = report.bytes();
            let content = bytes.strip_prefix(&[0]).unwrap_or(bytes);
            let answer = socket.gadget.output(content, now_us());
            socket.answers.extend(answer);
        })
    }

    /// A joystick reports every millisecond; a board reports when it receives a command.
    fn read(&mut self, into: &mut [u8], wait: Duration) -> io::Result<usize> {
        std::thread::sleep(wait.min(Duration::from_millis(1)));
        if self.0.lock().unwrap().is_unreadable {
            return Err(io::ErrorKind::BrokenPipe.into());
        }
        self.with(|socket| {
            if socket.is_hung {
                return 0;
            }
            socket.gadget.step(now_us());
            let report = socket.answers.pop_front().or_else(|| socket.gadget.advance(now_us()));
            let Some(report) = report else { return 0 };
            into[..report.len()].copy_from_slice(&report);
            socket.reports_read += 1;
            report.len()
        })
    }

    fn set_feature(&mut self, report: &Report) -> io::Result<()> {
        self.with(|socket| socket.gadget.set_feature(report.bytes(), now_us()))
    }

    fn get_feature(&mut self, report: &mut Report) -> io::Result<()> {
        let id = report.bytes()[0];
        let answer = self.with(|socket| socket.gadget.get_feature(id))?.ok_or(io::ErrorKind::InvalidInput)?;
        report.bytes_mut().copy_from_slice(&answer);
        Ok(())
    }
}

fn settings() -> JoystickSettings {
    JoystickSettings {
        axes: 2,
        travel_m: Some([0.1; 2]),
        lever_m: 0.05,
        centre_counts: None,
        full_scale_n: [FULL_SCALE_N; 2],
    }
}

fn open(socket: &SharedSocket) -> Result<Box<dyn Device>, OpenError> {
    let device = joystick::open(Box::new(SocketPort(socket.clone())), settings(), 0)?;
    Ok(Box::new(device))
}

fn open_native(socket: &SharedSocket) -> Box<dyn Device> {
    Box::new(native::open(Box::new(SocketPort(socket.clone())), native_settings(), 7, 0).unwrap())
}

fn native_settings() -> NativeSettings {
    NativeSettings { axes: Some(2), lever_m: 0.05, max_force_n: FULL_SCALE_N, watchdog_ms: 100, baud: None }
}

/// Runs ticks that write a force until `holds` returns true.
fn tick_until(device: &mut dyn Device, force_n: Vector2<f64>, holds: impl Fn(&mut dyn Device) -> bool) {
    let began = Instant::now();
    while !holds(device) {
        assert!(began.elapsed() < TIMEOUT, "what was waited for never came");
        device.write(Effort { force_n }, MonotonicNs(monotonic_ns()));
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn motor_n(socket: &SharedSocket) -> Vector2<f64> {
    let mut socket = socket.lock().unwrap();
    socket.gadget.step(now_us());
    Vector2::from(socket.gadget.force_n)
}

fn mistakes(socket: &SharedSocket) -> u64 {
    match &socket.lock().unwrap().gadget.firmware {
        Firmware::Joystick(joystick, _) => joystick.mistakes().0,
        Firmware::Native(board) => board.mistakes,
    }
}

const CORNERS_N: [[f64; 2]; 4] = [[1.0, 2.0], [-1.5, 0.5], [-0.7, -2.2], [2.0, -1.0]];

#[test]
fn the_force_written_is_the_force_at_the_motor_in_all_four_quadrants_of_every_style() {
    for style in STYLES {
        let socket = socket(Some(style), None);
        let mut device = open(&socket).unwrap();
        for corner in CORNERS_N.map(Vector2::from) {
            let step_n = 1.5 * FULL_SCALE_N / style.magnitude_max as f64;
            tick_until(device.as_mut(), corner, |_| (motor_n(&socket) - corner).norm() < step_n);
        }
        device.close();
        assert_eq!(mistakes(&socket), 0, "{}", style.name);
    }
}

#[test]
fn the_native_protocol_in_reports_carries_forces_and_positions() {
    let socket = socket(None, None);
    let mut device = open_native(&socket);
    for corner in CORNERS_N.map(Vector2::from) {
        tick_until(device.as_mut(), corner, |_| (motor_n(&socket) - corner).norm() < 1e-3);
    }
    tick_until(device.as_mut(), Vector2::new(2.0, 0.0), |device| {
        device.read(MonotonicNs(monotonic_ns())).position_m.x > 0.005
    });
    device.close();
    assert_eq!((mistakes(&socket), motor_n(&socket)), (0, Vector2::zeros()));
}

#[test]
fn positions_are_in_metres_with_y_away_from_the_user() {
    let socket = socket(Some(ARDUINO), None);
    let mut device = open(&socket).unwrap();
    let pushed = |device: &mut dyn Device| {
        let reading = device.read(MonotonicNs(monotonic_ns()));
        reading.health == Health::Ready && reading.position_m.y > 0.004 && reading.position_m.x < -0.004
    };
    tick_until(device.as_mut(), Vector2::new(-2.0, 2.0), pushed);
}

#[test]
fn a_device_that_reports_only_changes_is_open_when_its_still_handle_has_a_position() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    // The report of the start is lost, and the next one follows after 100 ms.
    assert!(socket.lock().unwrap().gadget.advance(now_us()).is_some());
    let _device = open(&socket).unwrap();
    assert!(socket.lock().unwrap().reports_read > 0);
}

#[test]
fn closing_ends_every_effect() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    let mut device = open(&socket).unwrap();
    tick_until(device.as_mut(), Vector2::new(3.0, 0.0), |_| motor_n(&socket).x > 2.9);
    device.close();
    assert_eq!(motor_n(&socket), Vector2::zeros());
    let Firmware::Joystick(joystick, _) = &socket.lock().unwrap().gadget.firmware else { panic!() };
    assert!(!joystick.plays());
}

#[test]
fn the_force_ends_when_no_tick_writes_any_more() {
    let socket = socket(Some(VPFORCE), None);
    let mut device = open(&socket).unwrap();
    tick_until(device.as_mut(), Vector2::new(3.0, 0.0), |_| motor_n(&socket).x > 2.9);
    let began = Instant::now();
    while motor_n(&socket) != Vector2::zeros() {
        assert!(began.elapsed() < TIMEOUT, "the force outlived its tick");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_device_that_vanishes_in_the_middle_of_a_write_is_lost_and_then_found_again() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    let mut device = open(&socket).unwrap();
    socket.lock().unwrap().writes_left = Some(40);
    let force_n = Vector2::new(1.0, 0.0);
    let swaying = std::cell::Cell::new(1.0);
    let is_lost = |device: &mut dyn Device| {
        swaying.set(-swaying.get());
        device.write(Effort { force_n: force_n * swaying.get() }, MonotonicNs(monotonic_ns()));
        device.read(MonotonicNs(monotonic_ns())).health == Health::Lost
    };
    tick_until(device.as_mut(), force_n, is_lost);
    assert!(matches!(device.write(Effort { force_n }, MonotonicNs(monotonic_ns())), WriteOutcome::Failed(_)));
    {
        let mut socket = socket.lock().unwrap();
        socket.gadget = Gadget::joystick(OPEN_FFBOARD, None, FULL_SCALE_N, EmulatedHandle::still().unwrap());
        (socket.is_plugged, socket.life) = (true, 2);
    }
    tick_until(device.as_mut(), force_n, |device| device.read(MonotonicNs(monotonic_ns())).health == Health::Ready);
    tick_until(device.as_mut(), force_n, |_| motor_n(&socket).x > 0.9);
    assert_eq!(device.link_statistics().unwrap().reconnects, 1);
    assert_eq!(mistakes(&socket), 0);
}

fn read(device: &mut dyn Device) -> Reading {
    device.read(MonotonicNs(monotonic_ns()))
}

/// PID State report of the emulated joysticks with motors off: bit 1 is Actuators Enabled.
const MOTORS_OFF: [u8; 2] = [2, 0b00];
/// PID State report with motors on.
const MOTORS_ON: [u8; 2] = [2, 0b10];

fn report(socket: &SharedSocket, report: [u8; 2]) {
    socket.lock().unwrap().answers.push_back(report.to_vec());
}

#[test]
fn motors_that_are_switched_off_are_a_fault_through_all_positions_until_they_are_on_again() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    let mut device = open(&socket).unwrap();
    let disarmed = Health::Faulted(FaultCode::Disarmed);
    tick_until(device.as_mut(), Vector2::zeros(), |device| read(device).health == Health::Ready);
    report(&socket, MOTORS_OFF);
    tick_until(device.as_mut(), Vector2::zeros(), |device| read(device).health == disarmed);
    let since = read(device.as_mut()).sequence;
    tick_until(device.as_mut(), Vector2::zeros(), |device| {
        let reading = read(device);
        assert_eq!(reading.health, disarmed, "the motors are still off");
        reading.sequence.wrapping_sub(since) > 50
    });
    report(&socket, MOTORS_ON);
    tick_until(device.as_mut(), Vector2::zeros(), |device| read(device).health == Health::Ready);
}

#[test]
fn motors_that_are_off_at_the_start_are_a_fault_from_the_first_report_on() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    report(&socket, MOTORS_OFF);
    let mut device = open(&socket).unwrap();
    tick_until(device.as_mut(), Vector2::zeros(), |device| {
        let health = read(device).health;
        assert_ne!(health, Health::Ready);
        health == Health::Faulted(FaultCode::Disarmed)
    });
}

#[test]
fn motors_that_are_off_between_two_reads_are_reported_once() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    let mut device = open(&socket).unwrap();
    tick_until(device.as_mut(), Vector2::zeros(), |device| read(device).health == Health::Ready);
    report(&socket, MOTORS_OFF);
    report(&socket, MOTORS_ON);
    tick_until(device.as_mut(), Vector2::zeros(), |_| socket.lock().unwrap().answers.is_empty());
    assert_eq!(read(device.as_mut()).health, Health::Faulted(FaultCode::Disarmed));
    tick_until(device.as_mut(), Vector2::zeros(), |device| read(device).health == Health::Ready);
}

#[test]
fn a_board_whose_watchdog_stopped_it_is_reported_armed_again_and_exerts_force_again() {
    let socket = socket(None, None);
    let mut device = open_native(&socket);
    let force_n = Vector2::new(2.0, 0.0);
    let pushes = |_: &mut dyn Device| (motor_n(&socket) - force_n).norm() < 1e-3;
    tick_until(device.as_mut(), force_n, pushes);
    {
        let mut socket = socket.lock().unwrap();
        // As after a silence of twice the watchdog time.
        let fault = socket.gadget.advance(now_us() + 200_000);
        socket.answers.extend(fault);
        assert_eq!(socket.gadget.force_n, [0.0; 2]);
    }
    let is_told = |device: &mut dyn Device| read(device).health == Health::Faulted(FaultCode::Watchdog);
    tick_until(device.as_mut(), force_n, is_told);
    tick_until(device.as_mut(), force_n, |device| read(device).health == Health::Ready);
    tick_until(device.as_mut(), force_n, pushes);
    let statistics = device.link_statistics().unwrap();
    assert_eq!((mistakes(&socket), statistics.frames_lost, statistics.reconnects), (0, 0, 0));
}

#[test]
fn an_emergency_stop_of_a_board_lasts_longer_than_a_lost_session_without_a_reconnection() {
    let socket = socket(None, None);
    let mut device = open_native(&socket);
    let force_n = Vector2::new(2.0, 0.0);
    let pushes = |_: &mut dyn Device| (motor_n(&socket) - force_n).norm() < 1e-3;
    tick_until(device.as_mut(), force_n, pushes);
    let button = socket.lock().unwrap().gadget.stop_button().unwrap();
    button.press();
    let stopped = Health::Faulted(FaultCode::EmergencyStop);
    tick_until(device.as_mut(), force_n, |device| read(device).health == stopped);
    let start = Instant::now();
    tick_until(device.as_mut(), force_n, |device| {
        assert_eq!((read(device).health, motor_n(&socket)), (stopped, Vector2::zeros()));
        start.elapsed() > Duration::from_millis(1500)
    });
    button.release();
    tick_until(device.as_mut(), force_n, |device| read(device).health == Health::Ready);
    tick_until(device.as_mut(), force_n, pushes);
    let statistics = device.link_statistics().unwrap();
    // A busy host may lose frames in the meantime.
    assert_eq!((mistakes(&socket), statistics.reconnects), (0, 0));
}

#[test]
fn a_board_that_stops_sending_while_it_accepts_commands_is_lost_and_reconnected() {
    let socket = socket(None, None);
    let mut device = open_native(&socket);
    let force_n = Vector2::new(2.0, 0.0);
    tick_until(device.as_mut(), force_n, |device| read(device).health == Health::Ready);
    socket.lock().unwrap().is_hung = true;
    tick_until(device.as_mut(), force_n, |device| read(device).health == Health::Stale && !read(device).fresh);
    tick_until(device.as_mut(), force_n, |device| read(device).health == Health::Lost);
    {
        let mut socket = socket.lock().unwrap();
        // The board has lost its session, as after a reset.
        socket.gadget = Gadget::board(FULL_SCALE_N, EmulatedHandle::still().unwrap());
        (socket.is_hung, socket.answers) = (false, VecDeque::new());
    }
    tick_until(device.as_mut(), force_n, |_| (motor_n(&socket) - force_n).norm() < 1e-3);
    assert_eq!(device.link_statistics().unwrap().reconnects, 1);
}

#[test]
fn a_device_whose_reports_fail_alone_is_let_go_before_its_link_is_dropped() {
    let socket = socket(Some(OPEN_FFBOARD), None);
    let mut device = open(&socket).unwrap();
    let force_n = Vector2::new(2.0, 0.0);
    tick_until(device.as_mut(), force_n, |_| motor_n(&socket).x > 1.9);
    socket.lock().unwrap().is_unreadable = true;
    tick_until(device.as_mut(), force_n, |_| {
        let socket = socket.lock().unwrap();
        let Firmware::Joystick(joystick, _) = &socket.gadget.firmware else { panic!() };
        // The emulated time does not advance, so the effects cannot have ended by themselves.
        !joystick.plays()
    });
    socket.lock().unwrap().is_unreadable = false;
    tick_until(device.as_mut(), force_n, |_| motor_n(&socket).x > 1.9);
    assert_eq!(mistakes(&socket), 0);
}

#[test]
fn a_board_of_another_make_is_rejected_with_its_kind() {
    let rejection = |style: Option<Style>, change: fn(&mut Socket), axes: u8| {
        let socket = socket(style, None);
        change(&mut socket.lock().unwrap());
        native::open(Box::new(SocketPort(socket)), NativeSettings { axes: Some(axes), ..native_settings() }, 7, 0)
            .err()
            .unwrap()
            .to_string()
    };
    let joystick = rejection(Some(ARDUINO), |_| {}, 2);
    assert!(joystick.contains("kind = \"hid-pid\""), "{joystick}");
    let keyboard = rejection(None, |socket| socket.descriptor = vec![0x05, 0x01, 0x09, 0x06, 0xA1, 0x01, 0xC0], 2);
    assert!(keyboard.contains("flash the firmware") && keyboard.contains("hapticd devices"), "{keyboard}");
    let silent = rejection(None, |socket| socket.is_hung = true, 2);
    assert!(silent.contains("no answer within 5 s; check that it is powered"), "{silent}");
    let one_axis = rejection(None, |_| {}, 1);
    assert!(one_axis.contains("has 2 axes, the device file 1; write axes = 2"), "{one_axis}");
}

#[test]
fn a_full_pool_is_rejected_with_the_remedy() {
    let rejection = open(&socket(Some(ARDUINO), Some(0))).err().unwrap().to_string();
    assert!(rejection.contains("no free effect"), "{rejection}");
    let rejection = open(&socket(Some(ARDUINO), Some(1))).err().unwrap().to_string();
    assert!(rejection.contains("can play only 1 effect at a time, 2 axes need 2; write axes = 1"), "{rejection}");
}

/// Opens a device that presents another descriptor, checks that nothing was written to it, and returns the error
/// message.
fn rejection_of(descriptor: Vec<u8>) -> String {
    let socket = socket(Some(OPEN_FFBOARD), None);
    socket.lock().unwrap().descriptor = descriptor;
    let rejection = open(&socket).err().unwrap().to_string();
    let Firmware::Joystick(joystick, _) = &socket.lock().unwrap().gadget.firmware else { panic!() };
    assert_eq!((joystick.heard_us, joystick.plays()), (None, false), "it was written to");
    rejection
}

#[test]
fn a_joystick_without_force_feedback_is_refused_and_never_written_to() {
    let pad = [
        0x05, 0x01, 0x09, 0x04, 0xA1, 0x01, 0x15, 0x00, 0x26, 0xFF, 0x03, 0x75, 0x10, 0x95, 0x02, 0x09, 0x30, 0x09,
        0x31, 0x81, 0x02, 0xC0,
    ];
    assert!(rejection_of(pad.to_vec()).contains("no force feedback"));
}

#[test]
fn a_descriptor_that_lacks_or_contradicts_something_is_refused_and_never_written_to() {
    let descriptor = OPEN_FFBOARD.descriptor();
    let magnitude = descriptor.windows(2).position(|pair| pair == [0x09, 0x70]).unwrap();
    let mut lacking = descriptor.clone();
    lacking[magnitude + 1] = 0x71;
    assert!(rejection_of(lacking).contains("magnitude of a constant force"));
    // The size is the first one after the usage. The range of the magnitude no longer fits into 8 bits.
    let size = magnitude + descriptor[magnitude..].windows(2).position(|pair| pair == [0x75, 0x10]).unwrap();
    let mut contradictory = descriptor.clone();
    contradictory[size + 1] = 0x08;
    assert!(rejection_of(contradictory).contains("contradicts itself"));
    assert!(rejection_of(descriptor[..descriptor.len() / 2].to_vec()).contains("report descriptor"));
}

#[test]
fn the_rate_says_what_two_axes_share() {
    assert_eq!(open(&socket(Some(ARDUINO), None)).unwrap().limits().rate_hz, 500.0);
    assert_eq!(open_native(&socket(None, None)).limits().rate_hz, 1000.0);
}
