//! Recordings from the command line: flags, exit codes, failing disks, killed daemons.
#![cfg(unix)]

use crate::common::daemon::Daemon;
use crate::common::{Folder, Process, TIMEOUT, stderr};
use serde_json::{Value, json};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < TIMEOUT, "{what} never happened");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

/// Whether a command reported that it had written a file.
fn wrote(output: &Output, name: &str) -> bool {
    stderr(output).lines().any(|line| line.ends_with(&format!("wrote {name}")))
}

#[test]
fn the_exported_table_is_the_trace_byte_for_byte() {
    let folder = Folder::new();
    let simulate =
        ["simulate", "--scene", "tiles", "--seconds", "1.5", "--record", "a.mcap", "--trace", "t.csv", "--json"];
    let summary = folder.json(&simulate);
    let export = folder.hapticd(&["export", "a.mcap", "--csv", "e.csv", "--parquet", "e.parquet"]);
    assert!(export.status.success() && wrote(&export, "e.csv") && wrote(&export, "e.parquet"), "{export:?}");
    assert!(folder.read_bytes("t.csv") == folder.read_bytes("e.csv"), "the tables differ");
    assert!(folder.read_bytes("e.parquet").len() > 1500 * 17 * 8);
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert_eq!(replay["state_hash"], summary["state_hash"]);
    assert_eq!((&replay["ticks"], &replay["truncated"]), (&Value::from(1500), &Value::from(false)));
    assert!(replay["first_difference"].is_null());
}

/// Runs the command that `export --files` prints for `a.mcap`.
fn run_again_from_files(folder: &Folder) -> Value {
    let output = folder.hapticd(&["export", "a.mcap", "--files", "files"]);
    assert!(output.status.success() && wrote(&output, "files/profile.toml"), "{output:?}");
    let messages = String::from_utf8(output.stdout).unwrap();
    let arguments: Vec<&str> = messages.split_whitespace().skip(1).chain(["--record", "b.mcap", "--json"]).collect();
    folder.json(&arguments)
}

#[test]
fn a_recording_of_a_scene_with_included_files_needs_none_of_them() {
    let folder = Folder::new();
    let ball = "[[body]]\nname = \"ball\"\nposition_m = [0.0, 0.05]\nshape = { disc_radius_m = 0.01 }\n";
    let walls =
        "[[body]]\nname = \"floor\"\nfixed = true\nshape = { walls_m = [[-0.1, 0], [0.1, 0]], thickness_m = 0.01 }\n";
    folder
        .file("scene.toml", format!("include = [\"walls.toml\"]\ntitle = \"A room\"\n{ball}[tool]\nbody = \"ball\"\n"));
    folder.file("walls.toml", walls);
    let simulate = ["simulate", "--scene", "./scene.toml", "--seconds", "0.5", "--record", "a.mcap", "--json"];
    let summary = folder.json(&simulate);
    std::fs::remove_file(folder.join("walls.toml")).unwrap();
    assert_eq!(folder.hapticd(&simulate).status.code(), Some(2), "the file was not needed");
    assert_eq!(folder.json(&["replay", "a.mcap", "--json"])["state_hash"], summary["state_hash"]);
    assert_eq!(run_again_from_files(&folder)["state_hash"], summary["state_hash"]);
}

/// Returns the state hash and the effort hash of every tick of a recording.
fn outputs(folder: &Folder, name: &str) -> Vec<(u64, u32)> {
    let recording = hapticd::recording::kept::OpenRecording::open(&folder.join(name)).unwrap();
    let mut outputs = Vec::new();
    recording
        .visit(|item| {
            if let haptic_record::reader::Item::Tick(tick) = item {
                outputs.push((tick.state_hash, tick.effort_hash));
            }
            Ok(())
        })
        .unwrap();
    outputs
}

