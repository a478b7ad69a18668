//! The supervisor's link to the viewer: publishes telemetry and applies scene switches.

use super::loop_body::LoopBody;
use crate::control::LoopHandles;
use crate::realtime_setup::RealtimeLoop;
use crate::status::Status;
use crate::viewer::observer::Observer;
use crate::viewer::timing::timing_message;
use crate::viewer::{ViewerSession, release_command};

use haptic_loop::command::Command;
use haptic_loop::control::ControlError;
use haptic_loop::fault::FaultRecord;
use haptic_realtime::exchange::LatestReader;
use haptic_realtime::runner::LoopTiming;
use haptic_view::{Listener, Viewer};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// The supervisor's link to the viewer.
pub struct ViewerLink {
    session: Arc<ViewerSession>,
    observer: Observer,
    /// Command that releases an emergency stop.
    release_command: String,
    /// Server that stops when dropped; `None` if it could not be started.
    _viewer: Option<Viewer>,
}

impl ViewerLink {
    /// Starts the viewer's server. If this fails, the run continues without a viewer.
    pub fn start(listener: Listener, session: ViewerSession, running: &RealtimeLoop<LoopBody>) -> Self {
        let session = Arc::new(session);
        let (scene_id, scene) = session.scene();
        let release_command = release_command(listener.address(), listener.token().is_some());
        let served = Viewer::serve(listener, session.telemetry.clone(), session.clone(), running.granted().cpu);
        let warn = |error: &std::io::Error| tracing::warn!("viewer disabled: cannot start its thread: {error}");
        let observer = Observer::new(scene_id, &scene);
        Self { session, observer, release_command, _viewer: served.inspect_err(warn).ok() }
    }

    /// Returns the command that releases an emergency stop of this daemon.
    pub fn release_command(&self) -> &str {
        &self.release_command
    }

    /// Sends a command to the loop and updates the settings shown in the viewer.
    ///
    /// # Errors
    /// If the loop is busy or has ended.
    pub fn apply(&self, command: Command) -> Result<(), ControlError> {
        self.session.apply(command)
    }

    /// Counts a fault and includes it in telemetry until the next fault.
    pub fn add_fault(&mut self, fault: &FaultRecord) {
        self.observer.add_fault(fault.clone());
    }

    /// If the scene was switched, replaces the snapshot reader and the displayed scene.
    pub fn apply_switch(&mut self, handles: &mut LoopHandles, status: &mut Status) {
        if let Some(switch) = self.session.take_switch() {
            handles.snapshots = switch.snapshots;
            status.change_scene(&switch.scene);
            self.observer.change_scene(switch.scene_id, &switch.scene);
        }
    }

    /// Publishes the newest snapshot and timing, each only if it is new.
    pub fn publish(&mut self, handles: &mut LoopHandles, timing: &mut LatestReader<LoopTiming>) {
        if let Some(snapshot) = handles.snapshots.read_if_new() {
            let longest_ns = handles.longest_tick_ns.swap(0, Ordering::Relaxed);
            let recording = self.session.recording.progress();
            self.session.telemetry.publish_state(self.observer.observe(snapshot, longest_ns, recording));
        }
        if let Some(timing) = timing.read_if_new() {
            self.session.telemetry.publish_timing(timing_message(timing));
        }
    }
}
