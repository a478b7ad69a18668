//! Real-time end of a recording: puts one plain record per tick and per command into rings.
//!
//! Ticks, commands and poses (60 sets per second) have separate rings, so that small records do not take up the space
//! of large ones. No thread waits for another. A full ring drops and counts records; the numbers in the stored records
//! show which are missing.
//!
//! To start mid-run, the reader requests a checkpoint: it sends an empty buffer to the loop through a fourth ring and
//! receives it filled through a fifth. Only the reader allocates and frees memory.

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

/// Pose sets per second.
pub const POSES_PER_SECOND: u64 = 60;
const TICKS_PER_SECOND: u64 = 1000;

/// Capacity of the tick ring, about 7 MB. The disk can stall for 16 s before records are dropped.
const MAX_WAITING_TICKS: usize = 16 * 1024;
/// Capacity of the command ring. The loop applies at most four commands per tick and receives few.
const MAX_WAITING_COMMANDS: usize = 4096;
/// Upper limit on the capacity of the pose ring, which otherwise covers as many seconds as the tick ring.
const MAX_WAITING_POSES: usize = 1 << 18;

/// Capacity of the tick ring in a history tap, about 2 MB.
const MAX_WAITING_HISTORY_TICKS: usize = 4096;
/// Maximum number of checkpoints in transit between the loop and the reader.
const MAX_WAITING_CHECKPOINTS: usize = 2;

/// Record of one tick.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TickRecord {
    /// Report of the tick.
    pub report: TickReport,
    /// State hash after the tick; zero if hashing is off.
    pub state_hash: u64,
    /// Number of commands applied since the start of the recording.
    pub commands: u32,
    /// Wake-up latency, ns; zero if it is not measured.
    pub late_ns: u32,
    /// Duration of the previous tick, ns; zero if it is not measured.
    pub previous_compute_ns: u32,
}

/// Timing of a tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Wake-up latency, ns.
    pub late_ns: u64,
    /// Duration of the previous tick, ns.
    pub previous_compute_ns: u64,
}

/// Pose of one body in a pose set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoseRecord {
    /// Tick after which the pose was taken.
    pub tick: u64,
    /// Index of the body in the scene.
    pub body: u32,
    /// Hash over the bits of the body's pose and velocity.
    pub hash: u32,
    /// Origin of the body's frame, world frame, m.
    pub position_m: Vector2<f64>,
    /// Angle of the body, rad, anticlockwise.
    pub angle_rad: f64,
}

/// Complete loop state after a tick; a replay can start at the next tick.
#[derive(Clone, Debug, PartialEq)]
pub struct CheckpointRecord {
    /// Number of the tick after which the checkpoint was written.
    pub tick: u64,
    /// Number of the loop's world.
    pub world: u64,
    /// Number of commands applied since the start of the recording.
    pub commands: u32,
    /// Complete persistent state of the loop.
    pub checkpoint: Box<Checkpoint>,
}

/// Record of a command applied to the loop.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CommandRecord {
    /// Number of the tick that followed the command.
    pub before_tick: u64,
    /// Number of the command in the recording, counted from 1.
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
    /// Drops all ticks, commands and poses before the first checkpoint.
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

/// The loop's end of a tap.
#[derive(Debug)]
pub struct Tap {
    ticks: RingWriter<TickRecord>,
    poses: RingWriter<PoseRecord>,
    commands: RingWriter<CommandRecord>,
    checkpoints: RingWriter<CheckpointRecord>,
    empty: RingReader<Box<Checkpoint>>,
    /// Number of commands applied since the start of the recording.
    applied: u32,
    /// Whether the state is hashed in every tick.
    hashes: bool,
}

/// The reader's end of a tap.
#[derive(Debug)]
pub struct TapReader {
    pub(crate) ticks: RingReader<TickRecord>,
    pub(crate) poses: RingReader<PoseRecord>,
    pub(crate) commands: RingReader<CommandRecord>,
    pub(crate) checkpoints: RingReader<CheckpointRecord>,
    empty: RingWriter<Box<Checkpoint>>,
    /// Number of checkpoints requested but not yet received.
    awaited: usize,
}

