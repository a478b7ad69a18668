//! `hapticd export`: exports a recording as a table with the columns of a trace, or extracts the files used to make it.
//!
//! For a table, the recording is replayed, so that every number has full precision.

use super::print_line;
use crate::cli::ExportArguments;
use crate::failure::Failure;
use crate::figures::seconds_of;
use crate::file_use::PathConflicts;
use crate::log::log_written;
use crate::recording::kept::OpenRecording;
use crate::recording::replay::{Replay, ReplayResult, Settings};
use crate::trace::Traces;
use haptic_loop::columns::{TRACE, TickView};
use haptic_record::parquet::{Column, Kind, ParquetWriter};
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// If the recording cannot be read, a file cannot be written, or the replay differs.
pub fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let recording = OpenRecording::open(&arguments.file)?;
    file_use(arguments, &recording).check()?;
    if let Some(folder) = &arguments.files {
        export_files(&recording, folder)?;
    }
    if arguments.csv.is_some() || arguments.parquet.is_some() { export_tables(arguments, &recording) } else { Ok(()) }
}

fn file_use(arguments: &ExportArguments, recording: &OpenRecording) -> PathConflicts {
    let tables = recording
        .file_use()
        .writes("--csv", arguments.csv.as_deref())
        .writes("--parquet", arguments.parquet.as_deref());
    let folder = arguments.files.iter();
    let texts = folder.flat_map(|folder| recording.attachments.keys().map(|name| folder.join(name)));
    texts.fold(tables, |used, path| used.writes("--files", Some(&path)))
}

/// Writes the files used to make the recording, and prints the command that uses them.
fn export_files(recording: &OpenRecording, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, &error))?;
    for (name, text) in &recording.attachments {
        // The names come from an untrusted file: write nothing outside the folder.
        let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
        if !is_plain {
            let problem = format!("has an attachment {name:?}, which is not a plain file name");
            return Err(Failure::BadInput(format!("{}: {problem}", recording.name())));
        }
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::unwritable(&path, &error))?;
        log_written(&path);
    }
    print_line(&start_command(recording, folder))
}

fn start_command(recording: &OpenRecording, folder: &Path) -> String {
    let file = |name: &str| folder.join(name).display().to_string();
    let hand =
        if recording.header.texts.hand.is_some() { format!(" --hand {}", file("hand.csv")) } else { String::new() };
    let seconds = recording.span.map_or(0.0, |(_, last)| seconds_of(last));
    let end = if recording.header.command == "simulate" { format!(" --seconds {seconds}") } else { String::new() };
    let [profile, scene, device] = ["profile.toml", "scene.toml", "device.toml"].map(file);
    let command = &recording.header.command;
    format!("hapticd {command} --profile {profile} --scene {scene} --device {device}{hand}{end}")
}

fn export_tables(arguments: &ExportArguments, recording: &OpenRecording) -> Result<(), Failure> {
    recording.require_ticks()?;
    let replay = Replay::new(recording, Settings::AsRecorded)?;
    let mut csv = Traces::of_ticks(arguments.csv.as_deref())?;
    let mut parquet = match &arguments.parquet {
        Some(path) => Some(ParquetWriter::create(path, columns()).map_err(|error| Failure::unwritable(path, &error))?),
        None => None,
    };
    let (result, _) = replay.run(recording, |rendering| {
        csv.write(rendering.last(), rendering.world())?;
        if let (Some(table), Some(path)) = (&mut parquet, &arguments.parquet) {
            let view = TickView::new(rendering.last(), &rendering.world().scene);
            let row = TRACE.map(|column| (column.value)(&view).number());
            table.row(&row).map_err(|error| Failure::unwritable(path, &error))?;
        }
        Ok(())
    })?;
    csv.finish()?;
    if let (Some(table), Some(path)) = (parquet, &arguments.parquet) {
        table.finish().map_err(|error| Failure::unwritable(path, &error))?;
    }
    arguments.csv.iter().chain(&arguments.parquet).for_each(|path| log_written(path));
    check_result(recording, &result)
}

fn columns() -> Vec<Column> {
    let kind = |name| if name == "contacts" { Kind::Whole } else { Kind::Double };
    TRACE.iter().map(|column| Column { name: column.name.to_owned(), kind: kind(column.name) }).collect()
}

fn check_result(recording: &OpenRecording, result: &ReplayResult) -> Result<(), Failure> {
    let file = recording.name();
    if let Some(flaw) = recording.salvage() {
        tracing::warn!("{flaw}");
    }
    match (&result.first_difference, &result.unproved) {
        (Some(difference), _) => Err(Failure::Mismatch(format!(
            "{file}: the replay differs from tick {} on; the rows from there on are not what was recorded",
            difference.tick
        ))),
        (None, Some(unproved)) if result.ticks == 0 => Err(Failure::Mismatch(format!("{file}: {}", unproved.reason))),
        (None, Some(unproved)) => {
            tracing::warn!("{file}: the table ends before tick {}: {}", unproved.from_tick, unproved.reason);
            Ok(())
        }
        (None, None) => Ok(()),
    }
}
