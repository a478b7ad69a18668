//! The seconds before a fault on disk: a table to look at, and a recording that can be run again.

use super::loop_thread::LoopBody;
use super::recording::Recording;
use haptic_loop::black_box::BlackBox;
use haptic_record::newest::HistoryKeeper;
use haptic_record::tap::tap_of_newest;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where black boxes go, and what they are made of.
pub struct BlackBoxes {
    folder: PathBuf,
    newest: HistoryKeeper,
    recording: Recording,
}

impl BlackBoxes {
    /// Keeps the newest seconds of a loop that has not begun yet.
    pub fn begin(folder: PathBuf, recording: &Recording, side: &mut LoopBody) -> Self {
        let (tap, feed) = tap_of_newest(recording.moving_bodies());
        let newest = HistoryKeeper::new(feed, recording.worlds().clone());
        side.keep_newest_in(Box::new(tap));
        Self { folder, newest, recording: recording.clone() }
    }

    /// Takes in what is new.
    pub fn follow(&mut self) {
        self.newest.drain();
    }

    /// Writes a black box down, and says where.
    pub fn write(&mut self, black_box: &BlackBox) {
        match black_box.dump(&self.folder, &stamp()) {
            Ok(table) => self.write_recording(&table),
            Err(error) => tracing::error!("{}: the black box cannot be written: {error}", self.folder.display()),
        }
    }

    fn write_recording(&mut self, table: &Path) {
        let file = table.with_extension("mcap");
        let recording = &self.recording;
        match self.newest.write(&file, |world| recording.header_mid_run(world)) {
            Ok(Some(_)) => tracing::warn!("black box: {}, and to run it again {}", table.display(), file.display()),
            Ok(None) => tracing::warn!("black box: {}", table.display()),
            Err(error) => tracing::error!("black box: {}; {error}", table.display()),
        }
    }
}

/// Tells files of different runs apart.
fn stamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    format!("{seconds}-{}", std::process::id())
}
