//! The serial device with emulated boards behind real pseudo-terminals. The tests wait for conditions, never for fixed
//! times.

use haptic_backends::open_error::{OpenError, PortError};
use haptic_backends::protocol::{
    Handshake, OpenSession, Protocol, ReceiveHalf, Received, Sample, Step, TransmitHalf, TxBytes,
};
use haptic_backends::serial::dead_man::{DeadManProgram, DeadManSupervisor};
use haptic_backends::serial::{LinkMonitor, NativeProtocol, NativeSettings, Port, SerialDevice, SerialSettings};
use haptic_device::{
    Device, DeviceModel, Effort, FaultCode, Health, Identity, Limits, MonotonicNs, Reading, WriteError, WriteOutcome,
};
use haptic_emulator::emergency_stop::StopButton;
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::native::NativeTraits;
use haptic_emulator::serial::pty::Pty;
use haptic_emulator::serial::{LineFaults, NativeBoard, ServeOptions, serve};
use haptic_realtime::clock::monotonic_ns;
use nalgebra::Vector2;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Upper bound on every wait, long enough for any machine.
const TIMEOUT: Duration = Duration::from_secs(20);

struct Emulator {
    port: PathBuf,
    stop: Arc<AtomicBool>,
    events: Arc<Mutex<Vec<String>>>,
    thread: Option<JoinHandle<()>>,
}

impl Emulator {
    fn start(name: &str, traits: NativeTraits, life: ServeOptions) -> Self {
        Self::start_with(name, traits, life, &StopButton::default())
    }

    /// Starts a board with this button as its emergency stop.
    fn start_with(name: &str, traits: NativeTraits, life: ServeOptions, button: &StopButton) -> Self {
        let button = button.clone();
        let port = std::env::temp_dir().join(format!("hapticd-{}-{name}", std::process::id()));
        let (stop, events) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(Vec::new())));
        let life = ServeOptions { link: Some(port.clone()), ..life };
        let (stop_inside, events_inside) = (Arc::clone(&stop), Arc::clone(&events));
        let thread = std::thread::spawn(move || {
            let body = EmulatedHandle::new(traits.axes, &DeviceModel::default(), None).unwrap();
            let mut log = |_: f64, text: &str| events_inside.lock().unwrap().push(text.to_owned());
            let mut board = NativeBoard::new(traits, body).with_stop_button(button);
            serve(&mut board, &life, &stop_inside, &mut log).unwrap();
        });
        let emulator = Self { port, stop, events, thread: Some(thread) };
        wait_until("the port appears", || emulator.port.exists());
        emulator
    }

    fn has_event(&self, text: &str) -> bool {
        self.events(text) > 0
    }

    /// Number of events with this text.
    fn events(&self, text: &str) -> usize {
        self.events.lock().unwrap().iter().filter(|line| line.contains(text)).count()
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take().map(JoinHandle::join);
    }
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "never: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn open(port: &std::path::Path, axes: u8) -> Result<SerialDevice, OpenError> {
    open_with(port, axes, Arc::new(LinkMonitor::default()))
}

fn open_with(port: &std::path::Path, axes: u8, monitor: Arc<LinkMonitor>) -> Result<SerialDevice, OpenError> {
    let port = port.to_str().unwrap().to_owned();
    let settings = NativeSettings { axes: Some(axes), lever_m: 0.05, max_force_n: 4.0, watchdog_ms: 100, baud: None };
    SerialDevice::open(SerialSettings {
        find: Box::new(move || Ok(port.clone())),
        baud: 1_000_000,
        protocol: Box::new(NativeProtocol::new(settings, Arc::clone(&monitor), 1)),
        monitor,
        dead_man: None,
        priority: 79,
    })
}

/// Runs a tick that writes a small force.
fn tick(device: &mut SerialDevice) -> (Reading, WriteOutcome) {
    let now = MonotonicNs(monotonic_ns());
    let reading = device.read(now);
    (reading, device.write(Effort { force_n: Vector2::new(0.3, 0.0) }, now))
}

fn tick_until(device: &mut SerialDevice, what: &str, mut holds: impl FnMut(&Reading, &WriteOutcome) -> bool) {
    wait_until(what, || {
        let (reading, sent) = tick(device);
        holds(&reading, &sent)
    });
}

#[test]
fn readings_come_and_forces_go_until_the_device_is_closed() {
    let emulator = Emulator::start("plain", NativeTraits::default(), ServeOptions::default());
    let mut device = open(&emulator.port, 2).unwrap();
    let mut fresh = 0;
    tick_until(&mut device, "a hundred readings", |reading, _| {
        fresh += u32::from(reading.fresh && reading.health == Health::Ready);
        fresh >= 100
    });
    let link = device.link_statistics().unwrap();
    assert!(link.round_trip.p50_ns > 0 && link.frames_lost == 0 && link.crc_errors == 0, "{link:?}");
    wait_until("the motor pushes", || emulator.has_event("motor 0 on"));
    device.close();
    wait_until("the board was stopped", || emulator.has_event("stopped by the host"));
    assert_eq!(tick(&mut device).1, WriteOutcome::Failed(haptic_device::WriteError::NotConnected));
}

