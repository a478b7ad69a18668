//! What strangers and broken programs do to the viewer is refused and logged, and the loop computes the very same world.
//!
//! That it is as punctual meanwhile is shown where time is exact: `scripts/test-kernel`.
#![cfg(unix)]

use crate::common::TIMEOUT;
use crate::common::daemon::{Daemon, exchange, hapticd};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tungstenite::Message;

/// Refusals are logged once a second at most, so each kind comes in a second of its own.
fn log_tells(daemon: &Daemon, words: &str, offend: impl Fn()) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        offend();
        if daemon.log().lines().any(|line| line.contains("viewer: rejected") && line.contains(words)) {
            return;
        }
        assert!(Instant::now() < deadline, "the log never told of {words}:\n{}", daemon.log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The status of an answer to these very bytes; zero if it hung up without one.
fn status(address: &str, request: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // Whoever has heard enough hangs up before all is said.
    let _ = stream.write_all(request.as_bytes());
    let mut start = [0; 12];
    let _ = stream.read_exact(&mut start);
    String::from_utf8_lossy(&start).get(9..12).and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn everything_hostile_is_refused_and_logged_and_the_world_is_the_same_to_the_last_bit() {
    let daemon = Daemon::start(&[]);
    let address = daemon.address.clone();
    let post = |path: &str, headers: &str, body: &str| {
        let length = body.len();
        status(&address, &format!("POST {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))
    };
    let own = format!("Host: {address}\r\n");
    log_tells(&daemon, "POST /api/reset: 403", || {
        assert_eq!(post("/api/reset", &format!("{own}Origin: http://evil.example\r\n"), "{}"), 403);
        assert_eq!(post("/api/reset", "Host: evil.example\r\n", "{}"), 403);
    });
    log_tells(&daemon, "POST /api/pause: 400", || assert_eq!(post("/api/pause", &own, "{\"paused\": tru"), 400));
    log_tells(&daemon, "POST /api/scene: 413", || assert_eq!(post("/api/scene", &own, &"x".repeat(10 << 20)), 413));
    log_tells(&daemon, "a stream: ", || {
        let mut stream = daemon.open_stream();
        let _ = stream.send(Message::text("x".repeat(10 << 20)));
        while stream.read().is_ok() {}
    });
    log_tells(&daemon, "GET /../../etc/passwd: 404", || {
        for path in ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd"] {
            let (status, text) = exchange(&address, "GET", path, "");
            assert!(status == 404 && !text.contains("root:"), "{path}: {status} {text}");
        }
    });
    log_tells(&daemon, "all slots are in use", || {
        let held: Vec<_> = (0..500).map(|_| TcpStream::connect(&address)).collect();
        std::thread::sleep(Duration::from_millis(100));
        drop(held);
    });
    let deadline = Instant::now() + TIMEOUT;
    while status(&address, &format!("GET /api/state HTTP/1.1\r\n{own}Connection: close\r\n\r\n")) != 200 {
        assert!(Instant::now() < deadline, "it never served anybody again");
        std::thread::sleep(Duration::from_millis(20));
    }
    let summary = daemon.end();
    assert_eq!(summary["faults"], json!([]));
    assert_eq!(summary["state_hash"], undisturbed(&summary)["state_hash"], "{summary}");
}

/// The same world with nobody in its way, for as many ticks.
fn undisturbed(summary: &Value) -> Value {
    let seconds = summary["ticks"].as_f64().unwrap() / 1000.0;
    let output = hapticd(&["simulate", "--seconds", &seconds.to_string(), "--json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}
