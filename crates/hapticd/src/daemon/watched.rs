//! What the lower side does for the viewer: hands on what it sees, and follows a switch of the scene.

use super::loop_thread::{LoopHandles, LoopThread};
use crate::status::Status;
use crate::summary::Fault;
use crate::viewer::ViewerSession;
use crate::viewer::observer::Observer;
use haptic_loop::command::Command;
use haptic_realtime::exchange::LatestReader;
use haptic_realtime::runner::LoopTiming;
use haptic_view::message::state::FaultMessage;
use haptic_view::message::timing::TimingMessage;
use haptic_view::{ControlError, Listener, Viewer};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The viewer as the lower side has it.
pub struct ViewerLink {
    session: Arc<ViewerSession>,
    observer: Observer,
    /// Serves as long as it is kept.
    _viewer: Option<Viewer>,
}

impl ViewerLink {
    /// Begins to serve; if that fails, the run goes on without.
    pub fn start(listener: Listener, session: ViewerSession, running: &LoopThread) -> Self {
        let session = Arc::new(session);
        let (scene_id, scene) = session.scene();
        let served = Viewer::serve(listener, session.feed.clone(), session.clone(), running.granted().cpu);
        let warn = |error: &std::io::Error| tracing::warn!("no viewer: its thread cannot be started: {error}");
        Self { observer: Observer::new(scene_id, &scene), session, _viewer: served.inspect_err(warn).ok() }
    }

    /// Gives the loop an order that the viewer shall know of.
    ///
    /// # Errors
    /// When the loop is busy or has ended.
    pub fn order(&self, command: Command) -> Result<(), ControlError> {
        self.session.order(command)
    }

    /// A fault happened.
    pub fn take_fault(&mut self, fault: &Fault) {
        let Fault { tick, kind, text } = fault.clone();
        self.observer.take_fault(FaultMessage { tick, kind, text });
    }

    /// If the loop was told to switch to another scene: reads that one's snapshots from now on, and shows it.
    pub fn follow_switch(&mut self, ends: &mut LoopHandles, status: &mut Status) {
        if let Some(switch) = self.session.take_switch() {
            ends.snapshots = switch.snapshots;
            status.change_scene(&switch.scene);
            self.observer.change_scene(switch.scene_id, &switch.scene);
        }
    }

    /// Hands on what is new.
    pub fn tell(&mut self, ends: &mut LoopHandles, figures: &mut LatestReader<LoopTiming>) {
        if let Some(snapshot) = ends.snapshots.read_if_new() {
            let longest_ns = ends.longest_tick_ns.swap(0, Ordering::Relaxed);
            let recording = self.session.recording.progress();
            self.session.feed.publish_state(self.observer.observe(snapshot, longest_ns, recording));
        }
        if let Some(figures) = figures.read_if_new() {
            self.session.feed.publish_timing(TimingMessage::new(figures));
        }
    }
}
