//! Everything that bounds what a client can cost.

use std::time::{Duration, Instant};

/// Connections at a time; a browser opens six. More are told to come back.
pub const MAX_CONNECTIONS: usize = 64;
/// Streams at a time.
pub const MAX_STREAMS: usize = 16;
/// Headers of a request, and how many, before it is refused.
pub const MAX_HEADER_BYTES: usize = 16 << 10;
/// See [`MAX_HEADER_BYTES`].
pub const MAX_HEADERS: usize = 64;
/// A request's body; a scene of a thousand bodies has 400 KB.
pub const MAX_BODY_BYTES: usize = 1 << 20;
/// A message to us over the WebSocket; a hand's place takes 60.
pub const MAX_MESSAGE_BYTES: usize = 4 << 10;
/// Messages that make no sense before a stream is closed.
pub const MAX_INVALID_MESSAGES: u32 = 20;
/// From connecting to the end of the headers, also between two requests.
pub const HEADER_TIMEOUT: Duration = Duration::from_secs(10);
/// From the headers to the answer.
pub const REQUEST_TIMEOUT: Duration = Duration::from_secs(15);
/// A client that takes nothing for so long is dropped.
pub const SEND_TIMEOUT: Duration = Duration::from_secs(3);
/// What is under way at the end of the run may take so long.
pub const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(300);
/// Threads for what takes long, such as building a scene; they end when idle.
pub const LONG_TASKS: usize = 2;
/// A connection that takes none of what was sent for so long is dropped by the system, whatever is under way on it.
pub const ACK_TIMEOUT: Duration = Duration::from_secs(5);
/// Frames of a stream in a second.
pub const FRAMES_HZ: std::ops::RangeInclusive<f64> = 1.0..=120.0;
/// Ticks of one step.
pub const MAX_STEP_TICKS: u32 = 10_000;
/// Places farther from the origin are a slip, m.
pub const MAX_POSITION_M: f64 = 100.0;

/// Requests a second in the long run, all clients together.
pub const REQUESTS_PER_S: f64 = 500.0;
/// Of these, those that change something.
pub const CHANGES_PER_S: f64 = 100.0;
/// Messages of one stream a second; a fast mouse has 1000, and one in two adds nothing.
pub const MESSAGES_PER_S: f64 = 500.0;
/// Places of the hand a second, all streams together; the loop takes 4000 orders a second, and others must find room among them.
pub const POSITIONS_PER_S: f64 = 1000.0;

/// Lets through so many a second in the long run, and as many at once.
#[derive(Debug)]
pub struct RateLimiter {
    per_second: f64,
    left: f64,
    at: Instant,
}

impl RateLimiter {
    /// A full allowance.
    pub fn new(per_second: f64, now: Instant) -> Self {
        Self { per_second, left: per_second, at: now }
    }

    /// Whether one more may pass.
    pub fn admits(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.at).as_secs_f64() * self.per_second;
        self.left = (self.left + gained).min(self.per_second);
        self.at = now;
        let admitted = self.left >= 1.0;
        self.left -= f64::from(admitted);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_passes_then_only_as_many_as_time_allows() {
        let start = Instant::now();
        let mut limiter = RateLimiter::new(10.0, start);
        let burst = (0..30).filter(|_| limiter.admits(start)).count();
        assert_eq!(burst, 10);
        let later = start + Duration::from_millis(500);
        assert_eq!((0..30).filter(|_| limiter.admits(later)).count(), 5);
    }
}
