//! Does to a running daemon what no page does, again and again until it ends, and counts how it answered.
//!
//!     pester ADDRESS:PORT
//!
//! One round: 500 connections at once, a body of 10 MB, a message of 10 MB over a WebSocket, JSON that is none, a foreign origin, a
//! foreign host, paths that lead out of the page. Prints one JSON object: how often each status came (`0`: hung up on without
//! one), and for each kind whether it was ever let in.

use haptic_onlooker::Stream;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

const CONNECTIONS: usize = 500;
const LARGE_BYTES: usize = 10 << 20;
/// Nobody answers in this time: it is as good as hanging up.
const PATIENCE: Duration = Duration::from_secs(2);

/// Statuses by what was tried.
type Answers = BTreeMap<&'static str, BTreeMap<u16, usize>>;

fn main() {
    let Some(address) = std::env::args().nth(1) else {
        eprintln!("usage: pester ADDRESS:PORT");
        std::process::exit(2);
    };
    let (mut answers, mut rounds) = (Answers::new(), 0);
    while TcpStream::connect(&address).is_ok() {
        round(&address, &mut answers);
        rounds += 1;
    }
    println!("{}", json!({ "rounds": rounds, "answers": answers, "let_in": let_in(&answers) }));
}

fn round(address: &str, answers: &mut Answers) {
    let mut note = |what, status| *answers.entry(what).or_default().entry(status).or_default() += 1;
    for status in flood(address) {
        note("flood", status);
    }
    let head = |line: &str, headers: &str| format!("{line} HTTP/1.1\r\nConnection: close\r\n{headers}\r\n");
    let own = format!("Host: {address}\r\n");
    for path in ["/../../../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd"] {
        note("way out", exchange(address, head(&format!("GET {path}"), &own).as_bytes()));
    }
    let origin = format!("{own}Origin: http://evil.example\r\n");
    note("foreign origin", exchange(address, head("POST /api/reset", &origin).as_bytes()));
    note("foreign host", exchange(address, head("POST /api/reset", "Host: evil.example\r\n").as_bytes()));
    let nonsense = format!("{own}Content-Length: 9\r\n");
    note("not JSON", exchange(address, (head("POST /api/pause", &nonsense) + "{\"paused\"").as_bytes()));
    let large = format!("{own}Content-Length: {LARGE_BYTES}\r\n");
    note(
        "large body",
        exchange(address, &[head("POST /api/scene", &large).into_bytes(), vec![b'x'; LARGE_BYTES]].concat()),
    );
    note("large message", large_message(address));
}

/// Connects as often as it can before it reads the first answer.
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
    // Whoever has heard enough may hang up before all is said.
    let _ = stream.write_all(request);
    status(stream)
}

/// A stream is opened, then one frame of 10 MB is sent; 200 if the stream outlives it.
fn large_message(address: &str) -> u16 {
    let Ok(mut stream) = Stream::open(address, 1, PATIENCE) else { return 0 };
    let _ = stream.say(&"x".repeat(LARGE_BYTES));
    // Some messages may have been on their way before.
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let Ok(Some(_)) = stream.next_text() else { return 0 };
    }
    200
}

/// The status of what is answered; zero for no answer.
fn status(mut stream: TcpStream) -> u16 {
    let _ = stream.set_read_timeout(Some(PATIENCE));
    let mut start = [0; 12];
    let _ = stream.read_exact(&mut start);
    std::str::from_utf8(&start).ok().and_then(|text| text.get(9..12)?.parse().ok()).unwrap_or(0)
}

/// What was let in that should not have been. Of a flood some are served: they ask for nothing bad.
fn let_in(answers: &Answers) -> Value {
    let is_let_in = |what: &str, statuses: &BTreeMap<u16, usize>| what != "flood" && statuses.contains_key(&200);
    answers.iter().filter(|(what, statuses)| is_let_in(what, statuses)).map(|(what, _)| *what).collect()
}
