//! Which kind a file is, told by its keys.

use super::error::{FileErrors, Problem};
use super::section::nearest;
use super::source::Source;
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
        let document = super::section::Document::parse(source)?;
        let table = document.table();
        best(table, 0).or_else(|| best(table, MAX_SLIPS)).ok_or_else(|| unknown(source, table))
    }
}

fn best(table: &DeTable<'_>, slips: usize) -> Option<FileKind> {
    let score = |keys: &[&str]| table.keys().filter(|key| is_near(key.get_ref(), keys, slips)).count();
    let scores = KEYS.map(|(kind, keys)| (score(keys), kind));
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
