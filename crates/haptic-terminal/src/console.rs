//! Progress bar of a measurement, and keys for aborting it. Neither is available without a terminal.

use crate::keys::KeyReader;
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Width of the bar, characters.
const WIDTH: usize = 30;

/// Progress bar on standard error and keys from standard input, if these are terminals. Dropping it clears the bar and
/// restores the terminal.
pub struct Console {
    has_bar: bool,
    keys: Option<KeyReader>,
}

impl Console {
    /// Creates a console that shows a bar and reads no keys.
    pub fn bar() -> Self {
        Self { has_bar: std::io::stderr().is_terminal(), keys: None }
    }

    /// Creates a console that shows a bar and reads keys.
    pub fn with_keys() -> Self {
        let has_bar = std::io::stderr().is_terminal();
        let has_keys = has_bar && std::io::stdin().is_terminal() && enable_raw_mode().is_ok();
        Self { has_bar, keys: if has_keys { KeyReader::open().ok() } else { None } }
    }

    /// Shows the completed fraction, 0 to 1, and the current activity.
    pub fn show(&self, fraction: f64, activity: &str) {
        if self.has_bar {
            let hint = if self.keys.is_some() { "; any key aborts" } else { "" };
            // A failed write to the bar does not matter.
            _ = write!(std::io::stderr(), "\r{}{hint}\x1b[K", bar(fraction, activity));
        }
    }

    /// Waits up to `timeout` and returns whether a key was pressed or the terminal has been closed.
    pub fn is_aborted(&self, timeout: Duration) -> bool {
        let Some(keys) = &self.keys else {
            std::thread::sleep(timeout);
            return false;
        };
        keys.read(timeout).map_or(true, |keys| !keys.is_empty())
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if self.has_bar {
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        if self.keys.is_some() {
            _ = disable_raw_mode();
        }
    }
}

fn bar(fraction: f64, activity: &str) -> String {
    let fraction = fraction.clamp(0.0, 1.0);
    let full = (fraction * WIDTH as f64).round() as usize;
    format!("{}{} {:3.0} %  {activity}", "█".repeat(full), "░".repeat(WIDTH - full), fraction * 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_is_full_at_the_end_and_never_fuller() {
        assert!(bar(0.0, "resting").starts_with("░"));
        assert_eq!(bar(7.0, "done").matches('█').count(), WIDTH);
        assert!(bar(0.5, "swinging").contains(" 50 %  swinging"));
    }
}
