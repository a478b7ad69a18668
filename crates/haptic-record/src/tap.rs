//! The real-time end of a recording: one plain record a tick into a ring, and whatever the loop was told.
//!
//! Three rings, so that small things do not take the room of large ones and nothing waits for anything: ticks, orders,
//! and the poses of sixty pictures a second. A full ring drops and counts; the numbers in the records tell what is gone.
//!
//! Who wants to begin in the midst of a run asks for an image of the whole loop: an empty one goes in through a fourth ring,
//! and comes back written through a fifth. Memory is made and freed on the other side only.

use haptic_loop::command::{Command, RecordedCommand};
use haptic_loop::report::TickReport;
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_planar::bits::{OFFSET_BASIS, mix_fast, number_bits};
use haptic_planar::checkpoint::Checkpoint;
use haptic_planar::scene::Scene;
use haptic_planar::scene::body_state::BodyState;
use haptic_realtime::exchange::{RingReader, RingWriter, ring};
use nalgebra::Vector2;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Pictures a second.
pub const POSES_PER_SECOND: u64 = 60;
const TICKS_PER_SECOND: u64 = 1000;

/// Ticks that can wait to be written: so long may a disk stall before anything is lost. About 7 MB.
const MAX_WAITING_TICKS: usize = 16 * 1024;
/// Orders that can wait; the loop takes at most four a tick and is given few.
const MAX_WAITING_COMMANDS: usize = 4096;
/// Poses that can wait: as many seconds of pictures as ticks, within this.
const MAX_WAITING_POSES: usize = 1 << 18;

/// Ticks that a tap of the newest seconds has room for. About 2 MB.
const MAX_WAITING_HISTORY_TICKS: usize = 4096;
/// Images that may be under way.
const MAX_WAITING_CHECKPOINTS: usize = 2;

/// What one tick leaves for the recording.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickRecord {
    /// The tick.
    pub report: TickReport,
    /// Of the world after it; zero where nobody asked for it.
    pub state_hash: u64,
    /// Orders that the loop has taken since the recording began.
    pub commands: u32,
    /// How late the thread woke, ns; zero without a clock.
    pub late_ns: u32,
    /// How long the tick before took, ns; zero without a clock.
    pub previous_compute_ns: u32,
}

/// How punctual a tick was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// How late the thread woke, ns.
    pub late_ns: u64,
    /// How long the tick before took, ns.
    pub previous_compute_ns: u64,
}

/// Where one body is in a picture.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseRecord {
    /// After which tick.
    pub tick: u64,
    /// Index of the body in the scene.
    pub body: u32,
    /// Over the bits of its pose and velocity.
    pub hash: u32,
    /// Origin of its frame, world, m.
    pub position_m: Vector2<f64>,
    /// rad, anticlockwise.
    pub angle_rad: f64,
}

/// The whole loop as it stood after a tick: a replay can begin with the next.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointRecord {
    /// The tick.
    pub tick: u64,
    /// Number of the world.
    pub world: u64,
    /// Orders that the loop had taken since the recording began.
    pub commands: u32,
    /// Everything that lasts.
    pub checkpoint: Box<Checkpoint>,
}

/// Something that the loop was told.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// The tick that came after it.
    pub before_tick: u64,
    /// Counts the orders of a recording, from 1.
    pub number: u32,
    /// The command.
    #[serde(flatten)]
    pub command: RecordedCommand,
}

/// Recent records of a run, oldest first.
#[derive(Debug, Default)]
pub(crate) struct History {
    pub(crate) checkpoints: VecDeque<CheckpointRecord>,
    pub(crate) ticks: VecDeque<TickRecord>,
    pub(crate) commands: VecDeque<CommandRecord>,
    pub(crate) poses: VecDeque<PoseRecord>,
}

impl History {
    /// Drops everything before the first checkpoint.
    pub(crate) fn drop_before_first_checkpoint(&mut self) {
        let Some((tick, commands)) = self.checkpoints.front().map(|checkpoint| (checkpoint.tick, checkpoint.commands))
        else {
            return;
        };
        while self.ticks.front().is_some_and(|record| record.report.tick <= tick) {
            self.ticks.pop_front();
        }
        while self.commands.front().is_some_and(|command| command.number <= commands) {
            self.commands.pop_front();
        }
        while self.poses.front().is_some_and(|pose| pose.tick <= tick) {
            self.poses.pop_front();
        }
    }
}

