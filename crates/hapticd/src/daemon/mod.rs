//! The daemon: the tick on the wall clock, and everything around it that has time.
//!
//! - [`rights`]: may this device be driven with what the system granted?
//! - [`loop_thread`]: the pinned thread; it owns the loop and the device, and never waits for anybody.
//! - [`supervisor`]: the ordinary thread; it logs faults, keeps black boxes, takes over changed profiles, shows status.
//! - `black_boxes`: the seconds before a fault, as a table and as a recording.
//! - `watched`: what the lower side does for the viewer.
//! - [`recording`]: keeps what is felt in a file, on a thread of its own.
//! - [`reload`], [`profile_watch`], [`signals`]: what can be told while it runs.
//!
//! However it ends (a signal, the time asked for, a panic on either side), it ends through [`haptic_device::Device::close`].

mod black_boxes;
pub mod loop_thread;
pub mod profile_watch;
mod quiet_panic;
pub mod recording;
pub mod reload;
pub mod rights;
pub mod signals;
pub mod supervisor;
mod watched;

use crate::cli::{InputArguments, RecordArguments};
use crate::failure::Failure;
use crate::status::Status;
use crate::summary::Summary;
use crate::viewer::ViewerSession;
use black_boxes::BlackBoxes;
use haptic_config::setup::Setup;
use haptic_device::Device;
use haptic_planar::tick::TICK_S;
use haptic_realtime::dma_latency::DmaLatencyGuard;
use haptic_realtime::exchange::latest;
use haptic_realtime::memory::{disable_heap_trim, prefault_heap};
use haptic_realtime::runner::LoopTiming;
use haptic_realtime::thread::{CpuChoice, ThreadRequest};
use haptic_view::Listener;
use loop_thread::{LoopBody, LoopThread};
use recording::Recording;
use reload::Reload;
use signals::Signals;
use std::path::PathBuf;
use supervisor::Supervisor;
use watched::ViewerLink;

/// A tick, ns.
pub const PERIOD_NS: u64 = (TICK_S * 1e9) as u64;

/// Heap that is there from the start: what a loop, its black boxes and a recording of it take, and some to spare.
const HEAP_BYTES: usize = 16 << 20;

/// How the daemon shall run.
#[derive(Debug, Default)]
pub struct Options {
    /// What was opened, to open it again when the profile changes.
    pub input: InputArguments,
    /// End after so many periods, run or skipped.
    pub periods: Option<u64>,
    /// Drive hardware even without real-time scheduling.
    pub allow_no_rt: bool,
    /// Going without the energy tank on hardware is meant.
    pub i_know: bool,
    /// Where black boxes go; none: nowhere.
    pub black_box_folder: Option<PathBuf>,
    /// Where the viewer listens; none: it is not served.
    pub listener: Option<Listener>,
    /// What is kept from the first tick on.
    pub recording: RecordArguments,
}

/// Sees to it that whatever is allocated from now on lies in memory that is there and stays. Before anything is loaded.
pub fn keep_memory() {
    match disable_heap_trim() {
        Ok(()) => prefault_heap(HEAP_BYTES),
        Err(error) => tracing::debug!("the allocator does not keep its memory: {error}"),
    }
}

/// Runs until it is told to end, and says what came of it.
///
/// # Errors
/// When the loop cannot be started, may not be started, or panicked.
pub fn run(
    setup: Setup,
    device: Box<dyn Device>,
    options: Options,
    signals: &Signals,
    status: Status,
) -> Result<Summary, Failure> {
    let _awake = hold_processor_awake();
    let (request, wake_early_ns) = (thread_request(&setup), setup.profile.realtime.wake_early_ns);
    let reload = Reload::new(&setup, options.input, options.i_know);
    let rights = rights::Rights { is_hardware: device.identity().kind.is_hardware(), allow_no_rt: options.allow_no_rt };
    let recording = Recording::new(&setup, device.as_ref(), &options.recording);
    let (orders, orders_taken) = loop_thread::orders();
    let session = options
        .listener
        .is_some()
        .then(|| ViewerSession::new(&setup, &device.identity().name, orders.clone(), recording.clone()));
    let (mut side, ends) = LoopBody::new(setup.into_loop(device)?, options.periods, (orders, orders_taken));
    if let Some(file) = &options.recording.record {
        side.record_to(recording.begin(file)?);
    }
    let black_boxes = options.black_box_folder.map(|folder| BlackBoxes::begin(folder, &recording, &mut side));
    let (figures_writer, figures) = latest(LoopTiming::default());
    let runner = loop_thread::runner(wake_early_ns, figures_writer);
    let running = LoopThread::start(request, rights, side, runner, signals.stop.clone())?;
    let watched =
        options.listener.zip(session).map(|(listener, session)| ViewerLink::start(listener, session, &running));
    let supervisor = Supervisor::new(ends, figures, reload, black_boxes, status, watched, recording);
    supervisor.keep_watch(running, signals)
}

fn thread_request(setup: &Setup) -> ThreadRequest {
    let realtime = &setup.profile.realtime;
    let cpu = realtime.cpu.map_or(CpuChoice::Auto, |cpu| CpuChoice::Number(cpu as usize));
    let (priority, lock_memory) = (realtime.priority, realtime.lock_memory);
    ThreadRequest { name: "haptic-loop".to_owned(), priority, cpu, lock_memory, ..ThreadRequest::default() }
}

/// Deep idle states make wake-ups late; keeping them off is a help, not a need.
fn hold_processor_awake() -> Option<DmaLatencyGuard> {
    DmaLatencyGuard::hold().inspect_err(|refused| tracing::debug!("{refused}")).ok()
}
