//! Single values of a file.

use toml::Spanned;
use toml::de::DeValue;

/// Returns a number; `None` for anything else.
pub fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Integer(_) => whole_of(value).map(|whole| whole as f64),
        _ => None,
    }
}

/// Returns an integer; `None` for anything else.
pub fn whole_of(value: &DeValue<'_>) -> Option<i64> {
    value.as_integer().and_then(|integer| i64::from_str_radix(integer.as_str(), integer.radix()).ok())
}

/// Returns a text; `None` for anything else.
pub fn text_of(value: &Spanned<DeValue<'_>>) -> Option<String> {
    value.get_ref().as_str().map(str::to_owned)
}

/// Describes a value in an error.
pub fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(entries) => format!("a list of {}", entries.len()),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

/// Lists names in quotation marks.
pub fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}
