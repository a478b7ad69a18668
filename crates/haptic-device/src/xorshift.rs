//! A small generator of reproducible random numbers (xorshift64*).

/// Random number generator; a given seed gives the same numbers on every machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Xorshift {
    state: u64,
}

impl Xorshift {
    /// Creates a generator. Every seed is valid.
    pub const fn new(seed: u64) -> Self {
        // The odd constant gives similar seeds different sequences. The state must never be zero.
        let mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03;
        Self { state: if mixed == 0 { 1 } else { mixed } }
    }

    /// Returns the next 64 random bits.
    ///
    /// Real-time: seven integer operations.
    pub fn bits(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// Returns a random number from zero (inclusive) to one (exclusive).
    ///
    /// Real-time: same as [`Self::bits`].
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Returns a random number between `low` and `high`.
    ///
    /// Real-time: same as [`Self::bits`].
    pub fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fill_the_unit_interval_evenly() {
        let mut random = Xorshift::new(0);
        let mut bins = [0; 10];
        for _ in 0..100_000 {
            bins[(random.unit() * 10.0) as usize] += 1;
        }
        assert!(bins.iter().all(|&count| (9_500..10_500).contains(&count)), "{bins:?}");
    }

    #[test]
    fn near_seeds_give_different_beginnings() {
        assert_ne!(Xorshift::new(1).bits() >> 32, Xorshift::new(2).bits() >> 32);
    }
}
