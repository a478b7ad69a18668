//! The ordinary thread that supervises the real-time thread. It logs faults, writes black boxes, applies changed
//! profiles and shows status.

use super::black_boxes::BlackBoxes;
use super::loop_body::LoopBody;
use super::reload::Reload;
use super::viewer_link::ViewerLink;
use crate::control::{LoopEvent, LoopHandles, LoopRequest, Recording, send};
use crate::failure::Failure;
use crate::realtime_setup::signals::Signals;
use crate::realtime_setup::{LoopResult, RealtimeLoop};
use crate::status::Status;
use crate::summary::Summary;
use haptic_loop::black_box::BlackBox;
use haptic_loop::fault::{Fault, FaultRecord};
use haptic_realtime::exchange::{LatestReader, TrySendError};
use haptic_realtime::runner::{LoopExit, LoopTiming};
use haptic_terminal::UserAction;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Polling interval of the supervisor. A changed profile must be applied within 200 ms.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// Polling interval with a viewer, which should receive each snapshot soon after its tick.
const VIEWER_POLL_INTERVAL: Duration = Duration::from_millis(4);
/// Maximum number of faults listed in a summary; later faults are only logged.
const MAX_LISTED_FAULTS: usize = 1000;

/// Minimum interval between log lines about late ticks.
const LATE_LOG_INTERVAL: Duration = Duration::from_secs(1);

/// Late ticks that have not been logged yet.
#[derive(Default)]
struct LateTicks {
    count: u64,
    most_skipped: u64,
    logged: Option<Instant>,
}

impl LateTicks {
    fn add(&mut self, skipped: u64) {
        self.count += 1;
        self.most_skipped = self.most_skipped.max(skipped);
    }

    /// Returns the log line for the ticks so far, if there are any and the last line is old enough or `is_last`.
    fn line(&mut self, is_last: bool) -> Option<String> {
        let is_due = is_last || self.logged.is_none_or(|logged| logged.elapsed() >= LATE_LOG_INTERVAL);
        if self.count == 0 || !is_due {
            return None;
        }
        let (count, late_ms) = (self.count, self.most_skipped);
        *self = Self { logged: Some(Instant::now()), ..Self::default() };
        Some(if count == 1 {
            format!("a tick ran {late_ms} ms late; run `hapticd doctor` to see why this machine stalls")
        } else {
            format!(
                "{count} ticks ran late, by up to {late_ms} ms; run `hapticd doctor` to see why this machine stalls"
            )
        })
    }
}

/// The ordinary thread that supervises the real-time thread.
pub struct Supervisor {
    handles: LoopHandles,
    timing: LatestReader<LoopTiming>,
    reload: Reload,
    black_boxes: Option<BlackBoxes>,
    status: Status,
    faults: Vec<FaultRecord>,
    late_ticks: LateTicks,
    /// Requests that return written black boxes to the loop, pending until the request queue has space.
    spares: Vec<LoopRequest>,
    viewer: Option<ViewerLink>,
    recording: Recording,
}

impl Supervisor {
    /// Creates the supervisor for a loop.
    pub fn new(
        handles: LoopHandles,
        timing: LatestReader<LoopTiming>,
        reload: Reload,
        black_boxes: Option<BlackBoxes>,
        status: Status,
        viewer: Option<ViewerLink>,
        recording: Recording,
    ) -> Self {
        let (faults, spares, late_ticks) = (Vec::new(), Vec::new(), LateTicks::default());
        Self { handles, timing, reload, black_boxes, status, faults, late_ticks, spares, viewer, recording }
    }

    /// Supervises the loop until it ends, and returns the summary.
    ///
    /// # Errors
    /// If the loop lacked the necessary rights or panicked.
    pub fn run(mut self, running: RealtimeLoop<LoopBody>, signals: &Signals) -> Result<Summary, Failure> {
        while !running.has_ended() {
            self.poll(signals);
            std::thread::sleep(if self.viewer.is_some() { VIEWER_POLL_INTERVAL } else { POLL_INTERVAL });
        }
        let result = running.join()?;
        self.drain_events();
        self.log_late_ticks(true);
        self.viewer = None;
        // Restore the terminal before anything is printed on it.
        self.status = Status::Silent;
        self.recording.finish();
        self.summarize(&result)
    }

    fn log_late_ticks(&mut self, is_last: bool) {
        if let Some(line) = self.late_ticks.line(is_last) {
            tracing::warn!("{line}");
        }
    }

