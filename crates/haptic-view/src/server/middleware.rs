//! Checks every request before it reaches its route, limits its time, and adds the security headers to the response.

use super::limits::{MAX_BODY_BYTES, REQUEST_TIMEOUT};
use super::response::HttpError;
use super::shared::Shared;
use axum::extract::{Request, State};
use axum::http::header::CONTENT_LENGTH;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Headers of every response. The page loads only from its own origin and cannot be framed, and browsers do not guess
/// content types. No referrer is sent, because the page's URL can contain the token.
const SECURITY_HEADERS: [(&str, &str); 6] = [
    (
        "content-security-policy",
        "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'",
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-resource-policy", "same-origin"),
    ("cross-origin-opener-policy", "same-origin"),
];

/// Path of the emergency stop.
pub const STOP_PATH: &str = "/api/stop";

/// What the requests of a connection are checked against.
#[derive(Clone)]
pub struct Gate {
    /// State of the server.
    pub shared: Arc<Shared>,
    /// Whether the client is on this machine, so that an emergency stop needs no token.
    pub is_local: bool,
    /// Whether only an emergency stop is served, because all other connections are in use.
    pub stops_only: bool,
}

/// Passes a request to its route, with a time limit, or rejects it.
pub async fn check_request(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let shared = &gate.shared;
    shared.counters.requests.fetch_add(1, Ordering::Relaxed);
    let summary = format!("{} {}", request.method(), request.uri().path());
    let is_traversal = is_path_traversal(request.uri().path());
    let mut response = match check(&gate, &request) {
        Ok(()) => respond_in_time(request, next).await,
        Err(error) => error.into_response(),
    };
    if is_rejection(response.status()) || is_traversal {
        shared.rejections.record(&format!("{}: {}", printable(&summary), response.status()));
    }
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn check(gate: &Gate, request: &Request) -> Result<(), HttpError> {
    let shared = &gate.shared;
    let is_stop = request.method() == Method::POST && request.uri().path() == STOP_PATH;
    shared.policy.check(request.uri(), request.headers(), is_stop && gate.is_local)?;
    if is_stop {
        // Neither a busy server nor a strange body rejects an emergency stop.
        return Ok(());
    }
    if gate.stops_only {
        let text = "too many connections; close some and try again";
        return Err(HttpError::new(StatusCode::SERVICE_UNAVAILABLE, text));
    }
    check_length(request.headers())?;
    let changes_something = !matches!(*request.method(), Method::GET | Method::HEAD);
    if !shared.admits(changes_something) {
        let text = "too many requests; send fewer, or use the stream";
        return Err(HttpError::new(StatusCode::TOO_MANY_REQUESTS, text));
    }
    Ok(())
}

/// Rejects a request whose declared body length is too large, before the body arrives.
fn check_length(headers: &HeaderMap) -> Result<(), HttpError> {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > MAX_BODY_BYTES as u64) { Err(HttpError::too_large()) } else { Ok(()) }
}

async fn respond_in_time(request: Request, next: Next) -> Response {
    tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await.unwrap_or_else(|_| {
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive or to process").into_response()
    })
}

/// Whether a status is worth logging. An unknown name or an invalid value is an ordinary mistake, which the response
/// reports to the client.
fn is_rejection(status: StatusCode) -> bool {
    let is_ordinary = matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::CONFLICT
            | StatusCode::METHOD_NOT_ALLOWED
    );
    status.is_client_error() && !is_ordinary
}

/// Whether a path attempts to leave the page's folder. The attempt cannot succeed, because files are looked up by exact
/// name, but it is logged.
fn is_path_traversal(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.starts_with("//") || ["..", "%2e", "%2f", "%5c", "%00"].iter().any(|trick| path.contains(trick))
}

/// Returns the beginning of a text for the log, with control characters replaced.
fn printable(text: &str) -> String {
    text.chars().take(80).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_traversal_is_detected_and_ordinary_paths_are_not() {
        for path in ["/../etc/passwd", "/%2E%2e/etc", "/..%2fetc", "//etc/passwd", "/index.html%00.js", "/a%5Cb"] {
            assert!(is_path_traversal(path), "{path}");
        }
        for path in ["/", "/main.js", "/api/state", "/api/scenes/two%20words.svg"] {
            assert!(!is_path_traversal(path), "{path}");
        }
    }
}
