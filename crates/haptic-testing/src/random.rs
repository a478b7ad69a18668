//! Reproducible random numbers.

/// 64-bit xorshift generator (Marsaglia). The same seed gives the same numbers on every machine. The seed must not be
/// zero.
///
/// Separate from the product's own generator, so that a change there does not change the test cases.
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// Returns the next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number from `low` up to, but not including, `high`.
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns an index below `count`.
    pub fn index(&mut self, count: usize) -> usize {
        (self.bits() >> 20) as usize % count
    }
}
