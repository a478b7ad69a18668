//! Reads the records from the rings and writes messages to files.

use crate::cdr::CdrWriter;
use crate::file::{ChannelId, RecordError, RecordingFile, Schema};
use crate::header::{END_NAME, Header, METADATA_NAME, Text};
use crate::tap::{CheckpointRecord, CommandRecord, History, PoseRecord, TapReader, TickRecord};
use crate::tick_message::{TickMessage, to_microseconds};
use crate::worlds::{WorldSource, Worlds};
use crate::{checkpoint_message, command_message, foxglove, schemas, tick_message};
use haptic_loop::command::RecordedCommand;
use haptic_loop::engagement::Phase;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

/// Ticks per chunk. If the process is killed, at most about one second is lost.
const TICKS_PER_CHUNK: u64 = 1000;
/// Log level for information, as numbered in the schema.
const INFO: u8 = 2;
/// Log level for warnings, as numbered in the schema.
const WARNING: u8 = 3;

/// Limits at which a recording continues in a new file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// File size limit, bytes; `None` for no limit. When a chunk ends at or above the limit, the next checkpoint starts
    /// a new file.
    pub bytes: Option<u64>,
    /// Limit on the number of ticks in a file; `None` for no limit. When a chunk ends at or above the limit, the next
    /// checkpoint starts a new file.
    pub ticks: Option<u64>,
}

/// Summary of a recording.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordingSummary {
    /// Paths of the files, in order.
    pub files: Vec<PathBuf>,
    /// Number of ticks in the files.
    pub ticks: u64,
    /// Total size of the files, bytes.
    pub bytes: u64,
    /// Numbers of ticks, poses and commands dropped because a ring was full.
    pub dropped: [u64; 3],
}

/// How a recording ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ended {
    /// Summary of what was recorded.
    pub summary: RecordingSummary,
    /// Error that ended the recording before it was stopped, or that prevented its completion.
    pub error: Option<RecordError>,
}

/// Writes a recording.
pub struct Recorder {
    first_path: PathBuf,
    header: Header,
    rotation: Rotation,
    tap: TapReader,
    worlds: Worlds,
    world: WorldSource,
    part: Part,
    /// Ticks read from the rings in one drain; the memory is reused.
    ticks: Vec<TickRecord>,
    commands: VecDeque<CommandRecord>,
    poses: VecDeque<PoseRecord>,
    checkpoints: VecDeque<CheckpointRecord>,
    /// Whether the next checkpoint starts a new file.
    is_part_due: bool,
    /// Number of dropped commands at the last drain.
    commands_lost: u64,
    last: Option<TickRecord>,
    /// Numbers of the worlds whose scenes are in the current file.
    attached: BTreeSet<u64>,
    summary: RecordingSummary,
    cdr: CdrWriter,
    text: String,
}

/// One file of a recording, with its channels.
struct Part {
    file: RecordingFile,
    tick: ChannelId,
    command: ChannelId,
    transforms: ChannelId,
    scene: ChannelId,
    log: ChannelId,
    bodies: ChannelId,
    checkpoint: ChannelId,
    first_tick: u64,
    /// Last tick of the previous chunk.
    chunk_end: u64,
}

impl Part {
    fn begin(path: &Path, header: &Header) -> Result<Self, RecordError> {
        let mut file = RecordingFile::create(path, &header.version)?;
        file.metadata(METADATA_NAME, header.metadata())?;
        for (name, text) in header.attachments() {
            file.attach(name, text, header.epoch_ns)?;
        }
        Ok(Self {
            tick: file
                .add_channel(tick_message::TOPIC, &Schema::cdr(tick_message::SCHEMA_NAME, tick_message::SCHEMA))?,
            command: file.add_channel(
                command_message::TOPIC,
                &Schema::json(command_message::SCHEMA_NAME, command_message::SCHEMA),
            )?,
            transforms: file
                .add_channel(schemas::TRANSFORMS_TOPIC, &Schema::json(schemas::TRANSFORMS_NAME, schemas::TRANSFORMS))?,
            scene: file.add_channel(schemas::SCENE_TOPIC, &Schema::json(schemas::SCENE_NAME, schemas::SCENE))?,
            log: file.add_channel(schemas::LOG_TOPIC, &Schema::json(schemas::LOG_NAME, schemas::LOG))?,
            bodies: file.add_channel(schemas::BODIES_TOPIC, &Schema::cdr(schemas::BODIES_NAME, schemas::BODIES))?,
            checkpoint: file.add_channel(
                checkpoint_message::TOPIC,
                &Schema::cdr(checkpoint_message::SCHEMA_NAME, checkpoint_message::SCHEMA),
            )?,
            first_tick: header.first_tick,
            chunk_end: header.first_tick.saturating_sub(1),
            file,
        })
    }
}

