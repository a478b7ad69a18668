//! Parsers for the values of options.

use clap::builder::{PossibleValuesParser, TypedValueParser};
use haptic_config::keys::{FILES, SectionSpec};
use std::fmt;
use std::net::SocketAddr;

/// A kind of TOML file: its name and its top level.
pub type FileType = (&'static str, &'static SectionSpec);

/// Longest accepted duration, s: more than a hundred days. A larger value is probably a typo.
const MAX_SECONDS: f64 = 1e7;
/// Longest accepted delay, ms: nearly three hours. A larger value is probably a typo.
const MAX_MILLISECONDS: f64 = 1e7;

/// Error for a rejected value of an option. The message states which values are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueError {
    Fraction,
    Address,
    AboveZero,
    Seconds,
    SecondsAboveZero,
    Milliseconds,
}

impl fmt::Display for ValueError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fraction => f.write_str("give a fraction from 0 to 1, e.g. 0.01 for one in a hundred"),
            Self::Address => f.write_str("give an address and a port, e.g. 127.0.0.1:8520"),
            Self::AboveZero => f.write_str("give a number above zero, e.g. 60"),
            Self::Seconds => write!(f, "give a number of seconds from 0 to {MAX_SECONDS:e}, e.g. 2.5"),
            Self::SecondsAboveZero => {
                write!(f, "give a number of seconds above 0, up to {MAX_SECONDS:e}, e.g. 10")
            }
            Self::Milliseconds => write!(f, "give a number of milliseconds from 0 to {MAX_MILLISECONDS:e}, e.g. 2"),
        }
    }
}

impl std::error::Error for ValueError {}

fn number(text: &str, is_valid: impl Fn(f64) -> bool, error: ValueError) -> Result<f64, ValueError> {
    text.parse().ok().filter(|&number| is_valid(number)).ok_or(error)
}

pub(super) fn file_kind() -> impl TypedValueParser<Value = FileType> {
    PossibleValuesParser::new(FILES.map(|(name, _)| name))
        .try_map(|name| FILES.into_iter().find(|(known, _)| *known == name).ok_or("no such kind of file"))
}

pub(super) fn fraction(text: &str) -> Result<f64, ValueError> {
    number(text, |fraction| (0.0..=1.0).contains(&fraction), ValueError::Fraction)
}

pub(super) fn above_zero(text: &str) -> Result<f64, ValueError> {
    number(text, |number| number > 0.0 && number.is_finite(), ValueError::AboveZero)
}

pub(super) fn seconds(text: &str) -> Result<f64, ValueError> {
    number(text, |seconds| (0.0..=MAX_SECONDS).contains(&seconds), ValueError::Seconds)
}

/// Parses the duration of a measurement. Zero is rejected, because an empty result would look like a good one.
pub(super) fn seconds_above_zero(text: &str) -> Result<f64, ValueError> {
    number(text, |seconds| seconds > 0.0 && seconds <= MAX_SECONDS, ValueError::SecondsAboveZero)
}

pub(super) fn milliseconds(text: &str) -> Result<f64, ValueError> {
    number(text, |milliseconds| (0.0..=MAX_MILLISECONDS).contains(&milliseconds), ValueError::Milliseconds)
}

pub(super) fn address(text: &str) -> Result<SocketAddr, ValueError> {
    text.parse().map_err(|_| ValueError::Address)
}
