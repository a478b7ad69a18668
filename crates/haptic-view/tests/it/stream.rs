//! The WebSocket: what comes, in which order, what a client can say, and what becomes of bad ones.

use crate::common::{PATIENCE, ball, observation, server, wait_until};
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
    let mut told = Vec::new();
    while told.len() < 3 {
        told.extend(times(&stream.next("state")));
    }
    assert_eq!(told, [0.016, 0.024, 0.032]);
}

#[test]
fn the_first_frame_brings_the_last_eight_seconds_of_this_scene() {
    let server = server();
    (2..=1500).for_each(|row| server.telemetry.publish_state(observation(1, 8 * row, 1)));
    let first = times(&server.open_stream("?hz=60").next("state"));
    assert_eq!((first.len(), first[0], first[999]), (1000, 4.008, 12.0));
    let (description, scene) = ball();
    server.telemetry.publish_scene(&SceneMessage::of(2, "another", &description, &scene));
    (1501..=1503).for_each(|row| server.telemetry.publish_state(observation(2, 8 * row, 1)));
    assert_eq!(times(&server.open_stream("?hz=60").next("state")), [12.008, 12.016, 12.024]);
}

/// When the samples of a frame were taken, s.
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
    server.telemetry.publish_scene(&SceneMessage::of(2, "another", &description, &scene));
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
fn the_hand_is_led_let_go_and_let_go_by_a_page_that_is_closed() {
    let server = server();
    let mut stream = server.open_stream("");
    stream.say(r#"{"type":"hand","position_m":[0.25,-0.5]}"#);
    server.daemon.wait_for("guide 0.25 -0.5");
    wait_until("guided", || server.get("/api/state").json()["hand_guided"] == true);
    stream.say(r#"{"type":"hand","position_m":null}"#);
    server.daemon.wait_for("let go");
    wait_until("not guided", || server.get("/api/state").json()["hand_guided"] == false);
    stream.say(r#"{"type":"hand","position_m":[0.75,0]}"#);
    server.daemon.wait_for("guide 0.75 0");
    drop(stream);
    let let_go = || server.daemon.asked.lock().unwrap().iter().filter(|asked| *asked == "let go").count();
    wait_until("let go again", || let_go() == 2);
}

#[test]
fn each_stream_is_told_whether_it_leads_the_hand() {
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
    first.say(r#"{"type":"hand","position_m":[0.1,0]}"#);
    leads(&mut first, true);
    leads(&mut second, false);
    second.say(r#"{"type":"hand","position_m":[0.2,0]}"#);
    leads(&mut first, false);
    leads(&mut second, true);
}

#[test]
fn a_farewell_is_answered() {
    let server = server();
    let mut stream = server.open_stream("");
    stream.0.close(None).unwrap();
    // Messages that were on their way come first; what ends it is the answer, not a broken connection.
    let ended = std::iter::repeat_with(|| stream.0.read()).find_map(Result::err).unwrap();
    assert!(matches!(ended, tungstenite::Error::ConnectionClosed), "{ended}");
}

#[test]
fn a_hand_that_is_let_go_while_the_loop_is_busy_is_let_go_afterwards() {
    let server = server();
    let let_go = || server.daemon.asked.lock().unwrap().iter().filter(|asked| *asked == "let go").count();
    let busy = |is_busy| server.daemon.is_busy.store(is_busy, Ordering::Relaxed);
    // By its own word, and by going away.
    for (farewell, released) in [(Some(r#"{"type":"hand","position_m":null}"#), 1), (None, 2)] {
        let mut stream = server.open_stream("");
        stream.say(r#"{"type":"hand","position_m":[0.25,-0.5]}"#);
        wait_until("guided", || server.get("/api/state").json()["hand_guided"] == true);
        busy(true);
        server.daemon.asked.lock().unwrap().retain(|asked| asked == "let go");
        let stream = farewell.map(|farewell| {
            stream.say(farewell);
            stream
        });
        server.daemon.wait_for("too busy to let go");
        assert_eq!((let_go(), &server.get("/api/state").json()["hand_guided"]), (released - 1, &json!(true)));
        busy(false);
        wait_until("let go", || let_go() == released);
        wait_until("not guided", || server.get("/api/state").json()["hand_guided"] == false);
        drop(stream);
    }
}

#[test]
fn whoever_takes_a_hand_that_is_not_yet_let_go_keeps_it() {
    let server = server();
    let (mut first, mut second) = (server.open_stream(""), server.open_stream(""));
    first.say(r#"{"type":"hand","position_m":[0.1,0]}"#);
    server.daemon.wait_for("guide 0.1 0");
    server.daemon.is_busy.store(true, Ordering::Relaxed);
    first.say(r#"{"type":"hand","position_m":null}"#);
    server.daemon.wait_for("too busy to let go");
    second.say(r#"{"type":"hand","position_m":[0.2,0]}"#);
    server.daemon.wait_for("guide 0.2 0");
    server.daemon.is_busy.store(false, Ordering::Relaxed);
    second.say(r#"{"type":"hand","position_m":[0.3,0]}"#);
    server.daemon.wait_for("guide 0.3 0");
    assert_eq!(server.get("/api/state").json()["hand_guided"], true);
    assert!(!server.daemon.asked.lock().unwrap().contains(&"let go".to_owned()));
}

#[test]
fn a_message_that_is_too_large_is_told_as_such() {
    let server = server();
    let mut stream = server.open_stream("");
    stream.say(&"x".repeat(5 << 10));
    let farewell = loop {
        match stream.0.read() {
            Ok(Message::Close(frame)) => break frame,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(u16::from(farewell.unwrap().code), 1009);
    assert!(server.get("/metrics").body.contains("\nhapticd_view_refused_total 1\n"));
}

#[test]
fn only_who_has_the_hand_can_let_it_go() {
    let server = server();
    let (mut first, mut second) = (server.open_stream(""), server.open_stream(""));
    first.say(r#"{"type":"hand","position_m":[0.1,0]}"#);
    server.daemon.wait_for("guide 0.1 0");
    second.say(r#"{"type":"hand","position_m":null}"#);
    second.say(r#"{"type":"hand","position_m":[0.2,0]}"#);
    server.daemon.wait_for("guide 0.2 0");
    drop(first);
    second.say(r#"{"type":"hand","position_m":[0.3,0]}"#);
    server.daemon.wait_for("guide 0.3 0");
    assert!(!server.daemon.asked.lock().unwrap().contains(&"let go".to_owned()));
}

#[test]
fn nonsense_is_answered_and_too_much_of_it_ends_the_stream() {
    let server = server();
    let mut stream = server.open_stream("");
    for nonsense in [
        "{",
        r#"{"type":"fly"}"#,
        r#"{"type":"hand"}"#,
        r#"{"type":"hand"}x"#,
        r#"{"type":"hand","position_m":[1e9,0]}"#,
    ] {
        stream.say(nonsense);
        assert!(stream.next("error")["error"].is_string(), "{nonsense}");
    }
    (0..15).for_each(|_| stream.say("nonsense"));
    while stream.next_of_any_kind().is_some() {}
    assert!(server.daemon.asked.lock().unwrap().is_empty());
    assert_eq!(server.get("/api/state").status, 200);
}

#[test]
fn a_message_of_ten_megabytes_ends_the_stream_and_nothing_else() {
    let server = server();
    let (mut good, mut bad) = (server.open_stream("?hz=120"), server.open_stream(""));
    // It hangs up in the middle.
    let _ = bad.0.send(Message::text("x".repeat(10 << 20)));
    while bad.next_of_any_kind().is_some() {}
    server.telemetry.publish_state(observation(1, 160, 1));
    while good.next("state")["tick"] != 160 {}
}

#[test]
fn a_stream_for_another_page_is_refused() {
    let server = server();
    assert_eq!(server.try_stream("", &[("origin", "http://evil.example")]).err(), Some(403));
    assert_eq!(server.try_stream("", &[("host", "evil.example")]).err(), Some(403));
    let own = format!("http://{}", server.address);
    assert!(server.try_stream("", &[("origin", &own)]).is_ok());
}

#[test]
fn there_are_places_for_sixteen_streams_and_a_closed_one_is_free_again() {
    let server = server();
    let mut streams: Vec<_> = (0..16).map(|_| server.open_stream("?hz=1")).collect();
    assert_eq!(server.try_stream("", &[]).err(), Some(503));
    streams.pop();
    wait_until("a free place", || server.try_stream("", &[]).is_ok());
}

/// It asks for a stream and then takes nothing, while what is to be told is large.
#[test]
fn a_client_that_never_reads_is_dropped_and_costs_the_others_nothing() {
    let server = server();
    let mut lazy = TcpStream::connect(server.address).unwrap();
    write!(
        lazy,
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
        let deadline = std::time::Instant::now() + PATIENCE;
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
fn the_end_of_the_daemon_is_told() {
    let mut server = server();
    let mut stream = server.open_stream("");
    stream.next("state");
    let listener = haptic_view::Listener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let other = haptic_view::Viewer::serve(listener, server.telemetry.clone(), server.daemon.clone(), None).unwrap();
    drop(std::mem::replace(&mut server.viewer, other));
    let farewell = loop {
        match stream.0.read() {
            Ok(Message::Close(frame)) => break frame,
            Ok(_) => {}
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(u16::from(farewell.unwrap().code), 1001);
}
