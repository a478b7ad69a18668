//! Signals that end the process or reload the profile.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Flags set by signals.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Ends the run through the shutdown path; set by SIGINT (Ctrl-C) and SIGTERM.
    pub stop: Arc<AtomicBool>,
    /// Reloads the profile; set by SIGHUP.
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
