//! Hashing of 64-bit words. Recordings and golden files contain the hashes, so the constants must never change.

/// 2⁶⁴ divided by the golden ratio, rounded down. As a multiplier, it spreads consecutive numbers evenly.
pub const GOLDEN_RATIO: u64 = 0x9E37_79B9_7F4A_7C15;
/// Multiplier from the finaliser of splitmix64.
pub const SPLITMIX: u64 = 0xBF58_476D_1CE4_E5B9;
/// Initial value of a hash, from FNV-1a.
pub const OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
/// Multiplier of 64-bit FNV-1a.
const FNV_PRIME: u64 = 0x0100_0000_01b3;

/// Returns the bits of a number, with −0 mapped to +0, so that equal numbers have equal hashes.
#[inline]
pub fn number_bits(number: f64) -> u64 {
    (number + 0.0).to_bits()
}

/// Mixes a word into a hash: one round of a 64-bit mixer with two multiplications. In one round, the highest bits of
/// the word affect only about half of the bits of the hash; the next round spreads them to the rest.
#[inline]
pub fn mix(hash: u64, word: u64) -> u64 {
    let x = (hash ^ word).wrapping_mul(GOLDEN_RATIO);
    (x ^ (x >> 29)).wrapping_mul(SPLITMIX) ^ (x >> 32)
}

/// Mixes a word into a hash with a single multiplication, for numbers that are hashed in every tick.
#[inline]
pub fn mix_fast(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(GOLDEN_RATIO).rotate_left(29)
}

/// Mixes a word into a hash: one round of FNV-1a, applied to a whole word instead of a byte.
#[inline]
pub fn mix_fnv(hash: u64, word: u64) -> u64 {
    (hash ^ word).wrapping_mul(FNV_PRIME)
}
