//! The newest seconds of a run, kept in memory whatever happens, so that a black box can be run again.
//!
//! Every so often the loop is asked for an image of itself. Two images are kept, with everything since the older one, so that
//! there are always at least [`MIN_TICKS`] ticks before the newest, and at most about twice as many.

use crate::file::RecordError;
use crate::header::Header;
use crate::recorder::{Recorder, RecordingSummary, Rotation};
use crate::tap::{CheckpointRecord, History, TapReader, small_tap};
use crate::worlds::Worlds;
use haptic_loop::command::RecordedCommand;
use std::path::Path;

/// Ticks that are there at least, once so many have been: two seconds, as in a black box.
pub const MIN_TICKS: u64 = 2048;

/// More ticks than this are there only if no image comes; then it begins anew.
const MAX_TICKS: usize = 4 * MIN_TICKS as usize;

/// Keeps the newest seconds.
pub struct HistoryKeeper {
    tap: TapReader,
    worlds: Worlds,
    /// Number of the world that the loop is in.
    world: u64,
    history: History,
}

impl HistoryKeeper {
    /// Keeps what comes out of a feed, from the world with number zero on.
    pub fn new(tap: TapReader, worlds: Worlds) -> Self {
        let mut keeper = Self { tap, worlds, world: 0, history: History::default() };
        keeper.request_checkpoint();
        keeper
    }

    /// Takes in what is there, asks for an image if it is time, and forgets what is too old.
    pub fn drain(&mut self) {
        // First the ticks: whatever belongs before them is in the other rings by then.
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

    /// Writes everything that is there into a file that can be run again. `header_in` gives the beginning of a file in the
    /// world with the given number. None if the loop has not given an image yet.
    ///
    /// # Errors
    /// When the file cannot be written.
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
