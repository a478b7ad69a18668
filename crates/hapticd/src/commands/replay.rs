//! `hapticd replay`: runs a recording again, bit for bit, or the same hand under other gains.

use super::{print_json, print_line};
use crate::cli::ReplayArguments;
use crate::failure::Failure;
use crate::recording::felt::{FeltSums, RunStatistics, side_by_side};
use crate::recording::kept::OpenRecording;
use crate::recording::replay::{Replay, ReplayResult, Settings};
use haptic_config::builtin::PROFILES;
use haptic_config::profile;
use serde::Serialize;

/// What is printed.
#[derive(Serialize)]
struct Findings<'a> {
    #[serde(flatten)]
    proof: &'a ReplayResult,
    /// The version that wrote the recording.
    hapticd_version: &'a str,
    /// What was felt, and what would have been felt; only with another profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<RunStatistics>,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead: Option<RunStatistics>,
}

/// Runs the command.
///
/// # Errors
/// When there is no such recording, or it comes out differently.
pub fn replay(arguments: &ReplayArguments) -> Result<(), Failure> {
    let kept = OpenRecording::open(&arguments.file)?;
    let (proof, recorded) = run(&kept, Settings::AsRecorded)?;
    let instead = match &arguments.profile {
        Some(name) => {
            let profile = profile::load(&PROFILES.open(name, None)?)?;
            Some(run(&kept, Settings::Of(Box::new(profile)))?.1)
        }
        None => None,
    };
    if arguments.json {
        let recorded = instead.is_some().then_some(recorded);
        print_json(&Findings { proof: &proof, hapticd_version: &kept.header.version, recorded, instead })?;
    } else {
        print_line(&in_words(&kept, &proof))?;
        instead.map_or(Ok(()), |instead| print_line(&side_by_side(&recorded, &instead)))?;
    }
    judge(&kept, &proof)
}

fn run(kept: &OpenRecording, settings: Settings) -> Result<(ReplayResult, RunStatistics), Failure> {
    let mut sums = FeltSums::default();
    let (proof, rendering) = Replay::new(kept, settings)?.run(kept, |rendering| {
        sums.take_in(rendering);
        Ok(())
    })?;
    Ok((proof, sums.figures(&rendering)))
}

/// A difference is a failed comparison; so is a recording of which nothing at all could be compared.
fn judge(kept: &OpenRecording, proof: &ReplayResult) -> Result<(), Failure> {
    let file = kept.name();
    if let Some(difference) = &proof.first_difference {
        let body = difference.body.as_ref().map_or(String::new(), |body| format!(", in the body \"{body}\""));
        let versions = version_note(kept);
        let text = format!("{file}: the {} differs from tick {} on{body}{versions}", difference.what, difference.tick);
        return Err(Failure::Mismatch(text));
    }
    match &proof.unproved {
        Some(unproved) if proof.ticks == 0 => Err(Failure::Mismatch(format!("{file}: {}", unproved.reason))),
        _ => Ok(()),
    }
}

fn version_note(kept: &OpenRecording) -> String {
    let (theirs, ours) = (&kept.header.version, env!("CARGO_PKG_VERSION"));
    if theirs == ours { String::new() } else { format!("; it was recorded by version {theirs}, this is {ours}") }
}

fn in_words(kept: &OpenRecording, proof: &ReplayResult) -> String {
    let mut lines = Vec::new();
    let verdict = if proof.first_difference.is_some() { "and came out differently" } else { "equal to the bit" };
    lines.push(format!("{} of {} ticks run again, {verdict}; state {}", proof.ticks, kept.ticks, proof.state_hash));
    if proof.truncated {
        lines.push("the recording has no end: whoever wrote it was stopped".to_owned());
    }
    if let Some(unproved) = &proof.unproved {
        lines.push(format!("from tick {} on nothing can be proven: {}", unproved.from_tick, unproved.reason));
    }
    if let Some(difference) = &proof.first_difference {
        let (recorded, replayed) = (&difference.recorded, &difference.replayed);
        lines.push(format!(
            "first difference in tick {}: {} was {recorded}, is {replayed}",
            difference.tick, difference.what
        ));
        if !difference.bodies.is_empty() {
            lines.push(format!("bodies that differ in the next picture: {}", difference.bodies.join(", ")));
        }
    }
    lines.join("\n")
}
