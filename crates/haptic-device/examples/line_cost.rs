//! What a serial line costs the tick, and how long its round trip is, in three ways against one emulated board:
//! waiting for each answer, as a plain client does; reading and writing from the tick; and the way of `SerialDevice`, with a
//! thread that listens.
//!
//! `cargo run --release -p haptic-device --example line_cost -- [TICKS]`

use haptic_device::emulated::native::NativeTraits;
use haptic_device::emulated::{Body, Life, NativeBoard, serve};
use haptic_device::serial::keeper::{Connection, Dialler};
use haptic_device::serial::protocol::Sample;
use haptic_device::serial::{Ledger, NativeProtocol, NativeSettings, SerialDevice, SerialSettings};
use haptic_device::{Device, DeviceModel, Effort, MonotonicNs};
use haptic_realtime::clock::{Clock, MonotonicClock, monotonic_ns};
use haptic_realtime::histogram::Histogram;
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const TICK_NS: u64 = 1_000_000;

fn request(name: &str, priority: u8) -> ThreadRequest {
    ThreadRequest {
        name: name.to_owned(),
        priority,
        cpu: CpuChoice::Any,
        lock_memory: false,
        ..ThreadRequest::default()
    }
}

fn protocol(ledger: &Arc<Ledger>, nonce: u32) -> Box<NativeProtocol> {
    let settings = NativeSettings { axes: Some(2), lever_m: 1.0, max_force_n: 4.0, watchdog_ms: 100, baud: None };
    Box::new(NativeProtocol::new(settings, Arc::clone(ledger), nonce))
}

fn dial(port: &Path, ledger: &Arc<Ledger>, nonce: u32) -> Connection {
    let name = port.display().to_string();
    let find = Box::new(move || Ok(name.clone()));
    let mut dialler = Dialler { find, baud: 1_000_000, protocol: protocol(ledger, nonce) };
    dialler.dial(&AtomicBool::new(false)).expect("the emulated board answers")
}

/// Runs `tick` every millisecond and records how long it took.
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

fn report(way: &str, cost: Option<&Histogram>, ledger: &Ledger) {
    let micro = |ns: u64| ns as f64 / 1e3;
    let cost = cost.map_or_else(String::new, |cost| {
        let figures = cost.percentiles();
        format!("tick p50 {:.1} p99 {:.1} µs; ", micro(figures.p50), micro(figures.p99))
    });
    let link = ledger.statistics(1000.0);
    let trip = link.round_trip;
    println!(
        "{way}: {cost}round trip p50 {:.1} p99 {:.1} µs; {} lost",
        micro(trip.p50_ns),
        micro(trip.p99_ns),
        link.frames_lost
    );
}

/// Writes, then waits for the answer, as a plain client does.
fn wait_for_each(port: &Path, ticks: u32) {
    let ledger = Arc::new(Ledger::default());
    let mut connection = dial(port, &ledger, 100);
    paced(ticks, |now| {
        let (words, _) =
            connection.line.voice.say(Effort::zero(), &Sample::nothing_yet(), MonotonicNs(monotonic_ns().max(now.0)));
        connection.line.port.write(words.bytes()).expect("the board takes it");
        let mut buffer = [0; 256];
        let count =
            connection.line.port.read_within(&mut buffer, Duration::from_millis(50)).expect("the board is there");
        connection.ear.hear(&buffer[..count], MonotonicNs(monotonic_ns()));
    });
    report("waiting for each answer", None, &ledger);
}

/// Reads what is there and writes, both from the tick.
fn from_the_tick(port: &Path, ticks: u32) {
    let ledger = Arc::new(Ledger::default());
    let mut connection = dial(port, &ledger, 200);
    let cost = paced(ticks, |now| {
        let mut buffer = [0; 256];
        let count = connection.line.port.read_within(&mut buffer, Duration::ZERO).expect("the board is there");
        connection.ear.hear(&buffer[..count], now);
        let (words, _) = connection.line.voice.say(Effort::zero(), &Sample::nothing_yet(), now);
        connection.line.port.write(words.bytes()).expect("the board takes it");
    });
    report("from the tick", Some(&cost), &ledger);
}

/// Reads a slot and writes; a thread listens.
fn with_a_listener(port: &Path, ticks: u32) {
    let (ledger, name) = (Arc::new(Ledger::default()), port.display().to_string());
    let find = Box::new(move || Ok(name.clone()));
    let (baud, priority) = (1_000_000, 79);
    let settings =
        SerialSettings { find, baud, protocol: protocol(&ledger, 300), ledger: Arc::clone(&ledger), priority };
    let mut device = SerialDevice::open(settings).expect("the emulated board answers");
    let cost = paced(ticks, |now| {
        device.read(now);
        device.write(Effort::zero(), now);
    });
    report("with a listener", Some(&cost), &ledger);
    device.close();
}

fn main() {
    let ticks = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(5000);
    let port: PathBuf = std::env::temp_dir().join(format!("line-cost-{}", std::process::id()));
    let stop = Arc::new(AtomicBool::new(false));
    let (life, stop_inside) = (Life { link: Some(port.clone()), ..Life::default() }, Arc::clone(&stop));
    let board = spawn(request("board", 78), move |_| {
        let body = Body::new(2, &DeviceModel::default(), None).expect("the model is right");
        serve(&mut NativeBoard::new(NativeTraits::default(), body), &life, &stop_inside, &mut |_, _| {})
            .expect("a port");
    });
    while !port.exists() {
        std::thread::sleep(Duration::from_millis(1));
    }
    let host = spawn(request("host", 80), move |granted| {
        println!("scheduling: {:?}", granted.policy);
        for _ in 0..2 {
            wait_for_each(&port, ticks);
            from_the_tick(&port, ticks);
            with_a_listener(&port, ticks);
        }
    });
    host.expect("a thread").join().expect("no panic");
    stop.store(true, Ordering::Relaxed);
    board.expect("a thread").join().expect("no panic");
}
