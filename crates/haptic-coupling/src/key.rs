//! Keys of numeric settings: the name in files and messages, the rule for the value, and the field.
//!
//! One table per group of settings serves the profile parser, the API, recordings and the validating constructors.

use std::fmt;

/// Largest permitted magnitude of any number in a file. It is far beyond every physical value in SI units, and its
/// powers remain finite, so that nothing computed from a file overflows.
const MAX_MAGNITUDE: f64 = 1e12;

/// Condition on a number, with its description.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Function that returns whether a number is valid, given that it is finite and within ±1e12.
    pub holds: fn(f64) -> bool,
    /// Description of valid numbers.
    pub text: &'static str,
}

/// Rule for any finite number.
pub const ANY: Rule = Rule { holds: |_| true, text: "a number" };
/// Rule for numbers greater than zero.
pub const POSITIVE: Rule = Rule { holds: |x| x > 0.0, text: "more than zero" };
/// Rule for non-negative numbers.
pub const ZERO_OR_MORE: Rule = Rule { holds: |x| x >= 0.0, text: "zero or more" };

impl Rule {
    /// Returns a description of how a number violates the rule; `None` if it does not.
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

/// Key of one numeric setting in `T`.
#[derive(Clone, Copy, Debug)]
pub struct Key<T> {
    /// Name in files, messages and recordings.
    pub name: &'static str,
    /// Rule for the value.
    pub rule: Rule,
    /// Accessor of the field.
    pub field: fn(&mut T) -> &mut f64,
}

impl<T: Copy> Key<T> {
    /// Returns the value in the given settings.
    pub fn get(&self, settings: &T) -> f64 {
        *(self.field)(&mut { *settings })
    }
}

/// Error for an invalid setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// Key of the setting.
    pub key: &'static str,
    /// Problem with the value.
    pub problem: String,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.problem)
    }
}

impl std::error::Error for KeyError {}

/// Validates every number of the given settings.
///
/// # Errors
/// If a value violates its rule; the error names the first such value.
pub fn check<T: Copy>(keys: &[Key<T>], settings: &T) -> Result<(), KeyError> {
    let violation =
        |key: &Key<T>| key.rule.violation(key.get(settings)).map(|problem| KeyError { key: key.name, problem });
    keys.iter().find_map(violation).map_or(Ok(()), Err)
}
