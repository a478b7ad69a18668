//! Sends invalid and excessive requests to a running daemon until it ends, and counts the responses.
//!
//!     hostile-client ADDRESS:PORT
//!
//! Each round consists of 500 concurrent connections, a 10 MB body, a 10 MB WebSocket message, malformed JSON, a
//! foreign origin, a foreign host, and paths that lead out of the page's folder. The program prints one JSON object
//! with the number of rounds, the count of each status for each kind of request (`0` if the connection was closed
//! without a response), and the kinds of invalid requests that were accepted.

use haptic_testing::viewer_client::Stream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 500;
const LARGE_BYTES: usize = 10 << 20;
/// Time without a response after which a connection counts as closed.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Counts of status codes by kind of request.
type Responses = BTreeMap<&'static str, BTreeMap<u16, usize>>;

fn main() {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: hostile-client ADDRESS:PORT");
        std::process::exit(2);
    };
    let (mut responses, mut rounds) = (Responses::new(), 0);
    while TcpStream::connect(&address).is_ok() {
        round(&address, &mut responses);
        rounds += 1;
    }
    println!("{}", json!({ "rounds": rounds, "responses": responses, "accepted": accepted(&responses) }));
}

fn round(address: &str, responses: &mut Responses) {
    let mut record = |what, status| *responses.entry(what).or_default().entry(status).or_default() += 1;
    for status in flood(address) {
        record("flood", status);
    }
    let head = |line: &str, headers: &str| format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    let own = format!("Host: {address}\r\n");
    for path in ["/../../../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"] {
        record("path out of the folder", exchange(address, head(&format!("GET {path}"), &own).as_bytes()));
    }
    let origin = format!("{own}Origin: http://evil.example\r\n");
    record("foreign origin", exchange(address, head("POST /api/reset", &origin).as_bytes()));
    record("foreign host", exchange(address, head("POST /api/reset", "Host: evil.example\r\n").as_bytes()));
    let malformed = format!("{own}Content-Length: 9\r\n");
    record("not JSON", exchange(address, (head("POST /api/pause", &malformed) + "{\"paused\"").as_bytes()));
    let large = format!("{own}Content-Length: {LARGE_BYTES}\r\n");
    record(
        "large body",
        exchange(address, &[head("POST /api/scene", &large).into_bytes(), vec![b'x'; LARGE_BYTES]].concat()),
    );
    record("large message", large_message(address));
}

/// Opens all connections before reading the first response, and returns the status codes.
fn flood(address: &str) -> Vec<u16> {
    let request = format!("GET /api/state HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let connect = |_| {
        let mut stream = TcpStream::connect(address).ok()?;
        stream.write_all(request.as_bytes()).ok().map(|()| stream)
    };
    let streams: Vec<_> = (0..CONNECTIONS).map(connect).collect();
    streams.into_iter().map(|stream| stream.map_or(0, status)).collect()
}

fn exchange(address: &str, request: &[u8]) -> u16 {
    let Ok(mut stream) = TcpStream::connect(address) else { return 0 };
    // The server may close the connection before the whole request is sent.
    let _ = stream.write_all(request);
    status(stream)
}

/// Opens a stream and sends one 10 MB frame. Returns 200 if the stream stays open, otherwise zero.
fn large_message(address: &str) -> u16 {
    let Ok(mut stream) = Stream::open(address, 1, TIMEOUT) else { return 0 };
    let _ = stream.send_text(&"x".repeat(LARGE_BYTES));
    // Messages that were sent earlier may still arrive.
    let deadline = Instant::now() + TIMEOUT;
    while Instant::now() < deadline {
        let Ok(Some(_)) = stream.next_text() else { return 0 };
    }
    200
}

/// Returns the status code of the response; zero if there is none.
fn status(mut stream: TcpStream) -> u16 {
    let _ = stream.set_read_timeout(Some(TIMEOUT));
    let mut start = [0; 12];
    let _ = stream.read_exact(&mut start);
    std::str::from_utf8(&start).ok().and_then(|text| text.get(9..12)?.parse().ok()).unwrap_or(0)
}

/// Returns the kinds of requests that were accepted although they are invalid. The requests of the flood are valid.
fn accepted(responses: &Responses) -> Value {
    let is_accepted = |what: &str, statuses: &BTreeMap<u16, usize>| what != "flood" && statuses.contains_key(&200);
    responses.iter().filter(|(what, statuses)| is_accepted(what, statuses)).map(|(what, _)| *what).collect()
}
