//! The terminal is closed, or nobody reads the output any more.

use crate::common::daemon::hapticd;
use crate::common::{Folder, TIMEOUT};
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Returns both ends of a new pseudo-terminal: the terminal's window, and the terminal.
fn pseudo_terminal() -> (File, File) {
    let window = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
    grantpt(&window).unwrap();
    unlockpt(&window).unwrap();
    let path = ptsname(&window, Vec::new()).unwrap();
    let terminal = rustix::fs::open(path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).unwrap();
    (window.into(), terminal.into())
}

fn end_of(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        if start.elapsed() > TIMEOUT {
            child.kill().unwrap();
            panic!("still running");
        }
        sleep(Duration::from_millis(10));
    }
}

/// Runs the daemon with a controlling terminal and closes the terminal.
fn run_and_close_terminal(has_picture: bool) {
    let folder = Folder::new();
    let recording = folder.join("run.mcap").display().to_string();
    let (mut window, terminal) = pseudo_terminal();
    let output = || if has_picture { Stdio::from(terminal.try_clone().unwrap()) } else { Stdio::null() };
    let daemon = hapticd(&["run", "--no-view", "--record", &recording]);
    // A process with a controlling terminal of its own must lead a session, which `setsid` arranges. `env` undoes what
    // `nohup` may have done to this test.
    let mut command = Command::new("env");
    command
        .args(["--default-signal=HUP", "setsid", "--ctty"])
        .arg(daemon.get_program())
        .args(daemon.get_args())
        .env("TERM", "xterm");
    let mut child = command.stdin(terminal.try_clone().unwrap()).stdout(output()).stderr(output()).spawn().unwrap();
    drop((command, terminal));
    if has_picture {
        // The picture fills the terminal's buffer, so it must be read.
        let (mut bytes, mut seen) = ([0; 4096], 0);
        while seen < 1_000 {
            seen += window.read(&mut bytes).unwrap();
        }
    } else {
        let is_started = || std::fs::metadata(&recording).is_ok_and(|file| file.len() > 0);
        let start = Instant::now();
        while !is_started() && start.elapsed() < TIMEOUT {
            sleep(Duration::from_millis(10));
        }
    }
    drop(window);
    let status = end_of(&mut child);
    assert_eq!(status.code(), Some(0), "{status}, with a picture: {has_picture}");
    let replay = folder.json(&["replay", &recording, "--json"]);
    assert!(replay["truncated"] == false && replay["first_difference"].is_null(), "{replay}");
}

#[test]
fn a_closed_terminal_ends_the_run_and_completes_the_recording() {
    run_and_close_terminal(true);
    run_and_close_terminal(false);
}

#[test]
fn a_reader_that_goes_away_does_not_disturb_the_run() {
    for arguments in
        [&["run", "--seconds", "0.5", "--no-view"][..], &["run", "--seconds", "0.5", "--no-view", "--json"]]
    {
        let mut child = hapticd(arguments)
            .env("RUST_LOG", "trace")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop((child.stdout.take(), child.stderr.take()));
        assert_eq!(end_of(&mut child).code(), Some(0), "{arguments:?}");
    }
}