/// The end in the loop.
#[derive(Debug)]
pub struct Tap {
    ticks: RingWriter<TickRecord>,
    poses: RingWriter<PoseRecord>,
    commands: RingWriter<CommandRecord>,
    checkpoints: RingWriter<CheckpointRecord>,
    empty: RingReader<Box<Checkpoint>>,
    /// Commands applied so far.
    applied: u32,
    /// Whether the state is hashed in every tick.
    hashes: bool,
}

/// The end of whoever writes the file.
#[derive(Debug)]
pub struct TapReader {
    pub(crate) ticks: RingReader<TickRecord>,
    pub(crate) poses: RingReader<PoseRecord>,
    pub(crate) commands: RingReader<CommandRecord>,
    pub(crate) checkpoints: RingReader<CheckpointRecord>,
    empty: RingWriter<Box<Checkpoint>>,
    /// Images that were asked for and have not come.
    awaited: usize,
}

/// Both ends, for worlds with up to so many moving bodies. Every page of the rings is touched here, so that the loop
/// touches none for the first time.
pub fn tap(moving_bodies: usize) -> (Tap, TapReader) {
    let seconds = MAX_WAITING_TICKS as u64 / TICKS_PER_SECOND;
    tap_with_room(MAX_WAITING_TICKS, poses_in(seconds, moving_bodies), MAX_WAITING_COMMANDS, true)
}

/// Both ends, for somebody who keeps the newest seconds whatever happens. It must cost next to nothing, so there is no hash
/// over the whole state in every tick, only those of the moving bodies in every picture.
pub fn history_tap(moving_bodies: usize) -> (Tap, TapReader) {
    let seconds = MAX_WAITING_HISTORY_TICKS as u64 / TICKS_PER_SECOND;
    tap_with_room(MAX_WAITING_HISTORY_TICKS, poses_in(seconds, moving_bodies), MAX_WAITING_COMMANDS, false)
}

fn poses_in(seconds: u64, moving_bodies: usize) -> usize {
    let pictures = (seconds * POSES_PER_SECOND) as usize;
    pictures.saturating_mul(moving_bodies.max(1)).min(MAX_WAITING_POSES)
}

/// Both ends, for somebody who empties them after every tick.
pub fn small_tap(moving_bodies: usize) -> (Tap, TapReader) {
    tap_with_room(4, moving_bodies.max(1), 64, true)
}

fn tap_with_room(ticks: usize, poses: usize, commands: usize, hashes: bool) -> (Tap, TapReader) {
    let no_tick =
        TickRecord { report: TickReport::default(), state_hash: 0, commands: 0, late_ns: 0, previous_compute_ns: 0 };
    let no_pose = PoseRecord { tick: 0, body: 0, hash: 0, position_m: Vector2::zeros(), angle_rad: 0.0 };
    let no_command = CommandRecord { before_tick: 0, number: 0, command: RecordedCommand::Pause };
    let (tick_writer, tick_reader) = touched_ring(ticks, no_tick);
    let (pose_writer, pose_reader) = touched_ring(poses, no_pose);
    let (command_writer, command_reader) = touched_ring(commands, no_command);
    let (checkpoint_writer, checkpoint_reader) = ring(MAX_WAITING_CHECKPOINTS);
    let (empty_writer, empty_reader) = ring(MAX_WAITING_CHECKPOINTS);
    let tap = Tap {
        ticks: tick_writer,
        poses: pose_writer,
        commands: command_writer,
        checkpoints: checkpoint_writer,
        empty: empty_reader,
        applied: 0,
        hashes,
    };
    let reader = TapReader {
        ticks: tick_reader,
        poses: pose_reader,
        commands: command_reader,
        checkpoints: checkpoint_reader,
        empty: empty_writer,
        awaited: 0,
    };
    (tap, reader)
}

/// A ring that was full once.
fn touched_ring<T: Copy + Send>(capacity: usize, value: T) -> (RingWriter<T>, RingReader<T>) {
    let (mut writer, mut reader) = ring(capacity);
    (0..capacity).for_each(|_| _ = writer.push(value));
    reader.drain().for_each(drop);
    (writer, reader)
}

impl Tap {
    /// Notes an order, before it is taken. Real-time: constant.
    pub fn record_command(&mut self, command: &Command, before_tick: u64) {
        self.applied = self.applied.wrapping_add(1);
        self.commands.push(CommandRecord { before_tick, number: self.applied, command: command.to_recorded() });
    }

    /// Notes a tick. Real-time: one copy of the report, the hash over all bodies, and sixty times a second one record
    /// for each body that can move.
    pub fn record_tick(&mut self, report: &TickReport, world: &World, timing: Timing) {
        self.ticks.push(TickRecord {
            report: *report,
            state_hash: if self.hashes { world.state.hash() } else { 0 },
            commands: self.applied,
            late_ns: saturated(timing.late_ns),
            previous_compute_ns: saturated(timing.previous_compute_ns),
        });
        if is_pose_due(report.tick) {
            self.record_poses(report.tick, world);
        }
    }

