//! Signals of the process: end, or reload the profile.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Flags that signals set.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// End through the shutdown path: SIGINT (Ctrl-C), SIGTERM.
    pub stop: Arc<AtomicBool>,
    /// Reload the profile: SIGHUP.
    pub reload: Arc<AtomicBool>,
}

impl Signals {
    /// Registers the handlers of this process.
    ///
    /// # Errors
    /// If a handler cannot be registered.
    pub fn register() -> Result<Self, Failure> {
        let signals = Self::default();
        for (signal, flag) in [(SIGINT, &signals.stop), (SIGTERM, &signals.stop), (SIGHUP, &signals.reload)] {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .map_err(|error| Failure::Runtime(format!("cannot register a signal handler: {error}")))?;
        }
        Ok(signals)
    }
}
