//! Does a device report also when nothing changed? Only then its silence means that something is wrong.
//!
//! One that sends the same sample again and again does. So does one whose converter is noisy, though no two of its samples need be
//! the same: a handle that stands still then stays within a count or two for long, report after report. A handle that is moved slowly, and
//! reported at every change, does not: it goes on.

use nalgebra::Vector2;

/// How soon after one another samples of a streaming device come at most, ns.
pub const STREAM_GAP_NS: u64 = 10_000_000;
/// So many samples alike in a row are a stream.
const ALIKE: u32 = 3;
/// So many samples in a row, none farther from the first than noise, are a stream. Fewer, and the tremor of a hand at rest would do.
const NEAR: u32 = 100;
/// Noise of a converter, counts, with a little for rounding.
const NOISE_COUNTS: f64 = 2.01;

/// Watches the samples of one device.
#[derive(Clone, Copy, Debug)]
pub struct ReportingModeDetector {
    noise_m: f64,
    before_m: Vector2<f64>,
    alike: u32,
    first_m: Vector2<f64>,
    near: u32,
}

impl ReportingModeDetector {
    /// For a device with such steps, m.
    pub fn new(step_m: f64) -> Self {
        let none_m = Vector2::repeat(f64::NAN);
        Self { noise_m: NOISE_COUNTS * step_m, before_m: none_m, alike: 0, first_m: none_m, near: 0 }
    }

    /// Takes the next sample, so long after the one before; true if the last ones can only come from a device that streams.
    pub fn is_passed_by(&mut self, position_m: Vector2<f64>, elapsed_ns: u64) -> bool {
        let is_soon = elapsed_ns < STREAM_GAP_NS;
        let is_alike = is_soon && position_m == self.before_m;
        let is_near = is_soon && (position_m - self.first_m).amax() <= self.noise_m;
        self.before_m = position_m;
        self.alike = if is_alike { self.alike.saturating_add(1) } else { 0 };
        (self.first_m, self.near) = if is_near { (self.first_m, self.near.saturating_add(1)) } else { (position_m, 0) };
        self.alike >= ALIKE || self.near >= NEAR
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_M: f64 = 1e-4;
    const MS: u64 = 1_000_000;

    /// Whether a device passes that gives such counts, one every so often.
    fn passes(every_ns: u64, mut counts: impl Iterator<Item = i32>) -> bool {
        let mut test = ReportingModeDetector::new(STEP_M);
        counts.any(|count| test.is_passed_by(Vector2::new(f64::from(count) * STEP_M, 0.05), every_ns))
    }

    #[test]
    fn the_same_sample_over_and_over_is_a_stream_unless_it_comes_seldom() {
        assert!(passes(MS, [5; 4].into_iter()));
        assert!(!passes(20 * MS, [5; 1000].into_iter()));
    }

    #[test]
    fn noise_of_two_counts_round_a_handle_at_rest_is_a_stream_though_no_sample_is_like_the_one_before() {
        let noisy = (0..1000).map(|index| [0, 1, -1, 2, -2, 1][index % 6]);
        assert!(passes(MS, noisy));
    }

    #[test]
    fn a_slow_hand_that_is_reported_at_every_change_is_no_stream() {
        assert!(!passes(MS, 0..10_000));
        assert!(!passes(9 * MS, 0..10_000));
        // To and fro over five millimetres.
        assert!(!passes(MS, (0..10_000).map(|index: i32| (index % 100 - 50).abs())));
    }
}
