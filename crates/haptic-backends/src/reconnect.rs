//! Reconnection after a lost link.

use std::fmt::Display;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Intervals between reconnection attempts and between log messages about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reconnect {
    /// Pause between two attempts.
    pub every: Duration,
    /// Number of attempts after which the same error is logged again.
    pub log_every: u32,
}

impl Reconnect {
    /// Calls `attempt` until it connects or `stop` is set. `attempt` returns `None` while it is too early to try.
    /// Returns the connection, or `None` if `stop` is set.
    pub fn run<C, E: Display>(
        &self,
        stop: &AtomicBool,
        mut attempt: impl FnMut() -> Option<Result<C, E>>,
    ) -> Option<C> {
        let mut filter = LogFilter::new(self.log_every);
        while !stop.load(Ordering::Relaxed) {
            match attempt().transpose() {
                Ok(Some(connection)) => return Some(connection),
                Ok(None) => {}
                Err(error) => {
                    let text = error.to_string();
                    if filter.passes(&text) {
                        tracing::warn!("{text}");
                    }
                }
            }
            std::thread::sleep(self.every);
        }
        None
    }
}

/// Logs that the link to a device is lost.
pub fn log_lost(name: &str, reason: impl Display) {
    tracing::warn!("{name}: {reason}; reconnecting");
}

/// Logs that a device has been reconnected.
pub fn log_reconnected(name: &str) {
    tracing::info!("{name}: reconnected; force re-engages");
}

/// Selects the errors to log: each error that differs from the previous one, and one in every `every` errors. Digits
/// are ignored in the comparison, because numbers may change with every attempt.
struct LogFilter {
    every: u32,
    attempts: u32,
    newest: String,
}

impl LogFilter {
    fn new(every: u32) -> Self {
        Self { every, attempts: 0, newest: String::new() }
    }

    fn passes(&mut self, error: &str) -> bool {
        let text: String = error.chars().filter(|character| !character.is_ascii_digit()).collect();
        let is_due = self.attempts.is_multiple_of(self.every);
        self.attempts = self.attempts.wrapping_add(1);
        std::mem::replace(&mut self.newest, text.clone()) != text || is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_error_is_logged_at_once_and_other_numbers_are_not_another_error() {
        let mut filter = LogFilter::new(100);
        let errors = ["9 bytes", "12 bytes", "no port", "no port", "9 bytes"];
        assert_eq!(errors.map(|error| filter.passes(error)), [true, false, true, false, true]);
    }

    #[test]
    fn the_same_error_is_logged_again_after_a_number_of_attempts() {
        let mut filter = LogFilter::new(3);
        let logged: Vec<usize> = (0..8).filter(|_| filter.passes("no port")).collect();
        assert_eq!(logged, [0, 3, 6]);
    }

    #[test]
    fn attempts_end_with_the_first_connection_or_when_stopped() {
        let (reconnect, stop) = (Reconnect { every: Duration::ZERO, log_every: 10 }, AtomicBool::new(false));
        let mut attempts = 0;
        let connected = reconnect.run(&stop, || {
            attempts += 1;
            match attempts {
                1 => None,
                2 => Some(Err("nothing there")),
                _ => Some(Ok(attempts)),
            }
        });
        assert_eq!(connected, Some(3));
        let stopped = reconnect.run(&stop, || -> Option<Result<(), &str>> {
            stop.store(true, Ordering::Relaxed);
            Some(Err("nothing there"))
        });
        assert_eq!(stopped, None);
    }
}
