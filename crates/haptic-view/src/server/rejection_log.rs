//! Logs rejected requests, messages and connections at a limited rate, so that a flood does not fill the log.

use super::lock;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Minimum time between two log lines.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// Rate-limited log of rejections, with a count of rejections not logged.
#[derive(Debug, Default)]
pub struct RejectionLog(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    logged_at: Option<Instant>,
    unlogged: u64,
    /// Newest rejection that was not logged.
    last: String,
    total: u64,
}

impl RejectionLog {
    /// Records a rejection; `what` names the rejected item and the reason.
    pub fn record(&self, what: &str) {
        if let Some(line) = self.line(what, Instant::now()) {
            tracing::warn!("{line}");
        }
    }

    /// Logs the number of rejections since the last line. Called when the viewer stops, because no later line will
    /// report them.
    pub fn flush(&self) {
        if let Some(line) = self.rest() {
            tracing::warn!("{line}");
        }
    }

    fn rest(&self) -> Option<String> {
        let mut state = lock(&self.0);
        let count = std::mem::take(&mut state.unlogged);
        (count > 0).then(|| format!("viewer: {count} more rejections not logged; the last: {}", state.last))
    }

    /// Returns the number of rejections so far.
    pub fn total(&self) -> u64 {
        lock(&self.0).total
    }

    fn line(&self, what: &str, now: Instant) -> Option<String> {
        let mut state = lock(&self.0);
        state.total += 1;
        if state.logged_at.is_some_and(|at| now.saturating_duration_since(at) < LINE_INTERVAL) {
            state.unlogged += 1;
            state.last = what.to_owned();
            return None;
        }
        state.logged_at = Some(now);
        let before = std::mem::take(&mut state.unlogged);
        let more = if before > 0 { format!(" ({before} earlier rejections not logged)") } else { String::new() };
        Some(format!("viewer: rejected {what}{more}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_makes_one_line_a_second_and_every_rejection_counts() {
        let (rejections, start) = (RejectionLog::default(), Instant::now());
        assert_eq!(rejections.line("one", start).as_deref(), Some("viewer: rejected one"));
        assert!((0..99).all(|_| rejections.line("more", start).is_none()));
        let line = rejections.line("last", start + LINE_INTERVAL).unwrap();
        assert_eq!(line, "viewer: rejected last (99 earlier rejections not logged)");
        assert_eq!(rejections.total(), 101);
        assert_eq!(rejections.rest(), None);
    }

    #[test]
    fn unlogged_rejections_are_reported_at_the_end_and_once() {
        let (rejections, start) = (RejectionLog::default(), Instant::now());
        let lines = ["one", "two", "three"].map(|what| rejections.line(what, start).is_some());
        assert_eq!(lines, [true, false, false]);
        let rest = rejections.rest();
        assert_eq!(rest.as_deref(), Some("viewer: 2 more rejections not logged; the last: three"));
        assert_eq!(rejections.rest(), None);
    }
}
