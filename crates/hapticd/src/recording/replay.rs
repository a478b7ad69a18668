//! Replays a recording and compares every tick: the same texts, readings and commands must give the same bits.

use super::kept::OpenRecording;
use crate::failure::Failure;
use haptic_config::profile::Profile;
use haptic_config::setup::{Setup, Sources};
use haptic_config::source::Source;
use haptic_config::{profile, scene};
use haptic_loop::command::{Command, RecordedCommand};
use haptic_loop::settings::Settings as LoopSettings;
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_record::header::{Text, Texts};
use haptic_record::reader::{BodyHashes, Item, ReadEnd};
use haptic_record::replay_device::{DeviceTick, ReplayFeeder, replay_device};
use haptic_record::tap::{CheckpointRecord, CommandRecord, body_hash, is_pose_due};
use haptic_record::tick_message::{TickMessage, effort_hash};
use serde::Serialize;
use std::collections::{BTreeMap, VecDeque};

/// Result of a replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReplayResult {
    /// Number of ticks replayed.
    pub ticks: u64,
    /// Hash of the final state, hexadecimal.
    pub state_hash: String,
    /// Whether the recording is truncated or damaged.
    pub truncated: bool,
    /// First difference between the replay and the recording, if any.
    pub first_difference: Option<Difference>,
    /// First unverified range, with the reason, if any.
    pub unproved: Option<UnverifiedRange>,
}

/// First difference between a replay and its recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Tick in which the difference was found.
    pub tick: u64,
    /// Quantity that differs: `state`, `force`, `fault` or `phase`.
    pub what: &'static str,
    /// Name of a body that differs in the next recorded pose set: the tool if it differs, otherwise the first such
    /// body. `None` if no body was identified.
    pub body: Option<String>,
    /// Names of all bodies that differ in the next recorded pose set.
    pub bodies: Vec<String>,
    /// Recorded value of the differing quantity.
    pub recorded: String,
    /// Replayed value of the differing quantity.
    pub replayed: String,
}

/// A range of ticks that cannot be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnverifiedRange {
    /// First unverified tick.
    pub from_tick: u64,
    /// First tick that can be verified again, because a checkpoint before it contains the complete state; `None` if
    /// there is no such tick.
    pub until_tick: Option<u64>,
    /// Reason why the range cannot be verified.
    pub reason: String,
}

/// Gains, limits and mapping used in a replay.
pub enum Settings {
    /// Settings of the recording, including every change during the run. The replay must be identical.
    AsRecorded,
    /// Settings of another profile for the whole run. The replay is not compared with the recording.
    Of(Box<Profile>),
}

/// A replay of a recording.
pub struct Replay {
    rendering: HapticLoop,
    feeder: ReplayFeeder,
    axes: u8,
    commands: VecDeque<CommandRecord>,
    taken: u32,
    /// Worlds of the recording, by number.
    worlds: BTreeMap<u64, World>,
    /// Settings used instead of the recorded ones, if any.
    instead: Option<LoopSettings>,
    expected_tick: u64,
    /// Whether ticks are skipped until the next checkpoint.
    is_unverified: bool,
    result: ReplayResult,
    /// Hashes of recent replayed pose sets, newest first. In the file, a pose set comes slightly later than its tick.
    poses: VecDeque<BodyHashes>,
}

/// Number of replayed pose sets stored. In the file, a pose set comes at most one pose interval after its tick.
const POSES_KEPT: usize = 4;

impl Replay {
    /// Builds the loop from the texts in the recording and the chosen settings.
    ///
    /// # Errors
    /// If the texts are not a valid profile, scene and device.
    pub fn new(recording: &OpenRecording, settings: Settings) -> Result<Self, Failure> {
        let is_as_recorded = matches!(settings, Settings::AsRecorded);
        let recorded = profile::load(&source_of(&recording.header.texts.profile))?;
        let profile = match settings {
            Settings::AsRecorded => recorded,
            Settings::Of(profile) => *profile,
        };
        let mut setup = Setup::from_sources(profile, sources_of(&recording.header.texts), haptic_backends::KINDS)?;
        setup.device.sign_check = recording.header.sign_check;
        setup.device_rate_hz = recording.header.device.rate_hz;
        let (device, feeder) = replay_device(&recording.header.device);
        let worlds =
            recording.worlds().filter_map(|number| world_of(recording, number)).collect::<Result<_, Failure>>()?;
        let instead = (!is_as_recorded).then(|| setup.settings());
        let rendering = setup.into_unpaced_loop(Box::new(device))?;
        let result = ReplayResult {
            ticks: 0,
            state_hash: String::new(),
            truncated: recording.is_truncated(),
            first_difference: None,
            unproved: None,
        };
        Ok(Self {
            rendering,
            feeder,
            axes: recording.header.device.axes,
            commands: recording.commands.iter().copied().collect(),
            taken: 0,
            worlds,
            instead,
            expected_tick: 1,
            is_unverified: false,
            result,
            poses: VecDeque::new(),
        })
    }

