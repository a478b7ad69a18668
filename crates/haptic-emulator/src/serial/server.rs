//! Runs a board on a pseudo-terminal in real time.

use super::Board;
use super::faults::{FaultCount, FaultyLine, LineFaults};
use super::pty::Pty;
use super::trace::Trace;
use crate::planned_fault::{ActiveFaults, PlannedFault};
use haptic_realtime::clock::monotonic_ns;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Period of a board, ns: one millisecond.
const TICK_NS: u64 = 1_000_000;

/// Maximum lag that the server catches up on, ns. After a longer stall, the lost time is skipped.
const MAX_LAG_NS: u64 = 20 * TICK_NS;

/// Options for serving a board.
#[derive(Clone, Debug, Default)]
pub struct ServeOptions {
    /// Path of a symbolic link to the port, if any.
    pub link: Option<PathBuf>,
    /// Faults to inject into the line at random.
    pub faults: LineFaults,
    /// Faults to inject into encoders and line at planned times.
    pub planned_faults: Vec<PlannedFault>,
    /// Time until the disconnection; `None` for no disconnection.
    pub dies_after: Option<Duration>,
    /// Disconnects the board when it is set, if any. Unlike [`Self::dies_after`], it can follow an event.
    pub unplug: Option<Arc<AtomicBool>>,
    /// Duration of the disconnection.
    pub dead_for: Duration,
    /// Duration of the emulation; `None` for no limit.
    pub ends_after: Option<Duration>,
    /// CSV file, if any, with one row per millisecond: time, handle position and motor force.
    pub trace: Option<PathBuf>,
}

/// Summary of a finished emulation.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServeSummary {
    /// Counts of faults injected into the line.
    pub faults: FaultCount,
    /// Number of milliseconds emulated, excluding time skipped after stalls.
    pub ticks: u64,
    /// Largest net energy that the motors delivered to the hand over any time interval, J.
    pub given_most_j: f64,
}

/// Serves a board until `stop` is set or [`ServeOptions::ends_after`] has elapsed, and returns a summary. Calls `log`
/// for each event, with the time since the start, s, and a text.
///
/// # Errors
/// If the port fails, or the trace cannot be written, or rows of it were lost.
pub fn serve(
    board: &mut dyn Board,
    options: &ServeOptions,
    stop: &AtomicBool,
    log: &mut dyn FnMut(f64, &str),
) -> io::Result<ServeSummary> {
    let mut server = Server::new(board, options)?;
    server.log_port(log);
    while !stop.load(Ordering::Relaxed) && !server.is_over() {
        server.round(log)?;
    }
    server.trace.end()?;
    let given_most_j = server.board.handle().given_most_j();
    Ok(ServeSummary { faults: server.line.count(), ticks: server.ticks, given_most_j })
}

struct Server<'b> {
    board: &'b mut dyn Board,
    options: &'b ServeOptions,
    pty: Option<Pty>,
    line: FaultyLine,
    active: ActiveFaults,
    host_was_there: bool,
    motors_were_on: [bool; 2],
    started_ns: u64,
    /// Origin of the board's time, ns: millisecond k is due at `start_ns` + k ms. Moves forward when time is skipped.
    start_ns: u64,
    ticks: u64,
    /// Millisecond, in board time, in which the host last sent bytes.
    heard_tick: u64,
    /// Duration of the host's silence before its last bytes, ms.
    silent_before_ms: u64,
    /// Age of the server at the disconnection.
    unplugged_at: Option<Duration>,
    trace: Trace,
}

impl<'b> Server<'b> {
    fn new(board: &'b mut dyn Board, options: &'b ServeOptions) -> io::Result<Self> {
        let start_ns = monotonic_ns();
        Ok(Self {
            board,
            options,
            pty: Some(Pty::open(options.link.as_deref())?),
            line: FaultyLine::new(options.faults),
            active: ActiveFaults::default(),
            host_was_there: false,
            motors_were_on: [false; 2],
            started_ns: start_ns,
            start_ns,
            ticks: 0,
            heard_tick: 0,
            silent_before_ms: 0,
            unplugged_at: None,
            trace: Trace::begin(options.trace.as_deref())?,
        })
    }

    fn log_port(&self, log: &mut dyn FnMut(f64, &str)) {
        if let Some(pty) = &self.pty {
            log(self.age_s(), &format!("port {}", pty.name().display()));
        }
    }

    fn age(&self) -> Duration {
        Duration::from_nanos(monotonic_ns() - self.started_ns)
    }

    fn age_s(&self) -> f64 {
        self.age().as_secs_f64()
    }

    fn is_over(&self) -> bool {
        self.options.ends_after.is_some_and(|end| self.age() >= end)
    }

    fn round(&mut self, log: &mut dyn FnMut(f64, &str)) -> io::Result<()> {
        self.update_plug(log)?;
        self.wait()?;
        self.check_host();
        self.receive();
        self.run_due_ticks(log)?;
        self.transmit();
        self.log_events(log);
        Ok(())
    }

