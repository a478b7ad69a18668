//! Middleware of every request: access policy, rate and size limits, a timeout, security headers.

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

/// The page loads nothing from elsewhere, is not framed, and sends no referrer: its URL can hold the token.
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

/// Passes a request to its handler, in bounded time, or rejects it.
pub async fn gate(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    shared.counters.requests.fetch_add(1, Ordering::Relaxed);
    let what = format!("{} {}", request.method(), request.uri().path());
    let leaves_page = is_path_traversal(request.uri().path());
    let mut response = match check(&shared, &request) {
        Some(error) => error.into_response(),
        None => respond_in_time(request, next).await,
    };
    if is_logged(response.status()) || leaves_page {
        shared.rejections.log(&format!("{}: {}", printable(&what), response.status()));
    }
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    response
}

fn check(shared: &Shared, request: &Request) -> Option<HttpError> {
    let objection = shared.policy.objection(request.uri(), request.headers());
    objection.or_else(|| too_large(request.headers())).or_else(|| {
        let changes_something = !matches!(*request.method(), Method::GET | Method::HEAD);
        let text = "too many requests; send fewer, or use the stream";
        (!shared.admits(changes_something)).then(|| HttpError::new(StatusCode::TOO_MANY_REQUESTS, text))
    })
}

/// Rejects a body with too large a declared length before it arrives.
fn too_large(headers: &HeaderMap) -> Option<HttpError> {
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok()?;
    (length > MAX_BODY_BYTES as u64).then(HttpError::too_large)
}

async fn respond_in_time(request: Request, next: Next) -> Response {
    tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await.unwrap_or_else(|_| {
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive or to answer").into_response()
    })
}

/// Whether a status is logged: a wrong name or value is no attack, and its sender gets the error text.
fn is_logged(status: StatusCode) -> bool {
    let is_ordinary = matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::CONFLICT
            | StatusCode::METHOD_NOT_ALLOWED
    );
    status.is_client_error() && !is_ordinary
}

/// Whether a path tries to leave the page. Assets are a list of names, so it finds nothing, but the attempt is logged.
fn is_path_traversal(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.starts_with("//") || ["..", "%2e", "%2f", "%5c", "%00"].iter().any(|trick| path.contains(trick))
}

/// The start of a request without control characters, for the log.
fn printable(text: &str) -> String {
    text.chars().take(80).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn path_traversal_is_detected_and_plain_paths_are_not() {
        for path in ["/../etc/passwd", "/%2E%2e/etc", "/..%2fetc", "//etc/passwd", "/index.html%00.js", "/a%5Cb"] {
            assert!(is_path_traversal(path), "{path}");
        }
        for path in ["/", "/main.js", "/api/state", "/api/scenes/two%20words.svg"] {
            assert!(!is_path_traversal(path), "{path}");
        }
    }
}
