//! Writes files completely or not at all.

use crate::failure::Failure;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the contents to a temporary file in the same folder and renames it to `path`, so that no reader sees a
/// partial file. Special files such as `/dev/null` are written directly.
///
/// # Errors
/// If the file cannot be written. An existing regular file is then unchanged.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let target = target(path);
    if is_special(&target) {
        return fs::write(&target, content).map_err(|error| Failure::unwritable(path, &error));
    }
    let temporary = temporary(&target);
    write_through(&temporary, content).and_then(|()| fs::rename(&temporary, &target)).map_err(|error| {
        // The temporary file may not exist; the first error is the one to report.
        _ = fs::remove_file(&temporary);
        Failure::unwritable(path, &error)
    })
}

/// Checks that a file can be written, so that an unwritable path is reported before any work is done.
///
/// # Errors
/// If the folder does not exist or is not writable, or a special file cannot be opened.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    let target = target(path);
    if is_special(&target) {
        return fs::OpenOptions::new()
            .write(true)
            .open(&target)
            .map(drop)
            .map_err(|error| Failure::unwritable(path, &error));
    }
    let temporary = temporary(&target);
    let tried = fs::File::create(&temporary).map_err(|error| Failure::unwritable(path, &error));
    _ = fs::remove_file(&temporary);
    tried.map(drop)
}

/// Returns the path with symbolic links resolved, because the rename must replace the file rather than the link.
fn target(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Whether a path names something other than a regular file, such as a terminal, a pipe or `/dev/null`. Such a file is
/// written directly and never replaced.
fn is_special(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| !metadata.is_file())
}

fn temporary(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}.part", std::process::id()));
    PathBuf::from(name)
}

fn write_through(path: &Path, content: &[u8]) -> std::io::Result<()> {
    let mut file = fs::File::create(path)?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn special_files_are_written_to_and_links_stay_links() {
        use std::os::unix::fs::FileTypeExt;
        let folder = TestFolder::new();
        let (file, link, null) = (folder.join("file"), folder.join("link"), folder.join("null"));
        fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        std::os::unix::fs::symlink("/dev/null", &null).unwrap();
        for path in [&link, &null] {
            check_writable(path).unwrap();
            write(path, b"new").unwrap();
            assert!(fs::symlink_metadata(path).unwrap().is_symlink(), "{}", path.display());
        }
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }
}
