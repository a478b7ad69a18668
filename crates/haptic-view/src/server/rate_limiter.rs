//! Rate limiter: a token bucket.

use std::time::Instant;

/// Token bucket that admits a given number of operations per second on average, and as many in one burst.
#[derive(Debug)]
pub struct RateLimiter {
    per_second: f64,
    available: f64,
    updated: Instant,
}

impl RateLimiter {
    /// Creates a limiter with a full bucket.
    pub fn new(per_second: f64, now: Instant) -> Self {
        Self { per_second, available: per_second, updated: now }
    }

    /// Returns whether one more operation is admitted now, and counts it if so.
    pub fn admits(&mut self, now: Instant) -> bool {
        let gained = now.saturating_duration_since(self.updated).as_secs_f64() * self.per_second;
        self.available = (self.available + gained).min(self.per_second);
        self.updated = now;
        let admitted = self.available >= 1.0;
        self.available -= f64::from(admitted);
        admitted
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

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