#[test]
fn a_second_run_from_the_files_of_a_recording_has_the_same_hash_and_force_in_every_tick() {
    let folder = Folder::new();
    std::fs::write(folder.join("hand.csv"), "t_s,x_m,y_m\n0,0,0.03\n0.5,0.02,-0.01\n1,-0.02,-0.01\n").unwrap();
    let profile = "scene = \"peg\"\n[coupling]\nstiffness_n_per_m = 333.0\n[realtime]\nrate_hz = 250\n";
    std::fs::write(folder.join("mine.toml"), profile).unwrap();
    let runs = [
        &["--scene", "newton"][..],
        &["--scene", "table", "--device", "simulated-1dof"],
        &["--profile", "./mine.toml", "--hand", "hand.csv"],
        // Served every fourth tick.
        &["--profile", "./mine.toml"],
    ];
    for input in runs {
        let first = [&["simulate"][..], input, &["--seconds", "1.25", "--record", "a.mcap", "--json"]].concat();
        let (first, second) = (folder.json(&first), run_again_from_files(&folder));
        assert_eq!((&first["state_hash"], &first["ticks"]), (&second["state_hash"], &second["ticks"]), "{input:?}");
        assert!(outputs(&folder, "a.mcap") == outputs(&folder, "b.mcap"), "{input:?}");
        assert_eq!(folder.json(&["replay", "a.mcap", "--json"])["state_hash"], first["state_hash"], "{input:?}");
        std::fs::remove_dir_all(folder.join("files")).unwrap();
    }
}

#[test]
fn another_profile_gives_its_own_forces_and_the_report_is_one_page() {
    let folder = Folder::new();
    folder.json(&["simulate", "--seconds", "3", "--record", "a.mcap", "--json"]);
    std::fs::write(folder.join("soft.toml"), "[coupling]\nstiffness_n_per_m = 100.0\n").unwrap();
    let report = folder.json(&["replay", "a.mcap", "--profile", "./soft.toml", "--json"]);
    assert!(report["first_difference"].is_null());
    let (then, now) = (&report["recorded"]["force_rms_n"], &report["instead"]["force_rms_n"]);
    assert!(now.as_f64().unwrap() < then.as_f64().unwrap(), "{then} {now}");
    let report = folder.hapticd(&["report", "a.mcap", "--out", "a.html"]);
    assert!(report.status.success() && wrote(&report, "a.html"), "{report:?}");
    let page = folder.read("a.html");
    for plot in ["Force on the hand", "Friction circle", "Energy", "Spectrum of the force", "paths of hand and tool"] {
        assert!(page.contains(plot), "{plot}");
    }
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(!page.contains("https://") && !page.contains(" src="));
}

#[test]
fn the_recording_of_a_killed_daemon_opens_and_replays() {
    let folder = Folder::new();
    let mut child = folder.command(&["run", "--record", "a.mcap"]).stderr(Stdio::null()).spawn().unwrap();
    let file = folder.join("a.mcap");
    wait_until("the third second", || length(&file) > 120_000 || has_ticks(&file, 2000));
    child.kill().unwrap();
    child.wait().unwrap();
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert_eq!(replay["truncated"], true);
    assert!(replay["first_difference"].is_null() && replay["unproved"].is_null(), "{replay}");
    assert!(replay["ticks"].as_u64().unwrap() >= 1000, "{replay}");
}

fn has_ticks(file: &Path, ticks: u64) -> bool {
    hapticd::recording::kept::OpenRecording::open(file).is_ok_and(|recording| recording.ticks >= ticks)
}

#[test]
fn a_recording_started_mid_run_replays_with_the_scenes_before_and_after() {
    let folder = Folder::new();
    let daemon = Daemon::start_with(&[], |command| folder.run_here(command));
    let post = |path: &str, body: &Value| assert_eq!(daemon.ask("POST", path, body).0, 200, "{path}");
    post("/api/scene", &json!({ "name": "tower" }));
    std::thread::sleep(Duration::from_millis(500));
    post("/api/record/start", &json!({ "file": "a.mcap" }));
    let file = folder.join("hapticd/recordings/a.mcap");
    wait_until("the first second", || has_ticks(&file, 500));
    post("/api/scene", &json!({ "name": "peg" }));
    std::thread::sleep(Duration::from_millis(500));
    post("/api/record/stop", &json!({}));
    daemon.end();
    let recording = hapticd::recording::kept::OpenRecording::open(&file).unwrap();
    let replay = folder.json(&["replay", "hapticd/recordings/a.mcap", "--json"]);
    assert!(recording.span.unwrap().0 > 1 && replay["ticks"] == recording.ticks, "{replay}");
    assert!(replay["first_difference"].is_null() && replay["unproved"].is_null(), "{replay}");
    assert!(replay["truncated"] == false && !recording.commands.is_empty(), "{replay}");
}

