//! The viewer of a running daemon: it shows the state of the loop, and the loop executes its requests.
//!
//! No test here measures time; each waits for the expected state.
#![cfg(unix)]

use crate::common::daemon::{Daemon, exchange, hapticd};
use crate::common::{Folder, TIMEOUT};
use serde_json::{Value, json};
use std::process::{Command, Output};
use std::time::{Duration, Instant};
use tungstenite::Message;

/// Returns the stiffness in the loop, from the energy and stretch of the coupling; `None` if the stretch is too small.
fn stiffness_in_loop_n_per_m(state: &Value) -> Option<f64> {
    let place = |value: &Value| [0, 1].map(|axis| value[axis].as_f64().unwrap());
    let (hand, handle) = (place(&state["hand_m"]), place(&state["tool"]["handle_m"]));
    let stretch_m = (hand[0] - handle[0]).hypot(hand[1] - handle[1]);
    let coupling_j = state["energy"]["coupling_j"].as_f64().unwrap();
    (stretch_m > 1e-4).then(|| 2.0 * coupling_j / (stretch_m * stretch_m))
}

#[test]
fn new_gains_are_those_of_the_loop_and_wrong_ones_change_nothing() {
    let daemon = Daemon::start(&[]);
    let keys = json!({
        "stiffness_n_per_m": 250, "angular_stiffness_n_m_per_rad": 0, "angular_damping_n_m_s_per_rad": 0.001
    });
    let (status, coupling) = daemon.ask("PATCH", "/api/coupling", &keys);
    assert_eq!((status, &coupling["stiffness_n_per_m"]), (200, &json!(250.0)));
    daemon.wait_for("250 N/m in the loop", |state| {
        stiffness_in_loop_n_per_m(state).is_some_and(|stiffness| (stiffness / 250.0 - 1.0).abs() < 0.01)
    });
    for (wrong, expected) in [
        (json!({ "stiffness_n_per_m": -1 }), "coupling.stiffness_n_per_m: must be from 0 to 1000000"),
        (json!({ "stiffness_n_per_m": 9e5 }), "coupling.stiffness_n_per_m: must not be more than"),
        (json!({ "stiffness_n_per_m": "350,5" }), "coupling.stiffness_n_per_m: must be a number, got \"350,5\""),
        (json!({ "stifness": 1 }), "did you mean stiffness_n_per_m?"),
    ] {
        let (status, answer) = daemon.ask("PATCH", "/api/coupling", &wrong);
        assert_eq!(status, 422, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(expected), "{answer}");
    }
    let settings = daemon.get("/api/settings");
    assert_eq!(settings["coupling"]["stiffness_n_per_m"], 250.0);
    assert_eq!(settings["stability"]["region"].as_array().unwrap().len(), 48);
    assert!(daemon.end()["ticks"].as_u64().unwrap() > 0);
}