    /// Writes an image of the loop if one was asked for; between two ticks. Real-time: bounded by the scene
    /// ([`HapticLoop::write_checkpoint`]), and only when asked.
    pub fn record_checkpoint(&mut self, rendering: &HapticLoop) {
        let Some(mut checkpoint) = self.empty.pop() else { return };
        rendering.write_checkpoint(&mut checkpoint);
        let (tick, world) = (rendering.last().tick, rendering.world().number());
        // Never more are under way than there is room for.
        self.checkpoints.push(CheckpointRecord { tick, world, commands: self.applied, checkpoint });
    }

    fn record_poses(&mut self, tick: u64, world: &World) {
        for &body in world.moving() {
            let index = body as usize;
            let Some(motion) = world.state.bodies.get(index) else { continue };
            let position_m = world.state.origin_m(&world.scene, index);
            let pose = PoseRecord { tick, body, hash: body_hash(motion), position_m, angle_rad: motion.angle_rad };
            self.poses.push(pose);
        }
    }
}

impl TapReader {
    /// Asks for an image of the loop, which has a world of this scene; nothing happens if one is on its way.
    pub fn request_checkpoint(&mut self, scene: &Scene) {
        if self.awaited == 0 {
            self.awaited += 1;
            let words = World::new(scene.clone()).checkpoint_words();
            self.empty.push(Box::new(Checkpoint::with_capacity(words)));
        }
    }

    /// Images that have come.
    pub fn take_checkpoints(&mut self) -> impl Iterator<Item = CheckpointRecord> + '_ {
        let awaited = &mut self.awaited;
        self.checkpoints.drain().inspect(|_| *awaited = awaited.saturating_sub(1))
    }

    /// Ticks, poses and orders that found no room.
    pub fn dropped(&self) -> [u64; 3] {
        [self.ticks.dropped(), self.poses.dropped(), self.commands.dropped()]
    }
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Whether a picture belongs to this tick. Real-time: constant.
pub fn is_pose_due(tick: u64) -> bool {
    let pictures = |tick: u64| tick * POSES_PER_SECOND / TICKS_PER_SECOND;
    tick > 0 && pictures(tick) != pictures(tick - 1)
}

/// Thirty-two bits over pose and velocity of one body (FNV-1a over words, folded), −0 as +0. Real-time: constant.
pub fn body_hash(motion: &BodyState) -> u32 {
    let BodyState { centre_m, angle_rad, velocity_m_per_s, angular_velocity_rad_per_s, .. } = motion;
    let values =
        [centre_m.x, centre_m.y, *angle_rad, velocity_m_per_s.x, velocity_m_per_s.y, *angular_velocity_rad_per_s];
    let hash = values.iter().fold(OFFSET_BASIS, |hash, &value| mix_fast(hash, number_bits(value)));
    (hash ^ (hash >> 32)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sixty_pictures_belong_to_a_second() {
        assert_eq!((1..=1000).filter(|&tick| is_pose_due(tick)).count(), 60);
        assert_eq!((1..=10_000).filter(|&tick| is_pose_due(tick)).count(), 600);
    }

    #[test]
    fn the_hash_of_a_body_knows_every_value_and_no_sign_of_zero() {
        let still = BodyState {
            centre_m: Vector2::zeros(),
            rotation: Vector2::new(1.0, 0.0),
            angle_rad: 0.0,
            velocity_m_per_s: Vector2::zeros(),
            angular_velocity_rad_per_s: 0.0,
        };
        let others = [
            BodyState { centre_m: Vector2::new(5e-324, 0.0), ..still },
            BodyState { angle_rad: 1.0, ..still },
            BodyState { velocity_m_per_s: Vector2::new(0.0, 1.0), ..still },
            BodyState { angular_velocity_rad_per_s: -1.0, ..still },
        ];
        assert!(others.iter().all(|other| body_hash(other) != body_hash(&still)));
        assert_eq!(body_hash(&BodyState { angular_velocity_rad_per_s: -0.0, ..still }), body_hash(&still));
    }

    #[test]
    fn a_full_ring_counts_what_it_dropped() {
        let (mut tap, mut feed) = small_tap(1);
        (0..70).for_each(|tick| tap.record_command(&Command::Pause, tick));
        assert_eq!(feed.dropped(), [0, 0, 6]);
        assert_eq!(feed.commands.drain().last().map(|command| command.number), Some(64));
    }
}
