//! The folder for files that hapticd writes without being given a name.

use std::path::PathBuf;

/// Folder of black boxes and of recordings started in the viewer: `$XDG_STATE_HOME/hapticd`, else
/// `~/.local/state/hapticd`; none without a home.
pub fn state_folder() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let stated = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    let at_home =
        || std::env::var_os("HOME").map(PathBuf::from).and_then(absolute).map(|home| home.join(".local/state"));
    Some(stated.or_else(at_home)?.join("hapticd"))
}
