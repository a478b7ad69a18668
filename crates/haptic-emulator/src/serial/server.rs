//! A board on a pseudo-terminal, at the pace of the wall clock.

use super::Board;
use super::faults::{FaultCount, LineFaults, SpoilingLine};
use super::pty::Pty;
use crate::handle::EmulatedHandle;
use haptic_realtime::clock::monotonic_ns;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A millisecond, ns.
const TICK_NS: u64 = 1_000_000;

/// A host that stalls longer loses the time instead of seeing it run fast, ns.
const LONGEST_LAG_NS: u64 = 20 * TICK_NS;

/// How long a board lives, and where.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ServeOptions {
    /// Where its port can be found.
    pub link: Option<PathBuf>,
    /// What goes wrong on the line.
    pub faults: LineFaults,
    /// It is unplugged after so long, once.
    pub dies_after: Option<Duration>,
    /// And plugged in again after this.
    pub dead_for: Duration,
    /// It ends after so long.
    pub ends_after: Option<Duration>,
    /// Where a row goes for each of its milliseconds: its time, where the handle is, and what the motors do to it.
    pub trace: Option<PathBuf>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ServeSummary {
    /// What went wrong on the line.
    pub faults: FaultCount,
    /// Milliseconds it lived.
    pub ticks: u64,
    /// The most energy that the motors ever gave the hand on balance, J.
    pub given_most_j: f64,
}

/// Serves a board until told to stop. Whatever is worth telling is told with the time since the start, s.
///
/// # Errors
/// When the port cannot be made.
pub fn serve(
    board: &mut dyn Board,
    life: &ServeOptions,
    stop: &AtomicBool,
    tell: &mut dyn FnMut(f64, &str),
) -> io::Result<ServeSummary> {
    let mut server = Server::new(board, life)?;
    server.introduce(tell);
    while !stop.load(Ordering::Relaxed) && !server.is_over() {
        server.round(tell)?;
    }
    server.trace.end()?;
    let given_most_j = server.board.body().given_most_j();
    Ok(ServeSummary { faults: server.line.count(), ticks: server.ticks, given_most_j })
}

struct Server<'b> {
    board: &'b mut dyn Board,
    life: &'b ServeOptions,
    pty: Option<Pty>,
    line: SpoilingLine,
    host_was_there: bool,
    motors_were_on: [bool; 2],
    born_ns: u64,
    /// Millisecond k is due at start + k ms; the start moves when time was lost.
    start_ns: u64,
    ticks: u64,
    /// The millisecond in which the host was last heard, and how long it had been silent before, ms.
    heard_tick: u64,
    silent_before_ms: u64,
    has_died: bool,
    trace: Trace,
}

impl<'b> Server<'b> {
    fn new(board: &'b mut dyn Board, life: &'b ServeOptions) -> io::Result<Self> {
        let start_ns = monotonic_ns();
        Ok(Self {
            board,
            life,
            pty: Some(Pty::open(life.link.as_deref())?),
            line: SpoilingLine::new(life.faults),
            host_was_there: false,
            motors_were_on: [false; 2],
            born_ns: start_ns,
            start_ns,
            ticks: 0,
            heard_tick: 0,
            silent_before_ms: 0,
            has_died: false,
            trace: Trace::begin(life.trace.as_deref())?,
        })
    }

    fn introduce(&self, tell: &mut dyn FnMut(f64, &str)) {
        if let Some(pty) = &self.pty {
            tell(self.age_s(), &format!("port {}", pty.name().display()));
        }
    }

    fn age(&self) -> Duration {
        Duration::from_nanos(monotonic_ns() - self.born_ns)
    }

    fn age_s(&self) -> f64 {
        self.age().as_secs_f64()
    }

    fn is_over(&self) -> bool {
        self.life.ends_after.is_some_and(|end| self.age() >= end)
    }

    fn round(&mut self, tell: &mut dyn FnMut(f64, &str)) -> io::Result<()> {
        self.update_plug(tell)?;
        self.wait()?;
        self.greet_or_part();
        self.listen();
        self.run_due_ticks(tell)?;
        self.speak();
        self.log_events(tell);
        Ok(())
    }

    fn update_plug(&mut self, tell: &mut dyn FnMut(f64, &str)) -> io::Result<()> {
        let Some(dies_after) = self.life.dies_after else { return Ok(()) };
        if !self.has_died && self.age() >= dies_after {
            self.has_died = true;
            self.pty = None;
            self.board.unplugged();
            tell(self.age_s(), "unplugged");
        }
        if self.pty.is_none() && self.age() >= dies_after + self.life.dead_for {
            self.pty = Some(Pty::open(self.life.link.as_deref())?);
            self.host_was_there = false;
            tell(self.age_s(), "plugged in again");
            self.introduce(tell);
        }
        Ok(())
    }

