//! Writes black boxes to disk: the seconds before a fault as a table, and as a recording for replay.

use super::loop_body::LoopBody;
use crate::control::Recording;
use haptic_loop::black_box::BlackBox;
use haptic_loop::columns::BLACK_BOX;
use haptic_loop::report::TickReport;
use haptic_record::history::HistoryKeeper;
use haptic_record::tap::history_tap;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes black boxes to a folder, with recordings made from the history.
pub struct BlackBoxes {
    folder: PathBuf,
    history: HistoryKeeper,
    recording: Recording,
}

impl BlackBoxes {
    /// Creates the writer and attaches a history tap to a loop that has not started yet.
    pub fn begin(folder: PathBuf, recording: &Recording, body: &mut LoopBody) -> Self {
        let (tap, reader) = history_tap(recording.moving_bodies());
        let history = HistoryKeeper::new(reader, recording.worlds().clone());
        body.record_history_to(Box::new(tap));
        Self { folder, history, recording: recording.clone() }
    }

    /// Moves new ticks from the tap into the history.
    pub fn poll(&mut self) {
        self.history.drain();
    }

    /// Writes a black box as a table and, if the history permits, as a recording, and logs the paths.
    pub fn write(&mut self, black_box: &BlackBox) {
        match dump(black_box, &self.folder, &stamp()) {
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

/// Returns the Unix time, s, and the process id as text, to distinguish the files of different runs.
fn stamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    format!("{seconds}-{}", std::process::id())
}

/// Writes the table of a black box to a new file in `folder`, which is created if necessary, and returns its path.
fn dump(black_box: &BlackBox, folder: &Path, stamp: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(folder)?;
    let name = match black_box.reports().filter(|report| report.fault.is_some()).last() {
        Some(TickReport { tick, fault: Some(fault), .. }) => format!("black-box-{stamp}-{tick}-{}.csv", fault.kind()),
        _ => format!("black-box-{stamp}.csv"),
    };
    let path = folder.join(name);
    let mut file = BufWriter::new(fs::File::create(&path)?);
    writeln!(file, "{}", BLACK_BOX.map(|column| column.name).join(","))?;
    for report in black_box.reports() {
        writeln!(file, "{}", BLACK_BOX.map(|column| (column.value)(report).to_string()).join(","))?;
    }
    file.flush()?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_loop::fault::Fault;
    use haptic_testing::TestFolder;

    #[test]
    fn a_dump_is_a_table_with_equal_rows_and_the_text_of_the_fault() {
        let folder = TestFolder::new();
        let mut black_box = BlackBox::new();
        for tick in 1..=4 {
            let fault = (tick == 4).then_some(Fault::Lost { silent_s: 0.1 });
            *black_box.next_row() = TickReport { tick, fault, ..TickReport::default() };
            black_box.commit();
        }
        let path = dump(&black_box, &folder.join("boxes"), "test").unwrap();
        let text = fs::read_to_string(&path).unwrap();
        assert_eq!(path.file_name().unwrap(), "black-box-test-4-lost.csv");
        let cells: Vec<usize> = text.lines().map(|line| line.split(',').count()).collect();
        assert_eq!(cells, [cells[0]; 5]);
        assert!(text.ends_with("\"the device is lost: its last new reading was 100 ms old\"\n"), "{text}");
    }
}
