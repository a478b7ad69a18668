//! Signals that end the run, reload the profile or request an emergency stop, and the loss of the controlling terminal,
//! which ends the run.

use crate::failure::Failure;
use haptic_terminal::hangup::{ControllingTerminal, ignores_hangup};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Flags set by signals.
#[derive(Clone, Debug, Default)]
pub struct Signals {
    /// Whether the run must end. Set by SIGINT (Ctrl-C) and SIGTERM, when the user ends the run with a key, and when
    /// the controlling terminal is lost.
    pub stop: Arc<AtomicBool>,
    /// Whether the profile must be reloaded. Set by SIGHUP.
    pub reload: Arc<AtomicBool>,
    /// Whether an emergency stop is requested. Set by SIGUSR1.
    pub emergency_stop: Arc<AtomicBool>,
    terminal: Option<Arc<ControllingTerminal>>,
}

impl Signals {
    /// Registers the signal handlers of this process and returns the flags they set.
    ///
    /// # Errors
    /// If a handler cannot be registered.
    pub fn register() -> Result<Self, Failure> {
        let terminal = ControllingTerminal::of_this_process().map(Arc::new);
        Self { terminal, ..Self::default() }.registered(true)
    }

    /// Registers the signal handlers of a process without an emergency stop and without a profile: SIGUSR1 and SIGHUP
    /// end it too, unless it was started with SIGHUP ignored.
    ///
    /// # Errors
    /// If a handler cannot be registered.
    pub fn register_without_stop() -> Result<Self, Failure> {
        let stop = Arc::<AtomicBool>::default();
        let signals = Self { emergency_stop: stop.clone(), reload: stop.clone(), stop, ..Self::default() };
        signals.registered(!ignores_hangup())
    }

    /// Takes a request to reload the profile, if there is one. If the controlling terminal is lost, the run ends
    /// instead: SIGHUP then meant that.
    pub fn take_reload(&self) -> bool {
        let is_requested = self.reload.swap(false, Ordering::Relaxed);
        if self.terminal.as_ref().is_some_and(|terminal| terminal.is_lost()) {
            if !self.stop.swap(true, Ordering::Relaxed) {
                tracing::warn!("the terminal has been closed; the run ends");
            }
            return false;
        }
        is_requested
    }

    fn registered(self, on_hangup: bool) -> Result<Self, Failure> {
        let Self { stop, reload, emergency_stop, .. } = &self;
        let hangup = on_hangup.then_some((SIGHUP, reload));
        for (signal, flag) in [(SIGINT, stop), (SIGTERM, stop), (SIGUSR1, emergency_stop)].into_iter().chain(hangup) {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .map_err(|error| Failure::Runtime(format!("cannot register a signal handler: {error}")))?;
        }
        Ok(self)
    }
}
