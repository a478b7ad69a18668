//! Tests a board: performs the handshake, exchanges CMD and STATE, commands zero while an effort is applied, and
//! finally sends nothing until the watchdog trips.
//!
//! `cargo run --release -p haptic-wire --example talk -- PORT [EXCHANGES] [RATE_HZ] [WATCHDOG_MS]`
//!
//! PORT is a pseudo-terminal, or a serial port already set to raw mode and the correct speed. With a rate of 0, each
//! command is sent as soon as the previous one is acknowledged. The program prints losses and round-trip times. Its
//! exit code is 1 if the board violates the specification.

use haptic_wire::*;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    fs::{File, OpenOptions},
    io::{Read, Write},
    os::unix::fs::OpenOptionsExt,
    process::ExitCode,
    time::{Duration, Instant},
};

const NONCE: u32 = 0x5EED_0001;
/// Reply timeout, long enough that a missing reply has been lost rather than delayed by a busy machine.
const REPLY_TIMEOUT: Duration = Duration::from_secs(1);
/// Time limit for repeating a request. It includes the time that a bootloader takes to start the firmware.
const BOOT_TIMEOUT: Duration = Duration::from_secs(5);

type Outcome<T> = Result<T, String>;

/// A board on an open port, with bytes that have been received but not decoded yet.
struct Board {
    port: File,
    decoder: Decoder,
    sequence: u8,
    unread: Vec<u8>,
}

impl Board {
    fn open(path: &str) -> Outcome<Self> {
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let opened = OpenOptions::new().read(true).write(true).custom_flags(flags.bits() as i32).open(path);
        let port = opened.map_err(|error| format!("cannot open {path}: {error}"))?;
        Ok(Self { port, decoder: Decoder::new(), sequence: 0, unread: Vec::new() })
    }

    fn send(&mut self, message: &Message<'_>) -> Outcome<u8> {
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let mut wire = [0; WIRE_MAX];
        let length = encode(message, sequence, &mut wire).map_err(|error| error.to_string())?;
        self.port.write_all(&wire[..length]).map_err(|error| format!("cannot write: {error}"))?;
        Ok(sequence)
    }

