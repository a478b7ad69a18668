//! Signals that end the run or reload the profile.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Flags set by signals.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Whether the run must end. Set by SIGINT (Ctrl-C) and SIGTERM, and when the user ends the run with a key.
    pub stop: Arc<AtomicBool>,
    /// Whether the profile must be reloaded. Set by SIGHUP.
    pub reload: Arc<AtomicBool>,
}

impl Signals {
    /// Registers the signal handlers of this process and returns the flags they set.
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