#[test]
fn an_unplugged_device_is_lost_and_is_found_again_when_it_comes_back() {
    let unplug = Arc::new(AtomicBool::new(false));
    let life = ServeOptions {
        unplug: Some(Arc::clone(&unplug)),
        dead_for: Duration::from_millis(300),
        ..ServeOptions::default()
    };
    let emulator = Emulator::start("unplug", NativeTraits::default(), life);
    let mut device = open(&emulator.port, 2).unwrap();
    tick_until(&mut device, "it serves", |reading, _| reading.fresh);
    unplug.store(true, Ordering::Relaxed);
    tick_until(&mut device, "it is lost", |reading, _| reading.health == Health::Lost);
    let mut before = WriteOutcome::Failed(WriteError::NotConnected);
    tick_until(&mut device, "it serves again", |reading, sent| {
        let has_failed = matches!(std::mem::replace(&mut before, *sent), WriteOutcome::Failed(_));
        assert!(!has_failed || reading.health == Health::Lost, "a failed write, and then {reading:?}");
        reading.fresh && reading.health == Health::Ready && *sent == WriteOutcome::Written
    });
    assert_eq!(device.link_statistics().unwrap().reconnects, 1);
}

#[test]
fn a_bad_line_is_counted_and_readings_still_come() {
    let faults = LineFaults { drop: 0.05, garbage: 0.05, delay_ns: 2_000_000, seed: 3 };
    let emulator = Emulator::start("bad", NativeTraits::default(), ServeOptions { faults, ..ServeOptions::default() });
    let mut device = open(&emulator.port, 2).unwrap();
    let mut fresh = 0;
    tick_until(&mut device, "five hundred readings", |reading, _| {
        fresh += u32::from(reading.fresh && reading.health == Health::Ready);
        fresh >= 500
    });
    let link = device.link_statistics().unwrap();
    assert!(link.frames_lost > 10 && link.crc_errors > 2, "{link:?}");
}

#[test]
fn a_port_in_use_is_reported_with_the_process_that_uses_it() {
    let emulator = Emulator::start("busy", NativeTraits::default(), ServeOptions::default());
    let first = open(&emulator.port, 2).unwrap();
    let Err(OpenError::Port(error)) = open(&emulator.port, 2) else { panic!("opened twice") };
    assert!(
        matches!(&error, PortError::Busy { process: Some(process), .. } if *process == std::process::id()),
        "{error}"
    );
    drop(first);
    assert_eq!(open(&emulator.port, 2).err(), None);
}

#[test]
fn the_wrong_board_and_the_wrong_version_are_refused_in_words() {
    let old = NativeTraits { version: (7, 0), ..NativeTraits::default() };
    let emulator = Emulator::start("old", old, ServeOptions::default());
    let error = open(&emulator.port, 2).err().unwrap().to_string();
    assert!(error.contains("protocol 7.0") && error.contains("flash"), "{error}");
    let one = NativeTraits { axes: 1, ..NativeTraits::default() };
    let emulator = Emulator::start("one", one, ServeOptions::default());
    let error = open(&emulator.port, 2).err().unwrap().to_string();
    assert!(error.contains("axes = 1"), "{error}");
}

/// Number of attempts of a test that an emulated board can only pass if the machine does not stall it for so long that
/// the link is lost.
const ATTEMPTS: u32 = 3;

#[test]
fn an_emergency_stop_is_held_on_the_line_until_it_is_released() {
    assert!((0..ATTEMPTS).any(|_| holds_an_emergency_stop()), "the link was lost in every attempt");
}

/// Presses and releases the emergency stop of a board. Returns false if the link was lost meanwhile.
fn holds_an_emergency_stop() -> bool {
    let button = StopButton::default();
    let emulator = Emulator::start_with("stop", NativeTraits::default(), ServeOptions::default(), &button);
    let mut device = open(&emulator.port, 2).unwrap();
    tick_until(&mut device, "the motor pushes", |_, _| emulator.has_event("motor 0 on"));
    button.press();
    let stopped = Health::Faulted(FaultCode::EmergencyStop);
    tick_until(&mut device, "the stop is reported", |reading, _| reading.health == stopped);
    wait_until("the motor is off", || emulator.has_event("motor 0 off"));
    let start = Instant::now();
    // Several times as long as the interval between two ARM messages.
    while start.elapsed() < Duration::from_secs(1) {
        let health = tick(&mut device).0.health;
        if health == Health::Lost {
            return false;
        }
        assert_eq!(health, stopped);
        std::thread::sleep(Duration::from_millis(1));
    }
    button.release();
    tick_until(&mut device, "the board is armed again", |reading, _| reading.health == Health::Ready);
    device.link_statistics().unwrap().reconnects == 0
}

