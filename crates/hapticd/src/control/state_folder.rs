//! Folder for files that hapticd writes without a path from the user.

use std::path::PathBuf;

/// Returns the folder for black boxes and for recordings started in the viewer: `$XDG_STATE_HOME/hapticd`, or else
/// `$HOME/.local/state/hapticd`; `None` if neither variable is set to an absolute path.
pub fn state_folder() -> Option<PathBuf> {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let stated = std::env::var_os("XDG_STATE_HOME").map(PathBuf::from).and_then(absolute);
    let at_home =
        || std::env::var_os("HOME").map(PathBuf::from).and_then(absolute).map(|home| home.join(".local/state"));
    Some(stated.or_else(at_home)?.join("hapticd"))
}
