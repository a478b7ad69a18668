//! Kind of a file, detected from its keys.

use crate::error::{FileErrors, Problem};
use crate::section::{Document, nearest};
use crate::source::Source;
use toml::de::DeTable;

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

/// Top-level keys of each kind of TOML file. A test compares them with the keys that the parsers read.
const KEYS: [(FileKind, &[&str]); 3] = [
    (FileKind::Scene, &["world", "body", "pair", "joint", "tool", "hand"]),
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
        let document = Document::parse(source)?;
        let table = document.table();
        best(table, 0).or_else(|| best(table, MAX_SLIPS)).ok_or_else(|| unknown(source, table))
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
        let Ok(document) = Document::parse(source) else { return false };
        KEYS.iter().any(|(kind, keys)| *kind == self && score(document.table(), keys, 0) > 0)
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
    let problem =
        if table.is_empty() { "is empty" } else { "is not a scene, profile or device: no key identifies its kind" };
    let remedy = "a scene has [[body]], a profile scene or [coupling], a device kind or [model]";
    Problem::in_file(&source.name, problem, remedy).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{device, profile, scene};

    #[test]
    fn every_kind_has_the_keys_that_its_parser_reads() {
        let source = Source::in_memory("empty.toml", "");
        let empty = Document::parse(&source).unwrap();
        let read = [scene::keys(&empty), profile::keys(&empty), device::keys(&empty)];
        for ((kind, keys), mut read) in KEYS.into_iter().zip(read) {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            read.sort_unstable();
            assert_eq!(keys, read, "{kind:?}");
        }
    }
}