#[test]
fn the_watchdog_of_a_board_that_is_armed_again_before_the_tick_reads_is_still_reported() {
    let emulator = Emulator::start("latch", NativeTraits::default(), ServeOptions::default());
    let monitor = Arc::new(LinkMonitor::default());
    let mut device = open_with(&emulator.port, 2, Arc::clone(&monitor)).unwrap();
    tick_until(&mut device, "the motor pushes", |_, _| emulator.has_event("motor 0 on"));
    // The tick stalls, and the reader thread arms the board again.
    wait_until("the watchdog expires", || emulator.has_event("watchdog: no command"));
    wait_until("the board is armed again", || emulator.events("armed, watchdog") >= 2);
    // Before the second command is sent, the answer to the first one has been published.
    for _ in 0..2 {
        assert_eq!(device.write(Effort::zero(), MonotonicNs(0)), WriteOutcome::Written);
        wait_until("the command is answered", || monitor.in_flight() == 0);
    }
    let health = device.read(MonotonicNs(monotonic_ns())).health;
    assert_eq!(health, Health::Faulted(FaultCode::Watchdog));
    tick_until(&mut device, "the fault has ended", |reading, _| reading.health == Health::Ready);
}

/// A board whose handshake succeeds immediately and that never answers afterwards. A test sends its samples, one per
/// byte: `F` is one with a fault. The second field counts them.
#[derive(Clone, Default)]
struct Mute(Arc<LinkMonitor>, Arc<AtomicU32>);

impl Mute {
    fn open(&self, pty: &Pty) -> SerialDevice {
        self.open_with(pty, None)
    }

    fn open_with(&self, pty: &Pty, dead_man: Option<DeadManProgram>) -> SerialDevice {
        let port = pty.name().to_str().unwrap().to_owned();
        SerialDevice::open(SerialSettings {
            find: Box::new(move || Ok(port.clone())),
            baud: 1_000_000,
            protocol: Box::new(self.clone()),
            monitor: Arc::clone(&self.0),
            dead_man,
            priority: 79,
        })
        .unwrap()
    }
}

impl Protocol for Mute {
    fn start_handshake(&mut self, _: MonotonicNs) -> Box<dyn Handshake> {
        Box::new(self.clone())
    }

    fn dead_man_frame(&self) -> Option<TxBytes> {
        Some(TxBytes::new(b"q"))
    }
}

impl Handshake for Mute {
    fn receive(&mut self, _: &[u8], _: MonotonicNs) {}

    fn step(&mut self, _: MonotonicNs) -> Step {
        let (name, serial_number, firmware) = ("mute".to_owned(), String::new(), String::new());
        let everywhere = Vector2::repeat(f64::INFINITY);
        Step::Done(Box::new(OpenSession {
            identity: Identity { name, kind: &haptic_backends::native::SERIAL, serial_number, firmware, axes: 1 },
            limits: Limits { max_force_n: 1.0, travel_min_m: -everywhere, travel_max_m: everywhere, rate_hz: 1000.0 },
            transmit: Box::new(self.clone()),
            receive: Box::new(self.clone()),
        }))
    }
}

impl ReceiveHalf for Mute {
    fn receive(&mut self, bytes: &[u8], _: MonotonicNs) -> Received {
        let mut received = Received::default();
        for byte in bytes {
            let sequence = self.1.fetch_add(1, Ordering::Relaxed) + 1;
            let health = if *byte == b'F' { Health::Faulted(FaultCode::Watchdog) } else { Health::Ready };
            received.add(Some(Sample { health, sequence, ..Sample::default() }));
        }
        received
    }
}

impl TransmitHalf for Mute {
    fn encode(&mut self, effort: Effort, _: &Sample, now: MonotonicNs) -> (TxBytes, Result<(), WriteError>) {
        let sequence = self.0.next_sequence();
        self.0.record_sent(sequence, now);
        (TxBytes::new(if effort == Effort::zero() { b"0" } else { b"1" }), Ok(()))
    }

    fn stop_frame(&mut self) -> TxBytes {
        TxBytes::new(b"q")
    }
}

