//! A picture of the world for those who look on: the newest tick and where everything is.

use crate::report::TickReport;
use crate::world::World;
use haptic_planar::output::Contact;
use nalgebra::Vector2;

/// Contacts that a snapshot tells of at most; more than a picture can show.
const MAX_CONTACTS: usize = 512;

/// Where one body is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pose {
    /// Index of the body in the scene.
    pub body: u32,
    /// Origin of its frame, world, m.
    pub position_m: Vector2<f64>,
    /// rad, anticlockwise.
    pub angle_rad: f64,
}

/// The newest tick, the poses of all bodies that can move, and what presses where.
#[derive(Debug, PartialEq)]
pub struct Snapshot {
    /// The newest tick.
    pub report: TickReport,
    /// Bodies that can move, in file order; its room never grows after the start.
    pub poses: Vec<Pose>,
    /// Contacts that carry load, in the order of the solver; the first ones if there are more than there is room for.
    pub contacts: Vec<Contact>,
}

impl Clone for Snapshot {
    /// Keeps the room as well, which a vector's own clone does not: the buffers of an exchange are clones of one another.
    fn clone(&self) -> Self {
        let (mut poses, mut contacts) =
            (Vec::with_capacity(self.poses.capacity()), Vec::with_capacity(self.contacts.capacity()));
        poses.extend_from_slice(&self.poses);
        contacts.extend_from_slice(&self.contacts);
        Self { report: self.report, poses, contacts }
    }
}

impl Snapshot {
    /// A snapshot with room for every body of a world.
    pub fn with_capacity_for(world: &World) -> Self {
        let mut snapshot = Self {
            report: TickReport::default(),
            poses: Vec::with_capacity(world.moving().len()),
            contacts: Vec::with_capacity((2 * world.scene.pair_capacity).min(MAX_CONTACTS)),
        };
        snapshot.fill(&TickReport::default(), world);
        snapshot
    }

    /// Takes the picture. A world with more bodies than there is room for is cut off, never made room for.
    /// Real-time: a few copies for each body that can move and each contact.
    pub fn fill(&mut self, report: &TickReport, world: &World) {
        self.report = *report;
        self.poses.clear();
        let capacity = self.poses.capacity();
        for &body in world.moving().iter().take(capacity) {
            let index = body as usize;
            let position_m = world.state.origin_m(&world.scene, index);
            let angle_rad = world.state.bodies.get(index).map_or(0.0, |motion| motion.angle_rad);
            self.poses.push(Pose { body, position_m, angle_rad });
        }
        let capacity = self.contacts.capacity();
        self.contacts.clear();
        self.contacts.extend(world.workspace.contacts(&world.state).take(capacity));
    }
}

/// Whoever looks on. The loop offers, the other side decides when to take.
pub trait SnapshotSink: Send {
    /// Takes a snapshot by calling `fill` on a buffer of its own. Real-time: no allocation, lock, wait or log.
    fn publish(&mut self, fill: &dyn Fn(&mut Snapshot));
}

/// Nobody looks on.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullSink;

impl SnapshotSink for NullSink {
    fn publish(&mut self, _fill: &dyn Fn(&mut Snapshot)) {}
}
