//! Recordings as a user makes and uses them: flags, exit codes, disks that fail, kills.
#![cfg(unix)]

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// Far longer than anything here takes, so that only what never happens is missed.
const PATIENCE: Duration = Duration::from_secs(60);

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("hapticd-recorded-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        command.args(arguments).current_dir(&self.0).env_remove("RUST_LOG").env("XDG_STATE_HOME", &self.0);
        command
    }

    fn hapticd(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    #[track_caller]
    fn json(&self, arguments: &[&str]) -> Value {
        let output = self.hapticd(arguments);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let start = Instant::now();
    while !holds() {
        assert!(start.elapsed() < PATIENCE, "{what} never happened");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn length(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |metadata| metadata.len())
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn the_exported_table_is_the_trace_byte_for_byte() {
    let folder = Folder::new("export");
    let simulate =
        ["simulate", "--scene", "tiles", "--seconds", "1.5", "--record", "a.mcap", "--trace", "t.csv", "--json"];
    let summary = folder.json(&simulate);
    assert!(folder.hapticd(&["export", "a.mcap", "--csv", "e.csv", "--parquet", "e.parquet"]).status.success());
    assert!(folder.read("t.csv") == folder.read("e.csv"), "the tables differ");
    assert!(folder.read("e.parquet").len() > 1500 * 17 * 8);
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert_eq!(replay["state_hash"], summary["state_hash"]);
    assert_eq!((&replay["ticks"], &replay["truncated"]), (&Value::from(1500), &Value::from(false)));
    assert!(replay["first_difference"].is_null());
}

/// Starts again from what `export --files` took out of `a.mcap`, exactly as it said.
fn run_again_from_files(folder: &Folder) -> Value {
    let output = folder.hapticd(&["export", "a.mcap", "--files", "kept"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    let arguments: Vec<&str> = said.split_whitespace().skip(1).chain(["--record", "b.mcap", "--json"]).collect();
    folder.json(&arguments)
}

/// State hashes and forces of all ticks of a recording.
fn outputs(folder: &Folder, name: &str) -> Vec<(u64, u32)> {
    let kept = hapticd::recording::kept::OpenRecording::open(&folder.0.join(name)).unwrap();
    let mut outputs = Vec::new();
    kept.visit(|item| {
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
    let folder = Folder::new("attachments");
    std::fs::write(folder.0.join("hand.csv"), "t_s,x_m,y_m\n0,0,0.03\n0.5,0.02,-0.01\n1,-0.02,-0.01\n").unwrap();
    let profile = "scene = \"peg\"\n[coupling]\nstiffness_n_per_m = 333.0\n[realtime]\nrate_hz = 250\n";
    std::fs::write(folder.0.join("mine.toml"), profile).unwrap();
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
        std::fs::remove_dir_all(folder.0.join("kept")).unwrap();
    }
}

#[test]
fn another_profile_tells_what_would_have_been_felt_and_the_report_is_one_page() {
    let folder = Folder::new("profile");
    folder.json(&["simulate", "--seconds", "3", "--record", "a.mcap", "--json"]);
    std::fs::write(folder.0.join("soft.toml"), "[coupling]\nstiffness_n_per_m = 100.0\n").unwrap();
    let told = folder.json(&["replay", "a.mcap", "--profile", "./soft.toml", "--json"]);
    assert!(told["first_difference"].is_null());
    let (then, now) = (&told["recorded"]["force_rms_n"], &told["instead"]["force_rms_n"]);
    assert!(now.as_f64().unwrap() < then.as_f64().unwrap(), "{then} {now}");
    assert!(folder.hapticd(&["report", "a.mcap", "--out", "a.html"]).status.success());
    let page = String::from_utf8(folder.read("a.html")).unwrap();
    for plot in ["Force on the hand", "Friction circle", "Energy", "Spectrum of the force", "ways of hand and tool"] {
        assert!(page.contains(plot), "{plot}");
    }
    assert!(
        !page.contains("http://")
            || page.matches("http://").count() == page.matches("http://www.w3.org/2000/svg").count()
    );
    assert!(!page.contains("https://") && !page.contains(" src="));
}

#[test]
fn a_killed_daemon_leaves_a_recording_that_opens_and_proves_what_it_holds() {
    let folder = Folder::new("killed");
    let mut child = folder.command(&["run", "--record", "a.mcap"]).stderr(Stdio::null()).spawn().unwrap();
    let file = folder.0.join("a.mcap");
    wait_until("the third second", || length(&file) > 120_000 || child_holds_ticks(&file, 2000));
    child.kill().unwrap();
    child.wait().unwrap();
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert_eq!(replay["truncated"], true);
    assert!(replay["first_difference"].is_null() && replay["unproved"].is_null(), "{replay}");
    assert!(replay["ticks"].as_u64().unwrap() >= 1000, "{replay}");
}

fn child_holds_ticks(file: &Path, ticks: u64) -> bool {
    hapticd::recording::kept::OpenRecording::open(file).is_ok_and(|kept| kept.ticks >= ticks)
}

/// Asks the viewer of a daemon for something; whole answer.
fn post(address: &str, path: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let head =
        format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{path}: {answer}");
    answer
}

#[test]
fn what_the_viewer_records_in_the_midst_of_a_run_is_replayed_with_the_scenes_before_and_after() {
    let folder = Folder::new("button");
    let mut child = folder.command(&["run", "--view", "127.0.0.1:0"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    let first = lines.next().unwrap();
    let (_, address) = first.split_once("see it at http://").unwrap();
    let address = address.split('/').next().unwrap().to_owned();
    std::thread::spawn(move || lines.for_each(drop));
    post(&address, "/api/scene", r#"{"name": "tower"}"#);
    std::thread::sleep(Duration::from_millis(500));
    post(&address, "/api/record/start", r#"{"file": "a.mcap"}"#);
    let file = folder.0.join("hapticd/recordings/a.mcap");
    wait_until("the first second", || child_holds_ticks(&file, 500));
    post(&address, "/api/scene", r#"{"name": "peg"}"#);
    std::thread::sleep(Duration::from_millis(500));
    post(&address, "/api/record/stop", "{}");
    signal(&child, "-TERM");
    assert!(child.wait().unwrap().success());
    let kept = hapticd::recording::kept::OpenRecording::open(&file).unwrap();
    let proof = folder.json(&["replay", "hapticd/recordings/a.mcap", "--json"]);
    assert!(kept.span.unwrap().0 > 1 && proof["ticks"] == kept.ticks, "{proof}");
    assert!(proof["first_difference"].is_null() && proof["unproved"].is_null(), "{proof}");
    assert!(proof["truncated"] == false && !kept.orders.is_empty(), "{proof}");
}

#[test]
fn a_daemon_whose_recording_is_removed_says_so_and_goes_on() {
    let folder = Folder::new("removed");
    let mut command = folder.command(&["run", "--record", "a.mcap", "--json"]);
    let log = std::fs::File::create(folder.0.join("log")).unwrap();
    let child = command.stdout(Stdio::piped()).stderr(log).spawn().unwrap();
    let file = folder.0.join("a.mcap");
    wait_until("the first chunk", || child_holds_ticks(&file, 500));
    std::fs::remove_file(&file).unwrap();
    let said = || String::from_utf8_lossy(&folder.read("log")).into_owned();
    wait_until("the word", || said().contains("somebody has removed the file"));
    signal(&child, "-TERM");
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", said());
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["ticks"].as_u64().unwrap() > 500);
}

#[test]
fn a_disk_without_room_ends_the_recording_but_not_the_daemon_and_what_was_written_opens() {
    let folder = Folder::new("full");
    let binary = env!("CARGO_BIN_EXE_hapticd");
    // A limit on the size of files refuses a write as a full disk does; 100 blocks are 50 or 100 KiB.
    let script = format!("trap '' XFSZ; ulimit -f 100; exec {binary} run --seconds 6 --record a.mcap --json");
    let mut command = Command::new("sh");
    command.args(["-c", &script]).current_dir(&folder.0).env_remove("RUST_LOG").env("XDG_STATE_HOME", &folder.0);
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("the recording has ended") && said.contains("the loop continues"), "{said}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let replay = folder.json(&["replay", "a.mcap", "--json"]);
    assert!(replay["ticks"].as_u64().unwrap() < summary["ticks"].as_u64().unwrap());
    assert!(replay["first_difference"].is_null() && replay["unproved"].is_null(), "{replay}");
    assert_eq!(replay["truncated"], true);
    let bytes = folder.read("a.mcap");
    assert!(bytes.ends_with(b"\x89MCAP0\r\n"), "the file has a proper end");
}

#[test]
fn what_is_no_recording_or_cannot_be_created_is_refused_with_a_reason() {
    let folder = Folder::new("refused");
    std::fs::write(folder.0.join("a.mcap"), "not a recording, but long enough to look like one").unwrap();
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

/// The message of a command that must end with this code.
#[track_caller]
fn said(folder: &Folder, code: i32, arguments: &[&str]) -> String {
    let output = folder.hapticd(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    said
}

#[test]
fn a_recording_that_is_cut_or_damaged_is_told_with_the_place_and_what_is_saved() {
    let folder = Folder::new("flawed");
    folder.json(&["simulate", "--seconds", "2.5", "--record", "a.mcap", "--json"]);
    let whole = folder.read("a.mcap");
    let chunks: Vec<usize> = chunk_starts(&whole);
    let flawed = |bytes: &[u8]| std::fs::write(folder.0.join("b.mcap"), bytes).unwrap();
    // The first chunk holds the scene; each of the others a second, or what is left of one.
    let cut = &whole[..chunks[2] + 100];
    let mut damaged = whole.clone();
    damaged[chunks[2] + 1000] ^= 0xFF;
    for (bytes, words) in
        [(cut, "b.mcap: is cut short after tick 1000: "), (&damaged, "b.mcap: is damaged after tick 1000: ")]
    {
        flawed(bytes);
        for arguments in [&["report", "b.mcap", "--out", "b.html"][..], &["export", "b.mcap", "--csv", "b.csv"]] {
            let said = said(&folder, 0, arguments);
            assert!(said.contains(words) && said.contains("; 1000 ticks are saved"), "{arguments:?}: {said}");
        }
        assert_eq!(String::from_utf8(folder.read("b.csv")).unwrap().lines().count(), 1001);
        assert!(String::from_utf8(folder.read("b.html")).unwrap().contains("1000 ticks are saved"));
        std::fs::remove_file(folder.0.join("b.csv")).unwrap();
    }
    flawed(&whole[..chunks[1] + 100]);
    for arguments in [&["report", "b.mcap", "--out", "b.html"][..], &["export", "b.mcap", "--csv", "b.csv"]] {
        let said = said(&folder, 2, arguments);
        assert!(said.contains("b.mcap: is cut short before its first tick: "), "{arguments:?}: {said}");
        assert!(!folder.0.join("b.csv").exists(), "an empty table was written");
    }
}

/// Where chunks begin: records of a one-byte kind and an eight-byte length, after eight bytes of magic.
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
fn a_disk_that_takes_nothing_is_told_with_the_systems_own_word() {
    if !Path::new("/dev/full").exists() {
        eprintln!("SKIPPED: /dev/full is not here");
        return;
    }
    let folder = Folder::new("nothing-taken");
    let said = said(&folder, 1, &["simulate", "--seconds", "1", "--record", "/dev/full"]);
    assert!(said.starts_with("/dev/full: the recording has ended: No space left on device"), "{said}");
    assert!(said.contains("nothing of it is kept"), "{said}");
}