impl Recorder {
    /// Starts a recording in the world numbered `header.world`, which `worlds` must contain. Requests a checkpoint of
    /// the loop unless the recording starts with tick 1.
    ///
    /// # Errors
    /// If the world is unknown or the file cannot be created.
    pub fn create(
        path: &Path,
        header: Header,
        mut tap: TapReader,
        worlds: Worlds,
        rotation: Rotation,
    ) -> Result<Self, RecordError> {
        let world = header.world;
        let unknown = || RecordError::ended(path, format!("world {world} is unknown"));
        let source = worlds.get(world).ok_or_else(unknown)?;
        let part = Part::begin(path, &header)?;
        if header.first_tick != 1 {
            tap.request_checkpoint(&source.scene);
        }
        let mut recorder = Self {
            first_path: path.to_owned(),
            header,
            rotation,
            tap,
            worlds,
            world: source,
            part,
            ticks: Vec::new(),
            commands: VecDeque::new(),
            poses: VecDeque::new(),
            checkpoints: VecDeque::new(),
            is_part_due: false,
            commands_lost: 0,
            last: None,
            attached: BTreeSet::from([world]),
            summary: RecordingSummary { files: vec![path.to_owned()], ..RecordingSummary::default() },
            cdr: CdrWriter::default(),
            text: String::new(),
        };
        recorder.write_scene(recorder.header.epoch_ns)?;
        recorder.part.file.end_chunk()?;
        Ok(recorder)
    }

    /// Returns the path of the current file.
    pub fn path(&self) -> &Path {
        self.part.file.path()
    }

    /// Returns true if the current file was removed.
    pub fn is_removed(&self) -> bool {
        self.part.file.is_removed()
    }

    /// Returns the numbers of ticks, poses and commands dropped so far because a ring was full.
    pub fn dropped(&self) -> [u64; 3] {
        self.tap.dropped()
    }

    /// Returns the summary of the recording so far.
    pub fn summary(&self) -> RecordingSummary {
        let mut summary = self.summary.clone();
        summary.bytes += self.part.file.length();
        summary.dropped = self.tap.dropped();
        summary
    }

