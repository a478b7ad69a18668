//! `hapticd simulate`: runs the loop in virtual time, as fast as possible.

use super::print_summary;
use crate::cli::SimulateArguments;
use crate::failure::Failure;
use crate::figures::{RunExtremes, ticks_in};
use crate::file_use::PathConflicts;
use crate::golden::{ForceHash, Golden};
use crate::recording::simulated::{Beginning, SimulatedRecording};
use crate::stopwatch::Stopwatch;
use crate::summary::{RecordingOutcome, Summary};
use crate::trace::Traces;
use haptic_config::setup::Setup;
use haptic_device::MonotonicNs;
use haptic_loop::fault::{Fault, FaultRecord};
use haptic_loop::report::TickReport;
use haptic_loop::tick::HapticLoop;
use haptic_planar::tick::TICK_NS;
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// If the input is invalid, a file cannot be written, or the run differs from the golden file.
pub fn simulate(arguments: &SimulateArguments) -> Result<(), Failure> {
    let setup = Setup::open(&arguments.input, arguments.hand.as_deref())?;
    file_use(arguments, &setup).check()?;
    let golden = arguments.golden.as_deref().map(|path| GoldenFile::open(path, arguments.update_golden)).transpose()?;
    let device = setup.simulated_device()?;
    let beginning = Beginning::of(&setup, device.as_ref());
    let mut session = SimulationRun::new(setup.into_loop(device)?);
    let options = &arguments.recording;
    let mut recording = options.record.as_ref().map(|path| beginning.create(path, options)).transpose()?;
    session.forces = golden.is_some().then(ForceHash::default);
    let world = session.rendering.world();
    let mut traces = Traces::create(arguments.trace.as_deref(), arguments.trace_bodies.as_deref(), world)?;
    let ticks = ticks_in(arguments.seconds);
    let mut stopwatch = arguments.json.then(Stopwatch::start);
    if traces.is_empty() && recording.is_none() {
        session.advance(ticks, stopwatch.as_mut());
    } else {
        session.advance_recorded(ticks, stopwatch.as_mut(), &mut traces, recording.as_mut())?;
    }
    traces.finish()?;
    let ended = recording.map(SimulatedRecording::finish);
    let recording = options.record.as_deref().zip(ended.as_ref());
    let recording = recording.map(|(file, ended)| RecordingOutcome::new(file, ended));
    let compute_ns = stopwatch.map(|stopwatch| stopwatch.percentiles());
    let summary = Summary { compute_ns, recording, ..session.summary() };
    print_summary(&summary, arguments.json)?;
    if let Some(error) = ended.and_then(|ended| ended.error) {
        return Err(error.into());
    }
    match golden.zip(session.forces) {
        Some((golden, forces)) => golden.finish(&Golden::of(&summary, &forces)),
        None => Ok(()),
    }
}

/// The file given with `--golden`, checked before the simulation starts so that errors are reported early.
enum GoldenFile<'a> {
    /// File to write after the run.
    Update(&'a Path),
    /// File to compare with the run.
    Compare(&'a Path, Golden),
}

impl<'a> GoldenFile<'a> {
    fn open(path: &'a Path, is_updated: bool) -> Result<Self, Failure> {
        if is_updated {
            Golden::refuse_unwritable(path).map(|()| Self::Update(path))
        } else {
            Golden::read(path).map(|golden| Self::Compare(path, golden))
        }
    }

    fn finish(&self, new: &Golden) -> Result<(), Failure> {
        match self {
            Self::Update(path) => new.write(path),
            Self::Compare(path, golden) => golden.compare(new, path),
        }
    }
}

fn file_use(arguments: &SimulateArguments, setup: &Setup) -> PathConflicts {
    let (golden, is_updated) = (arguments.golden.as_deref(), arguments.update_golden);
    PathConflicts::from_setup(setup, &arguments.input)
        .reads("--hand", arguments.hand.as_deref())
        .reads("--golden", golden.filter(|_| !is_updated))
        .writes("--golden", golden.filter(|_| is_updated))
        .writes("--trace", arguments.trace.as_deref())
        .writes("--trace-bodies", arguments.trace_bodies.as_deref())
        .writes("--record", arguments.recording.record.as_deref())
}

/// A loop that runs in virtual time, and its results so far.
pub struct SimulationRun {
    rendering: HapticLoop,
    figures: RunExtremes,
    faults: Vec<FaultRecord>,
    /// Hash of the forces; `None` without `--golden`.
    forces: Option<ForceHash>,
}

impl SimulationRun {
    /// Creates a run from a loop before its first tick.
    pub fn new(rendering: HapticLoop) -> Self {
        Self { rendering, figures: RunExtremes::default(), faults: Vec::new(), forces: None }
    }

    /// Runs one tick and returns its report.
    pub fn tick(&mut self) -> &TickReport {
        let now = MonotonicNs((self.figures.ticks + 1) * TICK_NS);
        let report = self.rendering.tick(now, 0);
        self.figures.add(report);
        if let Some(forces) = &mut self.forces {
            forces.add(report.force_n);
        }
        if let Some(fault) = &report.fault {
            record_fault(&mut self.faults, report.tick, fault);
        }
        report
    }

    /// Returns the loop.
    pub fn rendering(&self) -> &HapticLoop {
        &self.rendering
    }

    /// Returns the summary of the ticks so far.
    pub fn summary(&self) -> Summary {
        Summary::of(&self.rendering, &self.figures, self.faults.clone())
    }

    /// Runs a number of ticks. The clock is read only if there is a stopwatch.
    pub fn advance(&mut self, ticks: u64, stopwatch: Option<&mut Stopwatch>) {
        let Some(stopwatch) = stopwatch else {
            (0..ticks).for_each(|_| _ = self.tick());
            return;
        };
        stopwatch.restart();
        for _ in 0..ticks {
            self.tick();
            stopwatch.lap();
        }
    }

    /// Runs a number of ticks and writes them to the traces and the recording. The stopwatch excludes the writing.
    fn advance_recorded(
        &mut self,
        ticks: u64,
        mut stopwatch: Option<&mut Stopwatch>,
        traces: &mut Traces,
        mut recording: Option<&mut SimulatedRecording>,
    ) -> Result<(), Failure> {
        for _ in 0..ticks {
            stopwatch.iter_mut().for_each(|stopwatch| stopwatch.restart());
            self.tick();
            stopwatch.iter_mut().for_each(|stopwatch| stopwatch.lap());
            traces.write(self.rendering.last(), self.rendering.world())?;
            if let Some(recording) = &mut recording {
                recording.tick(&self.rendering);
            }
        }
        Ok(())
    }
}

#[cold]
fn record_fault(faults: &mut Vec<FaultRecord>, tick: u64, fault: &Fault) {
    faults.push(FaultRecord::new(tick, fault));
}
