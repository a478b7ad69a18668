//! The viewer rejects and logs invalid requests, and the loop computes the same states as without them.
//!
//! `scripts/test-kernel` shows in virtual time that such requests do not delay the loop either.
#![cfg(unix)]

use crate::common::daemon::{Daemon, exchange};
use crate::common::{Folder, TIMEOUT};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};
use tungstenite::Message;

/// Repeats a request until its rejection is logged, because at most one rejection is logged per second.
fn assert_logged(daemon: &Daemon, expected: &str, offend: impl Fn()) {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        offend();
        if daemon.log().lines().any(|line| line.contains("viewer: rejected") && line.contains(expected)) {
            return;
        }
        assert!(Instant::now() < deadline, "the log has no line with {expected}:\n{}", daemon.log());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Sends exactly these bytes and returns the status code; zero if the connection was closed without a response.
fn status(address: &str, request: &str) -> u16 {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // The server may close the connection before everything is sent.
    let _ = stream.write_all(request.as_bytes());
    let mut start = [0; 12];
    let _ = stream.read_exact(&mut start);
    String::from_utf8_lossy(&start).get(9..12).and_then(|text| text.parse().ok()).unwrap_or(0)
}

#[test]
fn invalid_requests_are_rejected_and_logged_and_the_state_is_the_same_bit_for_bit() {
    // A path in a device file begins in the first tick, unlike the path of a scene that is viewed.
    let folder = Folder::new();
    folder.file("device.toml", "[hand]\npath = [[0.0, 0.0, 0.04], [1.0, 0.02, 0.0], [2.0, 0.0, 0.04]]\n");
    // A late tick on a busy machine must not interrupt the force, which would change the state.
    folder.file("profile.toml", "[safety]\nstale_after_s = 0.5\nlost_after_s = 1.0\n");
    let daemon = Daemon::start_with(&FILES, |command| folder.run_here(command));
    let address = daemon.address.clone();
    let post = |path: &str, headers: &str, body: &str| {
        let length = body.len();
        status(&address, &format!("POST {path} HTTP/1.1\r\n{headers}Content-Length: {length}\r\n\r\n{body}"))
    };
    let own = format!("Host: {address}\r\n");
    assert_logged(&daemon, "POST /api/reset: 403", || {
        assert_eq!(post("/api/reset", &format!("{own}Origin: http://evil.example\r\n"), "{}"), 403);
        assert_eq!(post("/api/reset", "Host: evil.example\r\n", "{}"), 403);
    });
    assert_logged(&daemon, "POST /api/pause: 400", || assert_eq!(post("/api/pause", &own, "{\"paused\": tru"), 400));
    assert_logged(&daemon, "POST /api/scene: 413", || assert_eq!(post("/api/scene", &own, &"x".repeat(10 << 20)), 413));
    assert_logged(&daemon, "a stream: ", || {
        let mut stream = daemon.open_stream();
        let _ = stream.send(Message::text("x".repeat(10 << 20)));
        while stream.read().is_ok() {}
    });
    assert_logged(&daemon, "GET /../../etc/passwd: 404", || {
        for path in ["/../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/%2e%2e/etc/passwd"] {
            let (status, text) = exchange(&address, "GET", path, "");
            assert!(status == 404 && !text.contains("root:"), "{path}: {status} {text}");
        }
    });
    assert_logged(&daemon, "all slots are in use", || {
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
    assert_eq!(summary["state_hash"], undisturbed(&folder, &summary)["state_hash"], "{summary}");
}

/// Files of the disturbed run and of the undisturbed one.
const FILES: [&str; 4] = ["--device", "./device.toml", "--profile", "./profile.toml"];

/// Returns the summary of a run of the same length without clients.
fn undisturbed(folder: &Folder, summary: &Value) -> Value {
    let seconds = summary["ticks"].as_f64().unwrap() / 1000.0;
    folder.json(&[&["simulate"], &FILES[..], &["--seconds", &seconds.to_string(), "--json"]].concat())
}
