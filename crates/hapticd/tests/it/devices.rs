//! Complete runs with emulated devices on pseudo-terminals. No test here depends on timing.

use crate::common::{Folder, Process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, Output, Stdio};

/// A test folder with an emulated device at `port`; dropping it ends the emulation and removes the folder.
struct Bench {
    folder: Folder,
    _emulator: Process,
    output: BufReader<ChildStdout>,
}

impl Bench {
    fn new(kind: &str, flags: &[&str]) -> Self {
        let folder = Folder::new();
        let mut command = folder.command(&[&["emulate", kind, "--link", "port"], flags].concat());
        let mut emulator = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut output = BufReader::new(emulator.stdout.take().unwrap());
        output.read_line(&mut String::new()).unwrap();
        Self { folder, _emulator: Process(emulator), output }
    }

    fn device(&self, kind: &str, more: &str) {
        let port = self.folder.join("port");
        let text = format!("kind = \"{kind}\"\nport = \"{}\"\nwatchdog_s = 0.1\n{more}\n", port.display());
        self.folder.write("d.toml", text);
    }

    fn run(&self, seconds: &str, flags: &[&str]) -> Output {
        let always = ["run", "--scene", "wall", "--device", "d.toml", "--no-view", "--json", "--seconds", seconds];
        self.folder.hapticd(&[&always, flags].concat())
    }

    fn summary(&self, seconds: &str) -> (Value, String) {
        let output = self.run(seconds, &["--allow-no-rt"]);
        let log = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{log}");
        (serde_json::from_slice(&output.stdout).unwrap(), log)
    }

    /// Waits for an emulator line with this text and returns it; fails if the emulator ends first.
    fn wait_for(&mut self, text: &str) -> String {
        self.wait_for_any(&[text])
    }

    /// Waits for a line of the emulator with one of these texts and returns the line; fails if the emulator ends first.
    fn wait_for_any(&mut self, texts: &[&str]) -> String {
        let mut line = String::new();
        while !texts.iter().any(|text| line.contains(text)) {
            line.clear();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the emulator never printed: {texts:?}");
        }
        line
    }
}

/// Ways in which the motors of an emulated native board end. On a busy machine, the watchdog may expire before the host
/// stops them.
const NATIVE_ENDS: [&str; 2] = ["stopped by the host", "watchdog: no command"];

#[test]
fn every_emulated_device_is_driven_and_closed() {
    for (emulated, kind, last_lines) in [
        ("native-1dof", "serial", &NATIVE_ENDS[..]),
        ("native-2dof", "serial", &NATIVE_ENDS[..]),
        ("odrive", "odrive", &["motor off"]),
        ("haply-2diy", "haply-2diy", &["the host left"]),
    ] {
        let mut bench = Bench::new(emulated, &[]);
        bench.device(kind, "");
        let (summary, log) = bench.summary("0.4");
        let link = &summary["device"];
        assert!(link["round_trip_ns"]["p50"].as_u64().unwrap() > 0, "{emulated}: {summary}\n{log}");
        assert_eq!((&link["rate_hz"], &link["reconnects"]), (&1000.0.into(), &0.into()), "{emulated}");
        bench.wait_for_any(last_lines);
    }
}

/// The limits of the ODrive are those of its firmware after the configuration was erased.
#[test]
fn a_run_on_an_odrive_reports_what_its_limits_reduce_before_the_force_is_on() {
    for firmware in ["0.5", "0.6"] {
        let mut bench = Bench::new("odrive", &["--firmware", firmware]);
        bench.device("odrive", "lever_m = 0.05\n[model]\nmax_force_n = 4.0");
        let (_, log) = bench.summary("0.4");
        let warning = "its velocity limit of 2 turns/s reduces a force of 4.00 N along the motion above 0.25 m/s (to zero at \
                       0.63 m/s) and switches the motor off at 0.75 m/s; for 3 m/s, set \
                       axis0.controller.config.vel_limit to 10.8";
        let at = |text: &str| log.find(text).unwrap_or_else(|| panic!("no {text:?} in {log}"));
        assert!(at(warning) < at("Running scene"), "{log}");
        bench.wait_for("motor on, torque zero");
    }
}

