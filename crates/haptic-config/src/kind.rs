//! Which kind a file is, told by its keys.

use crate::error::{FileErrors, Problem};
use crate::section::nearest;
use crate::source::Source;
use toml::de::DeTable;

/// The kinds of file that a person writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// Bodies and a tool.
    Scene,
    /// What is joined and how.
    Profile,
    /// What is driven.
    Device,
    /// A prescribed hand, CSV.
    Hand,
}

const KEYS: [(FileKind, &[&str]); 3] = [
    (FileKind::Scene, &["world", "body", "pair", "joint", "tool"]),
    (FileKind::Profile, &["scene", "device", "coupling", "mapping", "safety", "realtime", "view"]),
    (
        FileKind::Device,
        &[
            "kind",
            "axes",
            "port",
            "baud",
            "variant",
            "path",
            "lever_m",
            "watchdog_s",
            "travel_m",
            "centre_counts",
            "reverse_force_x",
            "reverse_force_y",
            "model",
            "hand",
            "vendor_id",
            "product_id",
            "serial_number",
        ],
    ),
];

/// Most typing slips in a key that still say which kind was meant.
const MAX_SLIPS: usize = 2;

impl FileKind {
    /// The kind whose keys the file uses most; with none, the kind whose keys it nearly uses.
    ///
    /// # Errors
    /// When the text is not TOML or nothing in it tells.
    pub fn of(source: &Source) -> Result<Self, FileErrors> {
        if source.name.ends_with(".csv") {
            return Ok(Self::Hand);
        }
        let document = crate::section::Document::parse(source)?;
        let table = document.table();
        best(table, 0).or_else(|| best(table, MAX_SLIPS)).ok_or_else(|| unknown(source, table))
    }

    /// What is wrong with a file that was read as this kind: all its mistakes, or only that it is of another kind, since
    /// its keys are then no slips.
    pub fn blame(self, source: &Source, errors: FileErrors) -> FileErrors {
        match Self::of(source) {
            Ok(kind) if kind != self && !self.has_a_key_of(source) => kind.in_place_of(self, source),
            _ => errors,
        }
    }

    /// Whether any key of the file is right for this kind.
    fn has_a_key_of(self, source: &Source) -> bool {
        let Ok(document) = crate::section::Document::parse(source) else { return false };
        KEYS.iter().any(|(kind, keys)| *kind == self && score(document.table(), keys, 0) > 0)
    }

    fn in_place_of(self, wanted: Self, source: &Source) -> FileErrors {
        let problem = format!("is a {}, not a {}", self.name(), wanted.name());
        let is_file = source.folder.is_some();
        let remedy =
            if is_file { format!("give it with --{}", self.name()) } else { format!("give a {}", wanted.name()) };
        Problem::of_file(&source.name, problem, remedy).into()
    }

    /// Its name, and that of the flag that takes it.
    fn name(self) -> &'static str {
        match self {
            Self::Scene => "scene",
            Self::Profile => "profile",
            Self::Device => "device",
            Self::Hand => "hand",
        }
    }
}

fn score(table: &DeTable<'_>, keys: &[&str], slips: usize) -> usize {
    table.keys().filter(|key| is_near(key.get_ref(), keys, slips)).count()
}

fn best(table: &DeTable<'_>, slips: usize) -> Option<FileKind> {
    let scores = KEYS.map(|(kind, keys)| (score(table, keys, slips), kind));
    let (most, kind) = scores.into_iter().max_by_key(|(score, _)| *score)?;
    (most > 0).then_some(kind)
}

fn is_near(key: &str, keys: &[&str], slips: usize) -> bool {
    nearest(key, keys).is_some_and(|near| strsim::damerau_levenshtein(key, near) <= slips)
}

fn unknown(source: &Source, table: &DeTable<'_>) -> FileErrors {
    let problem = if table.is_empty() { "is empty" } else { "is no scene, profile or device: no key tells which" };
    let remedy = "a scene has [[body]], a profile scene or [coupling], a device kind or [model]";
    Problem::of_file(&source.name, problem, remedy).into()
}
