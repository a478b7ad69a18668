//! The emergency stop of an emulated board: a button for programs, and presses planned in advance.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Emergency-stop button of an emulated board. Clones operate the same button, also from other threads.
#[derive(Clone, Debug, Default)]
pub struct StopButton(Arc<AtomicBool>);

impl StopButton {
    /// Presses the button. The board applies no force from this moment on.
    pub fn press(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Releases the button. The board stays disarmed until its host arms it again.
    pub fn release(&self) {
        self.0.store(false, Ordering::SeqCst);
    }

    /// Whether the button is pressed.
    pub fn is_pressed(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}

/// A press planned in advance, in seconds after the start of the board. On the command line, `START+SECONDS`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlannedStop {
    /// Time of the press, s.
    pub start_s: f64,
    /// Time until the release, s.
    pub duration_s: f64,
}

impl PlannedStop {
    /// Whether the button is pressed `time_us` microseconds after the start of the board.
    pub fn is_pressed(&self, time_us: u64) -> bool {
        let us = |seconds: f64| libm::round(seconds * 1e6) as u64;
        (us(self.start_s)..us(self.start_s + self.duration_s)).contains(&time_us)
    }
}

/// A text that is not a planned press.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAPlannedStop;

impl fmt::Display for NotAPlannedStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "give START+SECONDS, e.g. 5+2: pressed 5 s after the start, for 2 s")
    }
}

impl std::error::Error for NotAPlannedStop {}

impl FromStr for PlannedStop {
    type Err = NotAPlannedStop;

    fn from_str(text: &str) -> Result<Self, NotAPlannedStop> {
        let (start, duration) = text.split_once('+').ok_or(NotAPlannedStop)?;
        let seconds = |text: &str| text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        match (seconds(start), seconds(duration)) {
            (Some(start_s), Some(duration_s)) if duration_s > 0.0 => Ok(Self { start_s, duration_s }),
            _ => Err(NotAPlannedStop),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_planned_press_has_a_start_and_a_duration() {
        let stop: PlannedStop = "2.5+1".parse().unwrap();
        let at_us = [2_499_999, 2_500_000, 3_499_999, 3_500_000];
        assert_eq!(at_us.map(|time_us| stop.is_pressed(time_us)), [false, true, true, false]);
    }

    #[test]
    fn other_texts_are_not_planned_presses() {
        for text in ["", "5", "+", "5+", "+2", "-1+2", "1+-2", "1+0", "inf+1", "1+NaN", "1+2+3"] {
            assert_eq!(text.parse::<PlannedStop>(), Err(NotAPlannedStop), "{text}");
        }
    }
}
