//! Files in the repository that are derived from the definitions of the keys.

use std::path::{Path, PathBuf};

pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Fails if a file in the repository differs from the text that is generated for it.
#[track_caller]
pub fn assert_current(path: &str, generated: &str) {
    let written = std::fs::read_to_string(repository().join(path)).unwrap_or_default();
    let different = written.lines().zip(generated.lines()).position(|(written, generated)| written != generated);
    assert!(written == generated, "{path} is out of date from line {different:?}; run scripts/update-reference");
}