    fn update_plug(&mut self, log: &mut dyn FnMut(f64, &str)) -> io::Result<()> {
        if self.unplugged_at.is_none() && self.is_unplug_due() {
            self.unplugged_at = Some(self.age());
            self.pty = None;
            self.board.unplugged();
            log(self.age_s(), "unplugged");
        }
        let is_over = |at: Duration| self.age() >= at + self.options.dead_for;
        if self.pty.is_none() && self.unplugged_at.is_some_and(is_over) {
            self.pty = Some(Pty::open(self.options.link.as_deref())?);
            self.host_was_there = false;
            log(self.age_s(), "plugged in again");
            self.log_port(log);
        }
        Ok(())
    }

    fn is_unplug_due(&self) -> bool {
        self.options.dies_after.is_some_and(|after| self.age() >= after)
            || self.options.unplug.as_ref().is_some_and(|unplug| unplug.load(Ordering::Relaxed))
    }

    /// Waits for the next millisecond, the next delayed reply, or bytes from the host.
    fn wait(&mut self) -> io::Result<()> {
        let next_tick_ns = self.start_ns + (self.ticks + 1) * TICK_NS;
        let until_ns = self.line.next_due_ns().map_or(next_tick_ns, |due_ns| due_ns.min(next_tick_ns));
        let within = Duration::from_nanos(until_ns.saturating_sub(monotonic_ns()));
        match &mut self.pty {
            Some(pty) => pty.wait(within),
            None => {
                std::thread::sleep(within);
                Ok(())
            }
        }
    }

    fn check_host(&mut self) {
        let is_there = self.pty.as_ref().is_some_and(Pty::host_is_there);
        if self.host_was_there && !is_there {
            // The last bytes of the host may still be unread.
            self.receive();
            self.board.host_left();
        }
        self.host_was_there = is_there;
    }

    fn receive(&mut self) {
        let Some(pty) = &mut self.pty else { return };
        let mut buffer = [0; 256];
        let count = pty.read(&mut buffer);
        let mut answers = Vec::new();
        if let Some(bytes) = (count > 0).then(|| buffer[..count].to_vec()).and_then(|bytes| self.line.receive(bytes)) {
            self.silent_before_ms = self.ticks - std::mem::replace(&mut self.heard_tick, self.ticks);
            self.board.receive(&bytes, &mut answers);
        }
        self.hold(answers);
    }

    fn run_due_ticks(&mut self, log: &mut dyn FnMut(f64, &str)) -> io::Result<()> {
        let now_ns = monotonic_ns();
        let lag_ns = (now_ns - self.start_ns).saturating_sub(self.ticks * TICK_NS);
        if lag_ns > MAX_LAG_NS {
            self.start_ns += lag_ns - TICK_NS;
        }
        let mut answers = Vec::new();
        while self.start_ns + (self.ticks + 1) * TICK_NS <= now_ns {
            self.ticks += 1;
            let due_ns = self.start_ns + self.ticks * TICK_NS - self.started_ns;
            self.update_faults(due_ns, log);
            self.board.tick(&mut answers);
            self.trace.add(due_ns as f64 * 1e-9, self.board.handle())?;
            // Called in every millisecond, so that silences are counted in the board's time, without stalls of this
            // machine.
            self.log_motors(log);
        }
        self.hold(answers);
        Ok(())
    }

    /// Sets the planned faults of the millisecond that is due `due_ns` after the start, and logs those that begin or
    /// end.
    fn update_faults(&mut self, due_ns: u64, log: &mut dyn FnMut(f64, &str)) {
        if self.options.planned_faults.is_empty() {
            // The board may set the faults of its encoders itself.
            return;
        }
        let active = PlannedFault::active(&self.options.planned_faults, due_ns / 1000);
        for kind in active.difference(self.active).kinds() {
            let how = if active.contains(kind) { "begins" } else { "ends" };
            log(due_ns as f64 * 1e-9, &format!("fault {} {how}", kind.name()));
        }
        self.active = active;
        self.line.set_faults(active);
        // In every millisecond, because a board that is plugged in again starts with new encoders.
        self.board.handle_mut().set_faults(active);
    }

    fn hold(&mut self, answers: Vec<Vec<u8>>) {
        let now_ns = monotonic_ns();
        answers.into_iter().for_each(|answer| self.line.hold(answer, now_ns));
    }

    fn transmit(&mut self) {
        let now_ns = monotonic_ns();
        while let Some(frame) = self.line.due(now_ns) {
            if let Some(pty) = &mut self.pty {
                pty.write(&frame);
            }
        }
    }

    fn log_events(&mut self, log: &mut dyn FnMut(f64, &str)) {
        self.log_motors(log);
        while let Some(event) = self.board.next_event() {
            log(self.age_s(), &event);
        }
    }

    /// Logs each motor that starts or stops. A stop is logged with the host's silence, in board time: since its last
    /// bytes or before them, whichever is longer, because those bytes may have stopped the motor.
    fn log_motors(&mut self, log: &mut dyn FnMut(f64, &str)) {
        let force_n = self.board.force_n();
        for axis in 0..2 {
            let is_on = force_n[axis] != 0.0;
            if std::mem::replace(&mut self.motors_were_on[axis], is_on) != is_on {
                let silent_ms = (self.ticks - self.heard_tick).max(self.silent_before_ms);
                let how = if is_on { "on".to_owned() } else { format!("off after a silence of {silent_ms} ms") };
                log(self.age_s(), &format!("motor {axis} {how}"));
            }
        }
    }
}
