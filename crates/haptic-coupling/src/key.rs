//! Definitions of numeric settings: the name in files and messages, the permitted values, and the field.
//!
//! Each setting is defined once. The profile parser, the API, recordings, the validating constructors, the schema and
//! the reference use the same definition.

use std::fmt;

/// A range of numbers. Both ends are part of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// Smallest number.
    pub min: f64,
    /// Largest number.
    pub max: f64,
}

impl Range {
    /// Creates a range.
    pub const fn new(min: f64, max: f64) -> Self {
        Self { min, max }
    }

    /// Creates the range from -`max` to `max`.
    pub const fn within(max: f64) -> Self {
        Self::new(-max, max)
    }

    /// Creates the range from zero to `max`.
    pub const fn up_to(max: f64) -> Self {
        Self::new(0.0, max)
    }

    /// Whether a number is in the range.
    pub fn contains(&self, number: f64) -> bool {
        self.min <= number && number <= self.max
    }

    /// Returns a description of how a number violates the range; `None` if it does not.
    pub fn violation(&self, number: f64) -> Option<String> {
        if !number.is_finite() {
            Some(format!("must be a finite number, got {number}"))
        } else if !self.contains(number) {
            Some(format!("must be {self}, got {}", Decimal(number)))
        } else {
            None
        }
    }
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "from {} to {}", Decimal(self.min), Decimal(self.max))
    }
}

/// Shows a number as a user would write it in a file.
#[derive(Clone, Copy, Debug)]
pub struct Decimal(pub f64);

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.0;
        if number == 0.0 || (1e-4..1e7).contains(&number.abs()) {
            write!(f, "{number}")
        } else {
            write!(f, "{number:e}")
        }
    }
}

/// Definition of one numeric setting, wherever it is stored.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    /// Name in files, messages and recordings; it ends with the unit.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Values that are accepted.
    pub accepted: Range,
    /// Values that cause no warning.
    pub recommended: Range,
}

/// Numeric setting in `T`.
#[derive(Clone, Copy, Debug)]
pub struct Key<T> {
    /// Definition of the setting.
    pub number: Number,
    /// Accessor of the field.
    pub field: fn(&mut T) -> &mut f64,
}

impl<T: Copy> Key<T> {
    /// Name in files, messages and recordings.
    pub fn name(&self) -> &'static str {
        self.number.name
    }

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
/// If a value is not accepted; the error names the first such value.
pub fn check<T: Copy>(keys: &[Key<T>], settings: &T) -> Result<(), KeyError> {
    let violation = |key: &Key<T>| {
        let problem = key.number.accepted.violation(key.get(settings))?;
        Some(KeyError { key: key.name(), problem })
    };
    keys.iter().find_map(violation).map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn violations_state_the_range_and_the_number() {
        let range = Range::new(1e-6, 1e4);
        assert_eq!(range.violation(1e-6), None);
        assert_eq!(range.violation(0.0).unwrap(), "must be from 1e-6 to 10000, got 0");
        assert_eq!(range.violation(1e11).unwrap(), "must be from 1e-6 to 10000, got 1e11");
        assert_eq!(range.violation(f64::NAN).unwrap(), "must be a finite number, got NaN");
        assert_eq!(Range::within(2.0).violation(-3.0).unwrap(), "must be from -2 to 2, got -3");
    }
}
