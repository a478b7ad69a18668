//! A profile that changes under a running daemon, as a user saves it.
#![cfg(unix)]

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Far longer than the 200 ms that a change may take, so that only a lost one is missed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A daemon with a profile of its own; both end with it.
struct Daemon {
    child: Child,
    lines: Receiver<String>,
    folder: PathBuf,
}

impl Daemon {
    fn start(test: &str, profile: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("hapticd-reload-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("p.toml"), profile).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        command.args(["--log-format", "json", "run", "--profile", "p.toml", "--json"]);
        command.current_dir(&folder).env_remove("RUST_LOG").env("XDG_STATE_HOME", &folder);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
        let daemon = Self { child, lines, folder };
        daemon.wait_for("Ctrl-C ends it");
        daemon
    }

    fn save(&self, profile: &str) {
        std::fs::write(self.folder.join("p.toml"), profile).unwrap();
    }

    /// What was logged up to the first line with these words, that line included.
    #[track_caller]
    fn wait_for(&self, words: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let line = self.lines.recv_timeout(PATIENCE).unwrap_or_else(|_| panic!("{words:?} never came: {seen:?}"));
            seen.push(line);
            if seen.last().is_some_and(|line| line.contains(words)) {
                return seen;
            }
        }
    }

    fn signal(&self, name: &str) {
        let kill = Command::new("kill").args([name, &self.child.id().to_string()]).status().unwrap();
        assert!(kill.success());
    }

    fn end(mut self, signal: &str) -> Value {
        self.signal(signal);
        let stdout = self.child.stdout.take().unwrap();
        let summary = serde_json::from_reader(stdout).unwrap();
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
        summary
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn a_saved_profile_is_taken_over_and_a_wrong_one_refused_with_its_place() {
    let daemon = Daemon::start("save", "[coupling]\nstiffness_n_per_m = 400\n");
    daemon.save("[coupling]\nstiffness_n_per_m = 300\n");
    daemon.wait_for("new coupling, ramped: 300 N/m, 0.1 N·s/m");
    daemon.save("[coupling]\nstiffness_n_per_m = -1\n");
    daemon.wait_for("refused, nothing changes: p.toml:2:21: coupling.stiffness_n_per_m: must be zero or more");
    daemon.save("scene = \"tower\"\n[coupling]\nstiffness_n_per_m = 300\n[safety]\nmax_force_n = 2\n");
    let seen = daemon.wait_for("new limits: force up to 2 N");
    assert!(seen.iter().any(|line| line.contains("scene has changed in the profile and needs a restart")), "{seen:?}");
    assert!(!seen.iter().any(|line| line.contains("new coupling")), "the refused file changed something: {seen:?}");
    let summary = daemon.end("-TERM");
    assert!(summary["ticks"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn a_renamed_file_counts_as_saved_and_an_unchanged_one_says_nothing() {
    let daemon = Daemon::start("rename", "");
    daemon.save("# the same in other words\n[coupling]\nstiffness_n_per_m = 400.0\n");
    std::thread::sleep(Duration::from_millis(300));
    let new = daemon.folder.join("p.toml.new");
    std::fs::write(&new, "[mapping]\noffset_m = [0.0, 0.001]\n").unwrap();
    std::fs::rename(&new, daemon.folder.join("p.toml")).unwrap();
    let seen = daemon.wait_for("new mapping: force comes on anew");
    let is_change = |line: &String| line.contains("new coupling") || line.contains("new limits");
    assert!(!seen.iter().any(is_change), "the unchanged file was taken for a change: {seen:?}");
    daemon.end("-INT");
}

#[test]
fn a_hang_up_has_the_profile_read_again() {
    let daemon = Daemon::start("hang-up", "");
    daemon.signal("-HUP");
    std::thread::sleep(Duration::from_millis(100));
    daemon.save("[coupling]\nstiffness_n_per_m = 250\n");
    daemon.signal("-HUP");
    daemon.wait_for("new coupling, ramped: 250 N/m");
    daemon.end("-TERM");
}
