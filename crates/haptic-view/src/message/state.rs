//! Newest state of the loop: poses, forces, contacts, energy.

use haptic_loop::fault::FaultRecord;
use haptic_loop::snapshot::Snapshot;
use haptic_planar::output::Contact;
use haptic_planar::solve::energy::EnergyBalance;
use haptic_planar::tick::TICK_S;
use nalgebra::Vector2;
use serde::Serialize;

/// The newest snapshot, with values added by the daemon for the viewer.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Number of the scene that the snapshot belongs to.
    pub scene_id: u64,
    /// Newest tick report and the poses after that tick.
    pub snapshot: Snapshot,
    /// Position of the tool's handle, world frame, m; `None` without a tool.
    pub handle_m: Option<Vector2<f64>>,
    /// Index of the tool's body; `None` without a tool.
    pub tool: Option<u32>,
    /// Duration of the longest tick since the previous observation, ns.
    pub compute_ns: u64,
    /// Description of the hand's current action, if any.
    pub caption: Option<String>,
    /// Newest fault, if any.
    pub fault: Option<FaultRecord>,
    /// Number of faults so far.
    pub faults: u64,
    /// Number of observations with a stale reading so far.
    pub stale_observations: u64,
    /// Recording in progress, if any.
    pub recording: Option<RecordingMessage>,
}

/// A recording in progress, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordingMessage {
    /// Name of the file.
    pub file: String,
    /// Duration so far, s.
    pub seconds: f64,
    /// Size so far, bytes.
    pub bytes: u64,
}

/// The newest state, as a message.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StateMessage<'o> {
    scene_id: u64,
    tick: u64,
    t_s: f64,
    /// Start of the tick on the system's monotonic clock, ns. Clients can use it to compute the age of the state.
    monotonic_ns: u64,
    paused: bool,
    phase: &'static str,
    share: f64,
    hand_m: [f64; 2],
    hand_guided: bool,
    tool: Option<ToolPose>,
    bodies: Vec<[f64; 3]>,
    /// Indices of the bodies that left the bounds of the scene and are not drawn any more.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    removed: Vec<u32>,
    force_n: [f64; 2],
    coupling_force_n: [f64; 2],
    contacts: Vec<ContactMessage>,
    normal_force_n: f64,
    tangent_force_n: f64,
    penetration_m: f64,
    energy: EnergyBalance,
    tank_j: f64,
    stale: bool,
    fault: Option<&'o FaultRecord>,
    faults: u64,
    caption: Option<&'o str>,
    recording: Option<&'o RecordingMessage>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ToolPose {
    position_m: [f64; 2],
    angle_rad: f64,
    handle_m: [f64; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
struct ContactMessage {
    point_m: [f64; 2],
    normal: [f64; 2],
    force_n: [f64; 2],
    bodies: [u32; 2],
}

impl<'o> StateMessage<'o> {
    /// Creates a message from an observation.
    pub fn new(observation: &'o Observation, hand_guided: bool) -> Self {
        let report = &observation.snapshot.report;
        let felt = &report.felt;
        Self {
            scene_id: observation.scene_id,
            tick: report.tick,
            t_s: observation.time_s(),
            monotonic_ns: report.now.0,
            paused: report.paused,
            phase: report.phase.name(),
            share: report.fraction,
            hand_m: report.hand_m.into(),
            hand_guided,
            tool: observation.tool_pose(),
            bodies: observation.snapshot.poses.iter().map(|p| [p.position_m.x, p.position_m.y, p.angle_rad]).collect(),
            removed: observation.snapshot.poses.iter().filter(|pose| pose.is_removed).map(|pose| pose.body).collect(),
            force_n: report.force_n.into(),
            coupling_force_n: felt.force_on_hand_n.into(),
            contacts: observation.snapshot.contacts.iter().map(contact).collect(),
            normal_force_n: felt.tool_normal_n,
            tangent_force_n: felt.tool_tangent_n,
            penetration_m: felt.tool_penetration_m,
            energy: felt.energy,
            tank_j: report.tank_j,
            stale: report.stale,
            fault: observation.fault.as_ref(),
            faults: observation.faults,
            caption: observation.caption.as_deref(),
            recording: observation.recording.as_ref(),
        }
    }
}

impl Observation {
    /// Returns the world time, s: the tick number times 1 ms.
    pub fn time_s(&self) -> f64 {
        self.snapshot.report.tick as f64 / (1.0 / TICK_S)
    }

    /// Returns a row of the strip charts: time, hand position, handle position, force, stored energy, tank level, and
    /// duration of the longest tick since the previous row.
    pub fn sample(&self) -> [f64; 10] {
        let report = &self.snapshot.report;
        let (hand, force) = (report.hand_m, report.force_n);
        let handle = self.handle_m.unwrap_or_default();
        let stored_j = report.felt.energy.stored_j();
        let compute_ns = self.compute_ns as f64;
        [self.time_s(), hand.x, hand.y, handle.x, handle.y, force.x, force.y, stored_j, report.tank_j, compute_ns]
    }

    fn tool_pose(&self) -> Option<ToolPose> {
        let (tool, handle_m) = (self.tool?, self.handle_m?);
        let pose = self.snapshot.poses.iter().find(|pose| pose.body == tool)?;
        Some(ToolPose { position_m: pose.position_m.into(), angle_rad: pose.angle_rad, handle_m: handle_m.into() })
    }
}

fn contact(contact: &Contact) -> ContactMessage {
    ContactMessage {
        point_m: contact.point_m.into(),
        normal: contact.normal.into(),
        force_n: contact.force_n.into(),
        bodies: contact.bodies,
    }
}
