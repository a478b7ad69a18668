//! `hapticd simulate`: the tick with no clock, as fast as it goes.

use super::print_summary;
use crate::cli::SimulateArguments;
use crate::failure::Failure;
use crate::golden::Golden;
use crate::session::{Session, ticks_in};
use crate::setup::Setup;
use crate::stopwatch::Stopwatch;
use crate::summary::Summary;
use crate::trace::Traces;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// When the input is wrong, a file cannot be written, or the comparison does not hold.
pub fn simulate(arguments: &SimulateArguments) -> Result<(), Failure> {
    let mut session = Session::of(Setup::open(&arguments.input, arguments.hand.as_deref())?);
    let mut traces = Traces::create(arguments.trace.as_deref(), arguments.trace_bodies.as_deref(), &session)?;
    let ticks = ticks_in(arguments.seconds);
    let mut stopwatch = arguments.json.then(Stopwatch::start);
    if traces.is_empty() {
        advance(&mut session, ticks, stopwatch.as_mut());
    } else {
        advance_traced(&mut session, ticks, stopwatch.as_mut(), &mut traces)?;
    }
    traces.finish()?;
    let compute_ns = stopwatch.map(|stopwatch| stopwatch.percentiles());
    let summary = Summary { compute_ns, ..Summary::of(&session) };
    print_summary(&summary, arguments.json)?;
    arguments.golden.as_deref().map_or(Ok(()), |path| hold_against(path, &summary, arguments.update_golden))
}

/// So many ticks; the clock is looked at only if somebody asked.
fn advance(session: &mut Session, ticks: u64, stopwatch: Option<&mut Stopwatch>) {
    let Some(stopwatch) = stopwatch else {
        (0..ticks).for_each(|_| {
            session.tick();
        });
        return;
    };
    stopwatch.restart();
    for _ in 0..ticks {
        session.tick();
        stopwatch.lap();
    }
}

/// So many ticks with their rows; writing rows is not counted as computing.
fn advance_traced(
    session: &mut Session,
    ticks: u64,
    mut stopwatch: Option<&mut Stopwatch>,
    traces: &mut Traces,
) -> Result<(), Failure> {
    for _ in 0..ticks {
        stopwatch.iter_mut().for_each(|stopwatch| stopwatch.restart());
        session.tick();
        stopwatch.iter_mut().for_each(|stopwatch| stopwatch.lap());
        traces.write(session)?;
    }
    Ok(())
}

fn hold_against(path: &Path, summary: &Summary, update: bool) -> Result<(), Failure> {
    let new = Golden::of(summary);
    if update { new.write(path) } else { Golden::read(path)?.compare(&new, path) }
}
