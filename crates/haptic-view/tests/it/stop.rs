//! Emergency stop: a request that neither limits nor missing tokens reject.

use crate::common::{Server, server, server_at, wait_until};
use serde_json::json;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::Ordering;

fn count(server: &Server, what: &str) -> usize {
    server.daemon.requests.lock().unwrap().iter().filter(|request| *request == what).count()
}

#[test]
fn a_stop_and_its_release_reach_the_daemon() {
    let server = server();
    let stopped = server.post("/api/stop", "");
    assert_eq!((stopped.status, stopped.json()), (200, json!({ "stopped": true })));
    let released = server.post("/api/stop/release", "{}");
    assert_eq!((released.status, released.json()), (200, json!({ "stopped": false })));
    assert_eq!((count(&server, "stop"), count(&server, "release the stop")), (1, 1));
}

#[test]
fn no_body_rejects_a_stop_but_a_wrong_one_rejects_its_release() {
    let server = server();
    for body in ["", "{}", "[]x", r#"{"soon":true}"#, &"x".repeat(2 << 20)] {
        assert_eq!(server.post("/api/stop", body).status, 200);
    }
    assert_eq!(server.post("/api/stop/release", "[]x").status, 400);
    assert_eq!(server.post("/api/stop/release", r#"{"soon":true}"#).status, 422);
    assert_eq!((count(&server, "stop"), count(&server, "release the stop")), (5, 0));
}

#[test]
fn other_methods_and_foreign_pages_neither_stop_nor_release() {
    let server = server();
    for path in ["/api/stop", "/api/stop/release"] {
        for method in ["GET", "HEAD", "PUT", "DELETE", "PATCH"] {
            assert_eq!(server.request(method, path, &[], "").status, 405, "{method} {path}");
        }
        for header in [("Host", "evil.example"), ("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")] {
            assert_eq!(server.request("POST", path, &[header], "").status, 403, "{header:?} {path}");
        }
    }
    assert!(server.daemon.requests.lock().unwrap().is_empty());
}

#[test]
fn the_rate_limit_does_not_apply_to_a_stop() {
    let server = server();
    // Several clients at once, because one alone waits too long for each answer on a busy machine.
    let exceeds = || (0..100).any(|_| server.post("/api/pause", "{}").status == 429);
    wait_until("the limit is reached", || {
        std::thread::scope(|scope| {
            let clients: Vec<_> = (0..8).map(|_| scope.spawn(exceeds)).collect();
            clients.into_iter().any(|client| client.join().unwrap())
        })
    });
    for _ in 0..150 {
        assert_eq!(server.post("/api/stop", "").status, 200);
    }
}

#[test]
fn a_stop_is_served_although_all_connections_are_in_use() {
    let server = server();
    let idle: Vec<_> = (0..64).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    wait_until("all connections are in use", || server.get("/api/state").status == 503);
    for _ in 0..100 {
        assert_eq!(server.post("/api/stop", "").status, 200);
    }
    let other = server.post("/api/stop/release", "{}");
    assert_eq!((other.status, other.header("connection")), (503, Some("close")));
    assert!(other.json()["error"].as_str().unwrap().contains("too many connections"));
    drop(idle);
    wait_until("a connection is free", || server.get("/api/state").status == 200);
}

#[test]
fn a_loop_that_does_not_respond_is_reported() {
    let server = server();
    server.daemon.stop_hangs.store(true, Ordering::Relaxed);
    let response = server.post("/api/stop", "");
    assert_eq!(response.status, 503);
    assert!(response.json()["error"].as_str().unwrap().contains("switch the device off"), "{}", response.body);
    assert_eq!(count(&server, "stop"), 1);
}

#[test]
fn the_token_is_not_needed_to_stop_from_this_machine_only() {
    let mut server = server_at([0, 0, 0, 0]);
    let bearer = format!("Bearer {}", server.token.clone().unwrap());
    assert_eq!(server.post("/api/stop", "").status, 200);
    assert_eq!(server.post("/api/stop/release", "").status, 401);
    assert_eq!(server.request("POST", "/api/stop/release", &[("Authorization", &bearer)], "").status, 200);
    // A client that uses this machine's address in its network counts as one of another machine.
    let Some(ip) = address_in_network() else { return };
    server.address = SocketAddr::new(ip, server.address.port());
    assert_eq!(server.post("/api/stop", "").status, 401);
    assert_eq!(server.request("POST", "/api/stop", &[("Authorization", &bearer)], "").status, 200);
}

/// Returns an address of this machine beyond loopback, if there is one.
fn address_in_network() -> Option<IpAddr> {
    let socket = UdpSocket::bind("0.0.0.0:0").ok()?;
    socket.connect("192.0.2.1:9").ok()?;
    socket.local_addr().ok().map(|address| address.ip()).filter(|ip| !ip.is_loopback() && !ip.is_unspecified())
}

#[test]
fn a_stream_can_stop_at_any_rate() {
    let server = server();
    let mut stream = server.open_stream("?hz=60");
    for _ in 0..600 {
        stream.send(r#"{"type":"hand","position_m":[0.0,0.0]}"#);
    }
    stream.send(r#"{"type":"stop"}"#);
    server.daemon.wait_for("stop");
    stream.send(r#"{"type":"stop","soon":true}"#);
    stream.next("error");
}
