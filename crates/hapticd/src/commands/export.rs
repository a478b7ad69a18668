//! `hapticd export`: a table from a recording, with the columns of a trace, or the files that it was made with. The
//! recording is run again for a table, so every number has all its bits.

use super::print_line;
use crate::cli::ExportArguments;
use crate::failure::Failure;
use crate::figures::seconds_of;
use crate::file_use::PathConflicts;
use crate::recording::kept::OpenRecording;
use crate::recording::replay::{Replay, ReplayResult, Settings};
use crate::trace::{TICK_COLUMNS, Traces, tick_row};
use haptic_record::parquet::{Column, Kind, ParquetWriter};
use std::path::Path;

/// Runs the command.
///
/// # Errors
/// When there is no such recording, a file cannot be written, or the recording cannot be run again as it was.
pub fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let kept = OpenRecording::open(&arguments.file)?;
    file_use(arguments, &kept).check()?;
    if let Some(folder) = &arguments.files {
        export_files(&kept, folder)?;
    }
    if arguments.csv.is_some() || arguments.parquet.is_some() { export_tables(arguments, &kept) } else { Ok(()) }
}

fn file_use(arguments: &ExportArguments, kept: &OpenRecording) -> PathConflicts {
    let tables =
        kept.file_use().writes("--csv", arguments.csv.as_deref()).writes("--parquet", arguments.parquet.as_deref());
    let folder = arguments.files.iter();
    let texts = folder.flat_map(|folder| kept.attachments.keys().map(|name| folder.join(name)));
    texts.fold(tables, |used, path| used.writes("--files", Some(&path)))
}

/// Writes down what the recording was made with, and says how to start from it.
fn export_files(kept: &OpenRecording, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::unwritable(folder, &error))?;
    for (name, text) in &kept.attachments {
        // Names come from a file that anybody may have written: nothing outside the folder is touched.
        let is_plain = Path::new(name).file_name().is_some_and(|plain| plain == name.as_str());
        if !is_plain {
            let problem = format!("holds an attachment named {name:?}, which is no plain file name");
            return Err(Failure::BadInput(format!("{}: {problem}", kept.name())));
        }
        let path = folder.join(name);
        std::fs::write(&path, text).map_err(|error| Failure::unwritable(&path, &error))?;
    }
    print_line(&starting_from(kept, folder))
}

fn starting_from(kept: &OpenRecording, folder: &Path) -> String {
    let file = |name: &str| folder.join(name).display().to_string();
    let hand = if kept.header.texts.hand.is_some() { format!(" --hand {}", file("hand.csv")) } else { String::new() };
    let seconds = kept.span.map_or(0.0, |(_, last)| seconds_of(last));
    let end = if kept.header.command == "simulate" { format!(" --seconds {seconds}") } else { String::new() };
    let [profile, scene, device] = ["profile.toml", "scene.toml", "device.toml"].map(file);
    let command = &kept.header.command;
    format!("hapticd {command} --profile {profile} --scene {scene} --device {device}{hand}{end}")
}

fn export_tables(arguments: &ExportArguments, kept: &OpenRecording) -> Result<(), Failure> {
    kept.require_ticks()?;
    let replay = Replay::new(kept, Settings::AsRecorded)?;
    let mut csv = Traces::of_ticks(arguments.csv.as_deref())?;
    let mut parquet = match &arguments.parquet {
        Some(path) => Some(ParquetWriter::create(path, columns()).map_err(|error| Failure::unwritable(path, &error))?),
        None => None,
    };
    let (proof, _) = replay.run(kept, |rendering| {
        csv.write(rendering.last(), rendering.world())?;
        if let (Some(table), Some(path)) = (&mut parquet, &arguments.parquet) {
            let row = tick_row(rendering.last(), rendering.world());
            table.row(&row).map_err(|error| Failure::unwritable(path, &error))?;
        }
        Ok(())
    })?;
    csv.finish()?;
    if let (Some(table), Some(path)) = (parquet, &arguments.parquet) {
        table.finish().map_err(|error| Failure::unwritable(path, &error))?;
    }
    judge(kept, &proof)
}

fn columns() -> Vec<Column> {
    let column = |name: &str| {
        let kind = if name == "contacts" { Kind::Whole } else { Kind::Double };
        Column { name: name.to_owned(), kind }
    };
    TICK_COLUMNS.split(',').map(column).collect()
}

fn judge(kept: &OpenRecording, proof: &ReplayResult) -> Result<(), Failure> {
    let file = kept.name();
    if let Some(flaw) = kept.salvage() {
        tracing::warn!("{flaw}");
    }
    match (&proof.first_difference, &proof.unproved) {
        (Some(difference), _) => Err(Failure::Mismatch(format!(
            "{file}: run again it differs from tick {} on; the rows from there on are not what was recorded",
            difference.tick
        ))),
        (None, Some(unproved)) if proof.ticks == 0 => Err(Failure::Mismatch(format!("{file}: {}", unproved.reason))),
        (None, Some(unproved)) => {
            tracing::warn!("{file}: the table ends before tick {}: {}", unproved.from_tick, unproved.reason);
            Ok(())
        }
        (None, None) => Ok(()),
    }
}
