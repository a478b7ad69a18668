//! `haptic-emulator DEVICE TRANSPORT [--seconds S] [--room N] [--full-scale N] [--log FILE] [--unplug S]
//! [--emergency-stop START+SECONDS]… [--pedals FRACTION] [--reverse-motor AXIS]… [--reverse-encoder AXIS]…`
//! `haptic-emulator compare LOG TRACE STEP_N [LEAK]`
//! `haptic-emulator faults [--short] [--hapticd PATH] [--backends NAME,…] [--faults NAME,…]`
//! `haptic-emulator faults-table CELLS EXCEPTIONS DOCUMENT`
//!
//! DEVICE: openffboard, arduino, vpforce or native. TRANSPORT: uhid, functionfs=FOLDER or serial=PATH. Emulates the
//! device for `--seconds` (default 10), then prints its audit of the host as a JSON object. `--room` is the number of
//! effects that the device can store, and `--full-scale` is its largest force in newtons. `--log` writes every step of
//! the device to a CSV file. `--unplug` disconnects the device for one second, at the given time in seconds after the
//! start (uhid only). `--emergency-stop` presses the emergency stop of the native board START seconds after it was
//! connected, for the given number of seconds. `--pedals` moves the axes of a joystick that have no motor, in this
//! fraction of the milliseconds. `--reverse-motor` and `--reverse-encoder` reverse those of an axis, x or y.
//!
//! `compare` checks that the host permitted every motor force. LOG is the log of the device, and TRACE is the host's
//! table, from `hapticd export --csv`. STEP_N is the resolution of the motor force in newtons. LEAK is the fraction of
//! one axis's force that leaks into the other axis; the default is zero.
//!
//! `faults` runs cells of the fault campaign, by default all of them. It prints the figures of each as a JSON object,
//! and their number at the end.
//! `faults-table` compares such figures with their limits, less the exceptions, and writes the tables into a document.
#![forbid(unsafe_code)]

use haptic_device::config::ReversedAxes;
use haptic_emulator::audit::{HostAudit, HostAuditor};
use haptic_emulator::campaign::command;
use haptic_emulator::compare::compare;
use haptic_emulator::gadget::Gadget;
use haptic_emulator::handle::EmulatedHandle;
use haptic_emulator::interval::{Interval, NotAnInterval};
use haptic_emulator::style::{STYLES, Style};
use haptic_emulator::transport::function_fs::{FunctionFs, Socket};
use haptic_emulator::transport::{now_us, serial, uhid};
use haptic_realtime::thread::{CpuChoice, ThreadRequest, spawn};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

/// Real-time priority of the emulated device. It is higher than the priority of the threads that serve the device,
/// because hardware does not wait for software, and lower than the priority of the loop.
const PRIORITY: u8 = 75;
/// USB vendor and product ids of the native board.
const NATIVE_IDS: (u16, u16) = (0x1209, 0x4850);

struct Arguments {
    style: Option<Style>,
    transport: String,
    seconds: f64,
    room: Option<usize>,
    full_scale_n: f64,
    log: Option<String>,
    unplug_s: Option<f64>,
    emergency_stops: Vec<Interval>,
    pedals: f64,
    reversed: ReversedAxes,
}

impl Arguments {
    fn parse(words: &[String]) -> Result<Self, String> {
        let [device, transport, options @ ..] = words else { return Err("give DEVICE and TRANSPORT".to_owned()) };
        let style = STYLES.into_iter().find(|style| style.name == device);
        if style.is_none() && device != "native" {
            return Err(format!("{device} is not a device; give openffboard, arduino, vpforce or native"));
        }
        let option = |name: &str| {
            let at = options.iter().position(|word| word == name)?;
            options.get(at + 1).cloned()
        };
        let number = |name: &str, default: f64| match option(name) {
            None => Ok(default),
            Some(text) => text.parse().map_err(|_| format!("{name} {text}: give a number")),
        };
        let axes =
            |name: &str| ["x", "y"].map(|axis| options.windows(2).any(|pair| pair[0] == name && pair[1] == axis));
        let pairs = options.windows(2).filter(|pair| pair[0] == "--emergency-stop");
        let stops = pairs.map(|pair| {
            pair[1].parse().map_err(|error: NotAnInterval| format!("--emergency-stop {}: {error}", pair[1]))
        });
        Ok(Self {
            style,
            emergency_stops: stops.collect::<Result<_, String>>()?,
            transport: transport.clone(),
            seconds: number("--seconds", 10.0)?,
            room: option("--room").and_then(|text| text.parse().ok()),
            full_scale_n: number("--full-scale", 4.0)?,
            log: option("--log"),
            unplug_s: option("--unplug").and_then(|text| text.parse().ok()),
            pedals: number("--pedals", 0.0)?,
            reversed: ReversedAxes { force: axes("--reverse-motor"), position: axes("--reverse-encoder") },
        })
    }

    fn gadget(&self) -> io::Result<Gadget> {
        let handle = EmulatedHandle::round_the_post().map_err(io::Error::other)?.reversed(self.reversed);
        let mut gadget = match self.style {
            Some(style) => Gadget::joystick(style, self.room, self.full_scale_n, handle),
            None => Gadget::board(self.full_scale_n, handle),
        };
        gadget.plan_stops(self.emergency_stops.clone());
        Ok(gadget.with_moving_pedals(self.pedals))
    }

