//! What daemon and viewer share: requests to the loop, events from it, and the recording.
//!
//! Only ordinary threads use this module. The real-time thread holds the other ends of the queues.

pub mod recording;
mod state_folder;

pub use recording::Recording;
pub use state_folder::state_folder;

use haptic_loop::black_box::BlackBox;
use haptic_loop::command::Command;
use haptic_loop::control::ControlError;
use haptic_loop::fault::Fault;
use haptic_loop::snapshot::{Snapshot, SnapshotSink};
use haptic_loop::world::World;
use haptic_realtime::exchange::{
    CommandReceiver, CommandSender, LatestReader, LatestWriter, RingReader, TrySendError, commands, latest,
};
use haptic_record::tap::Tap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Requests that the queue to the loop holds.
const REQUEST_CAPACITY: usize = 64;

/// A request to the real-time thread.
pub enum LoopRequest {
    /// A command of the loop.
    Loop(Command),
    /// A written black box, for reuse.
    RecycleBlackBox(Box<BlackBox>),
    /// Replaces the world, and the snapshot sink with one that has capacity for it.
    Switch {
        /// The new world.
        world: Box<World>,
        /// Its snapshot sink.
        publisher: Box<dyn SnapshotSink>,
    },
    /// Records every tick from the next one through this tap.
    Record(Box<Tap>),
    /// Ends the recording.
    StopRecording,
}

impl std::fmt::Debug for LoopRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loop(command) => f.debug_tuple("Loop").field(command).finish(),
            Self::RecycleBlackBox(_) => f.write_str("RecycleBlackBox"),
            Self::Switch { .. } => f.write_str("Switch"),
            Self::Record(_) => f.write_str("Record"),
            Self::StopRecording => f.write_str("StopRecording"),
        }
    }
}

/// An event from the real-time thread. Values that own memory are dropped by the receiver, never on that thread.
pub enum LoopEvent {
    /// A fault began.
    Fault {
        /// Tick in which it began.
        tick: u64,
        /// The fault.
        fault: Fault,
    },
    /// The black box of a fault is complete.
    BlackBox(Box<BlackBox>),
    /// A world that was replaced.
    OldWorld(Box<World>),
    /// A snapshot sink that was replaced.
    OldPublisher(Box<dyn SnapshotSink>),
    /// A tap that is no longer written to.
    OldTap(Box<Tap>),
}

/// The supervisor's ends of the queues.
pub struct LoopHandles {
    /// Requests to the loop.
    pub requests: CommandSender<LoopRequest>,
    /// Events from the loop.
    pub events: RingReader<LoopEvent>,
    /// The newest snapshot.
    pub snapshots: LatestReader<Snapshot>,
    /// Longest tick since the reader last stored zero here, ns.
    pub longest_tick_ns: Arc<AtomicU64>,
}

/// The request queue.
pub fn request_queue() -> (CommandSender<LoopRequest>, CommandReceiver<LoopRequest>) {
    commands(REQUEST_CAPACITY)
}

/// Sends a request to the loop.
///
/// # Errors
/// If the queue is full or the loop has ended.
pub fn send(requests: &CommandSender<LoopRequest>, request: LoopRequest) -> Result<(), ControlError> {
    requests.send(request).map_err(|rejected| match rejected {
        TrySendError::Full(_) => ControlError::Busy(rejected.to_string()),
        TrySendError::Disconnected(_) => ControlError::NotNow(rejected.to_string()),
    })
}

/// A snapshot sink with capacity for a world, and the reader of its newest snapshot.
pub fn publish_to_latest(world: &World) -> (Box<dyn SnapshotSink>, LatestReader<Snapshot>) {
    let (writer, snapshots) = latest(Snapshot::with_capacity_for(world));
    (Box::new(ToLatest(writer)), snapshots)
}

/// Publishes snapshots to a latest-value exchange.
struct ToLatest(LatestWriter<Snapshot>);

impl SnapshotSink for ToLatest {
    fn publish(&mut self, fill: &dyn Fn(&mut Snapshot)) {
        self.0.publish_with(|snapshot| fill(snapshot));
    }
}