/// Creates both ends of a tap for worlds with up to `moving_bodies` dynamic bodies. Every page of the rings is touched,
/// so that the loop causes no page faults.
pub fn tap(moving_bodies: usize) -> (Tap, TapReader) {
    let seconds = MAX_WAITING_TICKS as u64 / TICKS_PER_SECOND;
    tap_with_room(MAX_WAITING_TICKS, poses_in(seconds, moving_bodies), MAX_WAITING_COMMANDS, true)
}

/// Creates both ends of a tap for the history, which is kept in every run. To cost almost nothing, the tap does not
/// hash the whole state in every tick; it hashes only the dynamic bodies in each pose set.
pub fn history_tap(moving_bodies: usize) -> (Tap, TapReader) {
    let seconds = MAX_WAITING_HISTORY_TICKS as u64 / TICKS_PER_SECOND;
    tap_with_room(MAX_WAITING_HISTORY_TICKS, poses_in(seconds, moving_bodies), MAX_WAITING_COMMANDS, false)
}

fn poses_in(seconds: u64, moving_bodies: usize) -> usize {
    let pictures = (seconds * POSES_PER_SECOND) as usize;
    pictures.saturating_mul(moving_bodies.max(1)).min(MAX_WAITING_POSES)
}

/// Creates both ends of a tap for a reader that drains it after every tick.
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

/// Creates a ring and fills it once, so that all its memory has been touched.
fn touched_ring<T: Copy + Send>(capacity: usize, value: T) -> (RingWriter<T>, RingReader<T>) {
    let (mut writer, mut reader) = ring(capacity);
    (0..capacity).for_each(|_| _ = writer.push(value));
    reader.drain().for_each(drop);
    (writer, reader)
}

impl Tap {
    /// Records a command before it is applied. Real-time: constant.
    pub fn record_command(&mut self, command: &Command, before_tick: u64) {
        self.applied = self.applied.wrapping_add(1);
        self.commands.push(CommandRecord { before_tick, number: self.applied, command: command.to_recorded() });
    }

    /// Records a tick. Real-time: one copy of the report, the hash over all bodies, and, 60 times per second, one
    /// record per dynamic body.
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

    /// Writes a checkpoint of the loop if one was requested. Must be called between two ticks. Real-time: bounded by
    /// the scene ([`HapticLoop::write_checkpoint`]), and only on request.
    pub fn record_checkpoint(&mut self, rendering: &HapticLoop) {
        let Some(mut checkpoint) = self.empty.pop() else { return };
        rendering.write_checkpoint(&mut checkpoint);
        let (tick, world) = (rendering.last().tick, rendering.world().number());
        // The push cannot fail, because the number of checkpoints in transit never exceeds the ring's capacity.
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
    /// Requests a checkpoint of the loop. `scene` is the scene of the loop's current world. Does nothing while another
    /// request is pending.
    pub fn request_checkpoint(&mut self, scene: &Scene) {
        if self.awaited == 0 {
            self.awaited += 1;
            let words = World::new(scene.clone()).checkpoint_words();
            self.empty.push(Box::new(Checkpoint::with_capacity(words)));
        }
    }

    /// Returns the checkpoints that have arrived.
    pub fn take_checkpoints(&mut self) -> impl Iterator<Item = CheckpointRecord> + '_ {
        let awaited = &mut self.awaited;
        self.checkpoints.drain().inspect(|_| *awaited = awaited.saturating_sub(1))
    }

    /// Returns the numbers of ticks, poses and commands dropped because a ring was full.
    pub fn dropped(&self) -> [u64; 3] {
        [self.ticks.dropped(), self.poses.dropped(), self.commands.dropped()]
    }
}

fn saturated(value: u64) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

/// Returns true if a pose set is due after tick number `tick`. Real-time: constant.
pub fn is_pose_due(tick: u64) -> bool {
    let pictures = |tick: u64| tick * POSES_PER_SECOND / TICKS_PER_SECOND;
    tick > 0 && pictures(tick) != pictures(tick - 1)
}

/// Computes a 32-bit hash over the pose and velocity of one body (FNV-1a over words, folded). −0 is treated as +0.
/// Real-time: constant.
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
    fn poses_are_due_sixty_times_per_second() {
        assert_eq!((1..=1000).filter(|&tick| is_pose_due(tick)).count(), 60);
        assert_eq!((1..=10_000).filter(|&tick| is_pose_due(tick)).count(), 600);
    }

    #[test]
    fn the_hash_of_a_body_depends_on_every_value_but_not_on_the_sign_of_zero() {
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