#[test]
fn a_zero_goes_out_although_nothing_that_was_sent_before_was_answered() {
    let (mut pty, board) = (Pty::open(None).unwrap(), Mute::default());
    let (monitor, mut device) = (Arc::clone(&board.0), board.open(&pty));
    (0..6).for_each(|_| assert_eq!(tick(&mut device).1, WriteOutcome::Written));
    assert_eq!((monitor.in_flight(), device.write(Effort::zero(), MonotonicNs(0))), (6, WriteOutcome::Written));
    device.close();
    let mut heard = [0; 64];
    let count = pty.read(&mut heard);
    assert_eq!(String::from_utf8_lossy(&heard[..count]), "1111110qq");
}

#[test]
fn a_fault_that_begins_and_ends_between_two_reads_is_reported_once() {
    let (mut pty, board) = (Pty::open(None).unwrap(), Mute::default());
    let mut device = board.open(&pty);
    // A host has the port open only after a wait.
    pty.wait(Duration::ZERO).unwrap();
    // The third sample proves that the second one was published.
    for (count, byte) in (1..).zip(b"FRR") {
        pty.write(&[*byte]);
        wait_until("the sample is received", || board.1.load(Ordering::Relaxed) == count);
    }
    let mut health = || device.read(MonotonicNs(monotonic_ns())).health;
    assert_eq!(health(), Health::Faulted(FaultCode::Watchdog));
    wait_until("the fault has ended", || health() != Health::Faulted(FaultCode::Watchdog));
    assert_eq!(health(), Health::Stale);
}

#[test]
fn a_fault_that_begins_and_ends_in_the_bytes_of_one_read_is_reported_once() {
    let (mut pty, board) = (Pty::open(None).unwrap(), Mute::default());
    let mut device = board.open(&pty);
    pty.wait(Duration::ZERO).unwrap();
    pty.write(b"FR");
    // The third sample proves that the ones before it were published.
    wait_until("the samples are received", || board.1.load(Ordering::Relaxed) == 2);
    pty.write(b"R");
    wait_until("the third sample is received", || board.1.load(Ordering::Relaxed) == 3);
    assert_eq!(device.read(MonotonicNs(monotonic_ns())).health, Health::Faulted(FaultCode::Watchdog));
}

/// A dead-man process that runs a line of shell script. `$0` in it is `argument`.
fn dead_man(script: &str, argument: &str) -> DeadManProgram {
    let arguments = ["-c", script, argument].map(str::to_owned).to_vec();
    DeadManProgram { program: PathBuf::from("/bin/sh"), arguments, timeout: TIMEOUT }
}

#[test]
fn a_device_whose_dead_man_process_ends_is_faulted_until_another_one_runs() {
    let folder = haptic_testing::TestFolder::new();
    let ended_once = folder.join("ended-once");
    // The first process ends at once, the second one when its pipe is closed.
    let script = "test -e \"$0\" || { touch \"$0\"; exit; }; exec cat >/dev/null";
    let (mut pty, board) = (Pty::open(None).unwrap(), Mute::default());
    let mut device = board.open_with(&pty, Some(dead_man(script, ended_once.to_str().unwrap())));
    pty.wait(Duration::ZERO).unwrap();
    let faulted = Health::Faulted(FaultCode::DeadMan);
    tick_until(&mut device, "the end is reported", |reading, _| reading.health == faulted);
    tick_until(&mut device, "another one runs", |reading, _| {
        pty.write(b"R");
        reading.health == Health::Ready
    });
}

#[test]
fn a_dead_man_process_that_keeps_ending_is_started_once_per_second() {
    let folder = haptic_testing::TestFolder::new();
    let starts = folder.join("starts");
    let count = || std::fs::read_to_string(&starts).map_or(0, |text| text.lines().count());
    let pty = Pty::open(None).unwrap();
    let port = Port::open(pty.name().to_str().unwrap(), 115_200).unwrap();
    let program = dead_man("echo >>\"$0\"", starts.to_str().unwrap());
    let mut supervisor = DeadManSupervisor::start(program, &port, TxBytes::new(b"q"));
    wait_until("the process ends", || !supervisor.is_running());
    supervisor.restart_if_due(&port, MonotonicNs(0));
    assert_eq!((supervisor.is_running(), count()), (false, 1));
    supervisor.restart_if_due(&port, MonotonicNs(u64::MAX));
    wait_until("another process ends", || !supervisor.is_running());
    assert_eq!(count(), 2);
}

#[test]
fn a_full_line_is_busy_and_never_waits() {
    let pty = Pty::open(None).unwrap();
    let port = Port::open(pty.name().to_str().unwrap(), 115_200).unwrap();
    // The other end is not read, so the buffer fills up.
    let rejected = (0..100_000).find_map(|_| port.write(&[1; 64]).err()).expect("the buffer is finite");
    assert_eq!(rejected.kind(), std::io::ErrorKind::WouldBlock);
}