#[test]
fn a_bad_line_keeps_running_stays_passive_and_is_counted() {
    let faults = ["--drop", "0.01", "--garbage", "0.005", "--delay-ms", "2", "--seconds", "6"];
    let mut bench = Bench::new("native-2dof", &faults);
    bench.device("serial", "axes = 2");
    let (summary, log) = bench.summary("3");
    let link = &summary["device"];
    let dropped = bench.wait_for("frames dropped");
    let [_, dropped, damaged]: [f64; 3] = dropped
        .split_whitespace()
        .filter_map(|word| word.parse().ok())
        .collect::<Vec<_>>()
        .try_into()
        .unwrap_or_else(|numbers| panic!("{numbers:?}"));
    assert!(dropped > 5.0, "{dropped}");
    // A host that stalls sends several commands at once, and all of them are lost together.
    let lost = link["frames_lost"].as_f64().unwrap();
    assert!(lost >= 0.5 * dropped, "{lost} lost of {dropped} dropped and {damaged} damaged: {summary}\n{log}");
    assert_eq!(link["crc_errors"].as_u64().unwrap() > 0, damaged > 0.0, "{damaged} damaged: {summary}");
    let given = bench.wait_for("energy to the hand");
    // The scene can deliver its initial energy: 0.1 kg about 3 cm above the floor.
    assert!(given.split_whitespace().find_map(|word| word.parse::<f64>().ok()).unwrap() < 0.05, "{given}");
}

#[test]
fn a_board_whose_emergency_stop_is_pressed_is_driven_without_force_and_the_summary_says_why() {
    let mut bench = Bench::new("native-2dof", &["--emergency-stop", "0+1000"]);
    bench.device("serial", "axes = 2");
    let (summary, log) = bench.summary("1");
    let mut faults = summary["faults"].as_array().unwrap().iter().filter(|fault| fault["kind"] == "stopped").peekable();
    assert!(faults.peek().is_some(), "{summary}\n{log}");
    let text = "the emergency stop of the device is pressed; release it to continue";
    assert!(faults.all(|fault| fault["text"] == text), "{summary}");
    assert_eq!(summary["force_max_n"], 0.0, "{summary}");
    let last = bench.wait_for_any(&["motor 0 on", "motor 1 on", "the host left"]);
    assert!(last.contains("the host left"), "{last}");
}

/// Number of attempts of a test that an emulated board can only pass if the machine does not stall it for so long that
/// the link is lost.
const ATTEMPTS: u32 = 3;

#[test]
fn an_unplugged_device_is_reconnected_and_force_ramps_up_again() {
    let reconnects: Vec<u64> =
        (0..ATTEMPTS).map(|_| reconnects_of_an_unplugged_device()).take_while(|n| *n != 1).collect();
    assert!(reconnects.len() < ATTEMPTS as usize, "reconnects in each attempt: {reconnects:?}");
}

/// Unplugs a device once, checks the ramp of the force after it has been plugged in again, and returns how often it was
/// reconnected.
fn reconnects_of_an_unplugged_device() -> u64 {
    let flags = ["--die-after", "3", "--dead-for", "0.2", "--trace", "trace.csv", "--seconds", "12"];
    let mut bench = Bench::new("native-1dof", &flags);
    bench.device("serial", "axes = 1");
    bench.folder.write(
        "p.toml",
        "scene = \"wall\"\ndevice = \"d.toml\"\n[mapping]\naxis = [0.0, 1.0]\noffset_m = [0.0, 0.01]\n[coupling]\n\
         stiffness_n_per_m = 150.0\n[safety]\nengage_ramp_s = 1.0\n",
    );
    let run = ["run", "--profile", "p.toml", "--allow-no-rt", "--no-view", "--json", "--seconds", "10"];
    let output = bench.folder.hapticd(&run);
    let log = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{log}");
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(summary["faults"].as_array().unwrap().iter().any(|fault| fault["kind"] == "lost"), "{summary}");
    let unplugged_s = first_second(&bench.wait_for("unplugged"));
    let on_again_s = first_second(&bench.wait_for("motor 0 on"));
    bench.wait_for("ms emulated");
    let forces = forces_between(&bench.folder.join("trace.csv"), unplugged_s, on_again_s + 0.1);
    // After a tenth of the ramp, the force is a tenth of the requested one, which is at most 4 N.
    assert!(!forces.is_empty() && forces.iter().all(|force| force.abs() < 0.6), "{forces:?}");
    summary["device"]["reconnects"].as_u64().unwrap()
}

fn first_second(line: &str) -> f64 {
    line.split_whitespace().next().unwrap().parse().unwrap()
}

/// Returns the motor forces in a time range of the trace, N.
fn forces_between(trace: &Path, from_s: f64, to_s: f64) -> Vec<f64> {
    let text = std::fs::read_to_string(trace).unwrap();
    let rows = text.lines().skip(1).map(|row| row.split(',').map(|cell| cell.parse().unwrap()).collect::<Vec<f64>>());
    rows.filter(|row| (from_s..to_s).contains(&row[0])).map(|row| row[3]).collect()
}