    /// Until the next millisecond, the next late answer, or bytes of the host.
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

    fn greet_or_part(&mut self) {
        let is_there = self.pty.as_ref().is_some_and(Pty::host_is_there);
        if self.host_was_there && !is_there {
            // Its last words may still be there.
            self.listen();
            self.board.host_left();
        }
        self.host_was_there = is_there;
    }

    fn listen(&mut self) {
        let Some(pty) = &mut self.pty else { return };
        let mut buffer = [0; 256];
        let count = pty.read(&mut buffer);
        let mut answers = Vec::new();
        if let Some(bytes) = (count > 0).then(|| buffer[..count].to_vec()).and_then(|bytes| self.line.pass(bytes)) {
            self.silent_before_ms = self.ticks - std::mem::replace(&mut self.heard_tick, self.ticks);
            self.board.hear(&bytes, &mut answers);
        }
        self.hold(answers);
    }

    fn run_due_ticks(&mut self, tell: &mut dyn FnMut(f64, &str)) -> io::Result<()> {
        let now_ns = monotonic_ns();
        let lag_ns = (now_ns - self.start_ns).saturating_sub(self.ticks * TICK_NS);
        if lag_ns > LONGEST_LAG_NS {
            self.start_ns += lag_ns - TICK_NS;
        }
        let mut answers = Vec::new();
        while self.start_ns + (self.ticks + 1) * TICK_NS <= now_ns {
            self.ticks += 1;
            self.board.tick(&mut answers);
            let due_s = (self.start_ns + self.ticks * TICK_NS - self.born_ns) as f64 * 1e-9;
            self.trace.note(due_s, self.board.body())?;
            // In every millisecond, so that what is told of the motors is in the board's time and no stall of this machine
            // is in it.
            self.tell_of_motors(tell);
        }
        self.hold(answers);
        Ok(())
    }

    fn hold(&mut self, answers: Vec<Vec<u8>>) {
        let now_ns = monotonic_ns();
        answers.into_iter().for_each(|answer| self.line.hold(answer, now_ns));
    }

    fn speak(&mut self) {
        let now_ns = monotonic_ns();
        while let Some(frame) = self.line.due(now_ns) {
            if let Some(pty) = &mut self.pty {
                pty.write(&frame);
            }
        }
    }

    fn log_events(&mut self, tell: &mut dyn FnMut(f64, &str)) {
        self.tell_of_motors(tell);
        while let Some(news) = self.board.news() {
            tell(self.age_s(), &news);
        }
    }

    /// A motor that starts or stops to push; when it stops, after what silence of the host, in the board's own time. Words that end
    /// a silence may be what stopped it.
    fn tell_of_motors(&mut self, tell: &mut dyn FnMut(f64, &str)) {
        let force_n = self.board.force_n();
        for axis in 0..2 {
            let is_on = force_n[axis] != 0.0;
            if std::mem::replace(&mut self.motors_were_on[axis], is_on) != is_on {
                let silent_ms = (self.ticks - self.heard_tick).max(self.silent_before_ms);
                let how = if is_on { "on".to_owned() } else { format!("off after a silence of {silent_ms} ms") };
                tell(self.age_s(), &format!("motor {axis} {how}"));
            }
        }
    }
}

/// A table of what the handle did, if somebody wants it.
struct Trace(Option<BufWriter<File>>);

impl Trace {
    fn begin(path: Option<&Path>) -> io::Result<Self> {
        let Some(path) = path else { return Ok(Self(None)) };
        let mut file = BufWriter::new(File::create(path)?);
        writeln!(file, "t_s,x_m,y_m,force_x_n,force_y_n")?;
        Ok(Self(Some(file)))
    }

    fn note(&mut self, time_s: f64, body: &EmulatedHandle) -> io::Result<()> {
        let Some(file) = &mut self.0 else { return Ok(()) };
        let (place_m, force_n) = (body.true_state().position_m, body.force_n());
        writeln!(file, "{time_s:.6},{},{},{},{}", place_m.x, place_m.y, force_n.x, force_n.y)
    }

    fn end(&mut self) -> io::Result<()> {
        self.0.as_mut().map_or(Ok(()), BufWriter::flush)
    }
}
