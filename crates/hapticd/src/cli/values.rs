//! Parsers for the values of options. A rejected value is answered with the accepted ones and with the option and a
//! value to give: its default if it has one.

use clap::builder::{PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use haptic_config::keys::{FILES, SectionSpec};
use std::ffi::OsStr;
use std::fmt;
use std::net::SocketAddr;

/// A kind of TOML file: its name and its top level.
pub type FileType = (&'static str, &'static SectionSpec);

/// Longest accepted duration, s: more than a hundred days. A larger value is probably a typo.
const MAX_SECONDS: f64 = 1e7;
/// Longest accepted delay, ms: nearly three hours. A larger value is probably a typo.
const MAX_MILLISECONDS: f64 = 1e7;

/// Parser for the value of an option.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueOf<T> {
    parse: fn(&str) -> Option<T>,
    accepted: &'static str,
    /// Value to give if the option has no default.
    example: &'static str,
}

/// Error for a rejected value of an option.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rejected {
    accepted: &'static str,
    remedy: String,
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "must be {}; give {}", self.accepted, self.remedy)
    }
}

impl std::error::Error for Rejected {}

impl<T: Clone + Send + Sync + 'static> TypedValueParser for ValueOf<T> {
    type Value = T;

    fn parse_ref(&self, command: &Command, option: Option<&Arg>, value: &OsStr) -> Result<T, Error> {
        let rejected = Rejected { accepted: self.accepted, remedy: self.remedy(option) };
        let parse = self.parse;
        let parser = StringValueParser::new().try_map(move |text| parse(&text).ok_or_else(|| rejected.clone()));
        parser.parse_ref(command, option, value)
    }
}

pub(super) fn file_kind() -> impl TypedValueParser<Value = FileType> {
    PossibleValuesParser::new(FILES.map(|(name, _)| name))
        .try_map(|name| FILES.into_iter().find(|(known, _)| *known == name).ok_or("no such kind of file"))
}

impl<T> ValueOf<T> {
    fn remedy(&self, option: Option<&Arg>) -> String {
        let flag = option.and_then(Arg::get_long).map_or(String::new(), |name| format!("--{name} "));
        let default = option.and_then(|option| option.get_default_values().first()).and_then(|text| text.to_str());
        format!("{flag}{}", default.unwrap_or(self.example))
    }
}

fn number(text: &str, is_valid: impl Fn(f64) -> bool) -> Option<f64> {
    text.parse().ok().filter(|&number| is_valid(number))
}

pub(super) const fn fraction() -> ValueOf<f64> {
    let parse = |text: &str| number(text, |fraction| (0.0..=1.0).contains(&fraction));
    ValueOf { parse, accepted: "a fraction from 0 to 1", example: "0.01" }
}

/// Parses a number above zero; the example is in the unit of the option.
pub(super) const fn above_zero(example: &'static str) -> ValueOf<f64> {
    let parse = |text: &str| number(text, |number| number > 0.0 && number.is_finite());
    ValueOf { parse, accepted: "a number above zero", example }
}

pub(super) const fn seconds() -> ValueOf<f64> {
    let parse = |text: &str| number(text, |seconds| (0.0..=MAX_SECONDS).contains(&seconds));
    ValueOf { parse, accepted: "a number of seconds from 0 to 1e7", example: "10" }
}

/// Parses the duration of a measurement. Zero is rejected, because an empty result would look like a good one.
pub(super) const fn seconds_above_zero() -> ValueOf<f64> {
    let parse = |text: &str| number(text, |seconds| seconds > 0.0 && seconds <= MAX_SECONDS);
    ValueOf { parse, accepted: "a number of seconds above 0, up to 1e7", example: "10" }
}

pub(super) const fn milliseconds() -> ValueOf<f64> {
    let parse = |text: &str| number(text, |milliseconds| (0.0..=MAX_MILLISECONDS).contains(&milliseconds));
    ValueOf { parse, accepted: "a number of milliseconds from 0 to 1e7", example: "2" }
}

pub(super) const fn points() -> ValueOf<u16> {
    let parse = |text: &str| text.parse().ok().filter(|points| (2..=1000).contains(points));
    ValueOf { parse, accepted: "a whole number from 2 to 1000", example: "28" }
}

pub(super) const fn seed() -> ValueOf<u64> {
    ValueOf { parse: |text| text.parse().ok(), accepted: "a whole number from 0 to 18446744073709551615", example: "1" }
}

pub(super) const fn address() -> ValueOf<SocketAddr> {
    ValueOf { parse: |text| text.parse().ok(), accepted: "an address and a port", example: "127.0.0.1:8520" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_name_the_limits() {
        assert_eq!((MAX_SECONDS, MAX_MILLISECONDS), (1e7, 1e7));
        let texts = [seconds().accepted, seconds_above_zero().accepted, milliseconds().accepted];
        assert!(texts.iter().all(|text| text.ends_with("1e7")), "{texts:?}");
    }

    #[test]
    fn every_example_is_accepted() {
        for parser in [fraction(), above_zero("60"), seconds(), seconds_above_zero(), milliseconds()] {
            assert!((parser.parse)(parser.example).is_some(), "{}", parser.example);
        }
        assert!((points().parse)(points().example).is_some() && (seed().parse)(seed().example).is_some());
        assert!((address().parse)(address().example).is_some());
    }

    #[test]
    fn a_rejected_value_is_answered_with_the_option_and_its_default() {
        let option = |default: Option<&'static str>| {
            let option = Arg::new("travel").long("travel-m").value_parser(above_zero("0.05"));
            default.map_or(option.clone(), |text| option.default_value(text))
        };
        for (default, remedy) in [(Some("0.02"), "give --travel-m 0.02"), (None, "give --travel-m 0.05")] {
            let command = Command::new("x").arg(option(default));
            let text = command.try_get_matches_from(["x", "--travel-m=-0.1"]).unwrap_err().to_string();
            assert!(text.contains(&format!("must be a number above zero; {remedy}")), "{text}");
        }
    }
}
