//! Files that are written whole or not at all.

use crate::failure::Failure;
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes a file beside its place and moves it there, so that nobody ever sees half of it.
///
/// # Errors
/// When it cannot be written; what was there before is then untouched.
pub fn write(path: &Path, content: &[u8]) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let beside = Path::new(&beside);
    write_through(beside, content).and_then(|()| fs::rename(beside, path)).map_err(|error| {
        // It may not even be there; the error that matters is told.
        _ = fs::remove_file(beside);
        refusal(path, &error)
    })
}

/// Refuses a place where nothing can be written, before any work is done for it.
///
/// # Errors
/// When the folder is not there or may not be written to.
pub fn refuse_impossible(path: &Path) -> Result<(), Failure> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    let tried = fs::File::create(&beside).map_err(|error| refusal(path, &error));
    _ = fs::remove_file(&beside);
    tried.map(drop)
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
