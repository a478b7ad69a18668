//! Built-in files, compiled in so that the program runs from any folder without other files.

use crate::error::{FileErrors, Problem};
use crate::source::Source;
use std::path::Path;

/// Built-in files of one kind.
pub struct Library {
    /// Kind of the files: `scene`, `profile` or `device`.
    pub kind: &'static str,
    /// Names and texts of the files; the first file is the default.
    pub entries: &'static [(&'static str, &'static str)],
}

include!(concat!(env!("OUT_DIR"), "/builtin_files.rs"));

/// Built-in scenes.
pub static SCENES: Library = Library { kind: "scene", entries: SCENE_FILES };

/// Built-in profiles.
pub static PROFILES: Library = Library { kind: "profile", entries: PROFILE_FILES };

/// Built-in device files.
pub static DEVICES: Library = Library { kind: "device", entries: DEVICE_FILES };

impl Library {
    /// Opens a built-in or, if there is none with that name, a file, without the files that it includes. Relative paths refer to `folder`. Built-ins take
    /// precedence, so that the same command means the same in every folder; `./word` always names a file.
    ///
    /// # Errors
    /// If there is neither a built-in nor a readable file with that name.
    pub fn open(&self, name: &str, folder: Option<&Path>) -> Result<Source, FileErrors> {
        if let Some(source) = self.built_in(name) {
            return Ok(source);
        }
        let path = folder.unwrap_or(Path::new("")).join(name);
        let is_bare_word = !name.contains(['/', '.']);
        if is_bare_word && !path.exists() {
            return Err(self.unknown(name));
        }
        Source::read(&path)
    }

    /// Returns the built-in with the given name, if any.
    pub fn built_in(&self, name: &str) -> Option<Source> {
        let (_, text) = self.entries.iter().find(|(entry, _)| *entry == name)?;
        Some(Source::in_memory(&format!("built-in {} '{name}'", self.kind), without_schema(text)))
    }

    fn unknown(&self, name: &str) -> FileErrors {
        let names: Vec<&str> = self.entries.iter().map(|(name, _)| *name).collect();
        let nearest = names.iter().min_by_key(|known| strsim::damerau_levenshtein(name, known)).unwrap_or(&names[0]);
        let problem = format!("no such file, and no built-in {} of that name", self.kind);
        let remedy = format!("give --{} {nearest}; the built-in ones are {}", self.kind, names.join(", "));
        Problem::in_file(name, problem, remedy).into()
    }
}

/// Returns the text of a shipped file without the line that names its schema, because a copy of the text in another
/// folder would name a file that does not exist.
fn without_schema(text: &str) -> &str {
    match text.split_once('\n') {
        Some((first, rest)) if first.starts_with("#:schema ") => rest.trim_start_matches('\n'),
        _ => text,
    }
}
