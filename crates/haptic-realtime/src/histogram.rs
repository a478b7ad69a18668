//! A fixed-size histogram of durations that the loop can update without allocating.
//!
//! The buckets are log-linear: exact below 64 ns, then 64 buckets per octave, so a percentile is never below the true
//! value and at most 1/64 (1.6 %) above it. `hdrhistogram` was rejected because a plain array can be copied to the
//! supervisor with one `memcpy`, and recording is a shift and an increment without a branch for resizing.

use serde::Serialize;

/// Number of buckets per octave. Below this many nanoseconds, every nanosecond has its own bucket. Twice as many
/// buckets would halve the error and double the size of a copy.
const BUCKETS_PER_OCTAVE: usize = 1 << OCTAVE_BITS;
const OCTAVE_BITS: u32 = 6;

/// Durations of at least `2^HIGHEST_BIT` ns (34 s) share the last bucket; their exact maximum is stored separately.
const HIGHEST_BIT: u32 = 35;

const BUCKET_COUNT: usize = BUCKETS_PER_OCTAVE * (HIGHEST_BIT - OCTAVE_BITS + 1) as usize;

/// Counts of durations in nanoseconds. 15 KiB, no heap.
///
/// Not `Copy`, so that copies are explicit: use [`Histogram::copy_from`] into existing memory.
#[derive(Clone, PartialEq, Eq)]
pub struct Histogram {
    counts: [u64; BUCKET_COUNT],
    total: u64,
    sum_ns: u64,
    max_ns: u64,
}

/// Percentiles of the recorded durations, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Percentiles {
    /// Median: half of all durations do not exceed it.
    pub p50: u64,
    /// 99 % of all durations do not exceed this.
    pub p99: u64,
    /// 99.9 % of all durations do not exceed this.
    pub p999: u64,
    /// Maximum, exact.
    pub max: u64,
}

impl Histogram {
    /// Creates an empty histogram.
    pub const fn new() -> Self {
        Self { counts: [0; BUCKET_COUNT], total: 0, sum_ns: 0, max_ns: 0 }
    }

    /// Counts one duration. Durations beyond the range count in the last bucket. Real-time: constant, no allocation.
    pub fn record(&mut self, duration_ns: u64) {
        if let Some(count) = self.counts.get_mut(bucket_of(duration_ns)) {
            *count += 1;
        }
        self.total += 1;
        self.sum_ns = self.sum_ns.saturating_add(duration_ns);
        self.max_ns = self.max_ns.max(duration_ns);
    }

    /// Number of recorded durations.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The longest duration, exact; 0 when empty.
    pub fn max_ns(&self) -> u64 {
        self.max_ns
    }

    /// Sum of the recorded durations, ns.
    pub fn sum_ns(&self) -> u64 {
        self.sum_ns
    }

    /// The mean duration; 0 when empty.
    pub fn mean_ns(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum_ns as f64 / self.total as f64 }
    }

    /// Returns the smallest duration, ns, that at least `per_mille` ‰ of the recorded durations do not exceed, rounded
    /// up to the end of its bucket; 0 when empty.
    pub fn per_mille_ns(&self, per_mille: u64) -> u64 {
        let wanted = self.total.saturating_mul(per_mille).div_ceil(1000).max(1);
        let mut seen = 0;
        for (bucket, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return last_of(bucket).min(self.max_ns);
            }
        }
        self.max_ns
    }

    /// Returns the median, the 99th and 99.9th percentiles, and the maximum.
    pub fn percentiles(&self) -> Percentiles {
        Percentiles {
            p50: self.per_mille_ns(500),
            p99: self.per_mille_ns(990),
            p999: self.per_mille_ns(999),
            max: self.max_ns,
        }
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
        self.total += other.total;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
    }

    /// Copies `other` into existing memory. Real-time: one copy of 15 KiB, no allocation.
    pub fn copy_from(&mut self, other: &Histogram) {
        self.counts.copy_from_slice(&other.counts);
        (self.total, self.sum_ns, self.max_ns) = (other.total, other.sum_ns, other.max_ns);
    }

    /// For each non-empty bucket, the longest duration it covers, ns, and its count; shortest durations first. For
    /// plotting.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let filled = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        filled.map(|(bucket, count)| (last_of(bucket), *count))
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Histogram {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("Histogram")
            .field("total", &self.total)
            .field("percentiles_ns", &self.percentiles())
            .finish()
    }
}

