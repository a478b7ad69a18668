//! Tests a board: performs the handshake, exchanges CMD and STATE, commands zero while an effort is applied, and
//! finally sends nothing until the watchdog trips.
//!
//! `cargo run --release -p haptic-wire --example talk -- PORT [EXCHANGES] [RATE_HZ] [WATCHDOG_MS]`
//!
//! PORT is a pseudo-terminal, or a serial port already set to raw mode and the correct speed. With a rate of 0, each
//! command is sent as soon as the previous one is acknowledged. The program prints losses and round-trip times. Its
//! exit code is 1 if the board violates the specification.
//!
//! `talk PORT emergency-stop PRESSES` tests the emergency stop instead, which somebody presses and releases.

mod emergency_stop;
mod session;

use haptic_wire::*;
use session::{Board, Outcome, REPLY_TIMEOUT, arm, describe_axes, open_session, per_axis};
use std::{
    process::ExitCode,
    time::{Duration, Instant},
};

/// Longest watchdog time that a board accepts, ms, so that a busy machine does not trigger it.
const LONGEST_WATCHDOG_MS: u16 = 100;

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
    if let [path, mode, presses] = &arguments[..]
        && mode == "emergency-stop"
    {
        let presses = presses.parse().map_err(|_| format!("{presses}: give the number of presses"));
        return report(presses.and_then(|presses| emergency_stop::talk(path, presses, LONGEST_WATCHDOG_MS)));
    }
    let number = |index: usize, default: u32| arguments.get(index).map_or(Some(default), |text| text.parse().ok());
    let numbers = (number(1, 2000), number(2, 1000), number(3, 20));
    let (Some(path), (Some(count), Some(rate_hz), Some(watchdog_ms))) = (arguments.first(), numbers) else {
        eprintln!("talk PORT [EXCHANGES] [RATE_HZ] [WATCHDOG_MS]\ntalk PORT emergency-stop PRESSES");
        return ExitCode::from(2);
    };
    let period = Duration::from_secs(1).checked_div(rate_hz).unwrap_or_default();
    report(talk(path, count, period, watchdog_ms.min(u32::from(u16::MAX)) as u16))
}

fn report(outcome: Outcome<()>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::FAILURE
        }
    }
}
