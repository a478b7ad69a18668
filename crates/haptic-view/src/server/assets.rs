//! Files of the page, embedded from `assets/` at build time and looked up by exact name.

use super::response::{HttpError, text};
use axum::http::header::CACHE_CONTROL;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

/// Names and contents of all files of the page.
static ASSETS: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/assets.rs"));

/// Content types by file extension.
const CONTENT_TYPES: [(&str, &str); 9] = [
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

/// Returns the file at a URL path, or a 404 error if there is none; `/` is `index.html`.
pub fn asset(path: &str) -> Response {
    let name = path.trim_start_matches('/');
    let name = if name.is_empty() { "index.html" } else { name };
    match ASSETS.iter().find(|(known, _)| *known == name) {
        Some((_, content)) => {
            let mut response = text(content_type(name), *content);
            // The browser revalidates on every load, because another version of the daemon may later serve the same
            // address.
            response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
            response
        }
        None => HttpError::new(StatusCode::NOT_FOUND, "no such page; open /").into_response(),
    }
}

fn content_type(name: &str) -> &'static str {
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    CONTENT_TYPES.iter().find(|(known, _)| *known == extension).map_or("application/octet-stream", |(_, kind)| kind)
}