    /// Replays all ticks and passes the loop to `visit` after each tick that could be run. Returns the result and the
    /// loop.
    ///
    /// # Errors
    /// If `visit` fails, or if a file can no longer be opened.
    pub fn run(
        mut self,
        recording: &OpenRecording,
        mut visit: impl FnMut(&HapticLoop) -> Result<(), Failure>,
    ) -> Result<(ReplayResult, HapticLoop), Failure> {
        recording.visit(|item| {
            match item {
                Item::Tick(tick) if self.can_run(&tick) => {
                    self.tick(&tick);
                    visit(&self.rendering)?;
                }
                Item::Bodies(bodies) => self.compare_bodies(&bodies),
                Item::Checkpoint(checkpoint) => self.handle_checkpoint(&checkpoint),
                _ => {}
            }
            Ok(())
        })?;
        if let (ReadEnd::Damaged(problem), false) = (&recording.end, self.is_unverified) {
            self.mark_unverified(self.expected_tick, format!("the file is damaged: {problem}"));
        }
        self.result.state_hash = format!("{:016x}", self.rendering.world().state.hash());
        Ok((self.result, self.rendering))
    }

    fn mark_unverified(&mut self, from_tick: u64, reason: String) {
        self.is_unverified = true;
        self.result.unproved.get_or_insert(UnverifiedRange { from_tick, until_tick: None, reason });
    }

    /// Whether a tick can be run, which requires that every tick before it was replayed, back to the start or to a
    /// checkpoint. If not, the range starting at the first missing tick is marked as unverified.
    fn can_run(&mut self, message: &TickMessage) -> bool {
        let expected = self.expected_tick;
        if !self.is_unverified && message.tick != expected {
            let reason = if expected == 1 {
                format!("the recording starts at tick {} without a checkpoint of the world", message.tick)
            } else {
                format!("ticks {expected} to {} are missing", message.tick.saturating_sub(1))
            };
            self.mark_unverified(expected, reason);
        }
        !self.is_unverified
    }

    /// Restores a checkpoint if the replay cannot continue otherwise: at the start of a mid-run recording, or after
    /// missing records.
    fn handle_checkpoint(&mut self, checkpoint: &CheckpointRecord) {
        let is_beginning = self.result.ticks == 0 && self.expected_tick == 1 && checkpoint.tick > 0;
        if !self.is_unverified && !is_beginning {
            return;
        }
        match self.resume(checkpoint) {
            Ok(()) => self.resume_after(checkpoint),
            Err(reason) => self.mark_unverified(checkpoint.tick + 1, reason),
        }
    }

    fn resume(&mut self, checkpoint: &CheckpointRecord) -> Result<(), String> {
        let world = self.worlds.get(&checkpoint.world).cloned();
        let world = world.ok_or("the recording does not hold the world of its checkpoint")?;
        drop(self.rendering.apply(Command::ReplaceWorld(Box::new(world))));
        self.rendering.read_checkpoint(&checkpoint.checkpoint).map_err(|error| error.to_string())?;
        if let Some(settings) = self.instead {
            let frame = settings.mapping.activate(self.axes).map_err(|error| error.to_string())?;
            let commands =
                [Command::SetSafety(settings.safety), Command::SetGains(settings.coupling), Command::SetMapping(frame)];
            commands.into_iter().for_each(|command| drop(self.rendering.apply(command)));
        }
        Ok(())
    }

    fn resume_after(&mut self, checkpoint: &CheckpointRecord) {
        self.is_unverified = false;
        self.expected_tick = checkpoint.tick + 1;
        self.taken = checkpoint.commands;
        self.commands.retain(|command| command.number > checkpoint.commands);
        self.poses.clear();
        if let Some(UnverifiedRange { until_tick: until_tick @ None, .. }) = &mut self.result.unproved {
            *until_tick = Some(checkpoint.tick + 1);
        }
    }

    fn tick(&mut self, message: &TickMessage) {
        self.apply_commands(message);
        self.feeder.feed(DeviceTick { reading: message.reading, sent: message.sent });
        self.rendering.tick(message.now, message.skipped);
        self.expected_tick += 1;
        self.result.ticks += 1;
        if self.is_compared() && self.result.first_difference.is_none() {
            self.compare(message);
        }
        if is_pose_due(message.tick) {
            self.poses.truncate(POSES_KEPT - 1);
            self.poses.push_front(self.hashes());
        }
    }

