//! `hapticd export`: a table from a recording, with the columns of a trace. The recording is run again for it, so every
//! number has all its bits.

use crate::cli::ExportArguments;
use crate::failure::Failure;
use crate::recording::kept::Kept;
use crate::recording::replay::{Proof, Replay, Settings};
use crate::trace::{TICK_COLUMNS, Traces, tick_row};
use haptic_record::parquet::{Column, Kind, ParquetWriter};

/// Runs the command.
///
/// # Errors
/// When there is no such recording, a table cannot be written, or the recording cannot be run again as it was.
pub fn export(arguments: &ExportArguments) -> Result<(), Failure> {
    let kept = Kept::open(&arguments.file)?;
    let replay = Replay::new(&kept, Settings::AsRecorded)?;
    let mut csv = Traces::of_ticks(arguments.csv.as_deref())?;
    let mut parquet = match &arguments.parquet {
        Some(path) => Some(ParquetWriter::create(path, columns()).map_err(|error| unwritable(path, &error))?),
        None => None,
    };
    let (proof, _) = replay.run(&kept, |rendering| {
        csv.write(rendering.last(), rendering.world())?;
        if let (Some(table), Some(path)) = (&mut parquet, &arguments.parquet) {
            let row = tick_row(rendering.last(), rendering.world());
            table.row(&row).map_err(|error| unwritable(path, &error))?;
        }
        Ok(())
    })?;
    csv.finish()?;
    if let (Some(table), Some(path)) = (parquet, &arguments.parquet) {
        table.finish().map_err(|error| unwritable(path, &error))?;
    }
    judge(&kept, &proof)
}

fn columns() -> Vec<Column> {
    let column = |name: &str| {
        let kind = if name == "contacts" { Kind::Whole } else { Kind::Double };
        Column { name: name.to_owned(), kind }
    };
    TICK_COLUMNS.split(',').map(column).collect()
}

fn unwritable(path: &std::path::Path, error: &std::io::Error) -> Failure {
    let advice = "name a file in a folder that exists and has room";
    Failure::BadInput(format!("{}: cannot be written: {error}; {advice}", path.display()))
}

fn judge(kept: &Kept, proof: &Proof) -> Result<(), Failure> {
    let file = kept.files.last().map_or(String::new(), |file| file.display().to_string());
    match (&proof.first_difference, &proof.unproved) {
        (Some(difference), _) => Err(Failure::Differs(format!(
            "{file}: run again it differs from tick {} on; the rows from there on are not what was recorded",
            difference.tick
        ))),
        (None, Some(unproved)) if proof.ticks == 0 => Err(Failure::Differs(format!("{file}: {}", unproved.reason))),
        (None, Some(unproved)) => {
            tracing::warn!("{file}: the table ends before tick {}: {}", unproved.from_tick, unproved.reason);
            Ok(())
        }
        (None, None) => Ok(()),
    }
}
