//! History of the last seconds of a run, held in memory so that a black box can be replayed.
//!
//! The history requests a checkpoint of the loop at regular intervals. It holds two checkpoints and everything since
//! the older one. It therefore holds at least [`MIN_TICKS`] ticks, once that many have run, and at most about twice as
//! many.

use crate::file::RecordError;
use crate::header::Header;
use crate::recorder::{Recorder, RecordingSummary, Rotation};
use crate::tap::{CheckpointRecord, History, TapReader, small_tap};
use crate::worlds::Worlds;
use haptic_loop::command::RecordedCommand;
use std::path::Path;

/// Minimum number of ticks held once that many have run: about two seconds, as in a black box.
pub const MIN_TICKS: u64 = 2048;

/// Number of ticks above which the history is discarded and restarts. This happens only if no checkpoint arrives.
const MAX_TICKS: usize = 4 * MIN_TICKS as usize;

/// History of the last seconds of a run.
pub struct HistoryKeeper {
    tap: TapReader,
    worlds: Worlds,
    /// Number of the loop's current world.
    world: u64,
    history: History,
}

impl HistoryKeeper {
    /// Creates an empty history that reads the tap of a loop starting in world zero.
    pub fn new(tap: TapReader, worlds: Worlds) -> Self {
        let mut keeper = Self { tap, worlds, world: 0, history: History::default() };
        keeper.request_checkpoint();
        keeper
    }

    /// Reads the tap, requests a checkpoint when one is due, and discards old records.
    pub fn drain(&mut self) {
        // Read the ticks first: records that precede them are then already in the other rings.
        let history = &mut self.history;
        history.ticks.extend(self.tap.ticks.drain());
        history.commands.extend(self.tap.commands.drain());
        history.poses.extend(self.tap.poses.drain());
        history
            .checkpoints
            .extend(self.tap.take_checkpoints().filter(|checkpoint| checkpoint.checkpoint.words().is_some()));
        self.update_world();
        let Some(last) = self.history.ticks.back().map(|record| record.report.tick) else { return };
        let is_old = |checkpoint: &CheckpointRecord| last.saturating_sub(checkpoint.tick) >= MIN_TICKS;
        if self.history.checkpoints.back().is_none_or(is_old) {
            self.request_checkpoint();
        }
        while self.history.checkpoints.get(1).is_some_and(is_old) {
            self.history.checkpoints.pop_front();
        }
        self.history.drop_before_first_checkpoint();
        if self.history.ticks.len() > MAX_TICKS {
            self.history = History::default();
        }
    }

    fn request_checkpoint(&mut self) {
        if let Some(source) = self.worlds.get(self.world) {
            self.tap.request_checkpoint(&source.scene);
        }
    }

    fn update_world(&mut self) {
        for command in &self.history.commands {
            if let RecordedCommand::ReplaceWorld(world) = command.command {
                self.world = world;
            }
        }
    }

    /// Writes the whole history to a file that can be replayed. `header_in` returns the header of a file that starts in
    /// the world with the given number. Returns `None` if no checkpoint has arrived yet.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(
        &mut self,
        path: &Path,
        header_in: impl FnOnce(u64) -> Header,
    ) -> Result<Option<RecordingSummary>, RecordError> {
        self.drain();
        let Some(first) = self.history.checkpoints.front() else { return Ok(None) };
        let (_, tap) = small_tap(1);
        let mut recorder =
            Recorder::create(path, header_in(first.world), tap, self.worlds.clone(), Rotation::default())?;
        recorder.write_history(&self.history)?;
        recorder.finish().map(Some)
    }
}