#[test]
fn the_mouse_leads_the_hand_and_the_path_resumes_afterwards() {
    let daemon = Daemon::start(&[]);
    let mut stream = daemon.open_stream();
    let is_near = |state: &Value| {
        let [x, y] = [0, 1].map(|axis| state["hand_m"][axis].as_f64().unwrap());
        (x - 0.01).hypot(y - 0.09) < 0.005
    };
    stream.send(Message::text(r#"{"type":"hand","position_m":[0.01,0.09]}"#)).unwrap();
    let state = daemon.wait_for("the hand at the mouse", is_near);
    assert_eq!(state["hand_guided"], true);
    stream.send(Message::text(r#"{"type":"hand","position_m":null}"#)).unwrap();
    daemon.wait_for("the hand on its path again", |state| state["hand_guided"] == false && !is_near(state));
}

#[test]
fn a_larger_scene_is_switched_to_completely_and_force_re_engages() {
    let daemon = Daemon::start(&["--scene", "wall"]);
    let mut stream = daemon.open_stream();
    // Reads continuously, because a client that reads nothing for some seconds is dropped.
    let reader = std::thread::spawn(move || {
        let mut scene_id = json!(1);
        while scene_id != json!(4) {
            let Message::Text(text) = stream.read().unwrap() else { continue };
            let message: Value = serde_json::from_str(&text).unwrap();
            match message["type"].as_str() {
                Some("scene") => scene_id = message["scene_id"].clone(),
                Some("state") => assert_eq!(message["scene_id"], scene_id, "every scene comes before its states"),
                _ => {}
            }
        }
    });
    for (number, name) in [(2, "heap"), (3, "tower"), (4, "table")] {
        let (status, answer) = daemon.ask("POST", "/api/scene", &json!({ "name": name }));
        assert_eq!((status, &answer["scene_id"]), (200, &json!(number)), "{answer}");
        let scene = daemon.get("/api/scene");
        assert_eq!((&scene["name"], &scene["scene_id"]), (&json!(name), &json!(number)));
        let state = daemon.wait_for("a state of it", |state| state["scene_id"] == number);
        assert_eq!(state["bodies"].as_array().unwrap().len(), scene["moving"].as_array().unwrap().len(), "{name}");
        assert_eq!(daemon.get("/api/scenes")["current"], name);
    }
    daemon.wait_for("full force", |state| state["phase"] == "engaged");
    reader.join().unwrap();
    assert_eq!(daemon.end()["faults"], json!([]));
}

#[test]
fn a_scene_can_be_sent_as_text_and_a_wrong_one_changes_nothing() {
    let daemon = Daemon::start(&[]);
    let ball = "[[body]]\nname = \"ball\"\nshape = { disc_radius_m = 0.01 }\n";
    let (status, answer) = daemon.ask("POST", "/api/scene", &json!({ "toml": ball }));
    assert_eq!(status, 200, "{answer}");
    assert_eq!(daemon.get("/api/scene")["bodies"][0]["name"], "ball");
    let exact = format!("[world]\nimpact_state = \"exact\"\n{ball}");
    let including = format!("include = [\"walls.toml\"]\n{ball}");
    let disc = |index: u32| {
        let (x, y) = (0.03 * f64::from(index % 50), 0.03 * f64::from(index / 50));
        format!("{}position_m = [{x}, {y}]\n", ball.replace("ball", &index.to_string()))
    };
    let crowd: String = (0..2001).map(disc).collect();
    for (toml, expected) in [
        ("[[body]]\nname = 3\n", "scene:2:8"),
        (&*exact, "works with `simulate` only"),
        ("[", "TOML"),
        (&*including, "scene:1:11: include: a scene without a folder cannot include files; remove include"),
        (&*crowd, "2001"),
    ] {
        let (status, answer) = daemon.ask("POST", "/api/scene", &json!({ "toml": toml }));
        assert_eq!(status, 422, "{answer}");
        assert!(answer["error"].as_str().unwrap().contains(expected), "{answer}");
    }
    assert_eq!(daemon.ask("POST", "/api/scene", &json!({ "name": "nowhere" })).0, 422);
    assert_eq!(daemon.get("/api/scene")["scene_id"], 2);
}

#[test]
fn a_paused_world_does_not_move_steps_on_request_and_resets() {
    let daemon = Daemon::start(&["--scene", "heap"]);
    assert_eq!(daemon.ask("POST", "/api/step", &json!({ "ticks": 5 })).0, 409);
    assert_eq!(daemon.ask("POST", "/api/pause", &json!({ "paused": true })).0, 200);
    let paused = daemon.wait_for("a pause", |state| state["paused"] == true);
    let later =
        daemon.wait_for("later", |state| state["tick"].as_u64() > paused["tick"].as_u64().map(|tick| tick + 50));
    assert_eq!(later["bodies"], paused["bodies"]);
    assert_eq!(later["force_n"], json!([0.0, 0.0]));
    assert_eq!(daemon.ask("POST", "/api/reset", &Value::Null).0, 200);
    let start = daemon.wait_for("the start", |state| state["bodies"] != paused["bodies"]);
    assert_eq!(daemon.ask("POST", "/api/step", &json!({ "ticks": 100 })).0, 200);
    daemon.wait_for("some steps", |state| state["bodies"] != start["bodies"]);
    assert_eq!(daemon.ask("POST", "/api/pause", &json!({ "paused": false })).0, 200);
    daemon.wait_for("a resumed run", |state| state["paused"] == false);
}

#[test]
fn recordings_in_quick_succession_have_files_of_their_own() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&[], |command| folder.run_here(command));
    let files: Vec<String> = (0..3)
        .map(|_| {
            let file = start_recording(&daemon);
            assert_eq!(daemon.ask("POST", "/api/record/stop", &Value::Null).0, 200);
            file
        })
        .collect();
    daemon.end();
    let is_written = |file: &String| std::fs::metadata(file).is_ok_and(|metadata| metadata.len() > 0);
    assert!(files.iter().all(is_written), "{files:?}");
    assert!(files[0] != files[1] && files[1] != files[2], "{files:?}");
}

#[test]
fn after_a_failed_recording_another_can_start_and_of_two_at_once_only_one() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&[], |command| folder.run_here(command));
    let file = start_recording(&daemon);
    std::fs::remove_file(&file).unwrap();
    daemon.wait_for("the recording has failed", |state| state["recording"].is_null());
    let again = start_recording(&daemon);
    assert_eq!(daemon.ask("POST", "/api/record/stop", &Value::Null).0, 200);
    let both_start = || {
        std::thread::scope(|scope| {
            let start = || daemon.ask("POST", "/api/record/start", &Value::Null).0;
            [scope.spawn(start), scope.spawn(start)].map(|one| one.join().unwrap())
        })
    };
    // Both are rejected until the previous recording is complete.
    let deadline = Instant::now() + TIMEOUT;
    let mut statuses = both_start();
    while statuses == [409, 409] && Instant::now() < deadline {
        statuses = both_start();
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    assert_eq!(daemon.ask("POST", "/api/record/stop", &Value::Null).0, 200);
    let (status, answer) = daemon.ask("POST", "/api/record/start", &json!({ "file": "a\u{1b}[31m.mcap" }));
    assert_eq!(status, 422, "{answer}");
    let summary = daemon.end_with(1);
    assert_eq!(summary["recording"]["complete"], false);
    assert!(std::fs::metadata(&again).is_ok_and(|metadata| metadata.len() > 0), "{again}");
}

/// Starts a recording as soon as the previous one is complete, and returns its path.
#[track_caller]
fn start_recording(daemon: &Daemon) -> String {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        match daemon.ask("POST", "/api/record/start", &Value::Null) {
            (409, _) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(5)),
            (200, answer) => return answer["file"].as_str().unwrap().to_owned(),
            (status, answer) => panic!("{status}: {answer}"),
        }
    }
}

