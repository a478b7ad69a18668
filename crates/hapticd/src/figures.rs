//! Extremes and totals of a run, collected tick by tick.

use haptic_loop::report::TickReport;
use haptic_planar::math::larger;

/// Ticks per second.
pub const TICKS_PER_SECOND: f64 = 1000.0;

/// Extremes and totals of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RunExtremes {
    /// Number of ticks that ran.
    pub ticks: u64,
    /// Deepest penetration of any pair, m.
    pub penetration_max_m: f64,
    /// Square of the largest force on the hand, N². The root is taken only once, at the end.
    force_max_squared: f64,
    /// Largest number of loaded contact points in one tick.
    pub contacts_max: u32,
    /// Number of near pairs dropped because the pair table was full, over all ticks.
    pub pairs_dropped: u64,
    /// Maximum energy gain, J: energy that the balance cannot explain.
    pub energy_gain_max_j: f64,
    /// Number of ticks with an engagement fraction above zero.
    pub engaged: u64,
}

impl RunExtremes {
    /// Returns the largest force on the hand, N.
    pub fn force_max_n(&self) -> f64 {
        self.force_max_squared.sqrt()
    }

    /// Adds the values of one tick. Real-time: constant time.
    pub fn add(&mut self, report: &TickReport) {
        let felt = &report.felt;
        self.ticks = report.tick;
        self.penetration_max_m = larger(felt.penetration_m, self.penetration_max_m);
        self.force_max_squared = larger(report.force_n.norm_squared(), self.force_max_squared);
        self.contacts_max = self.contacts_max.max(felt.contacts);
        self.pairs_dropped += u64::from(felt.pairs_dropped);
        self.engaged += u64::from(report.fraction > 0.0);
        self.energy_gain_max_j = larger(felt.energy.gain_max_j, self.energy_gain_max_j);
    }
}

/// Converts seconds to ticks, rounded to the nearest tick.
pub fn ticks_in(seconds: f64) -> u64 {
    (seconds * TICKS_PER_SECOND).round() as u64
}

/// Converts ticks to world time, s. Division gives the `f64` nearest to the exact value; multiplication by 0.001 does
/// not always do so.
pub fn seconds_of(ticks: u64) -> f64 {
    ticks as f64 / TICKS_PER_SECOND
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_the_nearest_whole_number_of_milliseconds() {
        assert_eq!([0.0, 0.001, 0.1, 0.3, 2.5].map(ticks_in), [0, 1, 100, 300, 2500]);
    }
}
