//! `check --picture`: draws the scene that was read.

use crate::failure::Failure;
use crate::file_use::PathConflicts;
use crate::log::log_written;
use crate::still::{Writer, writer_for};
use haptic_backends::KINDS;
use haptic_config::kind::FileKind;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_config::{profile, scene};
use haptic_draw::compose::{Annotations, Content, compose};
use haptic_planar::scene::Scene;
use std::path::{Path, PathBuf};

/// A picture to be written.
pub struct Picture {
    out: PathBuf,
    writer: Writer,
    /// The scene; `None` if the file that has it is invalid, which is reported elsewhere.
    scene: Option<Scene>,
}

/// Reads the scene of the only file, or of its profile.
///
/// # Errors
/// If there are several files, if the file has no scene, or if `out` is not a name for a picture or is the file itself.
pub fn prepare(files: &[PathBuf], out: &Path) -> Result<Picture, Failure> {
    let writer = writer_for("--picture", out)?;
    let [file] = files else {
        let problem = format!("--picture {} shows one file, and {} are given", out.display(), files.len());
        let first = files.first().map_or_else(String::new, |file| file.display().to_string());
        let remedy = format!("run `hapticd check {first} --picture {}`", out.display());
        return Err(Failure::BadInput(format!("{problem}; {remedy}")));
    };
    let scene = match Source::read(file) {
        Ok(source) => {
            PathConflicts::default().reads_source("FILE", &source).writes("--picture", Some(out)).check()?;
            scene_in(&source, out)?
        }
        Err(_) => None,
    };
    Ok(Picture { out: out.to_owned(), writer, scene })
}

fn scene_in(source: &Source, out: &Path) -> Result<Option<Scene>, Failure> {
    Ok(match FileKind::detect(source) {
        Ok(FileKind::Scene) => scene::load(source).ok(),
        Ok(FileKind::Profile) => {
            let setup = profile::load(source).and_then(|profile| Setup::from_profile(profile, None, KINDS));
            setup.ok().map(|setup| setup.scene)
        }
        Ok(kind @ (FileKind::Device | FileKind::Hand)) => {
            let kind = if kind == FileKind::Device { "device" } else { "hand" };
            let problem = format!("{}: a {kind} file has no scene to draw", source.name);
            let remedy =
                format!("run `hapticd check SCENE.toml --picture {}` with a scene or a profile", out.display());
            return Err(Failure::BadInput(format!("{problem}; {remedy}")));
        }
        Err(_) => None,
    })
}

impl Picture {
    /// Writes the picture, if the scene could be read.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&self) -> Result<(), Failure> {
        let Some(scene) = &self.scene else { return Ok(()) };
        let picture = (self.writer)(&compose(&Content::at_start(scene), Annotations::All))?;
        std::fs::write(&self.out, picture).map_err(|error| Failure::unwritable(&self.out, &error))?;
        log_written(&self.out);
        Ok(())
    }
}
