//! Parts shared by the daemon and the viewer: requests to the loop, the emergency stop, events from the loop, and
//! recordings.
//!
//! Ordinary threads hold the ends of the queues in [`LoopHandles`]; the real-time thread holds the other ends.

mod emergency_stop;
pub mod recording;
mod state_folder;

pub use emergency_stop::{EmergencyStop, StopReceiver};
pub use recording::Recording;
pub use state_folder::state_folder;

use haptic_loop::black_box::BlackBox;
use haptic_loop::command::Command;
use haptic_loop::control::ControlError;
use haptic_loop::fault::Fault;
use haptic_loop::motor_set::MotorSet;
use haptic_loop::snapshot::{Snapshot, SnapshotSink};
use haptic_loop::world::World;
use haptic_realtime::exchange::{
    CommandReceiver, CommandSender, LatestReader, LatestWriter, RingReader, TrySendError, commands, latest,
};
use haptic_record::tap::Tap;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Capacity of the request queue.
const REQUEST_CAPACITY: usize = 64;

/// A request to the real-time thread.
pub enum LoopRequest {
    /// A command for the loop.
    Loop(Command),
    /// A written black box, returned for reuse.
    RecycleBlackBox(Box<BlackBox>),
    /// Replaces the world and the snapshot sink.
    Switch {
        /// The new world.
        world: Box<World>,
        /// Snapshot sink with capacity for the new world.
        publisher: Box<dyn SnapshotSink>,
    },
    /// Starts recording through this tap with the next tick.
    Record(Box<Tap>),
    /// Ends the active recording.
    StopRecording,
    /// Releases the emergency stop with this number, unless another stop was requested after it.
    Release {
        /// Number of the newest stop when the release was requested.
        stop: u64,
    },
}

impl std::fmt::Debug for LoopRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Loop(command) => f.debug_tuple("Loop").field(command).finish(),
            Self::RecycleBlackBox(_) => f.write_str("RecycleBlackBox"),
            Self::Switch { .. } => f.write_str("Switch"),
            Self::Record(_) => f.write_str("Record"),
            Self::StopRecording => f.write_str("StopRecording"),
            Self::Release { stop } => f.debug_struct("Release").field("stop", stop).finish(),
        }
    }
}

/// An event from the real-time thread. Values that own memory are dropped by the receiver, never on the real-time
/// thread.
pub enum LoopEvent {
    /// A fault started.
    Fault {
        /// Tick in which the fault started.
        tick: u64,
        /// The fault.
        fault: Fault,
    },
    /// The signs of these motors could not be determined before the first force.
    SignsUnknown(MotorSet),
    /// An emergency stop was released.
    Released {
        /// Last tick of the stop.
        tick: u64,
    },
    /// A tick ran late.
    Late {
        /// Number of periods that were skipped before the tick.
        skipped: u64,
    },
    /// A black box to be written, after a fault or a panic.
    BlackBox(Box<BlackBox>),
    /// A world that was replaced.
    OldWorld(Box<World>),
    /// A snapshot sink that was replaced.
    OldPublisher(Box<dyn SnapshotSink>),
    /// A tap that is no longer written to.
    OldTap(Box<Tap>),
}

/// The supervisor's ends of the queues to and from the loop.
pub struct LoopHandles {
    /// Sender of requests to the loop.
    pub requests: CommandSender<LoopRequest>,
    /// Emergency stop of the loop.
    pub emergency_stop: EmergencyStop,
    /// Reader of events from the loop.
    pub events: RingReader<LoopEvent>,
    /// Reader of the newest snapshot.
    pub snapshots: LatestReader<Snapshot>,
    /// Longest compute time since the reader last reset this value to zero, ns.
    pub longest_tick_ns: Arc<AtomicU64>,
}

/// Creates the request queue.
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

/// Creates a snapshot sink with capacity for a world, and a reader for its newest snapshot.
pub fn publish_to_latest(world: &World) -> (Box<dyn SnapshotSink>, LatestReader<Snapshot>) {
    let (writer, snapshots) = latest(Snapshot::with_capacity_for(world));
    (Box::new(ToLatest(writer)), snapshots)
}

/// A snapshot sink that publishes to a latest-value exchange.
struct ToLatest(LatestWriter<Snapshot>);

impl SnapshotSink for ToLatest {
    fn publish(&mut self, fill: &dyn Fn(&mut Snapshot)) {
        self.0.publish_with(|snapshot| fill(snapshot));
    }
}