#[test]
fn a_daemon_whose_recording_is_removed_reports_it_and_continues() {
    let folder = Folder::new();
    let mut command = folder.command(&["run", "--record", "a.mcap", "--json"]);
    let log = std::fs::File::create(folder.join("log")).unwrap();
    let process = Process(command.stdout(Stdio::piped()).stderr(log).spawn().unwrap());
    let file = folder.join("a.mcap");
    wait_until("the first chunk", || has_ticks(&file, 500));
    std::fs::remove_file(&file).unwrap();
    let messages = || folder.read("log");
    wait_until("the warning", || messages().contains("the file was removed"));
    let summary = process.end_with("-TERM", 1);
    assert!(summary["ticks"].as_u64().unwrap() > 500);
    assert!(messages().contains("a.mcap: the recording is incomplete"), "{}", messages());
    assert_eq!((&summary["recording"]["file"], &summary["recording"]["complete"]), (&json!("a.mcap"), &json!(false)));
}

#[test]
fn a_recording_that_another_program_shortens_is_incomplete() {
    let folder = Folder::new();
    let mut command = folder.command(&["run", "--record", "a.mcap", "--json"]);
    let process = Process(command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap());
    let file = folder.join("a.mcap");
    wait_until("the first chunk", || has_ticks(&file, 500));
    // Renamed, and a shorter one put in its place.
    std::fs::rename(&file, folder.join("b.mcap")).unwrap();
    std::fs::write(&file, "short").unwrap();
    assert_eq!(process.end_with("-TERM", 1)["recording"]["complete"], false);
}

#[test]
fn a_summary_describes_a_complete_recording() {
    let folder = Folder::new();
    for command in [&["simulate"][..], &["run", "--no-view"]] {
        let arguments = [command, &["--seconds", "0.5", "--record", "a.mcap", "--json"]].concat();
        let summary = folder.json(&arguments);
        let (ticks, dropped, complete) = (&summary["ticks"], 0, true);
        let expected = json!({ "file": "a.mcap", "ticks": ticks, "dropped": dropped, "complete": complete });
        assert_eq!(summary["recording"], expected, "{arguments:?}");
    }
    assert!(folder.json(&["simulate", "--seconds", "0.1", "--json"]).get("recording").is_none());
}

/// Runs a command with a limit on the size of files, so that a write fails as on a full disk. The limit of 100 blocks
/// is 50 or 100 KiB.
fn on_a_full_disk(folder: &Folder, arguments: &str) -> Output {
    let script = format!("trap '' XFSZ; ulimit -f 100; exec {} {arguments}", env!("CARGO_BIN_EXE_hapticd"));
    let mut command = Command::new("sh");
    folder.run_here(command.args(["-c", &script]));
    command.output().unwrap()
}

#[test]
fn a_simulation_continues_after_a_full_disk_and_fails() {
    let folder = Folder::new();
    let output = on_a_full_disk(&folder, "simulate --seconds 6 --record a.mcap --json");
    assert_eq!(output.status.code(), Some(1));
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((&summary["ticks"], &summary["recording"]["complete"]), (&json!(6000), &json!(false)));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("a.mcap: the recording has ended"));
    assert_eq!(folder.json(&["replay", "a.mcap", "--json"])["truncated"], true);
}