    /// Writes all records in the rings.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn drain(&mut self) -> Result<(), RecordError> {
        // Read the ticks first: commands that precede them are then already in the other ring.
        let mut ticks = std::mem::take(&mut self.ticks);
        ticks.extend(self.tap.ticks.drain());
        self.commands.extend(self.tap.commands.drain());
        self.poses.extend(self.tap.poses.drain());
        self.checkpoints.extend(self.tap.take_checkpoints());
        let [.., commands_lost] = self.tap.dropped();
        if commands_lost > std::mem::replace(&mut self.commands_lost, commands_lost) {
            self.tap.request_checkpoint(&self.world.scene);
        }
        let written = ticks.iter().try_for_each(|record| self.write_tick(record));
        ticks.clear();
        self.ticks = ticks;
        written
    }

    /// Writes the records of a history.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub(crate) fn write_history(&mut self, history: &History) -> Result<(), RecordError> {
        self.commands.extend(&history.commands);
        self.poses.extend(&history.poses);
        self.checkpoints.extend(history.checkpoints.iter().cloned());
        history.ticks.iter().try_for_each(|record| self.write_tick(record))
    }

    /// Writes the remaining records, closes the file and returns the summary of the recording.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn finish(mut self) -> Result<RecordingSummary, RecordError> {
        self.drain()?;
        while let Some(command) = self.commands.pop_front() {
            self.write_command(&command)?;
        }
        self.write_poses(u64::MAX)?;
        self.end_part()?;
        Ok(self.summary())
    }

    /// Closes the file, unless `written` is the error that ended the recording before, and returns how it ended.
    pub fn end(self, written: Result<(), RecordError>) -> Ended {
        let summary = self.summary();
        match written.and_then(|()| self.finish()) {
            Ok(summary) => Ended { error: shortened(&summary), summary },
            Err(error) => Ended { summary, error: Some(error) },
        }
    }

    fn write_tick(&mut self, record: &TickRecord) -> Result<(), RecordError> {
        let tick = record.report.tick;
        while self.checkpoints.front().is_some_and(|checkpoint| checkpoint.tick < tick) {
            self.checkpoints.pop_front().map_or(Ok(()), |checkpoint| self.write_checkpoint(&checkpoint))?;
        }
        while let Some(command) = self.commands.front().copied().filter(|command| command.before_tick <= tick) {
            self.commands.pop_front();
            self.write_command(&command)?;
        }
        self.log_events(record)?;
        let time_ns = self.time_of(record);
        TickMessage::of(record, &self.world.scene).write(&mut self.cdr);
        self.part.file.message(self.part.tick, tick as u32, time_ns, self.cdr.bytes())?;
        self.last = Some(*record);
        self.summary.ticks += 1;
        self.write_poses(tick)?;
        self.end_chunk_if_due(tick)
    }

    fn time_of(&self, record: &TickRecord) -> u64 {
        self.header.epoch_ns.saturating_add(to_microseconds(record.report.now).0)
    }

    /// Returns the message time of the last tick, ns; before the first tick, the epoch of the header.
    fn time_now(&self) -> u64 {
        self.last.as_ref().map_or(self.header.epoch_ns, |last| self.time_of(last))
    }

    fn write_command(&mut self, applied: &CommandRecord) -> Result<(), RecordError> {
        let time_ns = self.time_now();
        if let RecordedCommand::ReplaceWorld(world) = applied.command {
            self.write_poses(applied.before_tick)?;
            self.change_world(world, time_ns)?;
        }
        let json = command_message::write(applied).map_err(|error| self.invalid(&error))?;
        self.part.file.message(self.part.command, applied.number, time_ns, &json)?;
        let is_mouse = matches!(applied.command, RecordedCommand::GuideHand(Some(_)));
        if is_mouse {
            Ok(())
        } else {
            self.log_event(INFO, applied.before_tick, &command_message::describe(&applied.command))
        }
    }

    /// Writes a checkpoint, at the start of a new file if one is due. Requests the checkpoint again if it did not fit
    /// into its buffer because a larger world has replaced the old one.
    fn write_checkpoint(&mut self, checkpoint: &CheckpointRecord) -> Result<(), RecordError> {
        if checkpoint.world != self.header.world {
            self.change_world(checkpoint.world, self.time_now())?;
        }
        let is_whole = checkpoint.checkpoint.words().is_some();
        if is_whole && std::mem::take(&mut self.is_part_due) {
            self.write_poses(checkpoint.tick + 1)?;
            self.begin_next_part(checkpoint.tick + 1)?;
        }
        if !checkpoint_message::write(checkpoint, &mut self.cdr) {
            self.tap.request_checkpoint(&self.world.scene);
            return Ok(());
        }
        let time_ns = self.time_now();
        self.part.file.message(self.part.checkpoint, checkpoint.tick as u32, time_ns, self.cdr.bytes())
    }

    fn change_world(&mut self, number: u64, time_ns: u64) -> Result<(), RecordError> {
        let Some(world) = self.worlds.get(number) else {
            let tick = self.last.as_ref().map_or(0, |last| last.report.tick);
            return self.log_event(
                WARNING,
                tick,
                &format!("world {number} is unknown: ticks from here on cannot be verified"),
            );
        };
        if self.attached.insert(number) {
            self.part.file.attach(&attachment_name(number), &world.text, time_ns)?;
        }
        self.header.texts.scene = Text { name: world.name.clone(), text: world.text.clone() };
        self.header.world = number;
        self.world = world;
        self.write_scene(time_ns)
    }

    fn write_scene(&mut self, time_ns: u64) -> Result<(), RecordError> {
        let update = foxglove::scene_update(&self.world.scene, time_ns).to_string();
        self.part.file.message(self.part.scene, 0, time_ns, update.as_bytes())
    }

    /// Writes the pose sets of all ticks before `before_tick`.
    fn write_poses(&mut self, before_tick: u64) -> Result<(), RecordError> {
        while let Some(first) = self.poses.front().copied().filter(|pose| pose.tick < before_tick) {
            let count = self.poses.iter().take_while(|pose| pose.tick == first.tick).count();
            let foxglove: Vec<PoseRecord> = self.poses.drain(..count).collect();
            self.write_pose_set(first.tick, &foxglove)?;
        }
        Ok(())
    }

    fn write_pose_set(&mut self, tick: u64, poses: &[PoseRecord]) -> Result<(), RecordError> {
        let ago = self.last.as_ref().map_or(0, |last| last.report.tick.saturating_sub(tick));
        let time_ns = self.time_now().saturating_sub(ago * 1_000_000);
        foxglove::transforms(poses, &self.world.scene, time_ns, &mut self.text);
        self.part.file.message(self.part.transforms, tick as u32, time_ns, self.text.as_bytes())?;
        self.cdr.begin().u64(tick).u32(poses.len() as u32);
        for pose in poses {
            self.cdr.u32(pose.hash);
        }
        self.part.file.message(self.part.bodies, tick as u32, time_ns, self.cdr.bytes())
    }

    /// Logs the events of a tick: missing ticks before it, a fault, a phase change.
    fn log_events(&mut self, record: &TickRecord) -> Result<(), RecordError> {
        let report = &record.report;
        let last = self.last.as_ref().map(|last| (last.report.tick, last.report.phase));
        if let Some(missing) = last.and_then(|(tick, _)| report.tick.checked_sub(tick + 1)).filter(|count| *count > 0) {
            let text = format!(
                "{missing} ticks are missing: the disk was too slow; nothing can be proven up to the next checkpoint"
            );
            self.log_event(WARNING, report.tick, &text)?;
            self.tap.request_checkpoint(&self.world.scene);
        }
        if let Some(fault) = &report.fault {
            self.log_event(WARNING, report.tick, &format!("fault: {fault}; force off, re-engaging"))?;
        }
        match last {
            Some((_, phase)) if phase == report.phase => Ok(()),
            _ => self.log_event(INFO, report.tick, phase_text(report.phase)),
        }
    }

    fn log_event(&mut self, level: u8, tick: u64, text: &str) -> Result<(), RecordError> {
        let time_ns = self.time_now();
        let timestamp = foxglove::timestamp(time_ns);
        let line = json!({
            "timestamp": timestamp, "level": level, "message": text, "name": "hapticd", "file": "", "line": 0, "tick": tick
        });
        self.part.file.message(self.part.log, 0, time_ns, line.to_string().as_bytes())
    }

    fn end_chunk_if_due(&mut self, tick: u64) -> Result<(), RecordError> {
        if tick < self.part.chunk_end + TICKS_PER_CHUNK {
            return Ok(());
        }
        self.part.chunk_end = tick;
        self.part.file.end_chunk()?;
        // The first tick of a recording that starts mid-run is known only now.
        let first_tick = if self.part.first_tick == 0 { tick } else { self.part.first_tick };
        self.part.first_tick = first_tick;
        let ticks = tick + 1 - first_tick;
        let is_long = self.rotation.ticks.is_some_and(|limit| ticks >= limit);
        let is_large = self.rotation.bytes.is_some_and(|limit| self.part.file.length() >= limit);
        if is_long || is_large {
            self.is_part_due = true;
            self.tap.request_checkpoint(&self.world.scene);
        }
        Ok(())
    }

    fn begin_next_part(&mut self, first_tick: u64) -> Result<(), RecordError> {
        self.end_part()?;
        self.summary.bytes += self.part.file.length();
        self.header.part += 1;
        self.header.first_tick = first_tick;
        let path = part_path(&self.first_path, self.header.part);
        self.part = Part::begin(&path, &self.header)?;
        self.attached = BTreeSet::from([self.header.world]);
        self.summary.files.push(path);
        self.write_scene(self.time_now())?;
        self.part.file.end_chunk()
    }

    fn end_part(&mut self) -> Result<(), RecordError> {
        let [ticks, poses, commands] = self.tap.dropped().map(|count| count.to_string());
        let (last_tick, hash) = self.last.as_ref().map_or((0, 0), |last| (last.report.tick, last.state_hash));
        let pairs = [
            ("last_tick", last_tick.to_string()),
            ("state_hash", format!("{hash:016x}")),
            ("ticks_dropped", ticks),
            ("poses_dropped", poses),
            ("commands_dropped", commands),
        ];
        let metadata: BTreeMap<String, String> =
            pairs.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
        self.part.file.metadata(END_NAME, metadata)?;
        self.part.file.finish()
    }

    fn invalid(&self, error: &serde_json::Error) -> RecordError {
        RecordError::ended(self.path(), format!("a command cannot be written: {error}"))
    }
}

