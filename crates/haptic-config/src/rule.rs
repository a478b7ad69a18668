//! Rules of numbers in files, beside those that settings share.

pub use haptic_coupling::key::{ANY, POSITIVE, Rule, ZERO_OR_MORE};

/// From zero to one.
pub const FRACTION: Rule = Rule { holds: |x| (0.0..=1.0).contains(&x), words: "from 0 to 1" };
/// Seconds that a loop may spend awake before each tick: enough for the slowest wake-up, and the core is left to others.
pub const UP_TO_A_FIFTH_OF_A_TICK: Rule =
    Rule { holds: |x| (0.0..=2e-4).contains(&x), words: "from 0 to 0.0002, a fifth of a tick" };
