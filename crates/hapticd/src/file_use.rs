//! Checks the files that a command reads and writes: no file may be both read and written, or written twice.
//!
//! The check precedes any opening for writing, because opening truncates a file. The `same-file` crate was rejected: it
//! opens both files, which blocks on a pipe and fails for files that do not exist yet.

use crate::cli::InputArguments;
use crate::failure::Failure;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Maximum number of symbolic links to follow; the kernel has the same limit.
const MAX_LINKS: usize = 40;

/// The files that one command reads and writes.
#[derive(Clone, Debug, Default)]
pub struct PathConflicts {
    read: Vec<Named>,
    written: Vec<Named>,
}

/// A file, with the flag or key that names it.
#[derive(Clone, Debug)]
struct Named {
    by: String,
    path: PathBuf,
}

/// Identity of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum FileId {
    /// An existing file, by device and inode number.
    Existing(u64, u64),
    /// A file that does not exist yet, by its path with the folder in canonical form.
    New(PathBuf),
}

impl PathConflicts {
    /// Collects the files of a setup. Built-ins are not files and are skipped.
    pub fn from_setup(setup: &Setup, input: &InputArguments) -> Self {
        let by = |flag: Option<&String>, key: &str| {
            if flag.is_some() { format!("--{key}") } else { format!("{key} of the profile") }
        };
        Self::default()
            .reads_source("--profile", &setup.profile.source)
            .reads_source(&by(input.scene.as_ref(), "scene"), &setup.sources.scene)
            .reads_source(&by(input.device.as_ref(), "device"), &setup.sources.device)
    }

    /// Adds a file to be read, if a path is given; `by` is the flag or key that names it.
    pub fn reads(mut self, by: &str, path: Option<&Path>) -> Self {
        self.read.extend(path.map(|path| Named { by: by.to_owned(), path: path.to_owned() }));
        self
    }

    /// Adds a source to be read, if it is a file, and the files that it includes; `by` is the flag or key that names it.
    pub fn reads_source(self, by: &str, source: &Source) -> Self {
        let included = format!("include of {by}");
        source.included().fold(self.reads(by, source.file()), |used, file| used.reads(&included, Some(file)))
    }

    /// Adds a file to be written, if a path is given; `by` is the flag that names it.
    pub fn writes(mut self, by: &str, path: Option<&Path>) -> Self {
        self.written.extend(path.map(|path| Named { by: by.to_owned(), path: path.to_owned() }));
        self
    }

    /// Checks that no output file conflicts with another file.
    ///
    /// # Errors
    /// If a file would be both read and written, or written twice.
    pub fn check(&self) -> Result<(), Failure> {
        for (index, output) in self.written.iter().enumerate() {
            if let Some(input) = self.read.iter().find(|input| input.is_same_file_as(output)) {
                return Err(output.rejected(input, "is read, and writing would destroy it"));
            }
            if let Some(other) = self.written[..index].iter().find(|other| other.is_same_file_as(output)) {
                return Err(output.rejected(other, "is also written"));
            }
        }
        Ok(())
    }
}

impl Named {
    fn is_same_file_as(&self, other: &Self) -> bool {
        self.id().is_some_and(|id| other.id() == Some(id))
    }

    /// Returns the identity of the file; `None` for terminals, pipes and `/dev/null`, which have no contents to
    /// destroy.
    fn id(&self) -> Option<FileId> {
        if is_stream(&self.path) {
            return None;
        }
        match std::fs::metadata(&self.path) {
            Ok(metadata) => has_content(&metadata).then(|| FileId::Existing(metadata.dev(), metadata.ino())),
            Err(_) => Some(FileId::New(real_path(&link_end(&self.path)))),
        }
    }

    fn rejected(&self, other: &Self, why: &str) -> Failure {
        let (path, theirs) = (self.path.display(), other.path.display());
        let problem = format!("{} {path} is the same file as {} {theirs}, which {why}", self.by, other.by);
        Failure::BadInput(format!("{problem}; name another file for {}", self.by))
    }
}

/// Whether a path names a standard stream or an open file descriptor.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"].iter().any(|start| path.starts_with(start))
}

fn has_content(metadata: &Metadata) -> bool {
    metadata.is_file() || metadata.is_dir()
}

/// Returns the target of a chain of symbolic links; the target need not exist yet.
fn link_end(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// Returns the absolute path with its folder in canonical form. A folder that does not exist is left unchanged; opening
/// the file later reports the error.
fn real_path(path: &Path) -> PathBuf {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    match (path.parent().map(std::fs::canonicalize), path.file_name()) {
        (Some(Ok(folder)), Some(name)) => folder.join(name),
        _ => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    fn of(input: &Path, output: &Path) -> Result<(), Failure> {
        PathConflicts::default().reads("--scene", Some(input)).writes("--trace", Some(output)).check()
    }

    #[test]
    fn a_file_is_known_by_every_name_that_leads_to_it() {
        let folder = TestFolder::new();
        let file = folder.write("s.toml", "");
        std::fs::hard_link(&file, folder.join("hard")).unwrap();
        std::os::unix::fs::symlink("s.toml", folder.join("soft")).unwrap();
        for other in ["s.toml", "hard", "soft", "./s.toml"] {
            let refused = of(&file, &folder.join(other)).unwrap_err();
            assert_eq!(refused.exit_code(), 2);
            assert!(refused.to_string().contains("--trace") && refused.to_string().contains("--scene"), "{refused}");
        }
        assert_eq!(of(&file, &folder.join("other")), Ok(()));
    }

    #[test]
    fn files_that_are_not_there_yet_are_told_apart_by_their_real_folders() {
        let folder = TestFolder::new();
        std::fs::create_dir(folder.join("deep")).unwrap();
        std::os::unix::fs::symlink("deep", folder.join("short")).unwrap();
        std::os::unix::fs::symlink("deep/t.csv", folder.join("dangling")).unwrap();
        let both = |first: &str, second: &str| {
            let (first, second) = (folder.join(first), folder.join(second));
            PathConflicts::default().writes("--csv", Some(&first)).writes("--parquet", Some(&second)).check()
        };
        for other in ["deep/t.csv", "short/t.csv", "dangling", "deep/../deep/t.csv"] {
            assert!(both("deep/t.csv", other).is_err(), "{other}");
        }
        assert_eq!(both("deep/t.csv", "t.csv"), Ok(()));
        assert!(both("nowhere/t.csv", "nowhere/t.csv").is_err());
    }

    #[test]
    fn dev_null_and_streams_may_be_named_twice() {
        for path in ["/dev/null", "/dev/stdout", "/dev/fd/1"].map(Path::new) {
            let both = PathConflicts::default().reads("--hand", Some(path)).writes("--trace", Some(path));
            assert_eq!(both.writes("--trace-bodies", Some(path)).check(), Ok(()), "{}", path.display());
        }
    }
}
