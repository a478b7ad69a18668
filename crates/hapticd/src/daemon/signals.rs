//! What the system can tell a running daemon: to end, or to read its profile again.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Flags that signals raise.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// End through the safe way: SIGINT (Ctrl-C), SIGTERM.
    pub stop: Arc<AtomicBool>,
    /// Read the profile again: SIGHUP.
    pub reload: Arc<AtomicBool>,
}

impl Signals {
    /// Flags that the signals of this process raise.
    ///
    /// # Errors
    /// When the system does not let us watch.
    pub fn watched() -> Result<Self, Failure> {
        let signals = Self::default();
        for (signal, flag) in [(SIGINT, &signals.stop), (SIGTERM, &signals.stop), (SIGHUP, &signals.reload)] {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .map_err(|error| Failure::Runtime(format!("cannot watch for signals: {error}")))?;
        }
        Ok(signals)
    }
}
