//! Still pictures of scenes: `hapticd snapshot`.
//!
//! [`trail`] runs the world first if asked to, [`compose`] makes a [`drawing`] of what is there, in points of the page,
//! and [`svg`] and [`png`] write it down; the same drawing gives the same picture in both.

pub mod compose;
pub mod drawing;
pub mod labels;
pub mod letters;
pub mod png;
pub mod svg;
pub mod trail;

use crate::cli::SnapshotArguments;
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::picture::view::SceneView;
use compose::{Content, Words};
use haptic_config::builtin::SCENES;
use haptic_config::scene;
use haptic_config::setup::{Setup, open_profile};
use std::path::Path;
use trail::Trail;

/// Writes a picture in one manner.
pub type Writer = fn(&drawing::Drawing) -> Result<Vec<u8>, Failure>;

/// Draws the scene and writes the picture.
///
/// # Errors
/// When the input is wrong, or the picture cannot be written.
pub fn snapshot(arguments: &SnapshotArguments) -> Result<(), Failure> {
    let writer = writer_for(&arguments.out)?;
    let content = content(arguments)?;
    let words = if arguments.no_names { Words::NoNames } else { Words::All };
    let picture = writer(&compose::compose(&content, words))?;
    std::fs::write(&arguments.out, picture).map_err(|error| {
        let advice = "name a file in a folder that exists and may be written to";
        Failure::BadInput(format!("{}: cannot be written: {error}; {advice}", arguments.out.display()))
    })
}

/// How a picture is written, by the ending of its name.
///
/// # Errors
/// When the ending is neither `.svg` nor `.png`.
pub fn writer_for(path: &Path) -> Result<Writer, Failure> {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(svg::write),
        Some("png") => Ok(png::write),
        _ => {
            let right = path.with_extension("svg");
            let problem = format!("--out {}: pictures are written as .svg or .png", path.display());
            Err(Failure::BadInput(format!("{problem}; write e.g. --out {}", right.display())))
        }
    }
}

/// Without a time the device does not matter, and is not even looked for.
fn content(arguments: &SnapshotArguments) -> Result<Content, Failure> {
    match arguments.seconds {
        None => {
            let profile = open_profile(&arguments.input)?;
            let source = profile.scene.open(&SCENES)?;
            let used =
                PathConflicts::default().reads_source("--profile", &profile.source).reads_source("--scene", &source);
            used.writes("--out", Some(&arguments.out)).check()?;
            let scene = scene::load(&source)?;
            let view = SceneView::of(&scene);
            Ok(Content { placements: view.start().to_vec(), view, trail: None })
        }
        Some(seconds) => {
            let setup = Setup::open(&arguments.input, None)?;
            PathConflicts::of_setup(&setup, &arguments.input).writes("--out", Some(&arguments.out)).check()?;
            let view = SceneView::of(&setup.scene);
            let (trail, placements) = Trail::run(setup, seconds)?;
            Ok(Content { view, placements, trail: Some(trail) })
        }
    }
}
