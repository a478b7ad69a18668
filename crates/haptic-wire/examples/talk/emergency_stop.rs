//! The emergency stop of a board: somebody presses and releases it while this host commands an effort.

use crate::session::{Board, Outcome, REPLY_TIMEOUT, open_session, per_axis, request_arm};
use haptic_wire::*;
use std::time::{Duration, Instant};

/// Time limit for the person or script that operates the input.
const OPERATOR_TIMEOUT: Duration = Duration::from_secs(20);
/// Number of ARM messages sent to the stopped board.
const ARMS: u32 = 20;
const PERIOD: Duration = Duration::from_millis(1);
/// Time after ARM_ACK without a FAULT from which the input counts as released.
const QUIET: Duration = Duration::from_millis(50);
const EFFORT_Q15: i16 = 9000;

/// A message that matters here.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Seen {
    State(State),
    Fault(Fault),
    ArmAck,
}

fn next(board: &mut Board, within: Duration) -> Option<Seen> {
    board.wait_for(within, |message| match message {
        Message::State(state) => Some(Seen::State(*state)),
        Message::Fault(fault) => Some(Seen::Fault(*fault)),
        Message::ArmAck(_) => Some(Seen::ArmAck),
        _ => None,
    })
}

fn is_stop(seen: Option<Seen>) -> bool {
    matches!(seen, Some(Seen::Fault(Fault { code: FaultCode::EmergencyStop, detail: 0 })))
}

fn send_effort(board: &mut Board, axes: u8) -> Outcome<()> {
    board.send(&Message::Command(Command::with_efforts(per_axis(axes, EFFORT_Q15)))).map(|_| ())
}

/// Commands an effort until the board reports its emergency stop. A watchdog fault of a busy machine is cleared.
fn push_until_stopped(board: &mut Board, axes: u8, arm: &Message<'_>) -> Outcome<()> {
    let deadline = Instant::now() + OPERATOR_TIMEOUT;
    while Instant::now() < deadline {
        send_effort(board, axes)?;
        match next(board, PERIOD) {
            seen if is_stop(seen) => return Ok(()),
            Some(Seen::Fault(fault)) if fault.code == FaultCode::Watchdog => drop(board.send(arm)?),
            Some(Seen::Fault(fault)) => return Err(format!("expected the emergency stop, got: {fault}")),
            _ => std::thread::sleep(PERIOD),
        }
    }
    Err("the emergency stop was not reported".into())
}

/// Reads the replies to commands that were under way when the board stopped.
fn drain(board: &mut Board) {
    while next(board, QUIET).is_some() {}
}

/// Checks that every ARM gets ARM_ACK and then the fault, and every command a state without effort.
fn check_stopped(board: &mut Board, axes: u8, arm: &Message<'_>) -> Outcome<()> {
    for _ in 0..ARMS {
        board.send(arm)?;
        let replies = [next(board, REPLY_TIMEOUT), next(board, REPLY_TIMEOUT)];
        if replies[0] != Some(Seen::ArmAck) || !is_stop(replies[1]) {
            return Err(format!("ARM of the stopped board: {replies:?}"));
        }
        send_effort(board, axes)?;
        match next(board, REPLY_TIMEOUT) {
            Some(Seen::State(state)) if state.status.has(Status::FAULT) && !state.status.has(Status::ARMED) => {}
            other => return Err(format!("command to the stopped board: {other:?}")),
        }
    }
    Ok(())
}

/// Repeats ARM until no fault follows ARM_ACK, then checks that effort is allowed again.
fn wait_for_release(board: &mut Board, axes: u8, arm: &Message<'_>) -> Outcome<()> {
    let deadline = Instant::now() + OPERATOR_TIMEOUT;
    while Instant::now() < deadline {
        board.send(arm)?;
        if next(board, REPLY_TIMEOUT) != Some(Seen::ArmAck) {
            return Err("no ARM_ACK from the stopped board".into());
        }
        if next(board, QUIET).is_none() {
            send_effort(board, axes)?;
            return match next(board, REPLY_TIMEOUT) {
                Some(Seen::State(state)) if state.status.has(Status::ARMED | Status::ENABLED) => Ok(()),
                other => Err(format!("command after the release: {other:?}")),
            };
        }
    }
    Err("the emergency stop was not released".into())
}

/// Waits for `presses` presses and releases of the emergency stop. Prints `stopped` when the board has passed its
/// checks and may be released, and `armed again` when it accepts effort again.
pub fn talk(path: &str, presses: u32, watchdog_ms: u16) -> Outcome<()> {
    let mut board = Board::open(path)?;
    let hello = open_session(&mut board)?;
    let arm = Message::Arm(request_arm(hello.axes, watchdog_ms));
    board.request(&arm, |message| matches!(message, Message::ArmAck(_)).then_some(()))?;
    for press in 1..=presses {
        push_until_stopped(&mut board, hello.axes, &arm)?;
        drain(&mut board);
        check_stopped(&mut board, hello.axes, &arm)?;
        println!("stopped {press}");
        wait_for_release(&mut board, hello.axes, &arm)?;
        println!("armed again {press}");
    }
    board.send(&Message::Stop).map(|_| ())
}
