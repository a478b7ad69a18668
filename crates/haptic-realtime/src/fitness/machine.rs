//! Reads `/proc`, `/sys` and `/dev`.

use std::fs;
use std::path::PathBuf;

/// The files of a machine under `/proc`, `/sys` and `/dev`, possibly copies from another machine.
#[derive(Debug, Clone)]
pub struct Machine {
    root: PathBuf,
}

impl Machine {
    /// Returns the machine running this program.
    pub fn this() -> Self {
        Self::at("/")
    }

    /// Returns a machine whose files are under `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Returns the path of a file given relative to the root, such as `proc/stat`.
    pub(super) fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// Returns the text of a file without surrounding white space; `None` if it cannot be read.
    pub(super) fn text(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.path(path)).ok().map(|text| text.trim().to_owned())
    }

    /// Returns the names of the entries of `folder`, sorted; empty if the folder cannot be read.
    pub(super) fn names(&self, folder: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(folder)).into_iter().flatten().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort_unstable();
        names
    }

    /// Returns the target of the symbolic link at `path`; `None` if there is no link or it cannot be read.
    pub(super) fn link(&self, path: &str) -> Option<PathBuf> {
        fs::read_link(self.path(path)).ok()
    }
}

/// Returns the value of `key=value` on the kernel command line; empty for a bare `key`, `None` if the key is missing.
pub(super) fn command_line_value<'a>(command_line: &'a str, key: &str) -> Option<&'a str> {
    let mut words = command_line.split_whitespace();
    words.find_map(|word| match word.split_once('=') {
        Some((name, value)) if name == key => Some(value),
        None if word == key => Some(""),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_on_the_command_line_is_found_whole_only() {
        let line = "quiet isolcpus=2-3 nohz_full=3 nohz=off threadirqs";
        assert_eq!(command_line_value(line, "nohz_full"), Some("3"));
        assert_eq!(command_line_value(line, "threadirqs"), Some(""));
        assert_eq!(command_line_value(line, "isol"), None);
    }

    #[test]
    fn a_missing_file_has_no_text_and_a_missing_folder_no_names() {
        let nowhere = Machine::at("/nonexistent");
        assert_eq!((nowhere.text("proc/stat"), nowhere.names("proc").len()), (None, 0));
    }
}
