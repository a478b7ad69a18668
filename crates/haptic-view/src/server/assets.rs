//! The page: everything that was in `assets/` when the program was built, found by its exact name.

use super::response::{HttpError, text_response};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Names and contents.
static ASSETS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// What a name is served as.
const TYPES: [(&str, &str); 9] = [
    ("html", "text/html; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("json", "application/json"),
    ("webmanifest", "application/manifest+json"),
    ("woff2", "font/woff2"),
];

/// The file at a path of the page; the folder itself is its `index.html`.
pub fn asset(path: &str) -> Response {
    let name = path.trim_start_matches('/');
    let name = if name.is_empty() { "index.html" } else { name };
    match ASSETS.iter().find(|(known, _)| *known == name) {
        Some((_, content)) => {
            let mut response = text_response(type_of(name), *content);
            // Asked for anew each time: another version of the daemon may be behind the same address.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
        None => HttpError::new(StatusCode::NOT_FOUND, "there is no such page; open /").into_response(),
    }
}

fn type_of(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
    TYPES.iter().find(|(known, _)| *known == ending).map_or("application/octet-stream", |(_, kind)| kind)
}