    fn is_compared(&self) -> bool {
        self.instead.is_none() && !self.is_unverified
    }

    fn hashes(&self) -> BodyHashes {
        let world = self.rendering.world();
        let hashes = world.moving().iter().map(|&body| body_hash(&world.state.bodies[body as usize])).collect();
        BodyHashes { tick: self.rendering.last().tick, hashes }
    }

    fn apply_commands(&mut self, message: &TickMessage) {
        while let Some(record) = self.commands.front().copied().filter(|command| command.before_tick <= message.tick) {
            self.commands.pop_front();
            self.taken += 1;
            self.apply(&record.command, message.tick);
        }
        if self.taken != message.commands {
            let missing = message.commands.abs_diff(self.taken);
            self.mark_unverified(message.tick, format!("{missing} commands are missing"));
        }
    }

    fn apply(&mut self, command: &RecordedCommand, tick: u64) {
        if command.is_setting() && self.instead.is_some() {
            return;
        }
        let world = |number| self.worlds.get(&number).cloned().map(Box::new);
        match command.resolve(self.axes, world) {
            Some(command) => drop(self.rendering.apply(command)),
            None => {
                self.mark_unverified(tick, "the recording does not hold the world that was put in place".to_owned())
            }
        }
    }

    fn compare(&mut self, message: &TickMessage) {
        let report = self.rendering.last();
        let state_hash = self.rendering.world().state.hash();
        let difference = |what, recorded: String, replayed: String| {
            Some(Difference { tick: message.tick, what, body: None, bodies: Vec::new(), recorded, replayed })
        };
        let fault = report.fault.as_ref().map_or(0, |fault| fault.to_code().0);
        let is_hashed = message.state_hash != 0;
        let found = if is_hashed && state_hash != message.state_hash {
            difference("state", format!("{:016x}", message.state_hash), format!("{state_hash:016x}"))
        } else if effort_hash(report.effort_n) != message.effort_hash {
            let recorded = format!("about {:?}", message.rounded.force_n);
            difference("force", recorded, format!("{:?}", report.force_n.as_slice()))
        } else if fault != message.fault {
            difference("fault", message.fault.to_string(), fault.to_string())
        } else if report.phase != message.phase {
            difference("phase", message.phase.name().to_owned(), report.phase.name().to_owned())
        } else {
            None
        };
        self.result.first_difference = found;
    }

    /// Compares a recorded pose set with the replayed pose set of the same tick. If the state is already known to
    /// differ, this identifies the bodies; otherwise a mismatch is itself the first difference.
    fn compare_bodies(&mut self, recorded: &BodyHashes) {
        let is_named = self
            .result
            .first_difference
            .as_ref()
            .is_some_and(|first| first.what != "state" || !first.bodies.is_empty() || recorded.tick < first.tick);
        let own = self.poses.iter().find(|own| own.tick == recorded.tick);
        let Some(own) = own.filter(|_| self.is_compared() && !is_named) else { return };
        let world = self.rendering.world();
        let pairs = own.hashes.iter().zip(&recorded.hashes);
        let differing = world.moving().iter().zip(pairs).filter(|(_, (own, recorded))| own != recorded);
        let bodies: Vec<u32> = differing.map(|(&body, _)| body).collect();
        if bodies.is_empty() {
            return;
        }
        let tool = world.scene.tool.map(|tool| tool.body as u32).filter(|tool| bodies.contains(tool));
        let name = |body: u32| world.scene.bodies.get(body as usize).map(|body| body.name.clone());
        let first = tool.or_else(|| bodies.first().copied()).and_then(name);
        let bodies = bodies.into_iter().filter_map(name).collect();
        let words = |picture: &BodyHashes| format!("{:08x?}", picture.hashes);
        let difference = self.result.first_difference.get_or_insert(Difference {
            tick: recorded.tick,
            what: "state",
            body: None,
            bodies: Vec::new(),
            recorded: words(recorded),
            replayed: words(own),
        });
        (difference.body, difference.bodies) = (first, bodies);
    }
}

fn source_of(text: &Text) -> Source {
    Source::in_memory(&text.name, &text.text)
}

fn sources_of(texts: &Texts) -> Sources {
    Sources {
        scene: source_of(&texts.scene),
        device: source_of(&texts.device),
        hand: texts.hand.as_ref().map(source_of),
    }
}

fn world_of(recording: &OpenRecording, number: u64) -> Option<Result<(u64, World), Failure>> {
    let text = recording.scene_of(number)?;
    let scene = scene::load(&Source::in_memory(&format!("scene of world {number}"), text));
    Some(scene.map(|scene| (number, World::new(scene).numbered(number))).map_err(Failure::from))
}
