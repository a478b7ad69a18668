//! The daemon: the real-time thread that runs the ticks, and the ordinary thread that supervises it.
//!
//! - [`loop_body`]: runs on the real-time thread, owns the loop and the device, and never waits.
//! - [`supervisor`]: the ordinary thread; logs faults, writes black boxes, applies changed profiles and shows status.
//! - `black_boxes`: writes the seconds before a fault, as a table and as a recording.
//! - `viewer_link`: publishes telemetry for the viewer.
//! - [`reload`]: applies changes to the profile file, which [`profile_watch`] detects.
//!
//! Every exit (a signal, `--seconds`, a panic on either thread) goes through [`haptic_device::Device::close`].

mod black_boxes;
pub mod loop_body;
pub mod profile_watch;
pub mod reload;
pub mod supervisor;
mod viewer_link;

use crate::cli::{InputArguments, RecordArguments};
use crate::control::{EmergencyStop, Recording, request_queue};
use crate::failure::Failure;
use crate::realtime_setup::rights::Rights;
use crate::realtime_setup::signals::Signals;
use crate::realtime_setup::{RealtimeLoop, runner};
use crate::status::Status;
use crate::summary::Summary;
use crate::viewer::ViewerSession;
use black_boxes::BlackBoxes;
use haptic_config::setup::Setup;
use haptic_device::Device;
use haptic_realtime::dma_latency::DmaLatencyGuard;
use haptic_realtime::exchange::latest;
use haptic_realtime::memory::{disable_heap_trim, prefault_heap};
use haptic_realtime::runner::LoopTiming;
use haptic_realtime::thread::{CpuChoice, ThreadRequest};
use haptic_view::Listener;
use loop_body::LoopBody;
use reload::Reload;
use std::num::NonZeroU64;
use std::path::PathBuf;
use supervisor::Supervisor;
use viewer_link::ViewerLink;

/// Size of the heap mapped at the start, bytes. The loop, its taps and a viewer take 22 MB, and a recording and a black
/// box that is being written 3 MB each. The index of a recording and the list of faults grow by about 1.5 MB per hour,
/// between the other blocks, so that the rest lasts for several hours. With less, the heap grows in steps of the 2.5 MB
/// of a compressor.
const HEAP_BYTES: usize = 32 << 20;
/// Number of ticks between publications of the loop's timing; four per second.
const TIMING_EVERY_TICKS: NonZeroU64 = NonZeroU64::new(250).unwrap();

/// Options for a run.
#[derive(Debug, Default)]
pub struct Options {
    /// Arguments that name profile, scene and device; used to reload a changed profile.
    pub input: InputArguments,
    /// Number of periods, run or skipped, after which the run ends; `None` for no limit.
    pub periods: Option<u64>,
    /// Whether to drive hardware even without real-time scheduling.
    pub allow_no_rt: bool,
    /// Whether the user permits driving hardware without the energy tank.
    pub i_know: bool,
    /// Folder for black boxes; `None` if no black boxes are written.
    pub black_box_folder: Option<PathBuf>,
    /// Socket of the viewer; `None` if there is no viewer.
    pub listener: Option<Listener>,
    /// Options for the recording that starts with the first tick, and for later recordings.
    pub recording: RecordArguments,
}

/// Keeps the heap resident, so that later allocations use memory that is already mapped and stays mapped. Must be
/// called before files are loaded.
pub fn keep_memory() {
    match disable_heap_trim() {
        Ok(()) => prefault_heap(HEAP_BYTES),
        Err(error) => tracing::debug!("the allocator may return memory: {error}"),
    }
}

/// Runs the daemon until a signal, the user or the given number of periods ends it, and returns the summary.
///
/// # Errors
/// If the loop cannot be started, lacks the necessary rights or panics.
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
    let rights = Rights { is_hardware: device.identity().kind.is_hardware, allow_no_rt: options.allow_no_rt };
    let recording = Recording::new(&setup, device.as_ref(), &options.recording);
    let (requests, request_receiver) = request_queue();
    let emergency_stop = EmergencyStop::new(signals.emergency_stop.clone());
    let session = options.listener.is_some().then(|| {
        let name = &device.identity().name;
        ViewerSession::new(&setup, name, requests.clone(), emergency_stop.clone(), recording.clone())
    });
    let queue = (requests, request_receiver);
    let (mut body, handles) = LoopBody::new(setup.into_loop(device)?, options.periods, queue, emergency_stop);
    if let Some(file) = &options.recording.record {
        body.record_to(recording.begin(file)?);
    }
    let black_boxes = options.black_box_folder.map(|folder| BlackBoxes::begin(folder, &recording, &mut body));
    let (timing_writer, timing) = latest(LoopTiming::default());
    let runner = runner().waking_early(wake_early_ns).publishing(timing_writer, TIMING_EVERY_TICKS);
    let running = RealtimeLoop::start(body, request, rights, runner, signals.stop.clone())?;
    let viewer =
        options.listener.zip(session).map(|(listener, session)| ViewerLink::start(listener, session, &running));
    Supervisor::new(handles, timing, reload, black_boxes, status, viewer, recording).run(running, signals)
}

fn thread_request(setup: &Setup) -> ThreadRequest {
    let realtime = &setup.profile.realtime;
    let cpu = realtime.cpu.map_or(CpuChoice::Auto, |cpu| CpuChoice::Number(cpu as usize));
    let (priority, lock_memory) = (realtime.priority, realtime.lock_memory);
    ThreadRequest { name: "haptic-loop".to_owned(), priority, cpu, lock_memory, ..ThreadRequest::default() }
}

/// Keeps the processor out of deep idle states, which delay wake-ups, until the guard is dropped. A refusal by the
/// kernel is only logged.
fn hold_processor_awake() -> Option<DmaLatencyGuard> {
    DmaLatencyGuard::hold().inspect_err(|refused| tracing::debug!("{refused}")).ok()
}
