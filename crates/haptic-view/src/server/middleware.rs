//! Where a request may come from, and what it must bring.
//!
//! A page of somebody else that is open in the same browser must not reach the daemon. It could in two ways, and both
//! are shut: by asking from its own origin, which the browser tells in `Origin`; and by having its own name resolve to
//! this machine (DNS rebinding), which shows in `Host`. Beyond this machine a token is needed on top.

use super::limits::{MAX_BODY_BYTES, REQUEST_TIMEOUT};
use super::response::HttpError;
use super::shared::Shared;
use crate::listener::{Listener, host_name};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Everything comes from us, nothing is framed, nothing is guessed, nothing leaks: a page URL can hold the token.
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

/// Who is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Needed if we listen beyond this machine.
    token: Option<String>,
    /// This machine's own name, good if we listen beyond it.
    host_name: Option<String>,
}

impl AccessPolicy {
    pub fn new(listener: &Listener) -> Self {
        let token = listener.token().map(str::to_owned);
        Self { host_name: token.is_some().then(host_name).flatten(), token }
    }

    /// Why a request is not let in, if so.
    fn objection(&self, uri: &Uri, headers: &HeaderMap) -> Option<HttpError> {
        let Some(host) = only(headers, &HOST).filter(|host| self.is_our_name(host)) else {
            return Some(forbidden("Host names another machine; open the address that was printed at the start"));
        };
        if uri.authority().is_some_and(|authority| authority.as_str() != host) {
            return Some(forbidden("the request line names another host than Host does"));
        }
        if headers.contains_key(ORIGIN) && !only(headers, &ORIGIN).is_some_and(|origin| is_same(origin, host)) {
            return Some(forbidden("Origin is another page; only the viewer's own page may ask"));
        }
        let is_data = uri.path().starts_with("/api/") || uri.path() == "/metrics";
        if is_data && comes_from_another_site(headers) {
            return Some(forbidden("the request was made by another site"));
        }
        let is_known = self.token.as_ref().is_none_or(|token| brings(token, uri, headers));
        (is_data && !is_known).then(|| {
            let text = "a token is needed: send the one printed at the start as Authorization: Bearer TOKEN";
            HttpError::new(StatusCode::UNAUTHORIZED, text)
        })
    }

    /// Loopback under any port, so that a tunnel through SSH may end at another one. Beyond this machine also addresses
    /// and its own name: what no foreign name server can point here.
    fn is_our_name(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) => address.is_loopback() || self.token.is_some(),
            Err(_) => name == "localhost" || self.host_name.as_ref().is_some_and(|own| is_own_name(&name, own)),
        }
    }
}

/// Lets a request pass to where it is answered, in bounded time, or refuses it.
pub async fn check_request(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    shared.counters.requests.fetch_add(1, Ordering::Relaxed);
    let what = format!("{} {}", request.method(), request.uri().path());
    let is_way_out = leads_out(request.uri().path());
    let mut response = match check(&shared, &request) {
        Some(problem) => problem.into_response(),
        None => answer_in_time(request, next).await,
    };
    if is_refusal(response.status()) || is_way_out {
        shared.rejections.record(&format!("{}: {}", printable(&what), response.status()));
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
        let text = "too many requests; ask less often, or take the stream";
        (!shared.admits(changes_something)).then(|| HttpError::new(StatusCode::TOO_MANY_REQUESTS, text))
    })
}

/// A body that says itself that it is too large is not waited for.
fn too_large(headers: &HeaderMap) -> Option<HttpError> {
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<u64>().ok()?;
    (length > MAX_BODY_BYTES as u64).then(HttpError::too_large)
}

async fn answer_in_time(request: Request, next: Next) -> Response {
    tokio::time::timeout(REQUEST_TIMEOUT, next.run(request)).await.unwrap_or_else(|_| {
        HttpError::new(StatusCode::REQUEST_TIMEOUT, "the request took too long to arrive or to answer").into_response()
    })
}

/// A name that is not there is no attack, and a value that is wrong is told to whoever sent it.
fn is_refusal(status: StatusCode) -> bool {
    let is_ordinary = matches!(
        status,
        StatusCode::NOT_FOUND
            | StatusCode::UNPROCESSABLE_ENTITY
            | StatusCode::CONFLICT
            | StatusCode::METHOD_NOT_ALLOWED
    );
    status.is_client_error() && !is_ordinary
}

/// Whether a path tries to leave the page. It finds nothing: the page is a list of names; but somebody tried.
fn leads_out(path: &str) -> bool {
    let path = path.to_ascii_lowercase();
    path.starts_with("//") || ["..", "%2e", "%2f", "%5c", "%00"].iter().any(|trick| path.contains(trick))
}

/// The start of a request as it may stand in a log.
fn printable(text: &str) -> String {
    text.chars().take(80).map(|letter| if letter.is_control() { '?' } else { letter }).collect()
}

fn forbidden(text: &str) -> HttpError {
    HttpError::new(StatusCode::FORBIDDEN, text)
}

/// A header that is there once; twice is a trick.
fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?.to_str().ok()?;
    values.next().is_none().then_some(value)
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

fn is_own_name(name: &str, own: &str) -> bool {
    name == own || name.strip_suffix(".local") == Some(own)
}

