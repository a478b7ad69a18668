//! What can be asked for over HTTP, by whom, and what is refused.

use crate::common::{server, server_at, wait_until};
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// As many as are let in.
const MAX_CONNECTIONS: usize = 64;

#[test]
fn scene_state_settings_timing_scenes_and_devices_are_json() {
    let server = server();
    for path in ["/api/scene", "/api/state", "/api/settings", "/api/timing", "/api/scenes", "/api/devices"] {
        let answer = server.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        assert_eq!(answer.header("content-type"), Some("application/json"), "{path}");
        assert!(answer.json().is_object(), "{path}");
    }
    let scene = server.get("/api/scene").json();
    assert_eq!(scene["bodies"][0]["shape"], json!({ "disc_radius_m": 0.01 }));
    assert_eq!((&scene["moving"], &scene["tool"]), (&json!([0]), &json!(null)));
    let state = server.get("/api/state").json();
    assert_eq!((&state["tick"], &state["t_s"], &state["caption"]), (&json!(8), &json!(0.008), &json!("free")));
}

#[test]
fn a_search_for_devices_that_hangs_holds_up_nobody_else() {
    let server = server();
    server.daemon.search_hangs.store(true, Ordering::Relaxed);
    std::thread::scope(|scope| {
        let searches: Vec<_> = (0..4).map(|_| scope.spawn(|| server.get("/api/devices").json())).collect();
        server.daemon.wait_for("look for devices");
        // Quick requests, and those that take long themselves: scenes have a place of their own.
        assert_eq!(server.get("/api/state").status, 200);
        assert_eq!(server.post("/api/scene", r#"{"name":"tower"}"#).status, 200);
        server.daemon.search_hangs.store(false, Ordering::Relaxed);
        for search in searches {
            let in_use = json!({ "name": "made up", "kind": "simulated" });
            assert_eq!(search.join().unwrap(), json!({ "devices": [], "in_use": in_use }));
        }
    });
}

#[test]
fn a_scene_keeps_its_place_until_it_is_ready_though_the_client_hung_up() {
    let server = server();
    server.daemon.scene_hangs.store(true, Ordering::Relaxed);
    let body = r#"{"name":"tower"}"#;
    let mut client = TcpStream::connect(server.address).unwrap();
    let head =
        format!("POST /api/scene HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n\r\n", server.address, body.len());
    client.write_all(format!("{head}{body}").as_bytes()).unwrap();
    server.daemon.wait_for("prepare a scene");
    drop(client);
    // Once the server has seen that, it must not take another scene; the state is asked for to give it time.
    for _ in 0..20 {
        assert_eq!(server.get("/api/state").status, 200);
        assert_eq!(server.post("/api/scene", body).status, 503);
    }
    assert_eq!(server.daemon.asked.lock().unwrap().iter().filter(|asked| *asked == "prepare a scene").count(), 1);
    server.daemon.scene_hangs.store(false, Ordering::Relaxed);
    wait_until("the place is free again", || server.post("/api/scene", body).status == 200);
}

#[test]
fn clients_that_ask_and_never_read_lose_their_places() {
    let server = server();
    let asked = format!("GET /main.js HTTP/1.1\r\nHost: {}\r\n\r\n", server.address).repeat(400);
    let greedy: Vec<TcpStream> = (0..MAX_CONNECTIONS)
        .map(|_| {
            let mut stream = TcpStream::connect(server.address).unwrap();
            stream.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
            // It may stop listening before all is said.
            let _ = stream.write_all(asked.as_bytes());
            stream
        })
        .collect();
    wait_until("all places are taken", || server.get("/api/state").status == 503);
    wait_until("there is a place again", || server.get("/api/state").status == 200);
    drop(greedy);
}

#[test]
fn orders_reach_the_daemon_and_its_refusals_come_back() {
    let server = server();
    assert_eq!(server.post("/api/pause", r#"{"paused":true}"#).json(), json!({ "paused": true }));
    assert_eq!(server.post("/api/pause", r#"{"paused":false}"#).json(), json!({ "paused": false }));
    assert_eq!(server.post("/api/step", r#"{"ticks":7}"#).status, 200);
    assert_eq!(server.post("/api/step", "").status, 200);
    for asked in ["pause true", "pause false", "step 7", "step 1"] {
        server.daemon.wait_for(asked);
    }
    let busy = server.post("/api/reset", "");
    assert_eq!((busy.status, busy.json()), (503, json!({ "error": "busy" })));
    assert_eq!(server.post("/api/scene", r#"{"name":"tower"}"#).json(), json!({ "scene_id": 2 }));
    assert_eq!(server.post("/api/record/start", r#"{"file":"a.mcap"}"#).json(), json!({ "file": "a.mcap" }));
    assert_eq!(server.post("/api/record/stop", "").status, 409);
    assert_eq!(server.ask("PATCH", "/api/coupling", &[], r#"{"stiffness_n_per_m":300}"#).status, 200);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would_be_right() {
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
        let answer = server.ask(method, path, &[], body);
        assert_eq!(answer.status, status, "{method} {path} {body}: {}", answer.body);
        let error = answer.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(error.contains(words), "{method} {path} {body}: {error}");
    }
}

#[test]
fn the_page_is_served_whole_with_headers_that_shut_everybody_else_out() {
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
        let answer = server.get(path);
        assert!(matches!(answer.status, 400 | 404), "{path}: {}", answer.status);
        assert!(!answer.body.contains("root:") && !answer.body.contains("[package]"), "{path}");
    }
}

#[test]
fn strangers_are_refused_and_it_is_counted() {
    let server = server();
    let foreign: [&[(&str, &str)]; 4] = [
        &[("Host", "evil.example")],
        &[("Origin", "http://evil.example")],
        &[("Origin", "null")],
        &[("Sec-Fetch-Site", "cross-site")],
    ];
    for headers in foreign {
        assert_eq!(server.ask("GET", "/api/state", headers, "").status, 403, "{headers:?}");
        assert_eq!(server.ask("POST", "/api/pause", headers, "{}").status, 403, "{headers:?}");
    }
    let own = format!("http://{}", server.address);
    assert_eq!(server.ask("POST", "/api/pause", &[("Origin", &own)], "{}").status, 200);
    assert_eq!(server.daemon.asked.lock().unwrap().len(), 1);
    assert!(server.get("/metrics").body.contains("\nhapticd_view_refused_total 8\n"));
}

#[test]
fn a_request_without_a_host_or_with_rubbish_is_refused() {
    let server = server();
    assert_eq!(server.say("GET /api/state HTTP/1.1\r\nConnection: close\r\n\r\n").status, 403);
    assert_eq!(server.say("GET /api/state HTTP/1.0\r\n\r\n").status, 403);
    assert_eq!(server.say("\u{1}\u{2}\u{3} rubbish\r\n\r\n").status, 400);
    let many = "X-Header: 1\r\n".repeat(200);
    assert_eq!(server.say(&format!("GET / HTTP/1.1\r\n{many}\r\n")).status, 431);
    let long = "a".repeat(64 << 10);
    assert!(matches!(server.get(&format!("/{long}")).status, 414 | 431));
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn ten_megabytes_are_refused_before_they_are_read() {
    let server = server();
    let body = format!(r#"{{"toml":"{}"}}"#, "x".repeat(10 << 20));
    let head = format!(
        "POST /api/scene HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        server.address,
        body.len()
    );
    // Only the head is sent: whoever answers now has not waited for the rest.
    let answer = server.say(&head);
    assert_eq!(answer.status, 413, "{}", answer.body);
    assert!(answer.json()["error"].as_str().unwrap().contains("larger than 1024 KiB"));
    // Nor is a length believed that is not told beforehand.
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    let chunked = format!(
        "POST /api/scene HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n{}0\r\n\r\n",
        server.address,
        chunk.repeat(3)
    );
    assert!(matches!(server.say(&chunked).status, 413 | 0));
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn beyond_this_machine_only_the_token_opens_the_data() {
    let server = server_at([0, 0, 0, 0]);
    let token = server.token.clone().unwrap();
    assert_eq!(server.get("/").status, 200);
    assert_eq!(server.get("/api/state").status, 401);
    assert_eq!(server.post("/api/pause", "{}").status, 401);
    assert_eq!(server.get(&format!("/api/state?token={token}")).status, 200);
    let bearer = format!("Bearer {token}");
    assert_eq!(server.ask("POST", "/api/pause", &[("Authorization", &bearer)], "{}").status, 200);
    assert_eq!(server.try_stream("", &[]).err(), Some(401));
    assert!(server.try_stream(&format!("?token={token}"), &[]).is_ok());
}

#[test]
fn metrics_are_in_the_format_that_prometheus_reads() {
    let server = server();
    let answer = server.get("/metrics");
    assert_eq!(answer.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    for name in ["hapticd_ticks_total", "hapticd_overruns_total", "hapticd_tank_joules", "hapticd_view_clients"] {
        assert!(answer.body.contains(&format!("# TYPE {name} ")), "{name}");
    }
    for line in answer.body.lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').unwrap();
        assert!(value.parse::<f64>().is_ok_and(f64::is_finite), "{line}");
        assert!(name.starts_with("hapticd_"), "{line}");
    }
}

#[test]
fn five_hundred_connections_at_once_are_served_or_sent_away_and_it_goes_on() {
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
    wait_until("an answer after the flood", || server.get("/api/state").status == 200);
}

/// One request; zero if the connection was shut in its face.
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
fn idle_connections_take_no_place_from_those_who_ask() {
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