    fn poll(&mut self, signals: &Signals) {
        self.drain_events();
        self.log_late_ticks(false);
        self.black_boxes.iter_mut().for_each(BlackBoxes::poll);
        self.recording.log_problems();
        self.recording.abandon_failed(&self.handles.requests);
        self.recycle_black_boxes();
        let requested = signals.take_reload();
        let (viewer, requests) = (&self.viewer, &self.handles.requests);
        // The viewer, if there is one, also updates the settings that it shows.
        self.reload.poll(requested, |command| match viewer {
            Some(viewer) => viewer.apply(command),
            None => send(requests, LoopRequest::Loop(command)),
        });
        if let Some(viewer) = &mut self.viewer {
            viewer.apply_switch(&mut self.handles, &mut self.status);
            viewer.publish(&mut self.handles, &mut self.timing);
        }
        let action = self.status.show(self.handles.snapshots.read(), self.timing.read());
        self.act(action, signals);
    }

    fn act(&self, action: UserAction, signals: &Signals) {
        match action {
            UserAction::Continue => {}
            UserAction::Stop => _ = self.handles.emergency_stop.request(),
            UserAction::Release => {
                if let Err(error) = self.handles.emergency_stop.release(&self.handles.requests) {
                    tracing::warn!("the emergency stop was not released: {error}");
                }
            }
            UserAction::End => signals.stop.store(true, Ordering::Relaxed),
        }
    }

    fn drain_events(&mut self) {
        while let Some(event) = self.handles.events.pop() {
            match event {
                LoopEvent::Fault { tick, fault } => self.add_fault(tick, &fault),
                LoopEvent::SignsUnknown(motors) => tracing::warn!(
                    "the signs of motor and encoder of {motors} could not be determined, and the force comes on: hold the \
                     handle loosely at the start, or run `hapticd identify`"
                ),
                LoopEvent::Released { tick } => {
                    tracing::info!("emergency stop released after tick {tick}; force ramping up");
                }
                LoopEvent::Late { skipped } => self.late_ticks.add(skipped),
                LoopEvent::BlackBox(black_box) => self.write_black_box(black_box),
                LoopEvent::OldWorld(world) => drop(world),
                LoopEvent::OldPublisher(publisher) => drop(publisher),
                LoopEvent::OldTap(tap) => {
                    drop(tap);
                    self.recording.finish();
                }
            }
        }
    }

    fn add_fault(&mut self, tick: u64, fault: &Fault) {
        let record = FaultRecord::new(tick, fault);
        match fault {
            Fault::Stopped => tracing::warn!("emergency stop in tick {tick}, force off; {}", self.release_advice()),
            Fault::ReversedAxis(_) => tracing::error!("fault in tick {tick}: {}; force off, the run ends", record.text),
            _ => tracing::warn!("fault in tick {tick}: {}; force off, re-engaging", record.text),
        }
        if let Some(viewer) = &mut self.viewer {
            viewer.add_fault(&record);
        }
        if self.faults.len() < MAX_LISTED_FAULTS {
            self.faults.push(record);
        }
    }

    /// Returns the ways to release an emergency stop of this run.
    fn release_advice(&self) -> String {
        let page = self.viewer.as_ref().map(|viewer| format!("Release on the page, `{}`", viewer.release_command()));
        let key = matches!(self.status, Status::Picture(_)).then(|| "r in the terminal".to_owned());
        let ways: Vec<String> = [page, key].into_iter().flatten().collect();
        if ways.is_empty() {
            return "it cannot be released without a viewer or a terminal; end the run with SIGTERM".to_owned();
        }
        format!("release it with {}", ways.join(" or "))
    }

    fn write_black_box(&mut self, black_box: Box<BlackBox>) {
        match &mut self.black_boxes {
            Some(black_boxes) => black_boxes.write(&black_box),
            None => tracing::warn!("black box not written: set XDG_STATE_HOME or HOME to name its folder"),
        }
        self.spares.push(LoopRequest::RecycleBlackBox(black_box));
        self.recycle_black_boxes();
    }

    /// Returns written black boxes to the loop for reuse. If the queue is full, the next poll retries; if the loop has
    /// ended, the black boxes are dropped.
    fn recycle_black_boxes(&mut self) {
        while let Some(spare) = self.spares.pop() {
            if let Err(TrySendError::Full(spare)) = self.handles.requests.send(spare) {
                return self.spares.push(spare);
            }
        }
    }

    fn summarize(self, result: &LoopResult<LoopBody>) -> Result<Summary, Failure> {
        if let LoopExit::Panicked(text) = &result.exit {
            return Err(Failure::Runtime(format!("the loop panicked; the device was closed: {text}")));
        }
        let timing = &result.timing;
        Ok(Summary {
            recording: self.recording.outcome(),
            overruns: timing.overruns,
            skipped: timing.skipped,
            wake_ns: Some(timing.wake.percentiles()),
            compute_ns: Some(timing.compute.percentiles()),
            page_faults: Some(result.page_faults),
            waited_ns: result.waited_ns,
            ..Summary::of(&result.body.rendering, &result.body.extremes, self.faults)
        })
    }
}
