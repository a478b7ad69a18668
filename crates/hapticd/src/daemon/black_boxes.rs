//! Writes black boxes to disk: the seconds before a fault as a table, and as a recording for replay.

use super::loop_body::LoopBody;
use crate::control::Recording;
use haptic_loop::black_box::BlackBox;
use haptic_record::newest::HistoryKeeper;
use haptic_record::tap::tap_of_newest;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The folder of the black boxes and the history that they are made from.
pub struct BlackBoxes {
    folder: PathBuf,
    history: HistoryKeeper,
    recording: Recording,
}

impl BlackBoxes {
    /// Keeps the history of a loop that has not started yet.
    pub fn begin(folder: PathBuf, recording: &Recording, body: &mut LoopBody) -> Self {
        let (tap, reader) = tap_of_newest(recording.moving_bodies());
        let history = HistoryKeeper::new(reader, recording.worlds().clone());
        body.record_history_to(Box::new(tap));
        Self { folder, history, recording: recording.clone() }
    }

    /// Moves new ticks from the tap into the history.
    pub fn poll(&mut self) {
        self.history.drain();
    }

    /// Writes a black box and logs its path.
    pub fn write(&mut self, black_box: &BlackBox) {
        match black_box.dump(&self.folder, &stamp()) {
            Ok(table) => self.write_recording(&table),
            Err(error) => tracing::error!("{}: cannot write the black box: {error}", self.folder.display()),
        }
    }

    fn write_recording(&mut self, table: &Path) {
        let file = table.with_extension("mcap");
        let recording = &self.recording;
        match self.history.write(&file, |world| recording.header_mid_run(world)) {
            Ok(Some(_)) => tracing::warn!("black box: {}; replay it from {}", table.display(), file.display()),
            Ok(None) => tracing::warn!("black box: {}", table.display()),
            Err(error) => tracing::error!("black box: {}; {error}", table.display()),
        }
    }
}

/// Distinguishes the files of different runs.
fn stamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    format!("{seconds}-{}", std::process::id())
}
