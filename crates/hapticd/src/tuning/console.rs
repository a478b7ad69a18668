//! A progress bar, and keys that abort a measurement. Without a terminal it does nothing.

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Width of the bar, characters.
const WIDTH: usize = 30;

/// The terminal, if there is one. Dropping it restores the terminal.
pub struct Console {
    shows_bar: bool,
    reads_keys: bool,
}

impl Console {
    /// A bar without keys.
    pub fn bar() -> Self {
        Self { shows_bar: std::io::stderr().is_terminal(), reads_keys: false }
    }

    /// A bar, and any key aborts.
    pub fn with_keys() -> Self {
        let shows_bar = std::io::stderr().is_terminal();
        let reads_keys = shows_bar && std::io::stdin().is_terminal() && enable_raw_mode().is_ok();
        Self { shows_bar, reads_keys }
    }

    /// Shows the finished fraction, 0 to 1, and the current activity.
    pub fn show(&self, fraction: f64, activity: &str) {
        if self.shows_bar {
            let hint = if self.reads_keys { "; any key aborts" } else { "" };
            // A closed terminal needs no bar.
            _ = write!(std::io::stderr(), "\r{}{hint}\x1b[K", bar(fraction, activity));
        }
    }

    /// Waits up to `timeout` for a key; returns whether one was pressed.
    pub fn was_key_pressed(&self, timeout: Duration) -> bool {
        if !self.reads_keys {
            std::thread::sleep(timeout);
            return false;
        }
        let is_press = |event: &Event| matches!(event, Event::Key(key) if key.kind == KeyEventKind::Press);
        event::poll(timeout).unwrap_or(false) && event::read().is_ok_and(|event| is_press(&event))
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if self.shows_bar {
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        if self.reads_keys {
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
