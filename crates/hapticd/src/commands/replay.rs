//! `hapticd replay`: replays a recording bit for bit, and optionally replays the same hand motion with other gains.

use super::{print_json, print_line};
use crate::cli::ReplayArguments;
use crate::failure::Failure;
use crate::recording::felt::{FeltSums, RunStatistics, side_by_side};
use crate::recording::kept::OpenRecording;
use crate::recording::replay::{Replay, ReplayResult, Settings};
use haptic_config::builtin::PROFILES;
use haptic_config::profile;
use serde::Serialize;

/// Result of the command, for printing as JSON.
#[derive(Serialize)]
struct Findings<'a> {
    #[serde(flatten)]
    result: &'a ReplayResult,
    /// Version of hapticd that wrote the recording.
    hapticd_version: &'a str,
    /// Statistics with the recorded settings; `None` without `--profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<RunStatistics>,
    /// Statistics with the settings of `--profile`; `None` without `--profile`.
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<RunStatistics>,
}

/// Runs the command.
///
/// # Errors
/// If the recording cannot be read, or the replay differs.
pub fn replay(arguments: &ReplayArguments) -> Result<(), Failure> {
    let recording = OpenRecording::open(&arguments.file)?;
    let (result, recorded) = run(&recording, Settings::AsRecorded)?;
    let instead = match &arguments.profile {
        Some(name) => {
            let profile = profile::load(&PROFILES.open(name, None)?)?;
            Some(run(&recording, Settings::Of(Box::new(profile)))?.1)
        }
        None => None,
    };
    if arguments.json {
        let recorded = instead.is_some().then_some(recorded);
        print_json(&Findings { result: &result, hapticd_version: &recording.header.version, recorded, instead })?;
    } else {
        print_line(&describe(&recording, &result))?;
        instead.map_or(Ok(()), |instead| print_line(&side_by_side(&recorded, &instead)))?;
    }
    check_result(&recording, &result)
}

fn run(recording: &OpenRecording, settings: Settings) -> Result<(ReplayResult, RunStatistics), Failure> {
    let mut sums = FeltSums::default();
    let (result, rendering) = Replay::new(recording, settings)?.run(recording, |rendering| {
        sums.add(rendering);
        Ok(())
    })?;
    Ok((result, sums.figures(&rendering)))
}

/// Returns an error if the replay differs from the recording, or if no tick could be replayed.
fn check_result(recording: &OpenRecording, result: &ReplayResult) -> Result<(), Failure> {
    let file = recording.name();
    if let Some(difference) = &result.first_difference {
        let body = difference.body.as_ref().map_or(String::new(), |body| format!(", in the body \"{body}\""));
        let versions = version_note(recording);
        let text = format!("{file}: the {} differs from tick {} on{body}{versions}", difference.what, difference.tick);
        return Err(Failure::Mismatch(text));
    }
    match &result.unproved {
        Some(unproved) if result.ticks == 0 => Err(Failure::Mismatch(format!("{file}: {}", unproved.reason))),
        _ => Ok(()),
    }
}

fn version_note(recording: &OpenRecording) -> String {
    let (theirs, ours) = (&recording.header.version, env!("CARGO_PKG_VERSION"));
    if theirs == ours { String::new() } else { format!("; recorded by version {theirs}, replayed by {ours}") }
}

fn describe(recording: &OpenRecording, result: &ReplayResult) -> String {
    let mut lines = Vec::new();
    let verdict = if result.first_difference.is_some() { "with a difference" } else { "identical" };
    lines.push(format!(
        "{} of {} ticks replayed, {verdict}; state hash {}",
        result.ticks, recording.ticks, result.state_hash
    ));
    if result.truncated {
        lines.push("the recording has no end: its writer was stopped".to_owned());
    }
    if let Some(unproved) = &result.unproved {
        lines.push(format!("not verified from tick {} on: {}", unproved.from_tick, unproved.reason));
    }
    if let Some(difference) = &result.first_difference {
        let (recorded, replayed) = (&difference.recorded, &difference.replayed);
        lines.push(format!(
            "first difference in tick {}: {} was {recorded}, is {replayed}",
            difference.tick, difference.what
        ));
        if !difference.bodies.is_empty() {
            lines.push(format!("bodies that differ in the next recorded poses: {}", difference.bodies.join(", ")));
        }
    }
    lines.join("\n")
}
