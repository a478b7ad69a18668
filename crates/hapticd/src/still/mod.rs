//! Still pictures of scenes: `hapticd snapshot`.
//!
//! With `--seconds`, [`trail`] runs the world first. [`compose`] lays out the scene on a page, and [`svg`] and [`png`]
//! encode the page; both show the same drawing.

pub mod trail;

use crate::cli::SnapshotArguments;
use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::log::log_written;
use haptic_config::scene;
use haptic_config::setup::{Setup, open_profile};
use haptic_draw::compose::{Annotations, Content, compose};
use haptic_draw::drawing::Drawing;
use haptic_draw::view::SceneView;
use haptic_draw::{png, svg};
use std::path::Path;

/// Function that encodes a drawing in one file format.
pub type Writer = fn(&Drawing) -> Result<Vec<u8>, Failure>;

/// Draws the scene and writes the picture.
///
/// # Errors
/// If the input is invalid or the picture cannot be written.
pub fn snapshot(arguments: &SnapshotArguments) -> Result<(), Failure> {
    let writer = writer_for("--out", &arguments.out)?;
    let content = content(arguments)?;
    let annotations = if arguments.no_names { Annotations::NoNames } else { Annotations::All };
    let picture = writer(&compose(&content, annotations))?;
    std::fs::write(&arguments.out, picture).map_err(|error| Failure::unwritable(&arguments.out, &error))?;
    log_written(&arguments.out);
    Ok(())
}

/// Encodes a drawing as SVG.
///
/// # Errors
/// Never; [`Writer`] requires a result.
pub fn write_svg(drawing: &Drawing) -> Result<Vec<u8>, Failure> {
    Ok(svg::write(drawing).into_bytes())
}

fn write_png(drawing: &Drawing) -> Result<Vec<u8>, Failure> {
    png::write(drawing).map_err(|error| Failure::Runtime(error.to_string()))
}

/// Returns the writer for the extension of the file that `flag` names.
///
/// # Errors
/// If the extension is neither `.svg` nor `.png`.
pub fn writer_for(flag: &str, path: &Path) -> Result<Writer, Failure> {
    let extension = path.extension().map(|extension| extension.to_ascii_lowercase());
    match extension.as_ref().and_then(|extension| extension.to_str()) {
        Some("svg") => Ok(write_svg),
        Some("png") => Ok(write_png),
        _ => {
            let right = path.with_extension("svg");
            let problem = format!("{flag} {}: pictures are written as .svg or .png", path.display());
            Err(Failure::BadInput(format!("{problem}; give {flag} {}", right.display())))
        }
    }
}

/// Returns the contents of the picture. Without `--seconds`, the device is neither needed nor opened.
fn content(arguments: &SnapshotArguments) -> Result<Content, Failure> {
    match arguments.seconds {
        None => {
            let profile = open_profile(&arguments.input)?;
            let source = profile.scene.open_scene()?;
            let used =
                PathConflicts::default().reads_source("--profile", &profile.source).reads_source("--scene", &source);
            used.writes("--out", Some(&arguments.out)).check()?;
            let file = scene::load_file(&source)?;
            Ok(Content::at_start(&file.scene).titled(&file.about.title))
        }
        Some(seconds) => {
            let setup = Setup::open(&arguments.input, None)?;
            PathConflicts::from_setup(&setup, &arguments.input).writes("--out", Some(&arguments.out)).check()?;
            let (view, title) = (SceneView::new(&setup.scene), setup.about.title.clone());
            let (trail, placements) = trail::run(setup, seconds)?;
            Ok(Content { view, placements, trail: Some(trail), title })
        }
    }
}
