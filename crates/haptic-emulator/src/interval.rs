//! An interval of an emulation, planned in advance.

use std::fmt;
use std::str::FromStr;

/// An interval in seconds after the start of the emulation. On the command line, `START+SECONDS`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Time of the start, s.
    pub start_s: f64,
    /// Time from the start to the end, s.
    pub duration_s: f64,
}

impl Interval {
    /// Whether the interval contains the time `time_us` microseconds after the start of the emulation. It contains its
    /// own start but not its end.
    pub fn contains(&self, time_us: u64) -> bool {
        let us = |seconds: f64| libm::round(seconds * 1e6) as u64;
        (us(self.start_s)..us(self.start_s + self.duration_s)).contains(&time_us)
    }
}

/// A text that is not an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotAnInterval;

impl fmt::Display for NotAnInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "give START+SECONDS, e.g. 5+2: from 5 s after the start, for 2 s")
    }
}

impl std::error::Error for NotAnInterval {}

impl FromStr for Interval {
    type Err = NotAnInterval;

    fn from_str(text: &str) -> Result<Self, NotAnInterval> {
        let (start, duration) = text.split_once('+').ok_or(NotAnInterval)?;
        let seconds = |text: &str| text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0);
        match (seconds(start), seconds(duration)) {
            (Some(start_s), Some(duration_s)) if duration_s > 0.0 => Ok(Self { start_s, duration_s }),
            _ => Err(NotAnInterval),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_contains_its_start_but_not_its_end() {
        let interval: Interval = "2.5+1".parse().unwrap();
        let at_us = [2_499_999, 2_500_000, 3_499_999, 3_500_000];
        assert_eq!(at_us.map(|time_us| interval.contains(time_us)), [false, true, true, false]);
    }

    #[test]
    fn other_texts_are_not_intervals() {
        for text in ["", "5", "+", "5+", "+2", "-1+2", "1+-2", "1+0", "inf+1", "1+NaN", "1+2+3"] {
            assert_eq!(text.parse::<Interval>(), Err(NotAnInterval), "{text}");
        }
    }
}
