//! Signals that end the run, reload the profile or request an emergency stop.

use crate::failure::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Flags set by signals.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Whether the run must end. Set by SIGINT (Ctrl-C) and SIGTERM, and when the user ends the run with a key.
    pub stop: Arc<AtomicBool>,
    /// Whether the profile must be reloaded. Set by SIGHUP.
    pub reload: Arc<AtomicBool>,
    /// Whether an emergency stop is requested. Set by SIGUSR1.
    pub emergency_stop: Arc<AtomicBool>,
}

impl Signals {
    /// Registers the signal handlers of this process and returns the flags they set.
    ///
    /// # Errors
    /// If a handler cannot be registered.
    pub fn register() -> Result<Self, Failure> {
        Self::default().registered()
    }

    /// Registers the signal handlers of a process without an emergency stop, which SIGUSR1 ends.
    ///
    /// # Errors
    /// If a handler cannot be registered.
    pub fn register_without_stop() -> Result<Self, Failure> {
        let stop = Arc::<AtomicBool>::default();
        Self { emergency_stop: stop.clone(), stop, ..Self::default() }.registered()
    }

    fn registered(self) -> Result<Self, Failure> {
        let Self { stop, reload, emergency_stop } = &self;
        for (signal, flag) in [(SIGINT, stop), (SIGTERM, stop), (SIGHUP, reload), (SIGUSR1, emergency_stop)] {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .map_err(|error| Failure::Runtime(format!("cannot register a signal handler: {error}")))?;
        }
        Ok(self)
    }
}
