//! Makes observations for the viewer from snapshots, on the supervisor's thread.

use crate::follower::follow;
use crate::follower::narrator::Narrator;
use haptic_draw::placement::Placement;
use haptic_draw::view::SceneView;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::scene::Scene;
use haptic_view::message::state::{FaultMessage, Observation, RecordingMessage};
use nalgebra::Vector2;

/// Observes one scene.
pub struct Observer {
    scene_id: u64,
    view: SceneView,
    centres_m: Vec<Vector2<f64>>,
    placements: Vec<Placement>,
    narrator: Narrator,
    fault: Option<FaultMessage>,
    faults: u64,
    stale_seen: u64,
}

impl Observer {
    /// An observer of a scene at its start.
    pub fn new(scene_id: u64, scene: &Scene) -> Self {
        let view = SceneView::of(scene);
        Self {
            scene_id,
            centres_m: view.bodies.iter().map(|body| body.centre_m).collect(),
            placements: view.start().to_vec(),
            view,
            narrator: Narrator::default(),
            fault: None,
            faults: 0,
            stale_seen: 0,
        }
    }

    /// Observes another scene from now on; the counters stay.
    pub fn change_scene(&mut self, scene_id: u64, scene: &Scene) {
        let (fault, faults, stale_seen) = (self.fault.take(), self.faults, self.stale_seen);
        *self = Self { fault, faults, stale_seen, ..Self::new(scene_id, scene) };
    }

    /// Counts a fault and shows it.
    pub fn add_fault(&mut self, fault: FaultMessage) {
        self.fault = Some(fault);
        self.faults += 1;
    }

    /// Observation of the newest snapshot; `compute_ns` is the longest tick since the last one.
    pub fn observe(
        &mut self,
        snapshot: &Snapshot,
        compute_ns: u64,
        recording: Option<RecordingMessage>,
    ) -> Observation {
        follow(&mut self.placements, snapshot, &self.centres_m);
        self.stale_seen += u64::from(snapshot.report.stale);
        Observation {
            scene_id: self.scene_id,
            snapshot: snapshot.clone(),
            handle_m: self.view.handle_m(&self.placements),
            tool: self.view.tool.map(|(body, _)| body as u32),
            compute_ns,
            caption: Some(self.narrator.narrate(&self.view, &self.placements, &snapshot.report)),
            fault: self.fault.clone(),
            faults: self.faults,
            stale_observations: self.stale_seen,
            recording,
        }
    }
}
