//! Snapshot of the world for viewers: the newest tick and the poses after it.

use crate::report::TickReport;
use crate::world::World;
use haptic_planar::output::Contact;
use nalgebra::Vector2;

/// Maximum number of contacts in a snapshot, more than a picture can usefully show.
const MAX_CONTACTS: usize = 512;

/// Pose of one body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Index of the body in the scene.
    pub body: u32,
    /// Origin of the body's frame in the world, m.
    pub position_m: Vector2<f64>,
    /// Angle, rad, anticlockwise.
    pub angle_rad: f64,
    /// Whether the body left the bounds of the scene and is not drawn any more.
    pub is_removed: bool,
}

/// State of the loop after a tick, for viewers.
#[derive(Debug, PartialEq)]
pub struct Snapshot {
    /// Report of the newest tick.
    pub report: TickReport,
    /// Poses of the dynamic bodies, in file order; the capacity never grows after the start.
    pub poses: Vec<Pose>,
    /// Contacts that carry a force, in solver order; contacts beyond the capacity are omitted.
    pub contacts: Vec<Contact>,
}

impl Clone for Snapshot {
    /// Preserves the capacity, unlike cloning a vector, because the buffers of an exchange are clones of one another.
    fn clone(&self) -> Self {
        let (mut poses, mut contacts) =
            (Vec::with_capacity(self.poses.capacity()), Vec::with_capacity(self.contacts.capacity()));
        poses.extend_from_slice(&self.poses);
        contacts.extend_from_slice(&self.contacts);
        Self { report: self.report, poses, contacts }
    }
}

impl Snapshot {
    /// Creates a snapshot of a world at its start, with capacity for every dynamic body.
    pub fn with_capacity_for(world: &World) -> Self {
        let mut snapshot = Self {
            report: TickReport::default(),
            poses: Vec::with_capacity(world.moving().len()),
            contacts: Vec::with_capacity((2 * world.scene.pair_capacity).min(MAX_CONTACTS)),
        };
        snapshot.fill(&TickReport::default(), world);
        snapshot
    }

    /// Copies the report, and the poses and contacts of the world. Omits bodies and contacts beyond the capacity and
    /// allocates nothing.
    /// Real-time: a few copies for each dynamic body and each contact.
    pub fn fill(&mut self, report: &TickReport, world: &World) {
        self.report = *report;
        self.poses.clear();
        let capacity = self.poses.capacity();
        for &body in world.moving().iter().take(capacity) {
            let index = body as usize;
            let position_m = world.state.origin_m(&world.scene, index);
            let angle_rad = world.state.bodies.get(index).map_or(0.0, |motion| motion.angle_rad);
            let is_removed = world.state.is_removed(&world.scene, index);
            self.poses.push(Pose { body, position_m, angle_rad, is_removed });
        }
        let capacity = self.contacts.capacity();
        self.contacts.clear();
        self.contacts.extend(world.workspace.contacts(&world.state).take(capacity));
    }
}

/// Receives snapshots from the loop. A sink may ignore some of them.
pub trait SnapshotSink: Send {
    /// Receives a snapshot: the sink passes its own buffer to `fill`, which writes the snapshot into it.
    /// Real-time: no allocation, lock, wait or log.
    fn publish(&mut self, fill: &dyn Fn(&mut Snapshot));
}

/// A sink that drops all snapshots.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl SnapshotSink for NullSink {
    fn publish(&mut self, _fill: &dyn Fn(&mut Snapshot)) {}
}
