//! Kind of a file, detected from its keys.

use crate::error::{FileErrors, Problem};
use crate::keys::SectionSpec;
use crate::keys::device::DEVICE;
use crate::keys::profile::PROFILE;
use crate::keys::scene::SCENE;
use crate::remedy::nearest;
use crate::section::Document;
use crate::source::Source;

/// Kinds of file that users write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Scene: bodies and a tool.
    Scene,
    /// Profile: a scene, a device and settings.
    Profile,
    /// Device: its kind, its address and its model.
    Device,
    /// Prescribed hand, as CSV.
    Hand,
}

/// Kinds of TOML files, with their top levels.
const KINDS: [(FileKind, &SectionSpec); 3] =
    [(FileKind::Scene, &SCENE), (FileKind::Profile, &PROFILE), (FileKind::Device, &DEVICE)];

/// Largest edit distance at which a misspelt key still identifies the kind.
const MAX_SLIPS: usize = 2;

impl FileKind {
    /// Detects the kind of a file: the kind with the most matching keys or, if no key matches, the kind whose keys most
    /// of them resemble. A `.csv` file is a prescribed hand.
    ///
    /// # Errors
    /// If the text is not TOML or no key identifies a kind.
    pub fn detect(source: &Source) -> Result<Self, FileErrors> {
        if source.name.ends_with(".csv") {
            return Ok(Self::Hand);
        }
        let document = Document::parse(source, &SCENE)?;
        let keys: Vec<&str> = document.top_level().collect();
        best(&keys, 0).or_else(|| best(&keys, MAX_SLIPS)).ok_or_else(|| unknown(source, &keys))
    }

    /// Returns the errors of a file that was read as this kind. If the file is of another kind and has no key of this
    /// one, the only error is the wrong kind, because the keys themselves are not mistakes.
    pub fn explain(self, source: &Source, errors: FileErrors) -> FileErrors {
        match Self::detect(source) {
            Ok(kind) if kind != self && !self.has_a_key_of(source) => kind.instead_of(self, source),
            _ => errors,
        }
    }

    /// Whether the file has any key of this kind.
    fn has_a_key_of(self, source: &Source) -> bool {
        let Ok(document) = Document::parse(source, &SCENE) else { return false };
        let keys: Vec<&str> = document.top_level().collect();
        KINDS.iter().any(|(kind, spec)| *kind == self && score(&keys, spec, 0) > 0)
    }

    fn instead_of(self, wanted: Self, source: &Source) -> FileErrors {
        let problem = format!("is a {}, not a {}", self.name(), wanted.name());
        let is_file = source.folder.is_some();
        let remedy =
            if is_file { format!("give it with --{}", self.name()) } else { format!("give a {}", wanted.name()) };
        Problem::in_file(&source.name, problem, remedy).into()
    }

    /// Returns the name of the kind, which is also the name of its command-line flag.
    fn name(self) -> &'static str {
        match self {
            Self::Scene => "scene",
            Self::Profile => "profile",
            Self::Device => "device",
            Self::Hand => "hand",
        }
    }
}

fn score(keys: &[&str], spec: &SectionSpec, slips: usize) -> usize {
    let names = spec.names();
    keys.iter().filter(|key| is_near(key, &names, slips)).count()
}

fn best(keys: &[&str], slips: usize) -> Option<FileKind> {
    let scores = KINDS.map(|(kind, spec)| (score(keys, spec, slips), kind));
    let (most, kind) = scores.into_iter().max_by_key(|(score, _)| *score)?;
    (most > 0).then_some(kind)
}

fn is_near(key: &str, names: &[&str], slips: usize) -> bool {
    nearest(key, names).is_some_and(|near| strsim::damerau_levenshtein(key, near) <= slips)
}

fn unknown(source: &Source, keys: &[&str]) -> FileErrors {
    let problem =
        if keys.is_empty() { "is empty" } else { "is not a scene, profile or device: no key identifies its kind" };
    let remedy = "a scene has [[body]], a profile scene or [coupling], a device kind or [model]; `hapticd new scene NAME` \
                  writes a scene to start from";
    Problem::in_file(&source.name, problem, remedy).into()
}