    fn identity(&self) -> uhid::Identity {
        let name = self.style.map_or("native", |style| style.name);
        uhid::Identity {
            name: format!("emulated {name}"),
            ids: self.style.map_or(NATIVE_IDS, |style| (style.vendor, style.product)),
            descriptor: Gadget::descriptor(self.style.as_ref()),
        }
    }
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match &words[..] {
        [word, log, trace, step_n] if word == "compare" => compared(log, trace, step_n, "0"),
        [word, log, trace, step_n, leak] if word == "compare" => compared(log, trace, step_n, leak),
        [word, options @ ..] if word == "faults" => faults(options),
        [word, cells, exceptions, document] if word == "faults-table" => command::tabulate(cells, exceptions, document),
        _ => emulated(&words),
    };
    match outcome {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("haptic-emulator: {text}");
            ExitCode::FAILURE
        }
    }
}

fn faults(options: &[String]) -> Result<String, String> {
    let mut ran = 0;
    command::run(options, &mut |cell| {
        ran += 1;
        println!("{cell}");
    })?;
    Ok(format!("{{\"ran\": {ran}}}"))
}

fn emulated(words: &[String]) -> Result<String, String> {
    let account = run(Arguments::parse(words)?).map_err(|error| error.to_string())?;
    serde_json::to_string(&account).map_err(|error| error.to_string())
}

fn compared(log: &str, trace: &str, step_n: &str, leak: &str) -> Result<String, String> {
    let step_n = step_n.parse().map_err(|_| format!("{step_n}: give the step of a force, N"))?;
    let leak = leak.parse().map_err(|_| format!("{leak}: give a part of a force, 0 to 1"))?;
    let text = |path: &str| std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"));
    let comparison = compare(&text(log)?, &text(trace)?, step_n, leak)?;
    serde_json::to_string(&comparison).map_err(|error| error.to_string())
}

fn run(arguments: Arguments) -> io::Result<HostAudit> {
    let log = match &arguments.log {
        Some(path) => Some(Box::new(BufWriter::with_capacity(1 << 20, File::create(path)?)) as Box<dyn Write + Send>),
        None => None,
    };
    let accountant = HostAuditor::new(log);
    let gadget = arguments.gadget()?;
    match arguments.transport.split_once('=') {
        None if arguments.transport == "uhid" => alone(move || on_uhid(&arguments, gadget, accountant)),
        Some(("serial", path)) => {
            let path = path.to_owned();
            alone(move || on_serial(Path::new(&path), &arguments, gadget, accountant))
        }
        Some(("functionfs", folder)) => on_function_fs(Path::new(folder), &arguments, gadget, accountant),
        _ => Err(io::Error::other("give uhid, functionfs=FOLDER or serial=PATH as TRANSPORT")),
    }
}

fn request() -> ThreadRequest {
    ThreadRequest {
        name: "emulator".to_owned(),
        priority: PRIORITY,
        cpu: CpuChoice::Any,
        runaway_limit: None,
        ..ThreadRequest::default()
    }
}

/// Runs `body` on a thread with the device's priority and returns its result.
fn alone(body: impl FnOnce() -> io::Result<HostAudit> + Send + 'static) -> io::Result<HostAudit> {
    spawn(request(), move |_| body())?.join().map_err(io::Error::other)?
}

fn on_uhid(arguments: &Arguments, mut gadget: Gadget, mut accountant: HostAuditor) -> io::Result<HostAudit> {
    const AWAY_S: f64 = 1.0;
    let (identity, start_us) = (arguments.identity(), now_us());
    let at = |seconds: f64| start_us + (seconds * 1e6) as u64;
    let parts = match arguments.unplug_s {
        Some(unplug_s) => vec![(0.0, unplug_s), (unplug_s + AWAY_S, arguments.seconds)],
        None => vec![(0.0, arguments.seconds)],
    };
    for (index, (from_s, to_s)) in parts.into_iter().enumerate() {
        std::thread::sleep(std::time::Duration::from_micros(at(from_s).saturating_sub(now_us())));
        if index > 0 {
            // A device loses its state when it loses power.
            accountant.end_life(&gadget);
            gadget = arguments.gadget()?;
        }
        uhid::Uhid::create(&identity)?.serve(&mut gadget, &mut accountant, at(to_s))?;
    }
    Ok(accountant.conclude(&gadget))
}

fn on_serial(
    path: &Path,
    arguments: &Arguments,
    mut gadget: Gadget,
    mut accountant: HostAuditor,
) -> io::Result<HostAudit> {
    let until_us = now_us() + (arguments.seconds * 1e6) as u64;
    serial::serve(&mut serial::open(path)?, &mut gadget, &mut accountant, until_us)?;
    Ok(accountant.conclude(&gadget))
}

fn on_function_fs(
    folder: &Path,
    arguments: &Arguments,
    gadget: Gadget,
    accountant: HostAuditor,
) -> io::Result<HostAudit> {
    let function = FunctionFs::create(folder, Gadget::descriptor(arguments.style.as_ref()))?;
    let shared = Arc::new(Mutex::new(Socket::new(gadget, accountant)));
    let until_us = now_us() + (arguments.seconds * 1e6) as u64;
    let [control, output, input, clock] = function.into_threads(&shared, until_us)?;
    let _control = spawn(request(), move |_| control())?;
    let _output = spawn(request(), move |_| output())?;
    let _input = spawn(request(), move |_| input())?;
    spawn(request(), move |_| clock())?.join().map_err(io::Error::other)?;
    Ok(shared.lock().unwrap_or_else(PoisonError::into_inner).conclude())
}
