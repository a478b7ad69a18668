//! HTTP API: access, requests and rejections.

use crate::common::{server, server_at, wait_until};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Maximum number of connections that the server accepts.
const MAX_CONNECTIONS: usize = 64;

#[test]
fn scene_state_settings_timing_scenes_and_devices_are_json() {
    let server = server();
    for path in ["/api/scene", "/api/state", "/api/settings", "/api/timing", "/api/scenes", "/api/devices"] {
        let response = server.get(path);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        assert_eq!(response.header("content-type"), Some("application/json"), "{path}");
        assert!(response.json().is_object(), "{path}");
    }
    let scene = server.get("/api/scene").json();
    assert_eq!(scene["bodies"][0]["shape"], json!({ "disc_radius_m": 0.01 }));
    assert_eq!((&scene["moving"], &scene["tool"]), (&json!([0]), &json!(null)));
    let state = server.get("/api/state").json();
    assert_eq!((&state["tick"], &state["t_s"], &state["caption"]), (&json!(8), &json!(0.008), &json!("free")));
    assert_eq!(state.get("removed"), None, "only if there are any");
}

#[test]
fn a_hanging_device_search_blocks_no_other_request() {
    let server = server();
    server.daemon.search_hangs.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..4).map(|_| scope.spawn(|| server.get("/api/devices").json())).collect();
        server.daemon.wait_for("search for devices");
        // Other requests are not blocked: neither quick ones nor scene changes, which use a different slot.
        assert_eq!(server.get("/api/state").status, 200);
        assert_eq!(server.post("/api/scene", r#"{"name":"tower"}"#).status, 200);
        server.daemon.search_hangs.store(false, Ordering::Relaxed);
        for search in searches {
            let in_use = json!({ "name": "mock", "kind": "simulated" });
            assert_eq!(search.join().unwrap(), json!({ "devices": [], "in_use": in_use }));
        }
    });
}

#[test]
fn a_scene_change_keeps_its_slot_to_the_end_though_the_client_disconnected() {
    let server = server();
    server.daemon.scene_hangs.store(true, Ordering::Relaxed);
    let body = r#"{"name":"tower"}"#;
    let mut client = TcpStream::connect(server.address).unwrap();
    let head =
        format!("POST /api/scene HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n", server.address, body.len());
    client.write_all(format!("{head}{body}").as_bytes()).unwrap();
    server.daemon.wait_for("prepare a scene");
    drop(client);
    // The server must not accept another scene after it has detected the disconnect. The requests for the state give it
    // time to do so.
    for _ in 0..20 {
        assert_eq!(server.get("/api/state").status, 200);
        assert_eq!(server.post("/api/scene", body).status, 503);
    }
    assert_eq!(
        server.daemon.requests.lock().unwrap().iter().filter(|request| *request == "prepare a scene").count(),
        1
    );
    server.daemon.scene_hangs.store(false, Ordering::Relaxed);
    wait_until("the slot is free again", || server.post("/api/scene", body).status == 200);
}

#[test]
fn clients_that_send_requests_and_never_read_lose_their_slots() {
    let server = server();
    let requests = format!("GET /main.js HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).repeat(400);
    let greedy: Vec<TcpStream> = (0..MAX_CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            // The server may stop reading before everything is sent.
            let _ = stream.write_all(requests.as_bytes());
            stream
        })
        .collect();
    wait_until("all slots are in use", || server.get("/api/state").status == 503);
    wait_until("a slot is free again", || server.get("/api/state").status == 200);
    drop(greedy);
}