fn is_same(origin: &str, host: &str) -> bool {
    let authority = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    authority.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
}

fn comes_from_another_site(headers: &HeaderMap) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    site.is_some_and(|site| site != b"same-origin" && site != b"none")
}

fn brings(token: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let given = only(headers, &AUTHORIZATION).and_then(|value| value.split_once(' '));
    let in_header = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token);
    let in_query = || uri.query()?.split('&').find_map(|part| part.strip_prefix("token="));
    in_header.or_else(in_query).is_some_and(|given| is_equal(given.as_bytes(), token.as_bytes()))
}

/// Takes as long for a token that is nearly right as for one that is all wrong.
fn is_equal(given: &[u8], token: &[u8]) -> bool {
    let differences = given.iter().zip(token).fold(0, |sum, (a, b)| sum | (a ^ b));
    given.len() == token.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let parsed = pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        parsed.collect()
    }

    fn status(policy: &AccessPolicy, uri: &'static str, pairs: &[(&'static str, &'static str)]) -> u16 {
        let problem = policy.objection(&Uri::from_static(uri), &headers(pairs));
        problem.map_or(200, |problem| problem.status.as_u16())
    }

    fn here() -> AccessPolicy {
        AccessPolicy { token: None, host_name: None }
    }

    fn beyond() -> AccessPolicy {
        AccessPolicy { token: Some("0123abcd".to_owned()), host_name: Some("lab-pc".to_owned()) }
    }

    #[test]
    fn paths_that_try_to_leave_the_page_are_told_from_those_that_do_not() {
        for path in ["/../etc/passwd", "/%2E%2e/etc", "/..%2fetc", "//etc/passwd", "/index.html%00.js", "/a%5Cb"] {
            assert!(leads_out(path), "{path}");
        }
        for path in ["/", "/main.js", "/api/state", "/api/scenes/two%20words.svg"] {
            assert!(!leads_out(path), "{path}");
        }
    }

    #[test]
    fn every_name_of_this_machine_is_good_and_no_other() {
        for host in ["localhost:8520", "LOCALHOST", "127.0.0.1:8520", "127.1.2.3:9", "[::1]:8520", "[::1]"] {
            assert_eq!(status(&here(), "/", &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "evil.example:8520", "192.168.1.5:8520", "localhost.evil.example", "", "lab-pc"] {
            assert_eq!(status(&here(), "/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&here(), "/", &[]), 403);
    }

    #[test]
    fn only_the_page_itself_may_ask_and_programs_need_no_origin() {
        let host = ("host", "localhost:8520");
        assert_eq!(status(&here(), "/api/state", &[host]), 200);
        assert_eq!(status(&here(), "/api/state", &[host, ("origin", "http://localhost:8520")]), 200);
        for origin in
            ["http://evil.example", "null", "http://localhost:3000", "http://127.0.0.1:8520", "localhost:8520"]
        {
            assert_eq!(status(&here(), "/api/state", &[host, ("origin", origin)]), 403, "{origin}");
            assert_eq!(status(&here(), "/", &[host, ("origin", origin)]), 403, "{origin}");
        }
    }

    #[test]
    fn a_link_may_open_the_page_but_no_site_may_ask_for_data() {
        let (host, site) = (("host", "localhost:8520"), ("sec-fetch-site", "cross-site"));
        assert_eq!(status(&here(), "/", &[host, site]), 200);
        assert_eq!(status(&here(), "/api/state", &[host, site]), 403);
        assert_eq!(status(&here(), "/api/state", &[host, ("sec-fetch-site", "same-origin")]), 200);
    }

    #[test]
    fn a_doubled_header_and_a_request_line_for_somebody_else_are_refused() {
        let mut doubled = headers(&[("host", "localhost:8520")]);
        doubled.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(here().objection(&Uri::from_static("/"), &doubled).is_some());
        assert_eq!(status(&here(), "http://evil.example/api/state", &[("host", "localhost:8520")]), 403);
    }

    #[test]
    fn beyond_this_machine_data_needs_the_token_and_the_page_does_not() {
        let host = ("host", "192.168.1.5:8520");
        assert_eq!(status(&beyond(), "/", &[host]), 200);
        assert_eq!(status(&beyond(), "/api/state", &[host]), 401);
        assert_eq!(status(&beyond(), "/metrics", &[host]), 401);
        assert_eq!(status(&beyond(), "/api/state?hz=60&token=0123abcd", &[host]), 200);
        assert_eq!(status(&beyond(), "/api/state", &[host, ("authorization", "Bearer 0123abcd")]), 200);
        for wrong in ["Bearer 0123abce", "Bearer 0123abc", "Bearer ", "Basic 0123abcd"] {
            assert_eq!(status(&beyond(), "/api/state", &[host, ("authorization", wrong)]), 401, "{wrong}");
        }
    }

    #[test]
    fn beyond_this_machine_addresses_and_its_own_name_are_good_but_foreign_names_are_not() {
        for host in ["lab-pc:8520", "LAB-PC.local:8520", "10.0.0.7:8520", "[fe80::1]:8520"] {
            assert_eq!(status(&beyond(), "/", &[("host", host)]), 200, "{host}");
        }
        assert_eq!(status(&beyond(), "/", &[("host", "evil.example:8520")]), 403);
    }
}