#[test]
fn a_slow_line_is_served_less_often_with_a_warning() {
    let bench = Bench::new("native-2dof", &[]);
    bench.device("serial", "baud = 115200");
    let (summary, log) = bench.summary("0.3");
    assert_eq!(summary["device"]["rate_hz"], 500.0, "{summary}");
    assert!(log.contains("served at 500 Hz"), "{log}");
}

#[test]
fn another_version_of_the_protocol_is_rejected_with_the_remedy() {
    let bench = Bench::new("native-2dof", &["--protocol-version", "3"]);
    bench.device("serial", "");
    let output = bench.run("0.1", &["--allow-no-rt"]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("protocol 3.0") && text.contains("flash"), "{text}");
}

impl Bench {
    /// Returns the error of a run that must be rejected.
    fn rejection(&self) -> String {
        let output = self.run("0.1", &["--allow-no-rt"]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(output.stdout.is_empty(), "nothing was run");
        text
    }
}

#[test]
fn a_port_in_use_is_rejected_and_the_process_is_named() {
    let mut bench = Bench::new("native-2dof", &[]);
    bench.device("serial", "");
    let first = ["run", "--scene", "wall", "--device", "d.toml", "--no-view", "--allow-no-rt"];
    let mut first = bench.folder.command(&first).stderr(Stdio::null()).spawn().unwrap();
    bench.wait_for("armed");
    let text = bench.rejection();
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(text.contains(&format!("in use by process {}; end that process", first.id())), "{text}");
}

#[test]
fn a_missing_port_is_rejected_with_the_command_that_lists_ports() {
    let bench = Bench::new("native-2dof", &[]);
    bench.device("serial", "");
    std::fs::remove_file(bench.folder.join("port")).unwrap();
    let text = bench.rejection();
    assert!(text.contains("does not exist; plug the device in; `hapticd devices` lists connected devices"), "{text}");
}

#[test]
fn a_board_that_contradicts_the_file_is_rejected_with_the_correction() {
    let bench = Bench::new("native-1dof", &[]);
    bench.device("serial", "axes = 2");
    let text = bench.rejection();
    assert!(text.contains("the board has 1 axis, the device file 2; write axes = 1"), "{text}");
    // The board does not respond to the handshake of another protocol.
    bench.device("odrive", "");
    let text = bench.rejection();
    assert!(text.contains("no answer within 5 s") && text.contains("firmware for this kind"), "{text}");
    let bench = Bench::new("odrive", &[]);
    bench.device("serial", "");
    let text = bench.rejection();
    assert!(text.contains("not in the native protocol; check `kind` and `baud`"), "{text}");
}

/// Root could open a terminal without permission bits, so the test drops that capability.
#[test]
fn a_port_without_permission_is_rejected_with_the_remedy() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    if is_root && Command::new("setpriv").arg("--version").output().is_err() {
        println!("SKIPPED: root needs setpriv to drop its right to open every file");
        return;
    }
    let bench = Bench::new("native-2dof", &[]);
    bench.device("serial", "");
    let port = std::fs::canonicalize(bench.folder.join("port")).unwrap();
    std::fs::set_permissions(port, std::os::unix::fs::PermissionsExt::from_mode(0o000)).unwrap();
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set=-all", "--inh-caps=-all", env!("CARGO_BIN_EXE_hapticd")]);
    let mut command = if is_root { command } else { Command::new(env!("CARGO_BIN_EXE_hapticd")) };
    command.args(["run", "--scene", "wall", "--device", "d.toml", "--no-view", "--allow-no-rt", "--seconds", "0.1"]);
    bench.folder.run_here(&mut command);
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("permission denied on ") && text.contains("; run `sudo hapticd install-udev`"), "{text}");
}

/// A failed measurement writes nothing and leaves no force, however busy the machine is.
#[test]
fn a_device_that_is_unplugged_midway_or_stuck_is_not_measured_and_nothing_is_written() {
    let midway: &[&str] = &["--die-after", "6", "--dead-for", "100"];
    for (model, flags, last) in [("", midway, &["unplugged"][..]), ("coulomb_n = 9.0", &[], &NATIVE_ENDS[..])] {
        let model = format!("kind = \"simulated\"\naxes = 1\n[model]\n{model}\n");
        let models = Folder::new();
        let model = models.write("model.toml", model);
        let mut bench = Bench::new("native-1dof", &[&["--device", model.to_str().unwrap()], flags].concat());
        bench.device("serial", "");
        bench.folder.write("out.toml", "# kept\n");
        let arguments = ["identify", "--device", "d.toml", "--out", "out.toml", "--allow-no-rt"];
        let output = bench.folder.hapticd(&arguments);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(text.contains("not measured, nothing written, no force"), "{text}");
        assert_eq!(bench.folder.read("out.toml"), "# kept\n");
        let names = bench.folder.names();
        assert!(names.iter().all(|name| ["d.toml", "out.toml", "port"].contains(&name.as_str())), "{names:?}");
        bench.wait_for_any(last);
    }
}