#[test]
fn requests_reach_the_daemon_and_its_errors_are_returned() {
    let server = server();
    assert_eq!(server.post("/api/pause", r#"{"paused":true}"#).json(), json!({ "paused": true }));
    assert_eq!(server.post("/api/pause", r#"{"paused":false}"#).json(), json!({ "paused": false }));
    assert_eq!(server.post("/api/step", r#"{"ticks":7}"#).status, 200);
    assert_eq!(server.post("/api/step", "").status, 200);
    for request in ["pause true", "pause false", "step 7", "step 1"] {
        server.daemon.wait_for(request);
    }
    let busy = server.post("/api/reset", "");
    assert_eq!((busy.status, busy.json()), (503, json!({ "error": "busy" })));
    assert_eq!(server.post("/api/scene", r#"{"name":"tower"}"#).json(), json!({ "scene_id": 2 }));
    assert_eq!(server.post("/api/record/start", r#"{"file":"a.mcap"}"#).json(), json!({ "file": "a.mcap" }));
    assert_eq!(server.post("/api/record/stop", "").status, 409);
    assert_eq!(server.request("PATCH", "/api/coupling", &[], r#"{"stiffness_n_per_m":300}"#).status, 200);
}

#[test]
fn invalid_requests_are_rejected_with_what_would_be_correct() {
    let server = server();
    let cases = [
        ("POST", "/api/pause", "{", 400, "not JSON"),
        ("POST", "/api/pause", "\u{0}", 400, "not JSON"),
        ("POST", "/api/pause", r#"{"paused":"yes"}"#, 422, r#"send e.g. {"paused":true}"#),
        ("POST", "/api/pause", r#"{"pause":true}"#, 422, "unknown field"),
        ("POST", "/api/step", r#"{"ticks":0}"#, 422, "from 1 to 10000"),
        ("POST", "/api/step", r#"{"ticks":-1}"#, 422, "ticks"),
        ("POST", "/api/scene", "{}", 422, "either a name or a toml"),
        ("POST", "/api/scene", r#"{"name":"nowhere"}"#, 422, "no such scene"),
        ("PATCH", "/api/coupling", r#"{"stiffness_n_per_m":-1}"#, 422, "coupling.stiffness_n_per_m"),
        ("PATCH", "/api/coupling", "[1]", 422, "send e.g."),
        ("PATCH", "/api/coupling", r#"{"stiffness_n_per_m":NaN}"#, 422, "a number is not finite"),
        ("PATCH", "/api/coupling", r#"{"stiffness_n_per_m":-Infinity}"#, 422, "a number is not finite"),
        ("PATCH", "/api/coupling", r#"{"stiffness_n_per_m":1e400}"#, 422, "a number is not finite"),
        ("PATCH", "/api/coupling", r#"{"stiffness_n_per_m":NaN"#, 400, "not JSON"),
        ("GET", "/api/nothing", "", 404, "docs/api.md"),
        ("GET", "/api/scenes/nowhere.svg", "", 404, "no such picture"),
        ("GET", "/api/stream?hz=60", "", 426, "WebSocket"),
        ("GET", "/api/stream?hz=fast", "", 422, "from 1 to 120"),
        ("DELETE", "/api/scene", "", 405, "another method"),
        ("POST", "/", "", 405, "another method"),
        ("POST", "/api/reset", "[]x", 400, "not JSON"),
        ("POST", "/api/reset", r#"{"soon":true}"#, 422, "unknown field"),
        ("POST", "/api/record/stop", r#"{"soon":true}"#, 422, "unknown field"),
        ("PATCH", "/api/coupling", r#"{"stiffness_n_per_m":3,"stiffness_n_per_m":2}"#, 422, "duplicate field"),
    ];
    for (method, path, body, status, words) in cases {
        let response = server.request(method, path, &[], body);
        assert_eq!(response.status, status, "{method} {path} {body}: {}", response.body);
        let error = response.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(words), "{method} {path} {body}: {error}");
    }
}

#[test]
fn the_page_is_served_with_headers_that_exclude_foreign_content() {
    let server = server();
    let page = server.get("/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    assert_eq!(page.body, server.get("/index.html").body);
    let policy = page.header("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'self'") && policy.contains("frame-ancestors 'none'"), "{policy}");
    assert_eq!(page.header("x-content-type-options"), Some("nosniff"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
}

#[test]
fn no_path_leads_out_of_the_page() {
    let server = server();
    for path in [
        "/../Cargo.toml",
        "/../../../../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "//etc/passwd",
        "/./index.html",
        "/index.html%00.js",
        "/api/scenes/..%2f..%2ftower.svg",
        "/api/../api/state",
    ] {
        let response = server.get(path);
        assert!(matches!(response.status, 400 | 404), "{path}: {}", response.status);
        assert!(!response.body.contains("root:") && !response.body.contains("[package]"), "{path}");
    }
}

#[test]
fn foreign_pages_are_rejected_and_counted() {
    let server = server();
    let foreign: [&[(&str, &str)]; 4] = [
        &[("Host", "evil.example")],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
    ];
    for headers in foreign {
        assert_eq!(server.request("GET", "/api/state", headers, "").status, 403, "{headers:?}");
        assert_eq!(server.request("POST", "/api/pause", headers, "{}").status, 403, "{headers:?}");
    }
    let own = format!("http://{}", server.address);
    assert_eq!(server.request("POST", "/api/pause", &[("Origin", &own)], "{}").status, 200);
    assert_eq!(server.daemon.requests.lock().unwrap().len(), 1);
    assert!(server.get("/metrics").body.contains("\nhapticd_view_refused_total 8\n"));
}

#[test]
fn a_request_without_a_host_or_with_garbage_is_rejected() {
    let server = server();
    assert_eq!(server.send("GET /api/state HTTP/1.1\r\nConnection: close\r\n\r\n").status, 403);
    assert_eq!(server.send("GET /api/state HTTP/1.0\r\n\r\n").status, 403);
    assert_eq!(server.send("\u{1}\u{2}\u{3} garbage\r\n\r\n").status, 400);
    let many = "X-Header: 1\r\n".repeat(200);
    assert_eq!(server.send(&format!("GET / HTTP/1.1\r\n{many}\r\n")).status, 431);
    let long = "a".repeat(64 << 10);
    assert!(matches!(server.get(&format!("/{long}")).status, 414 | 431));
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn ten_megabytes_are_rejected_before_they_are_read() {
    let server = server();
    let body = format!(r#"{{"toml":"{}"}}"#, "x".repeat(10 << 20));
    let head = format!(
        "POST /api/scene HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    // Only the head is sent, so a response proves that the server did not wait for the body.
    let response = server.send(&head);
    assert_eq!(response.status, 413, "{}", response.body);
    assert!(response.json()["error"].as_str().unwrap().contains("larger than 1024 KiB"));
    // The limit also applies to a body without an announced length.
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let chunked = format!(
        "POST /api/scene HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        server.address,
        chunk.repeat(3)
    );
    assert!(matches!(server.send(&chunked).status, 413 | 0));
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn beyond_loopback_data_requires_the_token() {
    let server = server_at([0, 0, 0, 0]);
    let token = server.token.clone().unwrap();
    assert_eq!(server.get("/").status, 200);
    assert_eq!(server.get("/api/state").status, 401);
    assert_eq!(server.post("/api/pause", "{}").status, 401);
    assert_eq!(server.get(&format!("/api/state?token={token}")).status, 200);
    let bearer = format!("Bearer {token}");
    assert_eq!(server.request("POST", "/api/pause", &[("Authorization", &bearer)], "{}").status, 200);
    assert_eq!(server.try_stream("", &[]).err(), Some(401));
    assert!(server.try_stream(&format!("?token={token}"), &[]).is_ok());
}

#[test]
fn five_hundred_connections_at_once_are_served_or_rejected_and_the_server_survives() {
    let server = server();
    let clients: Vec<_> = (0..500)
        .map(|_| {
            let address = server.address;
            std::thread::Builder::new().stack_size(128 << 10).spawn(move || attempt(address)).unwrap()
        })
        .collect();
    let statuses: Vec<u16> = clients.into_iter().map(|client| client.join().unwrap()).collect();
    assert!(statuses.iter().all(|status| matches!(status, 0 | 200 | 429 | 503)), "{statuses:?}");
    assert!(statuses.contains(&200), "{statuses:?}");
    wait_until("an response after the flood", || server.get("/api/state").status == 200);
}

/// Returns the status of one request; zero if the connection was closed.
fn attempt(address: std::net::SocketAddr) -> u16 {
    use std::io::{Read, Write};
    let Ok(mut stream) = std::net::TcpStream::connect(address) else { return 0 };
    stream.set_read_timeout(Some(crate::common::TIMEOUT)).unwrap();
    let _ = write!(stream, "GET /api/state HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0)
}

#[test]
fn idle_connections_leave_slots_for_requests() {
    let server = server();
    let idle: Vec<_> = (0..60).map(|_| std::net::TcpStream::connect(server.address).unwrap()).collect();
    assert_eq!(server.get("/api/state").status, 200);
    drop(idle);
}

#[test]
fn dropping_the_viewer_frees_its_port() {
    let crate::common::Server { viewer, address, .. } = server();
    drop(viewer);
    assert!(std::net::TcpListener::bind(address).is_ok());
}
