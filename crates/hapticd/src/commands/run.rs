//! `hapticd run`: the tick on the wall clock.

use super::print_summary;
use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::session::{Session, ticks_in};
use crate::setup::Setup;
use crate::stopwatch::Durations;
use crate::summary::Summary;
use haptic_planar::description::ImpactState;
use signal_hook::consts::{SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

const PERIOD_MS: u64 = 1;

/// Runs the command.
///
/// # Errors
/// When the input is wrong or the signals cannot be watched.
pub fn run(arguments: &RunArguments) -> Result<(), Failure> {
    let setup = Setup::open(&arguments.input, None)?;
    refuse_what_the_clock_forbids(&setup)?;
    let stop = watch_signals()?;
    let ticks = arguments.seconds.map_or(u64::MAX, ticks_in);
    let mut clocked = Clocked::new(Session::of(setup));
    tracing::info!("running at 1 kHz; Ctrl-C ends it");
    while clocked.periods < ticks && !stop.load(Ordering::Relaxed) {
        clocked.period();
    }
    print_summary(&clocked.summary(), arguments.json)
}

fn refuse_what_the_clock_forbids(setup: &Setup) -> Result<(), Failure> {
    if setup.scene.impact_state == ImpactState::Exact {
        let problem = "world.impact_state: \"exact\" has no bound on its cost and is for `simulate` only";
        let name = &setup.profile.scene.name;
        return Err(Failure::BadInput(format!("{name}: {problem}; write impact_state = \"inter-state\"")));
    }
    if !setup.is_simulated() {
        let (name, kind) = (&setup.profile.device.name, setup.device.kind.name());
        let problem = format!("{name}: kind: {kind} devices are not yet supported; write kind = \"simulated\"");
        return Err(Failure::BadInput(problem));
    }
    Ok(())
}

fn watch_signals() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        signal_hook::flag::register(signal, Arc::clone(&stop))
            .map_err(|error| Failure::WhileRunning(format!("cannot watch for signals: {error}")))?;
    }
    Ok(stop)
}

/// A session that keeps pace with the wall clock.
struct Clocked {
    session: Session,
    start: Instant,
    /// Periods since the start, run or skipped.
    periods: u64,
    overruns: u64,
    skipped: u64,
    wake: Durations,
    compute: Durations,
}

impl Clocked {
    fn new(session: Session) -> Self {
        let (wake, compute) = (Durations::new(), Durations::new());
        Self { session, start: Instant::now(), periods: 0, overruns: 0, skipped: 0, wake, compute }
    }

    /// Waits for the next deadline and runs one tick. A tick that ends after the following deadline is an overrun;
    /// periods that are over by then are skipped, so that lateness never piles up.
    fn period(&mut self) {
        self.periods += 1;
        let deadline = self.deadline(self.periods);
        std::thread::sleep(deadline.saturating_duration_since(Instant::now()));
        let woken = Instant::now();
        self.session.tick();
        let done = Instant::now();
        self.wake.record(woken - deadline);
        self.compute.record(done - woken);
        if done >= self.deadline(self.periods + 1) {
            self.overruns += 1;
            self.skip_to(done);
        }
    }

    fn skip_to(&mut self, now: Instant) {
        let over = now.duration_since(self.start).as_millis() as u64 / PERIOD_MS;
        self.skipped += over.saturating_sub(self.periods);
        self.periods = self.periods.max(over);
    }

    fn deadline(&self, period: u64) -> Instant {
        self.start + Duration::from_millis(period * PERIOD_MS)
    }

    fn summary(&self) -> Summary {
        Summary {
            overruns: self.overruns,
            skipped: self.skipped,
            wake_ns: Some(self.wake.percentiles()),
            compute_ns: Some(self.compute.percentiles()),
            ..Summary::of(&self.session)
        }
    }
}