/// Runs without the right to real-time scheduling, which the test drops if it runs as root.
#[test]
fn hardware_is_rejected_without_real_time() {
    let is_root = std::fs::metadata("/proc/self").is_ok_and(|me| std::os::unix::fs::MetadataExt::uid(&me) == 0);
    let tools = ["setpriv", "prlimit"].iter().all(|tool| Command::new(tool).arg("--version").output().is_ok());
    if !is_root || !tools {
        println!("SKIPPED: only root with setpriv and prlimit can drop the right to real-time scheduling");
        return;
    }
    let bench = Bench::new("native-2dof", &[]);
    bench.device("serial", "");
    let run = |flags: &[&str]| {
        // Drops the capabilities but keeps the user, so that the port can still be opened.
        let mut command = Command::new("prlimit");
        command.args(["--rtprio=0:0", "setpriv", "--bounding-set=-all", "--inh-caps=-all"]);
        command.arg(env!("CARGO_BIN_EXE_hapticd"));
        command.args(["run", "--scene", "wall", "--device", "d.toml", "--no-view", "--seconds", "0.2"]).args(flags);
        bench.folder.run_here(&mut command);
        command.output().unwrap()
    };
    let rejected = run(&[]);
    let text = String::from_utf8(rejected.stderr).unwrap();
    assert_eq!(rejected.status.code(), Some(3), "{text}");
    assert!(text.contains("--allow-no-rt"), "{text}");
    assert_eq!(run(&["--allow-no-rt"]).status.code(), Some(0));
}

#[test]
fn a_planned_fault_is_reported_and_reaches_the_host() {
    let faults = ["--fault", "cut-out@1.2+0.3", "--fault", "garbage@1.8+0.2", "--trace", "trace.csv", "--seconds", "4"];
    let mut bench = Bench::new("native-2dof", &faults);
    bench.device("serial", "axes = 2");
    let (summary, log) = bench.summary("2.5");
    assert!(summary["faults"].as_array().unwrap().iter().any(|fault| fault["kind"] == "lost"), "{summary}\n{log}");
    assert!(summary["device"]["crc_errors"].as_u64().unwrap() > 0, "{summary}");
    for event in ["cut-out begins", "cut-out ends", "garbage begins", "garbage ends"] {
        bench.wait_for(&format!("fault {event}"));
    }
}

/// Runs a device until the sign of its motor `index` is known, which it may not be on a busy machine, and returns exit
/// code, sign and log. A sign that is not known must be in the log.
fn sign_of(bench: &Bench, index: usize) -> (Option<i32>, String, String) {
    for _ in 0..10 {
        let output = bench.run("0.7", &["--allow-no-rt"]);
        let log = String::from_utf8(output.stderr).unwrap();
        let summary: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{log}"));
        match summary["signs"][index].as_str() {
            Some("unknown") => {
                assert!(log.contains("could not be determined") || log.contains("moved against"), "{log}")
            }
            Some(sign) => return (output.status.code(), sign.to_owned(), log),
            // The run ended before the check.
            None => {}
        }
    }
    panic!("the sign is never known")
}

#[test]
fn a_reversed_motor_or_encoder_ends_the_run_until_its_key_is_set() {
    for (emulated, kind, flag, axis, named, key) in [
        ("native-1dof", "serial", "--reverse-encoder", "x", "reverse_position_x", "reverse_position_x = true"),
        ("native-2dof", "serial", "--reverse-motor", "y", "reverse_force_y", "reverse_force_y = true"),
        ("odrive", "odrive", "--reverse-motor", "x", "reverse_force_x", "reverse_force_x = true"),
        (
            "haply-2diy",
            "haply-2diy",
            "--reverse-motor",
            "y",
            "motor_directions",
            "motor_directions = [\"ccw\", \"cw\"]",
        ),
        (
            "haply-2diy",
            "haply-2diy",
            "--reverse-encoder",
            "x",
            "encoder_directions",
            "encoder_directions = [\"cw\", \"ccw\"]",
        ),
    ] {
        let bench = Bench::new(emulated, &[flag, axis]);
        let index = usize::from(axis == "y");
        bench.device(kind, "");
        let (code, sign, log) = sign_of(&bench, index);
        assert_eq!((code, sign.as_str()), (Some(1), "reversed"), "{emulated} {flag} {axis}: {log}");
        assert!(log.contains("d.toml: ") && log.contains(named), "{log}");
        bench.device(kind, key);
        let (code, sign, log) = sign_of(&bench, index);
        assert_eq!((code, sign.as_str()), (Some(0), "right"), "{emulated} {flag} {axis} with {key}: {log}");
    }
}
