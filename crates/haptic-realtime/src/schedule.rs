//! Deadlines of the ticks, computed without reading a clock.
//!
//! Deadlines are absolute, `start + k · period`, so a late tick does not delay later ones. A tick that ends after the
//! next deadline is an *overrun*: the deadlines that have passed are *skipped*, and the schedule resumes on the same
//! grid. Catching up with a burst of ticks was rejected: it would send the device several consecutive commands computed
//! from one reading.

use std::num::NonZeroU64;

/// A grid of deadlines, with counts of overruns and skipped periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Schedule {
    period_ns: NonZeroU64,
    deadline_ns: u64,
    overruns: u64,
    skipped: u64,
}

/// Effect of the end of one tick on the schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    /// Deadline of the next tick.
    pub deadline_ns: u64,
    /// Whether the tick ended after the next deadline.
    pub overran: bool,
    /// Number of deadlines skipped between this tick and the next; nonzero if and only if [`Self::overran`].
    pub skipped: u64,
}

impl Schedule {
    /// Creates a schedule whose first tick is due at `first_deadline_ns`.
    pub fn starting_at(first_deadline_ns: u64, period_ns: NonZeroU64) -> Self {
        Self { period_ns, deadline_ns: first_deadline_ns, overruns: 0, skipped: 0 }
    }

    /// Deadline of the current tick.
    pub fn deadline_ns(&self) -> u64 {
        self.deadline_ns
    }

    /// Time between two deadlines.
    pub fn period_ns(&self) -> NonZeroU64 {
        self.period_ns
    }

    /// Number of ticks that ended after the next deadline.
    pub fn overruns(&self) -> u64 {
        self.overruns
    }

    /// Number of skipped deadlines, at which no tick ran.
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Skips the deadlines that passed before the current tick woke up at `woken_ns`, so that the tick learns how late
    /// it is before it acts. Returns their number. The tick then belongs to the last deadline that has passed.
    ///
    /// Real-time: one division.
    pub fn skip_missed(&mut self, woken_ns: u64) -> u64 {
        let missed = woken_ns.saturating_sub(self.deadline_ns) / self.period_ns;
        self.deadline_ns += missed * self.period_ns.get();
        self.skipped += missed;
        missed
    }

    /// Ends the current tick at `ended_ns` and advances to the next deadline on the grid that has not passed yet.
    ///
    /// Real-time: one division. A tick that ends exactly at the next deadline is on time.
    pub fn advance(&mut self, ended_ns: u64) -> Advance {
        let period_ns = self.period_ns.get();
        let following_ns = self.deadline_ns + period_ns;
        let skipped = ended_ns.saturating_sub(following_ns).div_ceil(period_ns);
        let overran = skipped > 0;
        self.deadline_ns = following_ns + skipped * period_ns;
        self.overruns += u64::from(overran);
        self.skipped += skipped;
        Advance { deadline_ns: self.deadline_ns, overran, skipped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD_NS: u64 = 1_000_000;
    const START_NS: u64 = 123_456_789;

    fn schedule() -> Schedule {
        Schedule::starting_at(START_NS, NonZeroU64::new(PERIOD_NS).unwrap())
    }

    #[test]
    fn a_tick_in_time_is_followed_one_period_later() {
        let mut schedule = schedule();
        let advance = schedule.advance(START_NS + 300_000);
        assert_eq!(advance, Advance { deadline_ns: START_NS + PERIOD_NS, overran: false, skipped: 0 });
    }

    #[test]
    fn a_late_tick_does_not_push_later_deadlines_back() {
        let mut schedule = schedule();
        for tick in 1..=1000 {
            let advance = schedule.advance(schedule.deadline_ns() + 900_000);
            assert_eq!(advance.deadline_ns, START_NS + tick * PERIOD_NS);
        }
        assert_eq!((schedule.overruns(), schedule.skipped()), (0, 0));
    }

    #[test]
    fn a_tick_that_wakes_late_belongs_to_the_last_deadline_that_has_passed() {
        let mut schedule = schedule();
        assert_eq!(schedule.skip_missed(START_NS + PERIOD_NS - 1), 0);
        assert_eq!(schedule.skip_missed(START_NS + 3 * PERIOD_NS + 5), 3);
        assert_eq!((schedule.deadline_ns(), schedule.skipped()), (START_NS + 3 * PERIOD_NS, 3));
        let advance = schedule.advance(START_NS + 3 * PERIOD_NS + 300_000);
        assert_eq!(advance, Advance { deadline_ns: START_NS + 4 * PERIOD_NS, overran: false, skipped: 0 });
    }

    #[test]
    fn a_tick_that_wakes_before_its_deadline_misses_none() {
        assert_eq!(schedule().skip_missed(START_NS - 7), 0);
    }

    #[test]
    fn ending_exactly_on_the_next_deadline_is_in_time() {
        let advance = schedule().advance(START_NS + PERIOD_NS);
        assert_eq!(advance, Advance { deadline_ns: START_NS + PERIOD_NS, overran: false, skipped: 0 });
    }

    #[test]
    fn ending_one_nanosecond_after_the_next_deadline_skips_it() {
        let mut schedule = schedule();
        let advance = schedule.advance(START_NS + PERIOD_NS + 1);
        assert_eq!(advance, Advance { deadline_ns: START_NS + 2 * PERIOD_NS, overran: true, skipped: 1 });
        assert_eq!((schedule.overruns(), schedule.skipped()), (1, 1));
    }

    #[test]
    fn a_long_stall_counts_one_overrun_and_every_period_lost() {
        let mut schedule = schedule();
        let advance = schedule.advance(START_NS + 50 * PERIOD_NS + 1);
        assert_eq!(advance.skipped, 50);
        assert_eq!(advance.deadline_ns, START_NS + 51 * PERIOD_NS);
        assert_eq!((schedule.overruns(), schedule.skipped()), (1, 50));
    }

    #[test]
    fn a_stall_of_whole_periods_resumes_on_the_deadline_it_ends_on() {
        let advance = schedule().advance(START_NS + 4 * PERIOD_NS);
        assert_eq!(advance, Advance { deadline_ns: START_NS + 4 * PERIOD_NS, overran: true, skipped: 3 });
    }

    #[test]
    fn ticks_and_skipped_periods_account_for_all_time_and_stay_in_phase() {
        let mut schedule = schedule();
        let mut ended_ns = START_NS;
        let mut noise: u64 = 1;
        let mut ticks = 0;
        for _ in 0..10_000 {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let busy_ns = (noise >> 33) % (4 * PERIOD_NS);
            let due_ns = schedule.deadline_ns();
            assert!(due_ns >= ended_ns, "two ticks would run in a burst");
            ended_ns = due_ns + busy_ns;
            schedule.advance(ended_ns);
            ticks += 1;
            assert_eq!((schedule.deadline_ns() - START_NS) % PERIOD_NS, 0);
            assert_eq!((schedule.deadline_ns() - START_NS) / PERIOD_NS, ticks + schedule.skipped());
        }
        assert!(schedule.overruns() > 0);
    }
}
