//! Rules for numbers in files, in addition to the rules shared by all settings.

pub use haptic_coupling::key::{ANY, POSITIVE, Rule, ZERO_OR_MORE};

/// Rule for numbers from zero to one.
pub const FRACTION: Rule = Rule { holds: |x| (0.0..=1.0).contains(&x), text: "from 0 to 1" };
/// Rule for the busy wait before each tick, s. The upper limit is long enough for the slowest wake-up and short enough
/// to leave the core to other threads.
pub const FIFTH_OF_A_TICK: Rule =
    Rule { holds: |x| (0.0..=2e-4).contains(&x), text: "from 0 to 0.0002, a fifth of a tick" };
