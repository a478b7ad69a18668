//! WebSocket stream: message order, messages from clients, and misbehaving clients.

use crate::common::{TIMEOUT, ball, observation, server, wait_until};
use haptic_view::message::scene::SceneMessage;
use serde_json::json;
use std::io::Write;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use tungstenite::Message;

#[test]
fn settings_and_scene_come_before_the_first_state_and_timing_follows() {
    let server = server();
    let mut stream = server.open_stream("?hz=60");
    let kinds: Vec<String> =
        (0..4).map(|_| stream.next_of_any_kind().unwrap()["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(kinds, ["settings", "scene", "state", "timing"]);
}

#[test]
fn each_frame_brings_the_samples_since_the_last() {
    let server = server();
    let mut stream = server.open_stream("?hz=120");
    let first = stream.next("state");
    assert_eq!((&first["tick"], times(&first)), (&json!(8), vec![0.008]));
    (2..=4).for_each(|tick| server.telemetry.publish_state(observation(1, 8 * tick, 1)));
    let mut received = Vec::new();
    while received.len() < 3 {
        received.extend(times(&stream.next("state")));
    }
    assert_eq!(received, [0.016, 0.024, 0.032]);
}

#[test]
fn the_first_frame_brings_the_last_eight_seconds_of_this_scene() {
    let server = server();
    (2..=1500).for_each(|row| server.telemetry.publish_state(observation(1, 8 * row, 1)));
    let first = times(&server.open_stream("?hz=60").next("state"));
    assert_eq!((first.len(), first[0], first[999]), (1000, 4.008, 12.0));
    let (description, scene) = ball();
    server.telemetry.publish_scene(&SceneMessage::new(2, "another", &description, &scene));
    (1501..=1503).for_each(|row| server.telemetry.publish_state(observation(2, 8 * row, 1)));
    assert_eq!(times(&server.open_stream("?hz=60").next("state")), [12.008, 12.016, 12.024]);
}

/// Returns the times of a frame's samples, s.
fn times(frame: &serde_json::Value) -> Vec<f64> {
    frame["samples"].as_array().unwrap().iter().map(|row| row[0].as_f64().unwrap()).collect()
}

#[test]
fn a_state_of_another_scene_waits_for_its_scene() {
    let server = server();
    let mut stream = server.open_stream("?hz=120");
    assert_eq!(stream.next("scene")["scene_id"], 1);
    assert_eq!(stream.next("state")["scene_id"], 1);
    let (description, scene) = ball();
    server.telemetry.publish_scene(&SceneMessage::new(2, "another", &description, &scene));
    server.telemetry.publish_state(observation(1, 16, 1));
    server.telemetry.publish_state(observation(2, 24, 1));
    let mut scene_id = 1;
    loop {
        let message = stream.next_of_any_kind().unwrap();
        match message["type"].as_str().unwrap() {
            "scene" => scene_id = 2,
            "state" => assert_eq!(message["scene_id"], scene_id),
            _ => continue,
        }
        if message["type"] == "state" && scene_id == 2 {
            break;
        }
    }
}

#[test]
fn the_hand_follows_a_stream_until_it_is_released_or_the_page_is_closed() {
    let server = server();
    let mut stream = server.open_stream("");
    stream.send(r#"{"type":"hand","position_m":[0.25,-0.5]}"#);
    server.daemon.wait_for("move to 0.25 -0.5");
    wait_until("guided", || server.get("/api/state").json()["hand_guided"] == true);
    stream.send(r#"{"type":"hand","position_m":null}"#);
    server.daemon.wait_for("release");
    wait_until("not guided", || server.get("/api/state").json()["hand_guided"] == false);
    stream.send(r#"{"type":"hand","position_m":[0.75,0]}"#);
    server.daemon.wait_for("move to 0.75 0");
    drop(stream);
    let releases = || server.daemon.requests.lock().unwrap().iter().filter(|request| *request == "release").count();
    wait_until("released again", || releases() == 2);
}

#[test]
fn each_stream_reports_whether_it_controls_the_hand() {
    let server = server();
    let (mut first, mut second) = (server.open_stream("?hz=120"), server.open_stream("?hz=120"));
    let mut tick = 8;
    let mut leads = |stream: &mut crate::common::Stream, wanted: bool| loop {
        tick += 8;
        server.telemetry.publish_state(observation(1, tick, 1));
        if stream.next("state")["leads"] == wanted {
            break;
        }
    };
    first.send(r#"{"type":"hand","position_m":[0.1,0]}"#);
    leads(&mut first, true);
    leads(&mut second, false);
    second.send(r#"{"type":"hand","position_m":[0.2,0]}"#);
    leads(&mut first, false);
    leads(&mut second, true);
}

#[test]
fn a_close_frame_gets_a_reply() {
    let server = server();
    let mut stream = server.open_stream("");
    stream.0.close(None).unwrap();
    // Messages that were already sent arrive first. The stream ends with the close reply, not with a broken connection.
    let ended = std::iter::repeat_with(|| stream.0.read()).find_map(Result::err).unwrap();
    assert!(matches!(ended, tungstenite::Error::ConnectionClosed), "{ended}");
}

#[test]
fn a_hand_released_while_the_loop_is_busy_is_released_afterwards() {
    let server = server();
    let releases = || server.daemon.requests.lock().unwrap().iter().filter(|request| *request == "release").count();
    let busy = |is_busy| server.daemon.is_busy.store(is_busy, Ordering::Relaxed);
    // The client releases the hand first by a message, then by disconnecting.
    for (message, released) in [(Some(r#"{"type":"hand","position_m":null}"#), 1), (None, 2)] {
        let mut stream = server.open_stream("");
        stream.send(r#"{"type":"hand","position_m":[0.25,-0.5]}"#);
        wait_until("guided", || server.get("/api/state").json()["hand_guided"] == true);
        busy(true);
        server.daemon.requests.lock().unwrap().retain(|request| request == "release");
        let stream = message.map(|message| {
            stream.send(message);
            stream
        });
        server.daemon.wait_for("too busy to release");
        assert_eq!((releases(), &server.get("/api/state").json()["hand_guided"]), (released - 1, &json!(true)));
        busy(false);
        wait_until("release", || releases() == released);
        wait_until("not guided", || server.get("/api/state").json()["hand_guided"] == false);
        drop(stream);
    }
}

#[test]
fn a_stream_that_takes_a_hand_during_its_release_keeps_it() {
    let server = server();
    let (mut first, mut second) = (server.open_stream(""), server.open_stream(""));
    first.send(r#"{"type":"hand","position_m":[0.1,0]}"#);
    server.daemon.wait_for("move to 0.1 0");
    server.daemon.is_busy.store(true, Ordering::Relaxed);
    first.send(r#"{"type":"hand","position_m":null}"#);
    server.daemon.wait_for("too busy to release");
    second.send(r#"{"type":"hand","position_m":[0.2,0]}"#);
    server.daemon.wait_for("move to 0.2 0");
    server.daemon.is_busy.store(false, Ordering::Relaxed);
    second.send(r#"{"type":"hand","position_m":[0.3,0]}"#);
    server.daemon.wait_for("move to 0.3 0");
    assert_eq!(server.get("/api/state").json()["hand_guided"], true);
    assert!(!server.daemon.requests.lock().unwrap().contains(&"release".to_owned()));
}

#[test]
fn a_message_that_is_too_large_gets_its_own_close_code() {
    let server = server();
    let mut stream = server.open_stream("");
    stream.send(&"x".repeat(5 << 10));
    let frame = loop {
        match stream.0.read() {
            Ok(Message::Close(frame)) => break frame,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(u16::from(frame.unwrap().code), 1009);
    assert!(server.get("/metrics").body.contains("\nhapticd_view_refused_total 1\n"));
}

#[test]
fn only_the_stream_that_controls_the_hand_can_release_it() {
    let server = server();
    let (mut first, mut second) = (server.open_stream(""), server.open_stream(""));
    first.send(r#"{"type":"hand","position_m":[0.1,0]}"#);
    server.daemon.wait_for("move to 0.1 0");
    second.send(r#"{"type":"hand","position_m":null}"#);
    second.send(r#"{"type":"hand","position_m":[0.2,0]}"#);
    server.daemon.wait_for("move to 0.2 0");
    drop(first);
    second.send(r#"{"type":"hand","position_m":[0.3,0]}"#);
    server.daemon.wait_for("move to 0.3 0");
    assert!(!server.daemon.requests.lock().unwrap().contains(&"release".to_owned()));
}

#[test]
fn invalid_messages_get_an_error_and_too_many_end_the_stream() {
    let server = server();
    let mut stream = server.open_stream("");
    for invalid in [
        "{",
        r#"{"type":"fly"}"#,
        r#"{"type":"hand"}"#,
        r#"{"type":"hand"}x"#,
        r#"{"type":"hand","position_m":[1e9,0]}"#,
    ] {
        stream.send(invalid);
        assert!(stream.next("error")["error"].is_string(), "{invalid}");
    }
    (0..15).for_each(|_| stream.send("invalid"));
    while stream.next_of_any_kind().is_some() {}
    assert!(server.daemon.requests.lock().unwrap().is_empty());
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn a_message_of_ten_megabytes_ends_the_stream_and_nothing_else() {
    let server = server();
    let (mut good, mut bad) = (server.open_stream("?hz=120"), server.open_stream(""));
    // The server closes the connection before the whole message is sent.
    let _ = bad.0.send(Message::text("x".repeat(10 << 20)));
    while bad.next_of_any_kind().is_some() {}
    server.telemetry.publish_state(observation(1, 160, 1));
    while good.next("state")["tick"] != 160 {}
}

#[test]
fn a_stream_for_another_page_is_rejected() {
    let server = server();
    assert_eq!(server.try_stream("", &[("origin", "http://evil.example")]).err(), Some(403));
    assert_eq!(server.try_stream("", &[("host", "evil.example")]).err(), Some(403));
    let own = format!("http://{}", server.address);
    assert!(server.try_stream("", &[("origin", &own)]).is_ok());
}

#[test]
fn sixteen_streams_can_be_open_and_a_closed_one_frees_a_slot() {
    let server = server();
    let mut streams: Vec<_> = (0..16).map(|_| server.open_stream("?hz=1")).collect();
    assert_eq!(server.try_stream("", &[]).err(), Some(503));
    streams.pop();
    wait_until("a free slot", || server.try_stream("", &[]).is_ok());
}

/// The client opens a stream and reads nothing, while the states are large.
#[test]
fn a_client_that_never_reads_is_dropped_and_does_not_affect_others() {
    let server = server();
    let mut idle = TcpStream::connect(server.address).unwrap();
    write!(
        idle,
        "GET /api/stream?hz=120 HTTP/1.1\r\nHost: {}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address
    )
    .unwrap();
    let mut good = server.open_stream("?hz=20");
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut tick = 2;
            while !is_over.load(Ordering::Relaxed) {
                server.telemetry.publish_state(observation(1, 8 * tick, 3000));
                tick += 1;
                std::thread::sleep(std::time::Duration::from_millis(8));
            }
        });
        let deadline = std::time::Instant::now() + TIMEOUT;
        let mut frames = 0;
        loop {
            good.next("state");
            frames += 1;
            let is_dropped = server.get("/metrics").body.contains("\nhapticd_view_slow_clients_total 1\n");
            if is_dropped || std::time::Instant::now() > deadline {
                is_over.store(true, Ordering::Relaxed);
                assert!(is_dropped, "it was never dropped");
                break;
            }
        }
        assert!(frames > 5, "the other client got {frames} frames only");
    });
}

#[test]
fn the_end_of_the_viewer_closes_the_streams() {
    let mut server = server();
    let mut stream = server.open_stream("");
    stream.next("state");
    let listener = haptic_view::Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let other = haptic_view::Viewer::serve(listener, server.telemetry.clone(), server.daemon.clone(), None).unwrap();
    drop(std::mem::replace(&mut server.viewer, other));
    let frame = loop {
        match stream.0.read() {
            Ok(Message::Close(frame)) => break frame,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(u16::from(frame.unwrap().code), 1001);
}
