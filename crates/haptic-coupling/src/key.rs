//! Settings by key: the name in files and messages, the rule of the value, and the field.
//!
//! One table for each group of settings serves the profile parser, the API, recordings and the constructors that validate.

use std::fmt;

/// Largest magnitude of any number in a file. It is far beyond every physical value in SI, and its powers stay finite,
/// so that nothing computed from a file overflows.
const MAX_MAGNITUDE: f64 = 1e12;

/// Condition on a number, with its description.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// Whether a finite number within the largest magnitude is valid.
    pub holds: fn(f64) -> bool,
    /// What the number must be.
    pub text: &'static str,
}

/// Any finite number.
pub const ANY: Rule = Rule { holds: |_| true, text: "a number" };
/// More than zero.
pub const POSITIVE: Rule = Rule { holds: |x| x > 0.0, text: "more than zero" };
/// Zero or more.
pub const ZERO_OR_MORE: Rule = Rule { holds: |x| x >= 0.0, text: "zero or more" };

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

/// One number of the settings `T`.
#[derive(Clone, Copy, Debug)]
pub struct Key<T> {
    /// Name in files, messages and recordings.
    pub name: &'static str,
    /// Rule of the value.
    pub rule: Rule,
    /// The field.
    pub field: fn(&mut T) -> &mut f64,
}

impl<T: Copy> Key<T> {
    /// The value in some settings.
    pub fn get(&self, settings: &T) -> f64 {
        *(self.field)(&mut { *settings })
    }
}

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyError {
    /// Its key.
    pub key: &'static str,
    /// What is wrong with its value.
    pub problem: String,
}

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.key, self.problem)
    }
}

impl std::error::Error for KeyError {}

/// Validates every number of some settings.
///
/// # Errors
/// The first value that breaks its rule.
pub fn check<T: Copy>(keys: &[Key<T>], settings: &T) -> Result<(), KeyError> {
    let violation =
        |key: &Key<T>| key.rule.violation(key.get(settings)).map(|problem| KeyError { key: key.name, problem });
    keys.iter().find_map(violation).map_or(Ok(()), Err)
}
