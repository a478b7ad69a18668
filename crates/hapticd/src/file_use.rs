//! Which files a command reads and writes, so that none that it writes is one that it reads, or is written twice.
//!
//! Asked before anything is opened for writing: opening empties a file, and by then it is too late.

use crate::cli::InputArguments;
use crate::failure::Failure;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Links that are followed from one to the next before a path is taken as it is; the kernel gives up after as many.
const MOST_LINKS: usize = 40;

/// The files of one command.
#[derive(Clone, Debug, Default)]
pub struct PathConflicts {
    read: Vec<Named>,
    written: Vec<Named>,
}

/// A file, and what named it.
#[derive(Clone, Debug)]
struct Named {
    by: String,
    path: PathBuf,
}

/// What tells whether two paths lead to the same file.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    /// A file that is there: its device and its number on it.
    There(u64, u64),
    /// One that would be made, under its real folder.
    New(PathBuf),
}

impl PathConflicts {
    /// What a setup was read from; what is built in is no file.
    pub fn of_setup(setup: &Setup, input: &InputArguments) -> Self {
        let by = |flag: Option<&String>, key: &str| {
            if flag.is_some() { format!("--{key}") } else { format!("{key} of the profile") }
        };
        Self::default()
            .reads_source("--profile", &setup.profile.source)
            .reads_source(&by(input.scene.as_ref(), "scene"), &setup.sources.scene)
            .reads_source(&by(input.device.as_ref(), "device"), &setup.sources.device)
    }

    /// A file that is read, and the flag or the word that names it.
    pub fn reads(mut self, by: &str, path: Option<&Path>) -> Self {
        self.read.extend(path.map(|path| Named { by: by.to_owned(), path: path.to_owned() }));
        self
    }

    /// A file that was read, if it was one.
    pub fn reads_source(self, by: &str, source: &Source) -> Self {
        self.reads(by, source.file())
    }

    /// A file that will be written, and the flag that names it.
    pub fn writes(mut self, by: &str, path: Option<&Path>) -> Self {
        self.written.extend(path.map(|path| Named { by: by.to_owned(), path: path.to_owned() }));
        self
    }

    /// Whether everything may be opened for writing.
    ///
    /// # Errors
    /// When a file would be written that is read, or written twice.
    pub fn check(&self) -> Result<(), Failure> {
        for (index, output) in self.written.iter().enumerate() {
            if let Some(input) = self.read.iter().find(|input| input.is_same_file_as(output)) {
                return Err(output.refused(input, "is read, and writing would destroy it"));
            }
            if let Some(other) = self.written[..index].iter().find(|other| other.is_same_file_as(output)) {
                return Err(output.refused(other, "is written, too"));
            }
        }
        Ok(())
    }
}

impl Named {
    fn is_same_file_as(&self, other: &Self) -> bool {
        self.place().is_some_and(|place| other.place() == Some(place))
    }

    /// None for what keeps nothing that could be destroyed: terminals, pipes, `/dev/null`.
    fn place(&self) -> Option<Place> {
        if is_stream(&self.path) {
            return None;
        }
        match std::fs::metadata(&self.path) {
            Ok(metadata) => is_kept(&metadata).then(|| Place::There(metadata.dev(), metadata.ino())),
            Err(_) => Some(Place::New(real_path(&link_end(&self.path)))),
        }
    }

    fn refused(&self, other: &Self, why: &str) -> Failure {
        let (path, theirs) = (self.path.display(), other.path.display());
        let problem = format!("{} {path} is the same file as {} {theirs}, which {why}", self.by, other.by);
        Failure::BadInput(format!("{problem}; name another file for {}", self.by))
    }
}

/// The streams that a shell opened, wherever they lead.
fn is_stream(path: &Path) -> bool {
    ["/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd", "/proc/self/fd"].iter().any(|start| path.starts_with(start))
}

fn is_kept(metadata: &Metadata) -> bool {
    metadata.is_file() || metadata.is_dir()
}

/// Where a file would be made through links that lead nowhere yet.
fn link_end(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

/// The path under its real folder; as it is written if there is no such folder, which whoever opens it will tell.
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
    fn what_keeps_nothing_may_be_given_twice() {
        for path in ["/dev/null", "/dev/stdout", "/dev/fd/1"].map(Path::new) {
            let both = PathConflicts::default().reads("--hand", Some(path)).writes("--trace", Some(path));
            assert_eq!(both.writes("--trace-bodies", Some(path)).check(), Ok(()), "{}", path.display());
        }
    }
}
