//! A bar that shows how far a measurement is, and ears for any key. Without a terminal it shows and hears nothing.

use ratatui::crossterm::event::{self, Event, KeyEventKind};
use ratatui::crossterm::terminal::{disable_raw_mode, enable_raw_mode};
use std::io::{IsTerminal, Write};
use std::time::Duration;

/// Width of the bar, characters.
const WIDTH: usize = 30;

/// The terminal, if there is one. It is given back when this is dropped.
pub struct Console {
    shows: bool,
    hears: bool,
}

impl Console {
    /// Shows a bar only.
    pub fn bar() -> Self {
        Self { shows: std::io::stderr().is_terminal(), hears: false }
    }

    /// Shows a bar and listens for keys.
    pub fn with_keys() -> Self {
        let shows = std::io::stderr().is_terminal();
        let hears = shows && std::io::stdin().is_terminal() && enable_raw_mode().is_ok();
        Self { shows, hears }
    }

    /// Shows how much is done, 0 to 1, and what is under way.
    pub fn show(&self, share: f64, doing: &str) {
        if self.shows {
            let hint = if self.hears { "; any key aborts" } else { "" };
            // A terminal that went away needs no bar.
            _ = write!(std::io::stderr(), "\r{}{hint}\x1b[K", bar(share, doing));
        }
    }

    /// Whether a key was pressed; waits for one no longer than `patience`.
    pub fn was_key_pressed(&self, patience: Duration) -> bool {
        if !self.hears {
            std::thread::sleep(patience);
            return false;
        }
        let is_press = |event: &Event| matches!(event, Event::Key(key) if key.kind == KeyEventKind::Press);
        event::poll(patience).unwrap_or(false) && event::read().is_ok_and(|event| is_press(&event))
    }
}

impl Drop for Console {
    fn drop(&mut self) {
        if self.shows {
            _ = write!(std::io::stderr(), "\r\x1b[K");
        }
        if self.hears {
            _ = disable_raw_mode();
        }
    }
}

fn bar(share: f64, doing: &str) -> String {
    let share = share.clamp(0.0, 1.0);
    let full = (share * WIDTH as f64).round() as usize;
    format!("{}{} {:3.0} %  {doing}", "█".repeat(full), "░".repeat(WIDTH - full), share * 100.0)
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
