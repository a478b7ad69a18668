//! Responses: JSON, or an error with its remedy.

use super::limits::MAX_BODY_BYTES;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use haptic_loop::control::ControlError;
use serde::de::{DeserializeOwned, Error, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::error::Category;
use serde_json::{Map, Value};
use std::fmt;

/// An error response: status, and text with the problem and its remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    pub status: StatusCode,
    pub text: String,
}

impl HttpError {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    /// Creates an error for an invalid value, status 422.
    pub fn invalid(text: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, text)
    }

    pub fn too_large() -> Self {
        let text = format!("the body is larger than {} KiB", MAX_BODY_BYTES >> 10);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    }
}

impl IntoResponse for HttpError {
    fn into_response(self) -> Response {
        let body = crate::message::json(&serde_json::json!({ "error": self.text }));
        (self.status, json_text(body)).into_response()
    }
}

impl From<ControlError> for HttpError {
    fn from(error: ControlError) -> Self {
        let status = match error {
            ControlError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ControlError::NotNow(_) => StatusCode::CONFLICT,
            ControlError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, error.to_string())
    }
}

/// Returns a response with a message as JSON.
pub fn json(message: &impl Serialize) -> Response {
    json_text(crate::message::json(message))
}

/// Returns a response with JSON text.
pub fn json_text(body: impl Into<Body>) -> Response {
    text("application/json", body)
}

/// Returns a response with the given content type and body, marked as not cacheable.
pub fn text(content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Parses a body. An empty body counts as an empty object. `example` is a correct body for the error message.
pub fn parse<T: DeserializeOwned>(body: &Bytes, example: &str) -> Result<T, HttpError> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        let (status, problem) = match error.classify() {
            Category::Data => (StatusCode::UNPROCESSABLE_ENTITY, "the body does not match"),
            _ if is_json_but_for_numbers(body) => (StatusCode::UNPROCESSABLE_ENTITY, "a number is not finite"),
            _ => (StatusCode::BAD_REQUEST, "the body is not JSON"),
        };
        HttpError::new(status, format!("{problem}: {error}; send e.g. {example}"))
    })
}

/// A JSON object without duplicate keys. With two values for one key, it would be unclear which is meant.
pub struct UniqueKeys(pub Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueKeys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = UniqueKeys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<UniqueKeys, A::Error> {
                let mut keys = Map::new();
                while let Some((key, value)) = access.next_entry::<String, Value>()? {
                    if keys.contains_key(&key) {
                        return Err(Error::custom(format!("duplicate field `{key}`")));
                    }
                    keys.insert(key, value);
                }
                Ok(UniqueKeys(keys))
            }
        }
        deserializer.deserialize_map(Keys)
    }
}

/// Whether a body is JSON except for its numbers. Many programs write `NaN` and `Infinity`, which JSON lacks, and
/// `1e400` is JSON but out of range. These are invalid values, not invalid syntax.
fn is_json_but_for_numbers(body: &[u8]) -> bool {
    // An ignored value must be well-formed, but is not converted to a number.
    serde_json::from_slice::<IgnoredAny>(&with_zeros(body)).is_ok()
}

/// Replaces `NaN`, `Infinity` and `-Infinity` outside strings with zeros.
fn with_zeros(body: &[u8]) -> Vec<u8> {
    const NON_FINITE: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let (mut replaced, mut rest, mut is_quoted) = (Vec::with_capacity(body.len()), body, false);
    while let [first, ..] = rest {
        let non_finite = NON_FINITE.into_iter().find(|non_finite| !is_quoted && rest.starts_with(non_finite));
        let taken = match non_finite {
            Some(non_finite) => non_finite.len(),
            // A character after a backslash does not end the string.
            None if *first == b'\\' => rest.len().min(2),
            None => 1,
        };
        is_quoted ^= *first == b'"';
        replaced.extend_from_slice(if non_finite.is_some() { b"0" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    replaced
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(body: &'static str) -> u16 {
        let parsed = parse::<serde_json::Value>(&Bytes::from_static(body.as_bytes()), "{}");
        parsed.map_or_else(|error| error.status.as_u16(), |_| 200)
    }

    #[test]
    fn non_finite_numbers_are_invalid_values_and_all_else_is_not_json() {
        for body in [r#"{"a":NaN}"#, r#"{"a":-Infinity}"#, r#"[Infinity, 1e400]"#, r#"{"a":-1e999,"b":"\"NaN"}"#] {
            assert_eq!(status(body), 422, "{body}");
        }
        for body in ["NaN,", r#"{"a":nan}"#, r#"{"a":"NaN}"#, r#"{NaN:1}"#, r#"{"a":NaN"#, "1e400x", r#""\"#] {
            assert_eq!(status(body), 400, "{body}");
        }
        assert_eq!(status(r#"{"a":"NaN, \"Infinity\", 1e400"}"#), 200);
    }
}
