//! Answers: JSON, or an error that says what would be right.

use super::limits::MOST_BODY_BYTES;
use crate::host::Refusal;
use axum::body::{Body, Bytes};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// What went wrong with a request: the status, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    pub status: StatusCode,
    pub text: String,
}

impl Problem {
    pub fn new(status: StatusCode, text: impl Into<String>) -> Self {
        Self { status, text: text.into() }
    }

    pub fn too_large() -> Self {
        let text = format!("the body is larger than {} KiB", MOST_BODY_BYTES >> 10);
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, text)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = crate::message::json(&serde_json::json!({ "error": self.text }));
        (self.status, json_text(body)).into_response()
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal {
            Refusal::Wrong(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Refusal::NotNow(_) => StatusCode::CONFLICT,
            Refusal::Unknown(_) => StatusCode::NOT_FOUND,
            Refusal::Busy(_) => StatusCode::SERVICE_UNAVAILABLE,
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
    text_of("application/json", text)
}

/// Text of some kind that is not kept by anybody.
pub fn text_of(content_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// What a body says; `example` is what would be right. No body at all is an empty object.
pub fn parse<T: DeserializeOwned>(body: &Bytes, example: &str) -> Result<T, Problem> {
    let body: &[u8] = if body.is_empty() { b"{}" } else { body };
    serde_json::from_slice(body).map_err(|error| {
        let is_json = error.classify() == serde_json::error::Category::Data;
        let (status, problem) = match is_json {
            true => (StatusCode::UNPROCESSABLE_ENTITY, "the body is not what is needed"),
            false => (StatusCode::BAD_REQUEST, "the body is not JSON"),
        };
        Problem::new(status, format!("{problem}: {error}; send e.g. {example}"))
    })
}
