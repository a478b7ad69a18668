//! Whole runs against emulated devices behind pseudo-terminals. Nothing here asserts a time.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};

/// A folder of one test with an emulated device at `port`; both end with it.
struct Bench {
    folder: PathBuf,
    emulator: Child,
    told: BufReader<ChildStdout>,
}

impl Bench {
    fn new(test: &str, kind: &str, flags: &[&str]) -> Self {
        let folder = std::env::temp_dir().join(format!("hapticd-devices-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let mut emulator = hapticd(&folder, &[&["emulate", kind, "--link", "port"], flags].concat())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut told = BufReader::new(emulator.stdout.take().unwrap());
        told.read_line(&mut String::new()).unwrap();
        Self { folder, emulator, told }
    }

    fn device(&self, kind: &str, more: &str) {
        let port = self.folder.join("port");
        let text = format!("kind = \"{kind}\"\nport = \"{}\"\nwatchdog_s = 0.1\n{more}\n", port.display());
        std::fs::write(self.folder.join("d.toml"), text).unwrap();
    }

    fn run(&self, seconds: &str, flags: &[&str]) -> Output {
        let always = ["run", "--scene", "wall", "--device", "d.toml", "--no-view", "--json", "--seconds", seconds];
        hapticd(&self.folder, &[&always, flags].concat()).output().unwrap()
    }

    fn summary(&self, seconds: &str) -> (Value, String) {
        let output = self.run(seconds, &["--allow-no-rt"]);
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{log}");
        (serde_json::from_slice(&output.stdout).unwrap(), log)
    }

    /// Waits until the emulator tells something; fails when it ends first.
    fn wait_for(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert!(self.told.read_line(&mut line).unwrap() > 0, "the emulator never told: {text}");
        }
        line
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = self.emulator.kill();
        let _ = self.emulator.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn hapticd(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.args(arguments).current_dir(folder).env_remove("RUST_LOG").env("XDG_STATE_HOME", folder);
    command
}

#[test]
fn every_emulated_device_is_driven_and_let_go() {
    for (emulated, kind, last_words) in [
        ("native-1dof", "serial", "stopped by the host"),
        ("native-2dof", "serial", "stopped by the host"),
        ("odrive", "odrive", "motor off"),
        ("haply-2diy", "haply-2diy", "the host left"),
    ] {
        let mut bench = Bench::new(emulated, emulated, &[]);
        bench.device(kind, "");
        let (summary, log) = bench.summary("0.4");
        let link = &summary["device"];
        assert!(link["round_trip_ns"]["p50"].as_u64().unwrap() > 0, "{emulated}: {summary}\n{log}");
        assert_eq!((&link["rate_hz"], &link["reconnects"]), (&1000.0.into(), &0.into()), "{emulated}");
        bench.wait_for(last_words);
    }
}

#[test]
fn a_bad_line_keeps_running_stays_passive_and_is_counted() {
    let faults = ["--drop", "0.05", "--garbage", "0.05", "--delay-ms", "2", "--seconds", "4"];
    let mut bench = Bench::new("bad", "native-2dof", &faults);
    bench.device("serial", "axes = 2");
    let (summary, log) = bench.summary("1.5");
    let link = &summary["device"];
    assert!(link["frames_lost"].as_u64().unwrap() > 0 && link["crc_errors"].as_u64().unwrap() > 0, "{link}\n{log}");
    let line = bench.wait_for("gave the hand");
    let given_j: f64 = line.split_whitespace().find_map(|word| word.parse().ok()).unwrap();
    // The world can give what it had at the start: 0.1 kg some 3 cm above the floor.
    assert!(given_j < 0.05, "{line}");
}

#[test]
fn an_unplugged_device_is_found_again_and_the_run_goes_on() {
    let bench = Bench::new("unplug", "native-2dof", &["--die-after", "1", "--dead-for", "0.2"]);
    bench.device("serial", "axes = 2");
    let (summary, log) = bench.summary("3");
    assert_eq!(summary["device"]["reconnects"], 1, "{summary}\n{log}");
    assert!(summary["faults"].as_array().unwrap().iter().any(|fault| fault["kind"] == "lost"), "{summary}");
}

#[test]
fn a_slow_line_is_served_less_often_and_the_user_is_told() {
    let bench = Bench::new("slow", "native-2dof", &[]);
    bench.device("serial", "baud = 115200");
    let (summary, log) = bench.summary("0.3");
    assert_eq!(summary["device"]["rate_hz"], 500.0, "{summary}");
    assert!(log.contains("served at 500 Hz"), "{log}");
}

#[test]
fn another_version_of_the_protocol_is_refused_with_the_remedy() {
    let bench = Bench::new("version", "native-2dof", &["--protocol-version", "3"]);
    bench.device("serial", "");
    let output = bench.run("0.1", &["--allow-no-rt"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("protocol 3.0") && text.contains("flash"), "{text}");
}

/// Without the right to real-time scheduling: as a user that has none. Root must give its rights up for that.
#[test]
fn hardware_is_refused_without_real_time() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let tools = ["setpriv", "prlimit"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok());
    if !is_root || !tools {
        println!("left out: only root with setpriv and prlimit can give up the right to real-time scheduling here");
        return;
    }
    let bench = Bench::new("rights", "native-2dof", &[]);
    bench.device("serial", "");
    let run = |flags: &[&str]| {
        // Capabilities go, root's name stays, so that the port can still be opened.
        let mut command = Command::new("prlimit");
        command.args(["--rtprio=0:0", "setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
        command.arg(env!("CARGO_BIN_EXE_hapticd"));
        command.args(["run", "--scene", "wall", "--device", "d.toml", "--no-view", "--seconds", "0.2"]).args(flags);
        command.current_dir(&bench.folder).env("XDG_STATE_HOME", &bench.folder).output().unwrap()
    };
    let refused = run(&[]);
    let text = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(3), "{text}");
    assert!(text.contains("--allow-no-rt"), "{text}");
    assert_eq!(run(&["--allow-no-rt"]).status.code(), Some(0));
}
