//! Tests whether an oscillation decays.
//!
//! Records the amplitude of each half swing. If late amplitudes are smaller than early ones, the motion decays;
//! otherwise it grows. The result does not depend on frequency, window or sampling, and encoder steps affect only
//! individual swings.

/// Maximum number of recorded half swings; more would add no information.
const MAX_PEAKS: usize = 4000;
/// Number of initial half swings to ignore, because they depend on how the motion was started.
const FIRST_PEAKS: usize = 2;

/// Threshold for clear initial decay: natural logarithm of the ratio of the mean amplitude in the second quarter to
/// that in the first.
const CLEARLY: f64 = -0.2;
/// Minimum late decay, as a fraction of the early decay. Below this, the oscillation counts as sustained.
const STILL: f64 = 0.02;

/// Result of the decay test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The motion decays or has decayed.
    Decays,
    /// The motion grows or is sustained.
    Builds,
}

/// Monitors the half swings of a motion about zero.
#[derive(Clone, Debug)]
pub struct DecayMonitor {
    peaks_m: Vec<f64>,
    side: f64,
    peak_m: f64,
}

impl DecayMonitor {
    /// Creates an empty monitor with all its memory allocated.
    pub fn new() -> Self {
        Self { peaks_m: Vec::with_capacity(MAX_PEAKS), side: 0.0, peak_m: 0.0 }
    }

    /// Clears the recorded motion. Real-time: constant.
    pub fn clear(&mut self) {
        self.peaks_m.clear();
        (self.side, self.peak_m) = (0.0, 0.0);
    }

    /// Adds the next distance from the centre, m. Real-time: constant.
    pub fn push(&mut self, distance_m: f64) {
        if distance_m * self.side < 0.0 {
            if self.peaks_m.len() < MAX_PEAKS {
                self.peaks_m.push(self.peak_m);
            }
            self.peak_m = 0.0;
        }
        if distance_m != 0.0 {
            self.side = distance_m.signum();
        }
        self.peak_m = self.peak_m.max(distance_m.abs());
    }

    /// Returns the number of recorded half swings.
    pub fn half_swings(&self) -> usize {
        self.peaks_m.len()
    }

    /// Returns the amplitude of the current or the previous half swing, whichever is larger, m.
    pub fn now_m(&self) -> f64 {
        self.peaks_m.last().copied().unwrap_or(0.0).max(self.peak_m)
    }

    /// Returns the mean amplitude in each quarter of the motion, m; `None` if there are too few half swings.
    fn quarters_m(&self) -> Option<[f64; 4]> {
        let peaks = self.peaks_m.get(FIRST_PEAKS..)?;
        let length = peaks.len() / 4;
        let mean = |index: usize| peaks[index * length..(index + 1) * length].iter().sum::<f64>() / length as f64;
        (length > 0).then(|| [mean(0), mean(1), mean(2), mean(3)])
    }

    /// Returns the result so far. A motion counts as decayed if it has too few half swings or an amplitude of at most
    /// `quiet_m`. A motion that decayed at first but no longer does is sustained.
    pub fn verdict(&self, quiet_m: f64) -> Verdict {
        let Some([first, second, third, last]) = self.quarters_m().filter(|_| self.now_m() > quiet_m) else {
            return Verdict::Decays;
        };
        let (shrank, shrinks) = (libm::log(second / first), libm::log(last / third));
        let goes_on = shrank < CLEARLY && shrinks > STILL * shrank;
        if last >= first || goes_on { Verdict::Builds } else { Verdict::Decays }
    }
}

impl Default for DecayMonitor {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(rate: f64, rad_per_s: f64) -> Verdict {
        let mut ringing = DecayMonitor::new();
        for tick in 0..3000 {
            let time_s = f64::from(tick) * 1e-3;
            let distance_m = 1e-3 * libm::exp(rate * time_s) * libm::cos(rad_per_s * time_s);
            ringing.push((distance_m / 1e-5).floor() * 1e-5);
        }
        ringing.verdict(5e-5)
    }

    #[test]
    fn slow_decay_and_slow_growth_are_told_apart_at_any_frequency() {
        for rad_per_s in [12.0, 100.0, 777.0, 2900.0] {
            assert_eq!(verdict(-0.1, rad_per_s), Verdict::Decays, "{rad_per_s}");
            assert_eq!(verdict(0.1, rad_per_s), Verdict::Builds, "{rad_per_s}");
        }
    }

    #[test]
    fn a_motion_that_shrinks_to_a_lasting_hum_builds() {
        let mut ringing = DecayMonitor::new();
        for tick in 0..3000 {
            let time_s = f64::from(tick) * 1e-3;
            ringing.push((1e-3 * libm::exp(-10.0 * time_s) + 2e-4) * libm::cos(300.0 * time_s));
        }
        assert_eq!(ringing.verdict(5e-5), Verdict::Builds);
        assert_eq!(ringing.verdict(5e-4), Verdict::Decays, "if it is too small to matter");
    }

    #[test]
    fn steps_of_the_encoder_alone_are_rest() {
        let mut ringing = DecayMonitor::new();
        (0..1000).for_each(|tick| ringing.push(if tick % 2 == 0 { 1e-5 } else { -1e-5 }));
        assert_eq!(ringing.verdict(5e-5), Verdict::Decays);
    }

    #[test]
    fn a_motion_that_returns_slowly_has_decayed() {
        let mut ringing = DecayMonitor::new();
        (0..1000).for_each(|tick| ringing.push(1e-3 * libm::exp(-f64::from(tick) / 300.0)));
        assert_eq!(ringing.verdict(1e-9), Verdict::Decays);
    }
}
