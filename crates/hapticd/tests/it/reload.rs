//! Profiles saved while the daemon runs.
#![cfg(unix)]

use crate::common::{Folder, Process, TIMEOUT};
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A daemon with its own profile; dropping it ends the daemon and removes the file.
struct Daemon {
    process: Process,
    lines: Receiver<String>,
    folder: Folder,
}

impl Daemon {
    fn start(profile: &str) -> Self {
        let folder = Folder::new();
        folder.write("p.toml", profile);
        let mut command = folder.command(&["--log-format", "json", "run", "--profile", "p.toml", "--json"]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (send, lines) = channel();
        std::thread::spawn(move || stderr.lines().map_while(Result::ok).all(|line| send.send(line).is_ok()));
        let daemon = Self { process: Process(child), lines, folder };
        daemon.wait_for("Ctrl-C ends it");
        daemon
    }

    fn save(&self, profile: &str) {
        self.folder.write("p.toml", profile);
    }

    /// Waits for a log line with this text and returns the log up to and including it.
    #[track_caller]
    fn wait_for(&self, text: &str) -> Vec<String> {
        let mut seen = Vec::new();
        loop {
            let line =
                self.lines.recv_timeout(TIMEOUT).unwrap_or_else(|_| panic!("{text:?} was never logged: {seen:?}"));
            seen.push(line);
            if seen.last().is_some_and(|line| line.contains(text)) {
                return seen;
            }
        }
    }
}

#[test]
fn a_saved_profile_is_applied_and_an_invalid_one_rejected_with_its_location() {
    let daemon = Daemon::start("[coupling]\nstiffness_n_per_m = 400\n");
    daemon.save("[coupling]\nstiffness_n_per_m = 300\n");
    daemon.wait_for("new coupling, ramped: 300 N/m, 0.1 N·s/m");
    daemon.save("[coupling]\nstiffness_n_per_m = -1\n");
    daemon.wait_for(
        "profile rejected, settings unchanged: p.toml:2:21: coupling.stiffness_n_per_m: must be from 0 to 1000000",
    );
    daemon.save("scene = \"tower\"\n[coupling]\nstiffness_n_per_m = 300\n[safety]\nmax_force_n = 2\n");
    let seen = daemon.wait_for("new limits: maximum force 2 N");
    assert!(seen.iter().any(|line| line.contains("scene changed in the profile; restart to apply it")), "{seen:?}");
    assert!(!seen.iter().any(|line| line.contains("new coupling")), "the rejected file changed something: {seen:?}");
    let summary = daemon.process.end("-TERM");
    assert!(summary["ticks"].as_u64().unwrap() > 0, "{summary}");
}

#[test]
fn a_renamed_file_counts_as_saved_and_an_unchanged_one_logs_nothing() {
    let daemon = Daemon::start("");
    daemon.save("# the same, written differently\n[coupling]\nstiffness_n_per_m = 400.0\n");
    std::thread::sleep(Duration::from_millis(300));
    let new = daemon.folder.write("p.toml.new", "[mapping]\noffset_m = [0.0, 0.001]\n");
    std::fs::rename(&new, daemon.folder.join("p.toml")).unwrap();
    let seen = daemon.wait_for("new mapping; force re-engages");
    let is_change = |line: &String| line.contains("new coupling") || line.contains("new limits");
    assert!(!seen.iter().any(is_change), "the unchanged file caused a change: {seen:?}");
    daemon.process.end("-INT");
}

#[test]
fn a_hang_up_signal_reloads_the_profile() {
    let daemon = Daemon::start("");
    daemon.process.signal("-HUP");
    std::thread::sleep(Duration::from_millis(100));
    daemon.save("[coupling]\nstiffness_n_per_m = 250\n");
    daemon.process.signal("-HUP");
    daemon.wait_for("new coupling, ramped: 250 N/m");
    daemon.process.end("-TERM");
}
