//! Tells of what was refused, but no faster than a person reads: a flood must not fill the log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// One line in so long.
const EVERY: Duration = Duration::from_secs(1);

/// Logs refusals, and counts those it does not log.
#[derive(Debug, Default)]
pub struct Refusals(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    logged_at: Option<Instant>,
    unlogged: u64,
    total: u64,
}

impl Refusals {
    /// Something was refused.
    pub fn note(&self, what: &str) {
        if let Some(line) = self.line(what, Instant::now()) {
            tracing::warn!("{line}");
        }
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
        let (refusals, start) = (Refusals::default(), Instant::now());
        assert_eq!(refusals.line("one", start).as_deref(), Some("viewer: refused one"));
        assert!((0..99).all(|_| refusals.line("more", start).is_none()));
        let line = refusals.line("last", start + EVERY).unwrap();
        assert_eq!(line, "viewer: refused last (99 refusals before it were not logged)");
        assert_eq!(refusals.total(), 101);
    }
}