/// Returns the index of the bucket that counts a duration.
fn bucket_of(duration_ns: u64) -> usize {
    let Some(highest_bit) = duration_ns.checked_ilog2() else { return 0 };
    if highest_bit < OCTAVE_BITS {
        return duration_ns as usize;
    }
    if highest_bit >= HIGHEST_BIT {
        return BUCKET_COUNT - 1;
    }
    // The leading bit and the OCTAVE_BITS below it give 64..128 within the octave; the first octave starts at bucket
    // 64.
    let octave = highest_bit - OCTAVE_BITS;
    octave as usize * BUCKETS_PER_OCTAVE + (duration_ns >> octave) as usize
}

/// Returns the longest duration covered by a bucket, ns.
fn last_of(bucket: usize) -> u64 {
    if bucket < BUCKETS_PER_OCTAVE {
        return bucket as u64;
    }
    let octave = bucket / BUCKETS_PER_OCTAVE - 1;
    let leading = (bucket % BUCKETS_PER_OCTAVE + BUCKETS_PER_OCTAVE) as u64;
    ((leading + 1) << octave) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the exact percentile: the element of the corresponding rank in sorted order.
    fn exact(sorted: &[u64], per_mille: u64) -> u64 {
        let rank = (sorted.len() as u64 * per_mille).div_ceil(1000).max(1);
        sorted[rank as usize - 1]
    }

    fn spread_samples(count: usize) -> Vec<u64> {
        let mut noise: u64 = 7;
        let draw = |_| {
            noise = noise.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let magnitude = (noise >> 59) as u32 % 30;
            (noise >> 20) & ((2 << magnitude) - 1)
        };
        (0..count).map(draw).collect()
    }

    #[test]
    fn every_duration_lies_in_the_bucket_that_ends_at_or_after_it() {
        for bit in 0..HIGHEST_BIT {
            for duration_ns in [1u64 << bit, (1 << bit) + 1, (2 << bit) - 1] {
                let bucket = bucket_of(duration_ns);
                assert!(last_of(bucket) >= duration_ns, "{duration_ns}");
                assert!(bucket == 0 || last_of(bucket - 1) < duration_ns, "{duration_ns}");
            }
        }
    }

    #[test]
    fn percentiles_are_never_under_the_exact_ones_and_at_most_a_64th_over() {
        let mut samples = spread_samples(20_000);
        let mut histogram = Histogram::new();
        samples.iter().for_each(|sample| histogram.record(*sample));
        samples.sort_unstable();
        for per_mille in [1, 10, 250, 500, 900, 990, 999, 1000] {
            let (truth, figure) = (exact(&samples, per_mille), histogram.per_mille_ns(per_mille));
            assert!(figure >= truth, "{per_mille}: {figure} < {truth}");
            assert!(figure <= truth + truth / 64, "{per_mille}: {figure} far over {truth}");
        }
        assert_eq!(histogram.max_ns(), *samples.last().unwrap());
    }

    #[test]
    fn short_durations_are_exact() {
        let mut histogram = Histogram::new();
        (0..64).for_each(|duration_ns| histogram.record(duration_ns));
        assert_eq!(histogram.per_mille_ns(500), 31);
        assert_eq!(histogram.percentiles().max, 63);
    }

    #[test]
    fn an_absurd_duration_is_counted_and_its_maximum_is_exact() {
        let mut histogram = Histogram::new();
        histogram.record(5);
        histogram.record(u64::MAX);
        assert_eq!((histogram.total(), histogram.max_ns()), (2, u64::MAX));
        assert_eq!(histogram.per_mille_ns(500), 5);
    }

    #[test]
    fn an_empty_histogram_answers_zero() {
        assert_eq!(Histogram::new().percentiles(), Percentiles::default());
        assert_eq!(Histogram::new().mean_ns(), 0.0);
    }

    #[test]
    fn merging_equals_recording_everything_in_one() {
        let samples = spread_samples(4000);
        let (mut first, mut second, mut whole) = (Histogram::new(), Histogram::new(), Histogram::new());
        samples[..1500].iter().for_each(|sample| first.record(*sample));
        samples[1500..].iter().for_each(|sample| second.record(*sample));
        samples.iter().for_each(|sample| whole.record(*sample));
        first.merge(&second);
        assert!(first == whole);
    }

    #[test]
    fn a_copy_equals_its_source_whatever_was_there_before() {
        let (mut source, mut target) = (Histogram::new(), Histogram::new());
        source.record(1000);
        target.record(77);
        target.copy_from(&source);
        assert!(target == source);
    }
}
