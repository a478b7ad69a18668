//! Constraints on numbers.

/// Largest magnitude of any number in a file. It is far beyond every physical value in SI units, and its powers stay
/// finite, so that no value computed from a file overflows.
const MAX_MAGNITUDE: f64 = 1e12;

/// A constraint on a number: the test and its description.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    holds: fn(f64) -> bool,
    text: &'static str,
}

/// Any finite number.
pub const ANY: Rule = Rule { holds: |_| true, text: "a number" };
/// More than zero.
pub const POSITIVE: Rule = Rule { holds: |x| x > 0.0, text: "more than zero" };
/// Zero or more.
pub const ZERO_OR_MORE: Rule = Rule { holds: |x| x >= 0.0, text: "zero or more" };
/// From zero to one.
pub const FRACTION: Rule = Rule { holds: |x| (0.0..=1.0).contains(&x), text: "from 0 to 1" };
/// Time in seconds that the loop may busy-wait before each tick: long enough for the slowest wake-up, short enough to
/// leave the core to others.
pub const FIFTH_OF_A_TICK: Rule =
    Rule { holds: |x| (0.0..=2e-4).contains(&x), text: "from 0 to 0.0002, a fifth of a tick" };

impl Rule {
    /// Describes how a number violates the rule; `None` if it does not.
    pub fn violation(&self, number: f64) -> Option<String> {
        if !number.is_finite() {
            Some(format!("must be a finite number, got {number}"))
        } else if number.abs() > MAX_MAGNITUDE {
            Some(format!("must be within ±{MAX_MAGNITUDE:e}, got {number:e}"))
        } else if !(self.holds)(number) {
            Some(format!("must be {}, got {number}", self.text))
        } else {
            None
        }
    }
}
