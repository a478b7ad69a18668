//! Still pictures of scenes: `hapticd snapshot`.
//!
//! [`trail`] first runs the world if asked to. [`compose`] lays the scene out on a page, and [`svg`] and [`png`] write the
//! page to a file; both show the same drawing.

pub mod trail;

use crate::cli::SnapshotArguments;
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use haptic_config::builtin::SCENES;
use haptic_config::scene;
use haptic_config::setup::{Setup, open_profile};
use haptic_draw::compose::{Content, Words, compose};
use haptic_draw::drawing::Drawing;
use haptic_draw::view::SceneView;
use haptic_draw::{png, svg};
use std::path::Path;

/// Writes a picture in one manner.
pub type Writer = fn(&Drawing) -> Result<Vec<u8>, Failure>;

/// Draws the scene and writes the picture.
///
/// # Errors
/// When the input is wrong, or the picture cannot be written.
pub fn snapshot(arguments: &SnapshotArguments) -> Result<(), Failure> {
    let writer = writer_for(&arguments.out)?;
    let content = content(arguments)?;
    let words = if arguments.no_names { Words::NoNames } else { Words::All };
    let picture = writer(&compose(&content, words))?;
    std::fs::write(&arguments.out, picture).map_err(|error| {
        let advice = "name a file in a folder that exists and may be written to";
        Failure::BadInput(format!("{}: cannot be written: {error}; {advice}", arguments.out.display()))
    })
}

/// Writes SVG.
///
/// # Errors
/// Never; all writers have one signature.
pub fn write_svg(drawing: &Drawing) -> Result<Vec<u8>, Failure> {
    Ok(svg::write(drawing).into_bytes())
}

fn write_png(drawing: &Drawing) -> Result<Vec<u8>, Failure> {
    png::write(drawing).map_err(|error| Failure::Runtime(error.to_string()))
}

/// How a picture is written, by the ending of its name.
///
/// # Errors
/// When the ending is neither `.svg` nor `.png`.
pub fn writer_for(path: &Path) -> Result<Writer, Failure> {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(write_svg),
        Some("png") => Ok(write_png),
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
            let (trail, placements) = trail::run(setup, seconds)?;
            Ok(Content { view, placements, trail: Some(trail) })
        }
    }
}
