//! The dead-man process of an emulated Haply: it outlives the daemon, and the daemon does not push without it. No test
//! here depends on timing.

use crate::common::{Folder, Process, TIMEOUT};
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Instant;

/// Duration of the emulation, s; longer than any test. A motor that stays on fails its test then.
const EMULATION_S: &str = "120";

/// An emulated Haply, driven by a daemon in its own process group.
struct Bench {
    emulator: Process,
    output: BufReader<ChildStdout>,
    are_on: [bool; 2],
    daemon: Process,
    _folder: Folder,
}

impl Bench {
    /// Starts both and waits until a motor pushes.
    fn pushing() -> Self {
        let folder = Folder::new();
        let mut command = folder.command(&["emulate", "haply-2diy", "--link", "port", "--seconds", EMULATION_S]);
        let mut emulator = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(emulator.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        folder.write("d.toml", format!("kind = \"haply-2diy\"\nport = \"{}\"\n", folder.join("port").display()));
        let run = ["run", "--profile", "haply-2diy-v3", "--scene", "wall", "--device", "d.toml", "--no-view", "--json"];
        let mut command = folder.command(&[&run[..], &["--allow-no-rt"]].concat());
        let daemon = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (emulator, daemon) = (Process(emulator), Process(daemon));
        let mut bench = Self { emulator, output, are_on: [false; 2], daemon, _folder: folder };
        bench.wait_for_motors(true);
        bench
    }

    /// Reads a line of the emulator; returns false at its end.
    fn read_line(&mut self) -> bool {
        let mut line = String::new();
        let is_more = self.output.read_line(&mut line).unwrap() > 0;
        for (motor, is_on) in self.are_on.iter_mut().enumerate() {
            *is_on =
                line.contains(&format!("motor {motor} on")) || *is_on && !line.contains(&format!("motor {motor} off"));
        }
        is_more
    }

    /// Waits until a motor pushes, or none does.
    fn wait_for_motors(&mut self, are_on: bool) {
        while self.are_on.contains(&true) != are_on {
            assert!(self.read_line(), "the motors never were {}", if are_on { "on" } else { "off" });
        }
    }

    /// Ends the emulation and returns whether a motor pushed in the end.
    fn pushes_in_the_end(mut self) -> bool {
        self.emulator.signal("-TERM");
        while self.read_line() {}
        self.are_on.contains(&true)
    }

    /// Id of the dead-man process, if one runs.
    fn dead_man(&self) -> Option<u32> {
        let processes = fs::read_dir("/proc").unwrap().flatten();
        let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        ids.into_iter().find(|&id| {
            let command = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
            let is_dead_man = command.split(|byte| *byte == 0).nth(1) == Some(b"dead-man");
            is_dead_man && field(id, 4) == Some(self.daemon.0.id())
        })
    }
}

/// A numeric field of `/proc/ID/stat`, counted from one: 4 is the parent, 6 the session.
fn field(process: u32, number: usize) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(number - 3)?.parse().ok()
}

fn signal(name: &str, process: u32) {
    assert!(Command::new("kill").args([name, "--", &process.to_string()]).status().unwrap().success());
}

fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !holds() {
        assert!(Instant::now() < deadline, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
}

#[test]
fn without_its_dead_man_process_a_haply_gets_no_force_until_another_one_runs() {
    let mut bench = Bench::pushing();
    let first = bench.dead_man().unwrap();
    signal("-KILL", first);
    bench.wait_for_motors(false);
    wait_until("another dead-man process runs", || bench.dead_man().is_some_and(|id| id != first));
    bench.wait_for_motors(true);
    let Bench { daemon, .. } = bench;
    let summary = daemon.end("-TERM");
    let faults = summary["faults"].as_array().unwrap();
    let is_told = |fault: &Value| fault["text"].as_str().unwrap().contains("dead-man process ended");
    assert!(faults.iter().any(is_told), "{summary}");
}

#[test]
fn a_daemon_that_is_killed_leaves_no_torque_and_no_dead_man_process() {
    let mut bench = Bench::pushing();
    let dead_man = bench.dead_man().unwrap();
    bench.daemon.signal("-KILL");
    bench.wait_for_motors(false);
    wait_until("the dead-man process ends", || field(dead_man, 4).is_none());
    assert!(!bench.pushes_in_the_end());
}

#[test]
fn a_dead_man_process_and_a_daemon_that_are_killed_one_after_the_other_leave_no_torque() {
    let mut bench = Bench::pushing();
    signal("-KILL", bench.dead_man().unwrap());
    bench.wait_for_motors(false);
    bench.daemon.signal("-KILL");
    bench.daemon.0.wait().unwrap();
    assert!(!bench.pushes_in_the_end());
}

#[test]
fn a_dead_man_process_outlives_signals_and_the_kill_of_the_daemon_s_group() {
    let mut bench = Bench::pushing();
    let dead_man = bench.dead_man().unwrap();
    for name in ["-INT", "-TERM", "-HUP", "-QUIT", "-USR1"] {
        signal(name, dead_man);
    }
    assert_eq!(field(dead_man, 6), Some(dead_man), "it has a session of its own");
    let group = format!("-{}", bench.daemon.0.id());
    assert!(Command::new("kill").args(["-KILL", "--", &group]).status().unwrap().success());
    bench.wait_for_motors(false);
    assert!(!bench.pushes_in_the_end());
}