    /// Waits for the first message that `wanted` accepts. Returns `None` after a timeout.
    fn wait_for<T>(&mut self, within: Duration, wanted: impl Fn(&Message<'_>) -> Option<T>) -> Option<T> {
        let deadline = Instant::now() + within;
        loop {
            if let Some(found) = self.next_wanted(&wanted) {
                return Some(found);
            }
            let left = deadline.checked_duration_since(Instant::now())?;
            self.read_for(left);
        }
    }

    fn next_wanted<T>(&mut self, wanted: &impl Fn(&Message<'_>) -> Option<T>) -> Option<T> {
        let decoder = &mut self.decoder;
        let mut used = 0;
        let found = self.unread.iter().find_map(|byte| {
            used += 1;
            decoder.push(*byte).and_then(|frame| Message::parse(&frame).ok()).and_then(|message| wanted(&message))
        });
        self.unread.drain(..used);
        found
    }

    fn read_for(&mut self, within: Duration) {
        let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        let ready = poll(&mut [PollFd::new(&self.port, PollFlags::IN)], Some(&timeout));
        let mut bytes = [0; 256];
        if let (Ok(1..), Ok(count)) = (ready, self.port.read(&mut bytes)) {
            self.unread.extend_from_slice(&bytes[..count]);
        }
    }

    /// Repeats a message until a reply arrives. The specification permits this for HELLO, AXIS_INFO and ARM.
    fn request<T>(&mut self, message: &Message<'_>, wanted: impl Fn(&Message<'_>) -> Option<T>) -> Outcome<T> {
        let deadline = Instant::now() + BOOT_TIMEOUT;
        while Instant::now() < deadline {
            self.send(message)?;
            if let Some(reply) = self.wait_for(REPLY_TIMEOUT, &wanted) {
                return Ok(reply);
            }
        }
        Err(format!("no reply to {:?} within {BOOT_TIMEOUT:?}", message.kind()))
    }
}

fn open_session(board: &mut Board) -> Outcome<HelloAck> {
    let flush = board.port.write_all(&[0]);
    flush.map_err(|error| format!("cannot write: {error}"))?;
    board.request(&Message::Hello(Hello { version: VERSION, nonce: NONCE }), |message| match message {
        Message::HelloAck(reply) if reply.nonce == NONCE => Some(*reply),
        _ => None,
    })
}

fn describe_axes(board: &mut Board, axes: u8) -> Outcome<()> {
    for index in 0..axes {
        let info = board.request(&Message::AxisInfoRequest(AxisInfoRequest { index }), |message| match message {
            Message::AxisInfo(info) if info.index == index => Some(*info),
            _ => None,
        })?;
        let (min, max) = (info.units_from_counts(info.range.0), info.units_from_counts(info.range.1));
        println!("axis {index}: {:?}, {min:.4} to {max:.4}, full scale {:.3}", info.kind, info.full_scale());
    }
    Ok(())
}

fn per_axis<T: Copy + Default>(axes: u8, value: T) -> PerAxis<T> {
    if axes == 1 { PerAxis::one(value) } else { PerAxis::two(value, value) }
}

fn arm(board: &mut Board, axes: u8, watchdog_ms: u16) -> Outcome<Arm> {
    let limits_q15 = per_axis(axes, FULL_SCALE_Q15 / 2);
    let arm = Arm { nonce: NONCE, watchdog_ms, limits_q15, slew_q15_per_ms: 0 };
    let wrong = Message::Arm(Arm { nonce: !NONCE, ..arm });
    board.request(&wrong, |message| match message {
        Message::Fault(fault) if fault.code == FaultCode::NonceMismatch => Some(()),
        _ => None,
    })?;
    board.request(&Message::Arm(arm), |message| match message {
        Message::ArmAck(arm) => Some(*arm),
        _ => None,
    })
}

/// Statistics over all exchanges.
#[derive(Default)]
struct Statistics {
    round_trips_us: Vec<u64>,
    ages_us: Vec<u32>,
    lost: u32,
    unarmed: u32,
    positions: (i32, i32),
}

impl Statistics {
    fn add(&mut self, state: Option<State>, took: Duration) {
        let Some(state) = state else {
            self.lost += 1;
            return;
        };
        self.round_trips_us.push(took.as_micros() as u64);
        self.unarmed += u32::from(!state.status.has(Status::ARMED));
        let position = state.axes[0].position;
        self.positions = (self.positions.0.min(position), self.positions.1.max(position));
        self.ages_us.push(state.sampled_at_us);
    }
}

/// Commands an effort on every axis and returns the reply, if any.
fn command(board: &mut Board, axes: u8, effort: i16) -> Outcome<Option<State>> {
    let sequence = board.send(&Message::Command(Command::with_efforts(per_axis(axes, effort))))?;
    Ok(board.wait_for(REPLY_TIMEOUT, |message| match message {
        Message::State(state) if state.acknowledged == sequence => Some(*state),
        _ => None,
    }))
}

/// Checks that a zero command switches the motor off before the reply is sent, and that the next effort needs no ARM.
fn check_zero_during_effort(board: &mut Board, axes: u8) -> Outcome<()> {
    for (effort, wanted) in [(9000, Status::ENABLED), (0, 0), (9000, Status::ENABLED)] {
        let state = command(board, axes, effort)?.ok_or("no reply to a command during the zero test")?;
        let is_slewed_zero = effort == 0 && state.status.has(Status::SLEWING);
        if !state.status.has(Status::ARMED) || state.status.0 & Status::ENABLED != wanted || is_slewed_zero {
            return Err(format!("effort {effort} in the zero test: {:?}", state.status));
        }
    }
    println!("a zero ended the effort at once, and the board stayed armed");
    Ok(())
}

fn exchange(board: &mut Board, axes: u8, count: u32, period: Duration) -> Outcome<Statistics> {
    let mut statistics = Statistics::default();
    let mut next = Instant::now();
    for index in 0..count {
        // An effort that changes sign every 128 exchanges, so that the handle visibly moves.
        let effort = if index & 128 == 0 { 9000 } else { -9000 };
        let sent_at = Instant::now();
        let state = command(board, axes, effort)?;
        statistics.add(state, sent_at.elapsed());
        next += period;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(statistics)
}

fn print_statistics(statistics: &mut Statistics, count: u32, counters: Counters) {
    statistics.round_trips_us.sort_unstable();
    let at = |fraction: f64| {
        let last = statistics.round_trips_us.len().saturating_sub(1);
        statistics.round_trips_us.get((last as f64 * fraction) as usize).copied().unwrap_or(0)
    };
    let repeated = statistics.ages_us.windows(2).filter(|pair| pair[0] == pair[1]).count();
    println!(
        "{count} exchanges: {} lost, {} replies while not armed, {counters:?}",
        statistics.lost, statistics.unarmed
    );
    println!("round trip p50 {} p99 {} max {} us; {repeated} samples received twice", at(0.5), at(0.99), at(1.0));
    println!("axis 0 moved between {} and {} counts", statistics.positions.0, statistics.positions.1);
}

/// Sends nothing until the board reports a watchdog fault.
fn provoke_watchdog(board: &mut Board) -> Outcome<()> {
    let silent_since = Instant::now();
    let fault = board.wait_for(Duration::from_millis(500), |message| match message {
        Message::Fault(fault) => Some(*fault),
        _ => None,
    });
    match fault {
        Some(fault) if fault.code == FaultCode::Watchdog => {
            println!("silence: {fault} ({:.1} ms after the last exchange)", silent_since.elapsed().as_secs_f64() * 1e3);
            Ok(())
        }
        Some(fault) => Err(format!("expected the watchdog, got: {fault}")),
        None => Err("the watchdog did not act within half a second".into()),
    }
}

fn talk(path: &str, count: u32, period: Duration, watchdog_ms: u16) -> Outcome<()> {
    let mut board = Board::open(path)?;
    let hello = open_session(&mut board)?;
    println!("{:?}", hello);
    describe_axes(&mut board, hello.axes)?;
    println!("{:?}", arm(&mut board, hello.axes, watchdog_ms)?);
    let mut statistics = exchange(&mut board, hello.axes, count, period)?;
    print_statistics(&mut statistics, count, board.decoder.counters());
    check_zero_during_effort(&mut board, hello.axes)?;
    provoke_watchdog(&mut board)?;
    board.send(&Message::Stop)?;
    if statistics.lost == 0 && statistics.unarmed == 0 {
        Ok(())
    } else {
        Err("exchanges were lost, or the board disarmed".into())
    }
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |index: usize, default: u32| arguments.get(index).map_or(Some(default), |text| text.parse().ok());
    let numbers = (number(1, 2000), number(2, 1000), number(3, 20));
    let (Some(path), (Some(count), Some(rate_hz), Some(watchdog_ms))) = (arguments.first(), numbers) else {
        eprintln!("talk PORT [EXCHANGES] [RATE_HZ] [WATCHDOG_MS]");
        return ExitCode::from(2);
    };
    let period = Duration::from_secs(1).checked_div(rate_hz).unwrap_or_default();
    match talk(path, count, period, watchdog_ms.min(u32::from(u16::MAX)) as u16) {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
