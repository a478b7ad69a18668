//! Files that are written whole or not at all.

use crate::failure::Failure;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes a file beside its place and moves it there, so that nobody ever sees half of it.
///
/// # Errors
/// When it cannot be written; what was there before is then untouched.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let target = target(path);
    if is_special(&target) {
        return fs::write(&target, content).map_err(|error| refusal(path, &error));
    }
    let beside = beside(&target);
    write_through(&beside, content).and_then(|()| fs::rename(&beside, &target)).map_err(|error| {
        // It may not even be there; the error that matters is told.
        _ = fs::remove_file(&beside);
        refusal(path, &error)
    })
}

/// Refuses a place where nothing can be written, before any work is done for it.
///
/// # Errors
/// When the folder is not there or may not be written to.
pub fn refuse_impossible(path: &Path) -> Result<(), Failure> {
    let target = target(path);
    if is_special(&target) {
        return fs::OpenOptions::new().write(true).open(&target).map(drop).map_err(|error| refusal(path, &error));
    }
    let beside = beside(&target);
    let tried = fs::File::create(&beside).map_err(|error| refusal(path, &error));
    _ = fs::remove_file(&beside);
    tried.map(drop)
}

/// Where the links of a path lead: what is moved there must not take the place of a link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A terminal, a pipe, `/dev/null`: written to, never replaced.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    PathBuf::from(beside)
}

fn write_through(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

fn refusal(path: &Path, error: &std::io::Error) -> Failure {
    let advice = "name a file in a folder that exists and may be written to";
    Failure::BadInput(format!("{}: cannot be written: {error}; {advice}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn what_is_no_plain_file_is_written_to_and_a_link_stays_one() {
        use std::os::unix::fs::FileTypeExt;
        let folder = TestFolder::new();
        let (file, link, null) = (folder.join("file"), folder.join("link"), folder.join("null"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        for path in [&link, &null] {
            refuse_impossible(path).unwrap();
            write(path, b"new").unwrap();
            assert!(fs::symlink_metadata(path).unwrap().is_symlink(), "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