#[test]
fn a_full_disk_ends_the_recording_but_not_the_daemon_and_the_file_opens() {
    let folder = Folder::new();
    let output = on_a_full_disk(&folder, "run --seconds 6 --record a.mcap --json");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(messages.contains("the recording has ended") && messages.contains("the loop continues"), "{messages}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["recording"]["complete"], false);
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert!(replay["ticks"].as_u64().unwrap() < summary["ticks"].as_u64().unwrap());
    assert!(replay["first_difference"].is_null() && replay["unproved"].is_null(), "{replay}");
    assert_eq!(replay["truncated"], true);
    let bytes = folder.read_bytes("a.mcap");
    assert!(bytes.ends_with(b"\x89MCAP0\r\n"), "the file has a proper end");
}

#[test]
fn an_invalid_recording_or_path_is_rejected_with_a_reason() {
    let folder = Folder::new();
    std::fs::write(folder.join("a.mcap"), "not a recording, but long enough to look like one").unwrap();
    for arguments in [&["replay", "a.mcap"][..], &["replay", "missing.mcap"], &["report", "a.mcap", "--out", "a.html"]]
    {
        let output = folder.hapticd(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).contains(".mcap: "), "{arguments:?}");
    }
    let output = folder.hapticd(&["simulate", "--seconds", "1", "--record", "no/such/folder.mcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("no/such/folder.mcap: cannot be created"));
}

#[test]
fn a_cut_or_damaged_recording_is_reported_with_the_location_and_what_is_saved() {
    let folder = Folder::new();
    folder.json(&["simulate", "--seconds", "2.5", "--record", "a.mcap", "--json"]);
    let whole = folder.read_bytes("a.mcap");
    let chunks: Vec<usize> = chunk_starts(&whole);
    let flawed = |bytes: &[u8]| std::fs::write(folder.join("b.mcap"), bytes).unwrap();
    // The first chunk contains the scene; each of the others contains one second or the rest.
    let cut = &whole[..chunks[2] + 100];
    let mut damaged = whole.clone();
    damaged[chunks[2] + 1000] ^= 0xFF;
    for (bytes, expected) in
        [(cut, "b.mcap: is truncated after tick 1000: "), (&damaged, "b.mcap: is damaged after tick 1000: ")]
    {
        flawed(bytes);
        for arguments in [&["report", "b.mcap", "--out", "b.html"][..], &["export", "b.mcap", "--csv", "b.csv"]] {
            let messages = folder.ended(0, arguments);
            assert!(
                messages.contains(expected) && messages.contains("; 1000 ticks are saved"),
                "{arguments:?}: {messages}"
            );
        }
        assert_eq!(folder.read("b.csv").lines().count(), 1001);
        assert!(folder.read("b.html").contains("1000 ticks are saved"));
        std::fs::remove_file(folder.join("b.csv")).unwrap();
    }
    flawed(&whole[..chunks[1] + 100]);
    for arguments in [&["report", "b.mcap", "--out", "b.html"][..], &["export", "b.mcap", "--csv", "b.csv"]] {
        let messages = folder.ended(2, arguments);
        assert!(messages.contains("b.mcap: is truncated before its first tick: "), "{arguments:?}: {messages}");
        assert!(!folder.join("b.csv").exists(), "an empty table was written");
    }
}

/// Returns the offsets of the chunks. After eight bytes of magic, each record has a one-byte kind and an eight-byte
/// length.
fn chunk_starts(bytes: &[u8]) -> Vec<usize> {
    const CHUNK: u8 = 0x06;
    let (mut at, mut starts) = (8, Vec::new());
    while let Some(length) = bytes.get(at + 1..at + 9) {
        if bytes[at] == CHUNK {
            starts.push(at);
        }
        at += 9 + u64::from_le_bytes(length.try_into().unwrap()) as usize;
    }
    starts
}

#[test]
fn a_full_disk_is_reported_with_the_error_of_the_system() {
    if !Path::new("/dev/full").exists() {
        eprintln!("SKIPPED: /dev/full does not exist");
        return;
    }
    let folder = Folder::new();
    let messages = folder.ended(1, &["simulate", "--seconds", "1", "--record", "/dev/full"]);
    assert!(messages.starts_with("/dev/full: the recording has ended: No space left on device"), "{messages}");
    assert!(messages.contains("nothing of it is kept"), "{messages}");
}
