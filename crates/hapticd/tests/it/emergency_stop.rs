//! Emergency stop of a running daemon, through every path.
//!
//! No test here measures time. Recordings show in which tick a stop took effect.
#![cfg(unix)]

use crate::common::daemon::{Daemon, exchange, hapticd};
use crate::common::{Folder, Process, TIMEOUT, stderr};
use haptic_loop::command::RecordedCommand;
use haptic_loop::engagement::Phase;
use haptic_record::reader::Item;
use haptic_record::tick_message::TickMessage;
use hapticd::recording::kept::OpenRecording;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

/// Number of stops and releases through each path.
const ROUNDS: usize = 100;
/// Length of the ramp of the default profile with a simulated device, ticks.
const RAMP_TICKS: f64 = 200.0;

fn stop(daemon: &Daemon, more: &[&str]) -> Output {
    hapticd(&[&["stop", "--view", &daemon.address], more].concat()).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

#[track_caller]
fn stop_by_command(daemon: &Daemon) {
    let output = stop(daemon, &[]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let release = format!("`hapticd stop --release --view {}`", daemon.address);
    assert!(text(&output).starts_with("Stopped the daemon at 127.0.0.1:"), "{}", text(&output));
    assert!(text(&output).contains(&release) && text(&output).lines().count() == 1, "{}", text(&output));
}

#[track_caller]
fn release_by_command(daemon: &Daemon) {
    let output = stop(daemon, &["--release"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(text(&output).starts_with("Released the stop of the daemon at 127.0.0.1:"), "{}", text(&output));
}

#[track_caller]
fn stop_by_api(daemon: &Daemon) {
    assert_eq!(daemon.ask("POST", "/api/stop", &Value::Null), (200, json!({ "stopped": true })));
}

#[track_caller]
fn release_by_api(daemon: &Daemon) {
    assert_eq!(daemon.ask("POST", "/api/stop/release", &Value::Null), (200, json!({ "stopped": false })));
}

fn is_stopped(state: &Value) -> bool {
    state["phase"] == "stopped" && state["force_n"] == json!([0.0, 0.0])
}

/// Returns the ticks of a recording by their numbers.
fn ticks(recording: &OpenRecording) -> BTreeMap<u64, TickMessage> {
    let mut ticks = BTreeMap::new();
    recording
        .visit(|item| {
            if let Item::Tick(tick) = item {
                ticks.insert(tick.tick, *tick);
            }
            Ok(())
        })
        .unwrap();
    ticks
}

/// Checks every tick of a recording: a stop has zero force from its very tick to its release, and every release is
/// followed by a ramp from zero. Returns the numbers of stops and releases.
#[track_caller]
fn check_stops(recording: &OpenRecording) -> (usize, usize) {
    let (mut stops, mut releases, mut is_stopped) = (0, 0, false);
    let mut permitted = f64::INFINITY;
    let mut commands = recording.commands.iter().peekable();
    for (number, tick) in ticks(recording) {
        while let Some(command) = commands.next_if(|command| command.before_tick <= number) {
            match command.command {
                RecordedCommand::Stop => (stops, is_stopped) = (stops + 1, true),
                RecordedCommand::Release => (releases, is_stopped, permitted) = (releases + 1, false, 0.0),
                _ => {}
            }
        }
        assert_eq!(tick.phase == Phase::Stopped, is_stopped, "tick {number}");
        if is_stopped {
            assert_eq!((tick.rounded.force_n, tick.rounded.fraction), ([0.0, 0.0], 0.0), "tick {number}");
        }
        if matches!(tick.phase, Phase::Ramping | Phase::Engaged) {
            permitted += 1.0 / RAMP_TICKS;
        }
        assert!(f64::from(tick.rounded.fraction) <= permitted + 1e-3, "tick {number} after {releases} releases");
    }
    (stops, releases)
}

#[test]
fn a_hundred_stops_and_releases_by_api_and_by_command_take_effect_in_their_tick_and_replay() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&["--record", "a.mcap"], |command| folder.run_here(command));
    daemon.wait_for("full force", |state| state["phase"] == "engaged");
    for round in 0..ROUNDS {
        for (stop, release) in
            [(stop_by_api as fn(&Daemon), release_by_api as fn(&Daemon)), (stop_by_command, release_by_command)]
        {
            stop(&daemon);
            daemon.wait_for("the stop", is_stopped);
            release(&daemon);
            let is_ready = |state: &Value| match round % 10 {
                0 => state["phase"] == "engaged",
                _ => state["phase"] != "stopped",
            };
            daemon.wait_for("a release", is_ready);
        }
    }
    let log = daemon.log();
    assert!(log.contains("emergency stop in tick ") && log.contains("release it with Release on the page"), "{log}");
    assert!(log.contains("emergency stop released after tick "), "{log}");
    let summary = daemon.end();
    // A busy machine may add faults of its own, such as a late tick.
    let faults = summary["faults"].as_array().unwrap();
    assert_eq!(faults.iter().filter(|fault| fault["kind"] == "stopped").count(), 2 * ROUNDS, "{summary}");
    let recording = OpenRecording::open(&folder.join("a.mcap")).unwrap();
    assert_eq!(check_stops(&recording), (2 * ROUNDS, 2 * ROUNDS));
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert!(replay["first_difference"].is_null() && replay["unproved"].is_null(), "{replay}");
    assert_eq!(replay["state_hash"], summary["state_hash"]);
    folder.done(&["report", "a.mcap", "--out", "a.html"]);
    let report = folder.read("a.html");
    assert!(report.contains("emergency stop") && report.contains("emergency stop released"), "the report lists them");
    let boxes = folder.names();
    assert!(boxes.iter().any(|name| name == "hapticd"), "{boxes:?}");
    let kept = std::fs::read_dir(folder.join("hapticd")).unwrap().map(|file| file.unwrap().file_name());
    assert!(kept.into_iter().any(|name| name.to_string_lossy().ends_with("-stopped.csv")), "there is a black box");
}

#[test]
fn sigusr1_stops_and_its_repetition_does_not_release() {
    let folder = Folder::new();
    let mut command = folder.command(&["run", "--no-view", "--record", "a.mcap", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut process = Process(child);
    let log = follow_log(&mut process);
    wait_for_line(&log, "Running scene");
    process.signal("-USR1");
    let line = wait_for_line(&log, "emergency stop in tick");
    assert!(line.contains("end the run with SIGTERM"), "{line}");
    (0..20).for_each(|_| process.signal("-USR1"));
    let summary = process.end("-TERM");
    assert_eq!(summary["faults"].as_array().unwrap().len(), 1, "{summary}");
    let recording = OpenRecording::open(&folder.join("a.mcap")).unwrap();
    assert_eq!(check_stops(&recording), (1, 0));
    assert_eq!(ticks(&recording).last_key_value().unwrap().1.phase, Phase::Stopped);
    assert!(folder.json(&["replay", "a.mcap", "--json"])["first_difference"].is_null());
}

#[test]
fn sigusr1_ends_an_emulated_board() {
    let folder = Folder::new();
    let mut command = folder.command(&["emulate", "native-2dof", "--link", "board"]);
    let mut process = Process(command.stderr(Stdio::piped()).spawn().unwrap());
    let deadline = Instant::now() + TIMEOUT;
    while std::fs::symlink_metadata(folder.join("board")).is_err() {
        assert!(Instant::now() < deadline, "the board never appeared");
        std::thread::sleep(Duration::from_millis(10));
    }
    process.signal("-USR1");
    assert_eq!(process.0.wait().unwrap().code(), Some(0), "it ends as on SIGTERM");
}

#[test]
fn a_flood_of_requests_neither_rejects_nor_delays_a_stop() {
    let daemon = Daemon::start(&[]);
    daemon.wait_for("full force", |state| state["phase"] == "engaged");
    let pause = || exchange(&daemon.address, "POST", "/api/pause", r#"{"paused":false}"#).0;
    let deadline = Instant::now() + TIMEOUT;
    while pause() != 429 {
        assert!(Instant::now() < deadline, "the rate limit was never reached");
    }
    for _ in 0..150 {
        stop_by_api(&daemon);
    }
    assert!(is_stopped(&daemon.wait_for("the stop", |state| state["phase"] == "stopped")));
    assert_eq!(daemon.end()["faults"].as_array().unwrap().len(), 1, "a repeated stop is one stop");
}

#[test]
fn a_stop_holds_through_pause_step_reset_scene_change_and_new_gains() {
    let daemon = Daemon::start(&[]);
    assert_eq!(daemon.ask("POST", "/api/pause", &json!({ "paused": true })).0, 200);
    stop_by_api(&daemon);
    for (method, path, body) in [
        ("POST", "/api/step", json!({ "ticks": 10 })),
        ("POST", "/api/pause", json!({ "paused": false })),
        ("POST", "/api/reset", json!({})),
        ("POST", "/api/scene", json!({ "name": "tower" })),
        ("PATCH", "/api/coupling", json!({ "stiffness_n_per_m": 300 })),
    ] {
        assert_eq!(daemon.ask(method, path, &body).0, 200, "{path}");
        let tick = daemon.state()["tick"].as_u64().map(|tick| tick + 50);
        assert!(is_stopped(&daemon.wait_for("later", |state| state["tick"].as_u64() > tick)), "{path}");
    }
    release_by_command(&daemon);
    daemon.wait_for("full force", |state| state["phase"] == "engaged");
}

#[test]
fn a_daemon_beyond_loopback_is_stopped_from_this_machine_without_its_token_and_released_with_it() {
    let mut command = hapticd(&["run", "--view", "0.0.0.0:0", "--json"]);
    let mut process = Process(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let log = follow_log(&mut process);
    let line = wait_for_line(&log, "Viewer: http://");
    let (_, rest) = line.rsplit_once(':').unwrap();
    let (port, token) = rest.split_once("/?token=").unwrap();
    let address = format!("0.0.0.0:{port}");
    let stop = |more: &[&str]| hapticd(&[&["stop", "--view", &address], more].concat()).output().unwrap();
    let stopped = stop(&[]);
    assert_eq!(stopped.status.code(), Some(0), "{}", stderr(&stopped));
    assert!(wait_for_line(&log, "emergency stop in tick").contains("--token TOKEN"));
    let rejected = stop(&["--release"]);
    assert_eq!(rejected.status.code(), Some(1));
    assert!(stderr(&rejected).contains("requires a token; give the one"), "{}", stderr(&rejected));
    assert_eq!(stop(&["--release", "--token", token]).status.code(), Some(0));
    wait_for_line(&log, "emergency stop released");
}

#[test]
fn stop_without_a_daemon_fails_with_a_remedy() {
    let folder = Folder::new();
    // A port that was free a moment ago, and one where another program listens.
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    for (more, remedy) in [(&[][..], "kill -USR1 PID"), (&["--release"], "r in its terminal")] {
        let message = folder.ended(1, &[&["stop", "--view", &free], more].concat());
        assert!(message.starts_with(&format!("no daemon answers at {free}: ")), "{message}");
        assert!(message.contains("--view") && message.contains(remedy), "{message}");
    }
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap().to_string();
    let message = folder.ended(1, &["stop", "--view", &address]);
    assert!(message.starts_with(&format!("no daemon answers at {address}: timed out")), "{message}");
    assert!(
        folder.ended(2, &["stop", "--view", "nowhere"]).contains("an address and a port; give --view 127.0.0.1:8520")
    );
}

type Log = std::sync::Arc<std::sync::Mutex<Vec<String>>>;

/// Reads the log of a process in the background.
fn follow_log(process: &mut Process) -> Log {
    use std::io::BufRead;
    let lines = std::io::BufReader::new(process.0.stderr.take().unwrap()).lines();
    let log = Log::default();
    let shared = log.clone();
    std::thread::spawn(move || lines.map_while(Result::ok).for_each(|line| shared.lock().unwrap().push(line)));
    log
}

#[track_caller]
fn wait_for_line(log: &Log, expected: &str) -> String {
    let deadline = Instant::now() + TIMEOUT;
    loop {
        if let Some(line) = log.lock().unwrap().iter().find(|line| line.contains(expected)) {
            return line.clone();
        }
        assert!(Instant::now() < deadline, "the log lacks {expected}: {:?}", log.lock().unwrap());
        std::thread::sleep(Duration::from_millis(5));
    }
}
