//! Answers: JSON, or an error that says what would be right.

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

/// What went wrong with a request: the status, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpError {
    pub status: StatusCode,
    pub text: String,
}

impl HttpError {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
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
    fn from(refusal: ControlError) -> Self {
        let status = match refusal {
            ControlError::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            ControlError::NotNow(_) => StatusCode::CONFLICT,
            ControlError::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
        };
        Self::new(status, refusal.to_string())
    }
}

/// A message as an answer.
pub fn json(message: &impl Serialize) -> Response {
    json_text(crate::message::json(message))
}

/// JSON text as an answer.
pub fn json_text(text: impl Into<Body>) -> Response {
    text_response("application/json", text)
}

/// Text of some kind that is not kept by anybody.
pub fn text_response(content_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What a body says; `example` is what would be right. No body at all is an empty object.
pub fn parse<T: DeserializeOwned>(body: &Bytes, example: &str) -> Result<T, HttpError> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        let (status, problem) = match error.classify() {
            Category::Data => (StatusCode::UNPROCESSABLE_ENTITY, "the body is not what is needed"),
            _ if is_json_but_for_numbers(body) => (StatusCode::UNPROCESSABLE_ENTITY, "a number is not finite"),
            _ => (StatusCode::BAD_REQUEST, "the body is not JSON"),
        };
        HttpError::new(status, format!("{problem}: {error}; send e.g. {example}"))
    })
}

/// An object that says nothing twice: of two values for one key nobody knows which is meant.
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

/// Whether only its numbers keep a body from being JSON: many a program writes `NaN` and `Infinity` as if they were, and
/// `1e400` is JSON but no number that we have. Those are wrong values, not a wrong way to say them.
fn is_json_but_for_numbers(body: &[u8]) -> bool {
    // What is ignored must be well-formed, but is not made a number.
    serde_json::from_slice::<IgnoredAny>(&with_zeros(body)).is_ok()
}

/// The text with a zero in place of every number that JSON does not have.
fn with_zeros(body: &[u8]) -> Vec<u8> {
    const NON_FINITE: [&[u8]; 3] = [b"NaN", b"-Infinity", b"Infinity"];
    let (mut text, mut rest, mut is_quoted) = (Vec::with_capacity(body.len()), body, false);
    while let [first, ..] = rest {
        let stranger = NON_FINITE.into_iter().find(|stranger| !is_quoted && rest.starts_with(stranger));
        let taken = match stranger {
            Some(stranger) => stranger.len(),
            // Whatever follows a backslash ends no quotation.
            None if *first == b'\\' => rest.len().min(2),
            None => 1,
        };
        is_quoted ^= *first == b'"';
        text.extend_from_slice(if stranger.is_some() { b"0" } else { &rest[..taken] });
        rest = &rest[taken..];
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(body: &'static str) -> u16 {
        let parsed = parse::<serde_json::Value>(&Bytes::from_static(body.as_bytes()), "{}");
        parsed.map_or_else(|problem| problem.status.as_u16(), |_| 200)
    }

    #[test]
    fn numbers_that_are_not_finite_are_wrong_values_and_all_else_is_not_json() {
        for body in [r#"{"a":NaN}"#, r#"{"a":-Infinity}"#, r#"[Infinity, 1e400]"#, r#"{"a":-1e999,"b":"\"NaN"}"#] {
            assert_eq!(status(body), 422, "{body}");
        }
        for body in ["NaN,", r#"{"a":nan}"#, r#"{"a":"NaN}"#, r#"{NaN:1}"#, r#"{"a":NaN"#, "1e400x", r#""\"#] {
            assert_eq!(status(body), 400, "{body}");
        }
        assert_eq!(status(r#"{"a":"NaN, \"Infinity\", 1e400"}"#), 200);
    }
}
