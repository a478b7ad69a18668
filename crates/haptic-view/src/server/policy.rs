//! Access rules for requests.
//!
//! A foreign page open in the same browser must not gain access to the daemon. Two attacks are rejected. If the page
//! sends a request from its own origin, the browser names that origin in `Origin`. If the page makes its own host name
//! resolve to this machine (DNS rebinding), the request carries that name in `Host`. If the viewer listens beyond
//! loopback, data requests also need a token.

use super::response::HttpError;
use crate::listener::{Listener, host_name};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use std::net::IpAddr;

/// Rules that every request must meet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessPolicy {
    /// Token required for data requests; `None` on loopback.
    token: Option<String>,
    /// Name of this machine, accepted in `Host` if the viewer listens beyond loopback.
    host_name: Option<String>,
}

impl AccessPolicy {
    pub fn new(listener: &Listener) -> Self {
        let token = listener.token().map(str::to_owned);
        Self { host_name: token.is_some().then(host_name).flatten(), token }
    }

    /// Checks `Host`, `Origin`, the requesting site and the token of a request, which is not needed if `is_exempt`.
    ///
    /// # Errors
    /// 403 for a foreign host, origin or site; 401 for a missing or wrong token.
    pub fn check(&self, uri: &Uri, headers: &HeaderMap, is_exempt: bool) -> Result<(), HttpError> {
        let Some(host) = single(headers, &HOST).filter(|host| self.is_own_host(host)) else {
            return forbidden("Host names another machine; use the address that was printed at start");
        };
        if uri.authority().is_some_and(|authority| authority.as_str() != host) {
            return forbidden("the request line and Host name different hosts");
        }
        if headers.contains_key(ORIGIN) && !single(headers, &ORIGIN).is_some_and(|origin| is_same(origin, host)) {
            return forbidden("Origin is another page; only the viewer's own page has access");
        }
        let is_data = uri.path().starts_with("/api/") || uri.path() == "/metrics";
        if is_data && comes_from_another_site(headers) {
            return forbidden("the request comes from another site");
        }
        let needs_token = is_data && !is_exempt;
        if needs_token && self.token.as_ref().is_some_and(|token| !has_token(token, uri, headers)) {
            let text = "a token is required: send the one printed at start as Authorization: Bearer TOKEN";
            return Err(HttpError::new(StatusCode::UNAUTHORIZED, text));
        }
        Ok(())
    }

    /// Whether a `Host` value names this machine. Loopback is accepted with any port, because the local end of an SSH
    /// tunnel may have another port. If the viewer listens beyond loopback, any IP address and the machine's own name
    /// are accepted too, because DNS rebinding cannot use them.
    fn is_own_host(&self, host: &str) -> bool {
        let name = without_port(host).to_ascii_lowercase();
        let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        match address {
            Ok(address) => address.is_loopback() || self.token.is_some(),
            Err(_) => name == "localhost" || self.host_name.as_ref().is_some_and(|own| is_own_name(&name, own)),
        }
    }
}

fn forbidden(text: &str) -> Result<(), HttpError> {
    Err(HttpError::new(StatusCode::FORBIDDEN, text))
}

/// Returns the value of a header that occurs exactly once. A repeated header is an attempt to bypass the check.
fn single<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
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

fn has_token(token: &str, uri: &Uri, headers: &HeaderMap) -> bool {
    let given = single(headers, &AUTHORIZATION).and_then(|value| value.split_once(' '));
    let in_header = given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token);
    let in_query = || uri.query()?.split('&').find_map(|part| part.strip_prefix("token="));
    in_header.or_else(in_query).is_some_and(|given| is_equal(given.as_bytes(), token.as_bytes()))
}

/// Compares in constant time, so that the response time reveals nothing about the token.
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
        let outcome = policy.check(&Uri::from_static(uri), &headers(pairs), false);
        outcome.map_or_else(|error| error.status.as_u16(), |()| 200)
    }

    fn here() -> AccessPolicy {
        AccessPolicy { token: None, host_name: None }
    }

    fn beyond() -> AccessPolicy {
        AccessPolicy { token: Some("0123abcd".to_owned()), host_name: Some("lab-pc".to_owned()) }
    }

    #[test]
    fn every_name_of_this_machine_is_accepted_and_no_other() {
        for host in ["localhost:8520", "LOCALHOST", "127.0.0.1:8520", "127.1.2.3:9", "[::1]:8520", "[::1]"] {
            assert_eq!(status(&here(), "/", &[("host", host)]), 200, "{host}");
        }
        for host in ["evil.example", "evil.example:8520", "192.168.1.5:8520", "localhost.evil.example", "", "lab-pc"] {
            assert_eq!(status(&here(), "/", &[("host", host)]), 403, "{host}");
        }
        assert_eq!(status(&here(), "/", &[]), 403);
    }

    #[test]
    fn only_the_own_page_has_access_and_programs_need_no_origin() {
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
    fn a_link_may_open_the_page_but_no_other_site_gets_data() {
        let (host, site) = (("host", "localhost:8520"), ("sec-fetch-site", "cross-site"));
        assert_eq!(status(&here(), "/", &[host, site]), 200);
        assert_eq!(status(&here(), "/api/state", &[host, site]), 403);
        assert_eq!(status(&here(), "/api/state", &[host, ("sec-fetch-site", "same-origin")]), 200);
    }

    #[test]
    fn a_repeated_header_and_a_request_line_for_another_host_are_rejected() {
        let mut doubled = headers(&[("host", "localhost:8520")]);
        doubled.append(HOST, HeaderValue::from_static("evil.example"));
        assert!(here().check(&Uri::from_static("/"), &doubled, false).is_err());
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
    fn an_exempt_request_needs_no_token_but_the_right_host_and_origin() {
        let check = |pairs: &[(&'static str, &'static str)]| {
            beyond().check(&Uri::from_static("/api/stop"), &headers(pairs), true).map_err(|error| error.status.as_u16())
        };
        let host = ("host", "127.0.0.1:8520");
        assert_eq!(check(&[host]), Ok(()));
        assert_eq!(check(&[("host", "evil.example")]), Err(403));
        assert_eq!(check(&[host, ("origin", "http://evil.example")]), Err(403));
        assert_eq!(check(&[host, ("sec-fetch-site", "cross-site")]), Err(403));
    }

    #[test]
    fn beyond_this_machine_addresses_and_its_own_name_are_accepted_but_foreign_names_are_not() {
        for host in ["lab-pc:8520", "LAB-PC.local:8520", "10.0.0.7:8520", "[fe80::1]:8520"] {
            assert_eq!(status(&beyond(), "/", &[("host", host)]), 200, "{host}");
        }
        assert_eq!(status(&beyond(), "/", &[("host", "evil.example:8520")]), 403);
    }
}