/// Returns an error if another program has shortened or removed a file of the recording.
fn shortened(summary: &RecordingSummary) -> Option<RecordError> {
    let first = summary.files.first()?;
    if std::fs::metadata(first).is_ok_and(|metadata| !metadata.is_file()) {
        return None;
    }
    let length = |file: &PathBuf| std::fs::metadata(file).map_or(0, |metadata| metadata.len());
    let (found, written) = (summary.files.iter().map(length).sum::<u64>(), summary.bytes);
    let problem = || format!("{found} of {written} bytes are left: another program has shortened or removed it");
    (found < written).then(|| RecordError::ended(first, problem()))
}

fn phase_text(phase: Phase) -> &'static str {
    match phase {
        Phase::Waiting => "no force",
        Phase::Ramping => "force ramping up",
        Phase::Engaged => "full force",
        Phase::Stopped => "emergency stop: no force until it is released",
    }
}

/// Returns the name of the attachment with the scene of a later world. The scene of a file's first world is in
/// `scene.toml`.
fn attachment_name(world: u64) -> String {
    format!("scene-{world}.toml")
}

/// Returns the number of the world whose scene an attachment contains; `None` for `scene.toml` and other attachments.
pub fn world_of_attachment(name: &str) -> Option<u64> {
    name.strip_prefix("scene-")?.strip_suffix(".toml")?.parse().ok()
}

/// Returns the path of file number `part` of a recording, counted from 1: `touch.mcap`, `touch-2.mcap`, … The path of
/// the first file is `first`.
pub fn part_path(first: &Path, part: u32) -> PathBuf {
    if part <= 1 {
        return first.to_owned();
    }
    let stem = first.file_stem().unwrap_or_default().to_string_lossy();
    let ending = first.extension().map_or(String::new(), |ending| format!(".{}", ending.to_string_lossy()));
    first.with_file_name(format!("{stem}-{part}{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_world_is_known_by_the_name_of_its_attachment() {
        assert_eq!(world_of_attachment(&attachment_name(12)), Some(12));
        assert_eq!(["scene.toml", "scene-x.toml", "profile.toml"].map(world_of_attachment), [None; 3]);
    }

    #[test]
    fn parts_are_numbered_before_the_ending() {
        assert_eq!(part_path(Path::new("a/b.mcap"), 1), Path::new("a/b.mcap"));
        assert_eq!(part_path(Path::new("a/b.mcap"), 3), Path::new("a/b-3.mcap"));
        assert_eq!(part_path(Path::new("b"), 2), Path::new("b-2"));
    }
}
