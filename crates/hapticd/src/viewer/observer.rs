//! Turns snapshots into observations for the viewer, on the supervisor's thread.

use haptic_draw::follower::SceneFollower;
use haptic_draw::view::SceneView;
use haptic_loop::fault::FaultRecord;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::scene::Scene;
use haptic_view::message::state::{Observation, RecordingMessage};

/// Turns the snapshots of one scene into observations and counts faults.
pub struct Observer {
    scene_id: u64,
    follower: SceneFollower,
    fault: Option<FaultRecord>,
    faults: u64,
    stale_seen: u64,
}

impl Observer {
    /// Creates an observer for a scene in its initial state.
    pub fn new(scene_id: u64, scene: &Scene) -> Self {
        Self { scene_id, follower: SceneFollower::new(SceneView::new(scene)), fault: None, faults: 0, stale_seen: 0 }
    }

    /// Switches to another scene, keeping the last fault and the counters.
    pub fn change_scene(&mut self, scene_id: u64, scene: &Scene) {
        let (fault, faults, stale_seen) = (self.fault.take(), self.faults, self.stale_seen);
        *self = Self { fault, faults, stale_seen, ..Self::new(scene_id, scene) };
    }

    /// Counts a fault and includes it in observations until the next fault.
    pub fn add_fault(&mut self, fault: FaultRecord) {
        self.fault = Some(fault);
        self.faults += 1;
    }

    /// Returns the observation of a snapshot; `compute_ns` is the longest compute time since the last observation.
    pub fn observe(
        &mut self,
        snapshot: &Snapshot,
        compute_ns: u64,
        recording: Option<RecordingMessage>,
    ) -> Observation {
        let caption = Some(self.follower.update(snapshot));
        let (view, placements) = (self.follower.view(), self.follower.placements());
        self.stale_seen += u64::from(snapshot.report.stale);
        Observation {
            scene_id: self.scene_id,
            snapshot: snapshot.clone(),
            handle_m: view.handle_m(placements),
            tool: view.tool.map(|(body, _)| body as u32),
            compute_ns,
            caption,
            fault: self.fault.clone(),
            faults: self.faults,
            stale_observations: self.stale_seen,
            recording,
        }
    }
}
