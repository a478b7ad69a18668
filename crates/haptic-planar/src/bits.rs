//! Mixing of 64-bit words into hashes.

/// 2⁶⁴ divided by the golden ratio, odd: spreads consecutive numbers evenly.
pub const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
/// Second multiplier of [`mix`], from the finaliser of splitmix64.
const SPLITMIX: u64 = 0xBF58_476D_1CE4_E5B9;

/// One round of a 64-bit mixer: every bit of the word reaches every bit of the hash.
pub fn mix(hash: u64, word: u64) -> u64 {
    let x = (hash ^ word).wrapping_mul(GOLDEN_RATIO);
    (x ^ (x >> 29)).wrapping_mul(SPLITMIX) ^ (x >> 32)
}