#[test]
fn metrics_count_the_ticks_of_the_loop() {
    let daemon = Daemon::start(&[]);
    let ticks = || {
        let (_, text) = exchange(&daemon.address, "GET", "/metrics", "");
        let figure = |name: &str| {
            let line =
                text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_else(|| panic!("{name}: {text}"));
            line.trim().parse::<f64>().unwrap()
        };
        let ticks = figure("hapticd_ticks_total ");
        for name in ["hapticd_wake_seconds", "hapticd_compute_seconds"] {
            assert_eq!(figure(&format!("{name}_count ")), ticks, "{text}");
            assert!(figure(&format!("{name}_sum ")) <= ticks * figure(&name.replace("_seconds", "_max_seconds ")));
        }
        ticks
    };
    let (before, deadline) = (ticks(), Instant::now() + TIMEOUT);
    while ticks() <= before {
        assert!(Instant::now() < deadline, "the ticks do not advance");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_port_in_use_is_replaced_and_an_impossible_address_only_disables_the_viewer() {
    let daemon = Daemon::start(&[]);
    let run = |arguments: &[&str]| hapticd(&["run", "--seconds", "0.1"]).args(arguments).output().unwrap();
    let moved = stderr_of(&run(&["--view", &daemon.address]));
    assert!(moved.lines().next().is_some_and(|line| line.contains("is in use")), "{moved}");
    let impossible = run(&["--view", "192.0.2.1:8520"]);
    assert_eq!(impossible.status.code(), Some(0));
    assert!(stderr_of(&impossible).contains("viewer disabled: cannot listen on 192.0.2.1:8520"));
    assert!(!stderr_of(&run(&["--no-view"])).contains("Viewer:"));
    assert_eq!(run(&["--view", "nowhere"]).status.code(), Some(2));
    assert_eq!(run(&["--no-view", "--view", "127.0.0.1:0"]).status.code(), Some(2));
}

fn stderr_of(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn the_python_example_works() {
    let daemon = Daemon::start(&[]);
    let Some(printed) = run_example("python3", &[], "watch.py", &daemon.address) else { return };
    assert!(printed.contains("scene: table") && printed.contains("stiffness now 300.0 N/m"), "{printed}");
    assert!(printed.contains(" s  force "), "{printed}");
}

#[test]
fn the_javascript_example_works() {
    let daemon = Daemon::start(&[]);
    let Some(printed) = run_example("node", &["--experimental-websocket"], "circle.mjs", &daemon.address) else {
        return;
    };
    assert!(printed.contains("scene: table") && printed.contains(" s  hand "), "{printed}");
}

/// Runs an example and returns its output. If `program` is not installed, prints a message and returns `None`.
fn run_example(program: &str, flags: &[&str], name: &str, address: &str) -> Option<String> {
    let path = format!("{}/../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"));
    let ran = Command::new(program).args(flags).args([&*path, &format!("http://{address}"), "1"]).output();
    let Ok(output) = ran else {
        eprintln!("SKIPPED: {program} is not installed, so {name} did not run");
        return None;
    };
    assert!(output.status.success(), "{name}: {}", stderr_of(&output));
    Some(String::from_utf8(output.stdout).unwrap())
}
