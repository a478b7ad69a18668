//! `run`, `latency` and `doctor`.

use super::{BALL, assert_done, assert_rejected, json};
use crate::common::{Folder, stderr};
use serde_json::Value;
use std::process::Command;

#[test]
fn run_ends_by_itself_and_prints_a_summary() {
    let folder = Folder::new();
    let output = folder.hapticd(&["run", "--scene", "wall", "--seconds", "0.05", "--json"]);
    assert_done(&output);
    let summary = json(&output);
    let periods = summary["ticks"].as_u64().unwrap() + summary["skipped"].as_u64().unwrap();
    assert!(periods >= 50, "{summary}");
    assert!(summary["wake_ns"]["p50"].is_u64() && summary["compute_ns"]["max"].is_u64());
}

#[test]
fn address_and_summary_of_a_run_are_printed_whatever_the_log_filters() {
    let folder = Folder::new();
    let run = |format: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        command.args(["--log-format", format, "run", "--seconds", "0.05", "--view", "127.0.0.1:0"]);
        let output = command.current_dir(folder.path()).env("RUST_LOG", "off").output().unwrap();
        assert_done(&output);
        stderr(&output)
    };
    let text = run("text");
    assert!(text.contains("INFO hapticd: Viewer: http://127.0.0.1:") && text.contains(" Ran "), "{text}");
    assert!(!text.contains("Ctrl-C ends it"), "RUST_LOG=off leaves out the rest: {text}");
    let lines: Vec<Value> = run("json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has_line = |expected: &str| {
        let has_text = |line: &Value| line["fields"]["message"].as_str().is_some_and(|text| text.contains(expected));
        lines.iter().any(has_text)
    };
    assert!(has_line("Viewer: http://127.0.0.1:") && has_line("Maximum force "), "{lines:?}");
}

#[test]
fn run_without_a_device_reports_what_to_do() {
    let folder = Folder::new();
    let output = folder.hapticd(&["run", "--device", "auto", "--seconds", "0.01"]);
    assert_rejected(&output, 1, "--device auto: no device found; plug one in");
}

#[test]
fn hardware_without_its_tank_needs_a_confirmation() {
    let folder = Folder::new();
    folder.file("d.toml", "kind = \"serial\"\nport = \"/dev/no-such-port\"\n");
    let profile = folder.file("p.toml", "device = \"d.toml\"\nscene = \"s.toml\"\n[safety]\npassivity = \"off\"\n");
    folder.file("s.toml", BALL);
    let run = |more: &[&str]| folder.hapticd(&[&["run", "--profile", &profile, "--seconds", "0.01"], more].concat());
    assert_rejected(
        &run(&[]),
        2,
        "p.toml:4:13: safety.passivity: is off: without the energy tank the force can hurt a hand",
    );
    assert_rejected(&run(&["--i-know"]), 1, "d.toml: /dev/no-such-port does not exist");
}

#[test]
fn run_rejects_scenes_without_a_bound() {
    let folder = Folder::new();
    let scene = folder.file("s.toml", format!("[world]\nimpact_state = \"exact\"\n{BALL}"));
    let output = folder.hapticd(&["run", "--scene", &scene, "--seconds", "0.01"]);
    assert_rejected(&output, 2, "s.toml: world.impact_state: \"exact\" has no bound");
    let profile = folder.file("p.toml", "scene = \"s.toml\"\n");
    for file in [scene, profile] {
        let output = folder.hapticd(&["check", "--json", &file]);
        assert_done(&output);
        let warning = json(&output)["files"][0]["warnings"][0].as_str().unwrap_or_default().to_owned();
        assert!(warning.contains("`simulate` accepts it, `run` rejects it"), "{file}: {warning}");
    }
}

#[cfg(unix)]
#[test]
fn run_succeeds_on_sigterm() {
    use std::process::Stdio;
    let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
    command.args(["run", "--json"]).env("RUST_LOG", "info").stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    wait_for_first_line(child.stderr.as_mut().unwrap());
    assert!(Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert!(json(&output)["state_hash"].is_string());
}

/// Waits for the first log line, which is written after the signal handlers are registered.
#[cfg(unix)]
fn wait_for_first_line(from: &mut impl std::io::Read) {
    let mut byte = [0];
    while byte != *b"\n" {
        from.read_exact(&mut byte).unwrap();
    }
}

#[test]
fn latency_prints_its_figures() {
    let folder = Folder::new();
    let figures = json(&folder.hapticd(&["latency", "--seconds", "0.1", "--json"]));
    for key in ["p50", "p99", "p999", "max"] {
        assert!(figures["wake_ns"][key].is_u64(), "{key}");
    }
    assert!(figures["overruns"].is_u64() && figures["granted"]["policy"].is_string());
}

#[test]
fn the_doctor_names_every_finding_and_its_exit_code_is_the_verdict() {
    let folder = Folder::new();
    let output = folder.hapticd(&["doctor", "--seconds", "0.1", "--json"]);
    let report = json(&output);
    assert_eq!(output.status.code(), Some(if report["fit"].as_bool().unwrap() { 0 } else { 1 }));
    let findings = report["findings"].as_array().unwrap();
    assert!(findings.len() > 10, "{report}");
    assert!(findings.iter().all(|finding| finding["id"].is_string() && finding["measured"].is_string()));
}
