//! Notices that the profile file was saved.
//!
//! The folder is watched, not the file: most editors write a new file and rename it over the old one. A change counts
//! once the file has been left alone for a moment, because a file that is being written over is empty at first, and an
//! empty profile is a right one.

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long the file must be left alone.
const SETTLED: Duration = Duration::from_millis(50);

/// Watches one file.
pub struct ProfileWatch {
    /// Alive as long as it is kept.
    _watcher: RecommendedWatcher,
    touched: Receiver<()>,
    last_touched: Option<Instant>,
}

impl ProfileWatch {
    /// Begins to watch.
    ///
    /// # Errors
    /// When the system does not let us.
    pub fn of(file: &Path) -> notify::Result<Self> {
        let (send, touched) = channel();
        let name = file.file_name().map(PathBuf::from);
        let notice = move |event: notify::Result<Event>| {
            let is_ours = |path: &PathBuf| path.file_name().map(PathBuf::from) == name;
            if event.is_ok_and(|event| is_change(&event) && event.paths.iter().any(is_ours)) {
                // Nobody listens any more at the end; that is fine.
                let _ = send.send(());
            }
        };
        let mut watcher = notify::recommended_watcher(notice)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        // It may have been saved between the first reading and now.
        Ok(Self { _watcher: watcher, touched, last_touched: Some(Instant::now()) })
    }

    /// Whether the file was saved and has settled since.
    pub fn is_due(&mut self) -> bool {
        if self.touched.try_iter().count() > 0 {
            self.last_touched = Some(Instant::now());
        }
        let settled = self.last_touched.is_some_and(|touched| touched.elapsed() >= SETTLED);
        if settled {
            self.last_touched = None;
        }
        settled
    }
}

/// Reading a file is told too, and we read it ourselves.
fn is_change(event: &Event) -> bool {
    event.kind.is_modify() || event.kind.is_create() || event.kind.is_remove()
}
