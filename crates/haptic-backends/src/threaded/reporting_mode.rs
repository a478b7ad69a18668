//! Detects whether a device sends samples even when nothing has changed. Only then does silence mean that the device is
//! lost.
//!
//! A device that repeats the same sample is streaming. A device with a noisy converter may stream without repeating a
//! sample, but while the handle is at rest, its samples stay within a count or two for many reports. The samples of a
//! device that reports only changes leave that band even if the handle moves slowly.

use nalgebra::Vector2;

/// Maximum interval between two samples of a streaming device, ns.
pub const STREAM_GAP_NS: u64 = 10_000_000;
/// Number of consecutive identical samples that indicates a stream.
const EQUAL_SAMPLES: u32 = 3;
/// Number of consecutive samples within the noise that indicates a stream. Fewer samples could come from the tremor of
/// a resting hand.
const NEAR_SAMPLES: u32 = 100;
/// Converter noise, counts, with a margin for rounding.
const NOISE_COUNTS: f64 = 2.01;

/// Detects the reporting mode from the samples of one device.
#[derive(Clone, Copy, Debug)]
pub struct ReportingModeDetector {
    noise_m: f64,
    before_m: Vector2<f64>,
    equal: u32,
    first_m: Vector2<f64>,
    near: u32,
}

impl ReportingModeDetector {
    /// Creates a detector for a device with this encoder step, m.
    pub fn new(step_m: f64) -> Self {
        let none_m = Vector2::repeat(f64::NAN);
        Self { noise_m: NOISE_COUNTS * step_m, before_m: none_m, equal: 0, first_m: none_m, near: 0 }
    }

    /// Adds a sample taken `elapsed_ns` after the previous one. Returns whether the samples indicate a stream.
    pub fn update(&mut self, position_m: Vector2<f64>, elapsed_ns: u64) -> bool {
        let is_soon = elapsed_ns < STREAM_GAP_NS;
        let is_equal = is_soon && position_m == self.before_m;
        let is_near = is_soon && (position_m - self.first_m).amax() <= self.noise_m;
        self.before_m = position_m;
        self.equal = if is_equal { self.equal.saturating_add(1) } else { 0 };
        (self.first_m, self.near) = if is_near { (self.first_m, self.near.saturating_add(1)) } else { (position_m, 0) };
        self.equal >= EQUAL_SAMPLES || self.near >= NEAR_SAMPLES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP_M: f64 = 1e-4;
    const MS: u64 = 1_000_000;

    /// Whether samples with these counts and this interval are detected as a stream.
    fn streams(every_ns: u64, mut counts: impl Iterator<Item = i32>) -> bool {
        let mut detector = ReportingModeDetector::new(STEP_M);
        counts.any(|count| detector.update(Vector2::new(f64::from(count) * STEP_M, 0.05), every_ns))
    }

    #[test]
    fn repeated_samples_are_a_stream_unless_they_are_far_apart() {
        assert!(streams(MS, [5; 4].into_iter()));
        assert!(!streams(20 * MS, [5; 1000].into_iter()));
    }

    #[test]
    fn noise_of_two_counts_at_rest_is_a_stream_even_if_no_sample_equals_the_one_before() {
        let noisy = (0..1000).map(|index| [0, 1, -1, 2, -2, 1][index % 6]);
        assert!(streams(MS, noisy));
    }

    #[test]
    fn a_slow_hand_with_a_report_for_each_change_is_not_a_stream() {
        assert!(!streams(MS, 0..10_000));
        assert!(!streams(9 * MS, 0..10_000));
        // Back and forth over five millimetres.
        assert!(!streams(MS, (0..10_000).map(|index: i32| (index % 100 - 50).abs())));
    }
}
