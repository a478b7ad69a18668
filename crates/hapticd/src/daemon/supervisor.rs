//! The ordinary thread beside the loop: logs faults, keeps black boxes, takes over changed profiles, shows status.

use super::black_boxes::BlackBoxes;
use super::loop_thread::{LoopEvent, LoopHandles, LoopRequest, LoopResult, LoopThread};
use super::recording::Recording;
use super::reload::Reload;
use super::rights::RealtimeVerdict;
use super::signals::Signals;
use super::watched::ViewerLink;
use crate::failure::Failure;
use crate::status::Status;
use crate::summary::{Fault, Summary};
use crate::terminal::UserAction;
use crate::viewer::session::send;
use haptic_loop::black_box::BlackBox;
use haptic_loop::command::Command;
use haptic_realtime::exchange::{CommandSender, LatestReader, TrySendError};
use haptic_realtime::runner::{LoopExit, LoopTiming};
use haptic_view::ControlError;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// How often it looks around. A change of the profile must be taken over in 200 ms.
const ROUND: Duration = Duration::from_millis(10);
/// The same while somebody may look on: a state should be on its way soon after its tick.
const WATCHED_ROUND: Duration = Duration::from_millis(4);
/// Faults that a summary lists; beyond them only their number is of interest.
const FAULTS_LISTED: usize = 1000;

/// Everything that has time.
pub struct Supervisor {
    ends: LoopHandles,
    figures: LatestReader<LoopTiming>,
    reload: Reload,
    black_boxes: Option<BlackBoxes>,
    status: Status,
    faults: Vec<Fault>,
    /// Black boxes that are written down and that the loop had no room to take back yet.
    spares: Vec<LoopRequest>,
    watched: Option<ViewerLink>,
    recording: Recording,
}

impl Supervisor {
    /// The side that serves a loop.
    pub fn new(
        ends: LoopHandles,
        figures: LatestReader<LoopTiming>,
        reload: Reload,
        black_boxes: Option<BlackBoxes>,
        status: Status,
        watched: Option<ViewerLink>,
        recording: Recording,
    ) -> Self {
        let (faults, spares) = (Vec::new(), Vec::new());
        Self { ends, figures, reload, black_boxes, status, faults, spares, watched, recording }
    }

    /// Serves the loop until it ends, and sums up.
    ///
    /// # Errors
    /// When the loop was refused or panicked.
    pub fn keep_watch(mut self, running: LoopThread, signals: &Signals) -> Result<Summary, Failure> {
        if let RealtimeVerdict::Warn(text) = running.answer() {
            tracing::warn!("{text}");
        }
        tracing::debug!("granted: {:?}", running.granted());
        while !running.has_ended() {
            self.round(signals);
            std::thread::sleep(if self.watched.is_some() { WATCHED_ROUND } else { ROUND });
        }
        let ending = running.join()?;
        self.drain_events();
        self.watched = None;
        // The terminal is given back before anything is told on it.
        self.status = Status::Silent;
        self.recording.finish();
        self.sum_up(&ending)
    }

    fn round(&mut self, signals: &Signals) {
        self.drain_events();
        self.black_boxes.iter_mut().for_each(BlackBoxes::follow);
        self.recording.tell();
        self.recording.give_up_failed(&self.ends.orders);
        self.give_boxes_back();
        let asked = signals.reload.swap(false, Ordering::Relaxed);
        let (watched, orders) = (&self.watched, &self.ends.orders);
        self.reload.follow(asked, |command| order(watched.as_ref(), orders, command));
        if let Some(watched) = &mut self.watched {
            watched.follow_switch(&mut self.ends, &mut self.status);
            watched.tell(&mut self.ends, &mut self.figures);
        }
        if self.status.show(self.ends.snapshots.read(), self.figures.read()) == UserAction::End {
            signals.stop.store(true, Ordering::Relaxed);
        }
    }

    fn drain_events(&mut self) {
        while let Some(news) = self.ends.news.pop() {
            match news {
                LoopEvent::Fault { tick, fault } => self.take_fault(Fault::of(tick, &fault)),
                LoopEvent::BlackBox(black_box) => self.keep(black_box),
                LoopEvent::OldWorld(world) => drop(world),
                LoopEvent::OldPublisher(publisher) => drop(publisher),
                LoopEvent::OldTap(tap) => {
                    drop(tap);
                    self.recording.finish();
                }
            }
        }
    }

    fn take_fault(&mut self, fault: Fault) {
        tracing::warn!("fault in tick {}: {}; zero force, coming on anew", fault.tick, fault.text);
        if let Some(watched) = &mut self.watched {
            watched.take_fault(&fault);
        }
        if self.faults.len() < FAULTS_LISTED {
            self.faults.push(fault);
        }
    }

    fn keep(&mut self, black_box: Box<BlackBox>) {
        match &mut self.black_boxes {
            Some(black_boxes) => black_boxes.write(&black_box),
            None => tracing::warn!("no black box is kept: neither XDG_STATE_HOME nor HOME says where"),
        }
        self.spares.push(LoopRequest::GiveBack(black_box));
        self.give_boxes_back();
    }

    /// The loop needs every box again for the next fault; one that is busy gets it in the next round, one that has ended needs none.
    fn give_boxes_back(&mut self) {
        while let Some(spare) = self.spares.pop() {
            if let Err(TrySendError::Full(spare)) = self.ends.orders.send(spare) {
                return self.spares.push(spare);
            }
        }
    }

    fn sum_up(self, ending: &LoopResult) -> Result<Summary, Failure> {
        if let LoopExit::Panicked(text) = &ending.ended {
            return Err(Failure::Runtime(format!("the loop panicked and let the device go: {text}")));
        }
        let timing = &ending.timing;
        Ok(Summary {
            overruns: timing.overruns,
            skipped: timing.skipped,
            wake_ns: Some(timing.wake.percentiles()),
            compute_ns: Some(timing.compute.percentiles()),
            page_faults: Some(ending.page_faults),
            waited_ns: ending.waited_ns,
            ..Summary::of(&ending.rendering, &ending.figures, self.faults)
        })
    }
}

/// Gives the loop an order, through the viewer if there is one: it tells what holds.
fn order(
    watched: Option<&ViewerLink>,
    orders: &CommandSender<LoopRequest>,
    command: Command,
) -> Result<(), ControlError> {
    match watched {
        Some(watched) => watched.order(command),
        None => send(orders, LoopRequest::Loop(command)),
    }
}
