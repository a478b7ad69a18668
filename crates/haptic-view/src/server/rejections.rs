//! Tells of what was refused, but no faster than a person reads: a flood must not fill the log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One line in so long.
const EVERY: Duration = Duration::from_secs(1);

/// Logs refusals, and counts those it does not log.
#[derive(Debug, Default)]
pub struct RejectionLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    logged_at: Option<Instant>,
    unlogged: u64,
    /// The newest that was not logged.
    last: String,
    total: u64,
}

impl RejectionLog {
    /// Something was refused.
    pub fn log(&self, what: &str) {
        if let Some(line) = self.line(what, Instant::now()) {
            tracing::warn!("{line}");
        }
    }

    /// Tells of those that were held back; nothing follows that they could be told with.
    pub fn conclude(&self) {
        if let Some(line) = self.rest() {
            tracing::warn!("{line}");
        }
    }

    fn rest(&self) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let count = std::mem::take(&mut state.unlogged);
        (count > 0).then(|| format!("viewer: {count} more refusals were not logged; the last was of {}", state.last))
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).total
    }

    fn line(&self, what: &str, now: Instant) -> Option<String> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.total += 1;
        if state.logged_at.is_some_and(|at| now.saturating_duration_since(at) < EVERY) {
            state.unlogged += 1;
            state.last = what.to_owned();
            return None;
        }
        state.logged_at = Some(now);
        let before = std::mem::take(&mut state.unlogged);
        let more = if before > 0 { format!(" ({before} refusals before it were not logged)") } else { String::new() };
        Some(format!("viewer: refused {what}{more}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_makes_one_line_a_second_and_every_refusal_counts() {
        let (rejections, start) = (RejectionLog::default(), Instant::now());
        assert_eq!(rejections.line("one", start).as_deref(), Some("viewer: refused one"));
        assert!((0..99).all(|_| rejections.line("more", start).is_none()));
        let line = rejections.line("last", start + EVERY).unwrap();
        assert_eq!(line, "viewer: refused last (99 refusals before it were not logged)");
        assert_eq!(rejections.total(), 101);
        assert_eq!(rejections.rest(), None);
    }

    #[test]
    fn what_was_held_back_is_told_at_the_end_and_once() {
        let (rejections, start) = (RejectionLog::default(), Instant::now());
        let lines = ["one", "two", "three"].map(|what| rejections.line(what, start).is_some());
        assert_eq!(lines, [true, false, false]);
        let rest = rejections.rest();
        assert_eq!(rest.as_deref(), Some("viewer: 2 more refusals were not logged; the last was of three"));
        assert_eq!(rejections.rest(), None);
    }
}
