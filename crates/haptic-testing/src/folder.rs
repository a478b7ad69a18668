//! Folders for the files of a test.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// An empty folder of one test, removed when it is dropped.
#[derive(Debug)]
pub struct TestFolder(PathBuf);

impl TestFolder {
    /// Creates one that no other test uses.
    ///
    /// # Panics
    /// If it cannot be created.
    #[expect(clippy::new_without_default, reason = "a default value should not create a folder")]
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("hapticd-test-{}-{count}", std::process::id()));
        // A killed run of the same process id may have left one behind.
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    /// Its path, absolute.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The path of an entry.
    pub fn join(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Writes a file, with the folders above it, and returns its path.
    ///
    /// # Panics
    /// If it cannot be written.
    #[track_caller]
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        path
    }

    /// The text of a file.
    ///
    /// # Panics
    /// If it cannot be read.
    #[track_caller]
    pub fn read(&self, name: &str) -> String {
        fs::read_to_string(self.join(name)).unwrap()
    }

    /// The bytes of a file.
    ///
    /// # Panics
    /// If it cannot be read.
    #[track_caller]
    pub fn read_bytes(&self, name: &str) -> Vec<u8> {
        fs::read(self.join(name)).unwrap()
    }

    /// The names of its entries, sorted.
    ///
    /// # Panics
    /// If it cannot be listed.
    #[track_caller]
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).unwrap();
        let mut names: Vec<String> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
