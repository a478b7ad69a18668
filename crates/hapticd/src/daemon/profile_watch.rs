//! Detects when the profile file is saved.
//!
//! Watches the folder rather than the file, because most editors write a new file and rename it over the old one. A
//! change counts only after a short time without events, because a file being overwritten is empty at first, and an
//! empty profile is valid.

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Time without events before a change counts.
const SETTLE_TIME: Duration = Duration::from_millis(50);

/// Watches the profile file.
pub struct ProfileWatch {
    /// Stops watching when dropped.
    _watcher: RecommendedWatcher,
    changes: Receiver<()>,
    last_change: Option<Instant>,
}

impl ProfileWatch {
    /// Starts watching a file.
    ///
    /// # Errors
    /// If the system rejects the watch.
    pub fn new(file: &Path) -> notify::Result<Self> {
        let (send, changes) = channel();
        let name = file.file_name().map(PathBuf::from);
        let on_event = move |event: notify::Result<Event>| {
            let is_profile = |path: &PathBuf| path.file_name().map(PathBuf::from) == name;
            if event.is_ok_and(|event| is_change(&event) && event.paths.iter().any(is_profile)) {
                // This fails only at the end of the run, when the receiver is gone.
                let _ = send.send(());
            }
        };
        let mut watcher = notify::recommended_watcher(on_event)?;
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        watcher.watch(folder, RecursiveMode::NonRecursive)?;
        // The file may have been saved after it was loaded and before the watch began.
        Ok(Self { _watcher: watcher, changes, last_change: Some(Instant::now()) })
    }

    /// Whether the file was saved and there has been no event for the settle time. True once per change, and once after
    /// the watch began.
    pub fn is_due(&mut self) -> bool {
        if self.changes.try_iter().count() > 0 {
            self.last_change = Some(Instant::now());
        }
        let settled = self.last_change.is_some_and(|change| change.elapsed() >= SETTLE_TIME);
        if settled {
            self.last_change = None;
        }
        settled
    }
}

/// Whether an event is a change to a file. Reads are excluded, because the daemon itself reads the file.
fn is_change(event: &Event) -> bool {
    event.kind.is_modify() || event.kind.is_create() || event.kind.is_remove()
}
