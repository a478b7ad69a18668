//! What a number must be.

/// Largest magnitude of any number in a file. It is far beyond every physical value in SI, and its powers stay finite,
/// so that nothing computed from a file overflows.
const MAX_MAGNITUDE: f64 = 1e12;

/// What a number must be, as a test and in words.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    holds: fn(f64) -> bool,
    words: &'static str,
}

/// Any finite number.
pub const ANY: Rule = Rule { holds: |_| true, words: "a number" };
/// More than zero.
pub const POSITIVE: Rule = Rule { holds: |x| x > 0.0, words: "more than zero" };
/// Zero or more.
pub const ZERO_OR_MORE: Rule = Rule { holds: |x| x >= 0.0, words: "zero or more" };
/// From zero to one.
pub const FRACTION: Rule = Rule { holds: |x| (0.0..=1.0).contains(&x), words: "from 0 to 1" };
/// Seconds that a loop may spend awake before each tick: enough for the slowest wake-up, and the core is left to others.
pub const UP_TO_A_FIFTH_OF_A_TICK: Rule =
    Rule { holds: |x| (0.0..=2e-4).contains(&x), words: "from 0 to 0.0002, a fifth of a tick" };

impl Rule {
    /// What is wrong with the number, if anything.
    pub fn objection(&self, number: f64) -> Option<String> {
        if !number.is_finite() {
            Some(format!("must be a finite number, got {number}"))
        } else if number.abs() > MAX_MAGNITUDE {
            Some(format!("must be within ±{MAX_MAGNITUDE:e}, got {number:e}"))
        } else if !(self.holds)(number) {
            Some(format!("must be {}, got {number}", self.words))
        } else {
            None
        }
    }
}
