//! Measures the round trip of a serial line and its cost in the tick, with three methods on one emulated board: a plain
//! client of the `serialport` crate that waits for each answer, reading and writing in the tick, and `SerialDevice`
//! with its reader thread.
//!
//! The three methods take turns, so that other load on the machine affects all of them. The medians and minima over all
//! turns are printed at the end. The program fails if the 99th percentile of the `SerialDevice` round trip, as a median
//! over all turns, is more than 1.3 times the value for the plain client.
//!
//! `cargo run --release -p haptic-backends --example line_cost -- [TICKS [TURNS]]`

use haptic_backends::protocol::{OpenSession, Protocol, Sample, Step};
use haptic_backends::serial::reader_thread::{Connection, SerialConnector};
use haptic_backends::serial::{LinkMonitor, NativeProtocol, NativeSettings, SerialDevice, SerialSettings};
use haptic_device::{Device, DeviceModel, Effort, MonotonicNs};
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::native::NativeTraits;
use haptic_emulator::serial::{NativeBoard, ServeOptions, serve};
use haptic_realtime::clock::{Clock, MonotonicClock, monotonic_ns};
use haptic_realtime::histogram::Histogram;
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use serialport::TTYPort;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TICK_NS: u64 = 1_000_000;
/// Largest permitted ratio between the round trips of `SerialDevice` and the plain client.
const MAX_RATIO: f64 = 1.3;

fn request(name: &str, priority: u8) -> ThreadRequest {
    ThreadRequest {
        name: name.to_owned(),
        priority,
        cpu: CpuChoice::Any,
        lock_memory: false,
        ..ThreadRequest::default()
    }
}

fn protocol(monitor: &Arc<LinkMonitor>, nonce: u32) -> Box<NativeProtocol> {
    let settings = NativeSettings { axes: Some(2), lever_m: 1.0, max_force_n: 4.0, watchdog_ms: 100, baud: None };
    Box::new(NativeProtocol::new(settings, Arc::clone(monitor), nonce))
}

fn connect(port: &Path, monitor: &Arc<LinkMonitor>, nonce: u32) -> Connection {
    let name = port.display().to_string();
    let find = Box::new(move || Ok(name.clone()));
    let mut connector = SerialConnector { find, baud: 1_000_000, protocol: protocol(monitor, nonce), dead_man: None };
    connector.connect(&AtomicBool::new(false)).expect("the emulated board answers")
}

/// Runs `tick` every millisecond and returns a histogram of its duration.
fn paced(ticks: u32, mut tick: impl FnMut(MonotonicNs)) -> Box<Histogram> {
    let (mut clock, mut cost, mut next_ns) = (MonotonicClock, Box::new(Histogram::new()), monotonic_ns());
    for _ in 0..ticks {
        next_ns = (next_ns + TICK_NS).max(monotonic_ns());
        clock.sleep_until_ns(next_ns);
        let before_ns = monotonic_ns();
        tick(MonotonicNs(before_ns));
        cost.record(monotonic_ns() - before_ns);
    }
    cost
}

/// Results of one method in one turn: times in µs, and the number of lost frames.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    tick_p50: f64,
    tick_p99: f64,
    trip_p50: f64,
    trip_p99: f64,
    lost: f64,
}

impl Figures {
    fn of(cost: Option<&Histogram>, monitor: &LinkMonitor) -> Self {
        let micro = |ns: u64| ns as f64 / 1e3;
        let (link, cost) = (monitor.statistics(1000.0), cost.map(Histogram::percentiles));
        Self {
            tick_p50: cost.as_ref().map_or(0.0, |cost| micro(cost.p50)),
            tick_p99: cost.as_ref().map_or(0.0, |cost| micro(cost.p99)),
            trip_p50: micro(link.round_trip.p50_ns),
            trip_p99: micro(link.round_trip.p99_ns),
            lost: link.frames_lost as f64,
        }
    }

    /// Returns each figure at this rank over all turns; rank 0 is the minimum.
    fn at_rank(rank: usize, turns: &[Self]) -> Self {
        let of = |field: fn(&Self) -> f64| {
            let mut values: Vec<f64> = turns.iter().map(field).collect();
            values.sort_by(f64::total_cmp);
            values[rank]
        };
        Self {
            tick_p50: of(|turn| turn.tick_p50),
            tick_p99: of(|turn| turn.tick_p99),
            trip_p50: of(|turn| turn.trip_p50),
            trip_p99: of(|turn| turn.trip_p99),
            lost: of(|turn| turn.lost),
        }
    }

    fn print(&self, way: &str) {
        let Self { tick_p50, tick_p99, trip_p50, trip_p99, lost } = self;
        let trip = format!("round trip p50 {trip_p50:6.1} p99 {trip_p99:6.1} µs, {lost} lost");
        if *tick_p50 > 0.0 {
            println!("{way}: {trip}; tick p50 {tick_p50:5.1} p99 {tick_p99:5.1} µs");
        } else {
            println!("{way}: {trip}");
        }
    }
}

/// Runs the handshake with the `serialport` crate alone.
fn open_session(plain: &mut TTYPort, protocol: &mut dyn Protocol) -> OpenSession {
    let now = || MonotonicNs(monotonic_ns());
    let mut handshake = protocol.start_handshake(now());
    let mut buffer = [0; 256];
    loop {
        match handshake.step(now()) {
            Step::Send(bytes) => plain.write_all(bytes.bytes()).expect("the board takes it"),
            Step::Wait { .. } => {
                let count = plain.read(&mut buffer).unwrap_or(0);
                handshake.receive(&buffer[..count], now());
            }
            Step::Done(session) => return *session,
            Step::Failed(error) => panic!("{error}"),
        }
    }
}

/// Measures a plain client that writes a command and then waits for the answer.
fn plain_client(port: &Path, ticks: u32) -> Figures {
    let monitor = Arc::new(LinkMonitor::default());
    let builder = serialport::new(port.display().to_string(), 1_000_000).timeout(Duration::from_millis(50));
    let mut plain = builder.open_native().expect("the port is there");
    let OpenSession { mut transmit, mut receive, .. } = open_session(&mut plain, protocol(&monitor, 100).as_mut());
    paced(ticks, |_| {
        let (bytes, _) = transmit.encode(Effort::zero(), &Sample::default(), MonotonicNs(monotonic_ns()));
        plain.write_all(bytes.bytes()).expect("the board takes it");
        let mut buffer = [0; 256];
        let count = plain.read(&mut buffer).expect("the board answers");
        receive.receive(&buffer[..count], MonotonicNs(monotonic_ns()));
    });
    Figures::of(None, &monitor)
}

/// Measures reading and writing in the tick.
fn in_the_tick(port: &Path, ticks: u32) -> Figures {
    let monitor = Arc::new(LinkMonitor::default());
    let mut connection = connect(port, &monitor, 200);
    let cost = paced(ticks, |now| {
        let mut buffer = [0; 256];
        let count = connection.tx_link.port.read_within(&mut buffer, Duration::ZERO).expect("the board is there");
        connection.receive.receive(&buffer[..count], now);
        let (bytes, _) = connection.tx_link.transmit.encode(Effort::zero(), &Sample::default(), now);
        connection.tx_link.port.write(bytes.bytes()).expect("the board takes it");
    });
    Figures::of(Some(&cost), &monitor)
}

/// Measures `SerialDevice`: the tick reads a slot and writes to the port, while a thread receives.
///
/// Like the plain client, the tick writes only after the last command has been answered. Otherwise, a stall of five
/// milliseconds would delay five commands here but only one of the plain client.
fn with_a_reader_thread(port: &Path, ticks: u32) -> Figures {
    let (monitor, name) = (Arc::new(LinkMonitor::default()), port.display().to_string());
    let find = Box::new(move || Ok(name.clone()));
    let (baud, priority) = (1_000_000, 79);
    let (protocol, dead_man) = (protocol(&monitor, 300), None);
    let settings = SerialSettings { find, baud, protocol, monitor: Arc::clone(&monitor), dead_man, priority };
    let mut device = SerialDevice::open(settings).expect("the emulated board answers");
    let mut answered = None;
    let cost = paced(ticks, |now| {
        let sequence = device.read(now).sequence;
        if answered.replace(sequence) != Some(sequence) {
            device.write(Effort::zero(), now);
        }
    });
    device.close();
    Figures::of(Some(&cost), &monitor)
}

/// Name and function of one method.
type Way = (&'static str, fn(&Path, u32) -> Figures);

const WAYS: [Way; 3] = [
    ("plain client of serialport", plain_client),
    ("read and write from the tick", in_the_tick),
    ("write from the tick, a thread listens", with_a_reader_thread),
];

/// Prints and returns the figures of all methods at one rank.
fn tell_all(what: &str, place: usize, figures: &[Vec<Figures>; 3]) -> [Figures; 3] {
    println!("{what}:");
    let chosen = figures.each_ref().map(|turns| Figures::at_rank(place, turns));
    WAYS.iter().zip(&chosen).for_each(|((name, _), figures)| figures.print(name));
    chosen
}

/// Runs all methods in turn. Returns whether the round trip of `SerialDevice` is within [`MAX_RATIO`].
fn compare(port: &Path, ticks: u32, turns: usize) -> bool {
    let mut figures = WAYS.map(|_| Vec::new());
    for _ in 0..turns {
        for ((name, way), figures) in WAYS.iter().zip(&mut figures) {
            let found = way(port, ticks);
            found.print(name);
            figures.push(found);
        }
    }
    tell_all("least of all turns", 0, &figures);
    let [plain, _, listened] = tell_all(&format!("medians of {turns} turns of {ticks} ticks"), turns / 2, &figures);
    let ratio = listened.trip_p99 / plain.trip_p99;
    println!("round trip at the 99th percentile: {ratio:.2} times that of the plain client");
    ratio <= MAX_RATIO
}

fn main() -> ExitCode {
    let number = |place: usize| std::env::args().nth(place).and_then(|text| text.parse::<u32>().ok());
    let (ticks, turns) = (number(1).unwrap_or(1000), number(2).unwrap_or(21).max(1) as usize);
    let port: PathBuf = std::env::temp_dir().join(format!("line-cost-{}", std::process::id()));
    let stop = Arc::new(AtomicBool::new(false));
    let (life, stop_inside) = (ServeOptions { link: Some(port.clone()), ..ServeOptions::default() }, Arc::clone(&stop));
    let board = spawn(request("board", 78), move |_| {
        let body = EmulatedHandle::new(2, &DeviceModel::default(), None).expect("the model is right");
        serve(&mut NativeBoard::new(NativeTraits::default(), body), &life, &stop_inside, &mut |_, _| {})
            .expect("a port");
    });
    while !port.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let host = spawn(request("host", 80), move |granted| {
        println!("scheduling: {:?}", granted.policy);
        compare(&port, ticks, turns)
    });
    let holds = host.expect("a thread").join().expect("no panic");
    stop.store(true, Ordering::Relaxed);
    board.expect("a thread").join().expect("no panic");
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
