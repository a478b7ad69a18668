//! The command line: arguments, output, exit codes.

use crate::common::{Folder, stderr};
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};

const BALL: &str = "[[body]]\nname = \"ball\"\nshape = { disc_radius_m = 0.01 }\nmass_kg = 0.1\n";

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"))
}

#[track_caller]
fn assert_rejected(output: &Output, code: i32, start: &str) {
    let text = stderr(output);
    assert_eq!(output.status.code(), Some(code), "{text}");
    assert!(text.starts_with(start), "expected the start {start:?}, got {text:?}");
}

#[track_caller]
fn assert_done(output: &Output) {
    assert_eq!(output.status.code(), Some(0), "{}", stderr(output));
}

#[test]
fn help_lists_the_commands_and_unknown_ones_are_rejected() {
    let folder = Folder::new();
    let help = folder.hapticd(&["--help"]);
    assert_done(&help);
    let text = String::from_utf8(help.stdout).unwrap();
    for command in ["run", "simulate", "check", "bench", "doctor", "latency"] {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
    }
    assert_eq!(folder.hapticd(&["fly"]).status.code(), Some(2));
    assert_eq!(folder.hapticd(&["simulate"]).status.code(), Some(2));
    assert_eq!(folder.hapticd(&["simulate", "--seconds", "nan"]).status.code(), Some(2));
    assert_eq!(folder.hapticd(&["simulate", "--seconds", "-1"]).status.code(), Some(2));
}

#[test]
fn simulate_prints_every_documented_figure() {
    let folder = Folder::new();
    let output = folder.hapticd(&["simulate", "--seconds", "0.25", "--json"]);
    assert_done(&output);
    let summary = json(&output);
    assert_eq!(summary["ticks"], 250);
    for key in ["overruns", "skipped", "pairs_dropped", "stale", "contacts_max"] {
        assert!(summary[key].is_u64(), "{key}");
    }
    for key in ["energy_gain_max_j", "penetration_max_m", "force_max_n"] {
        assert!(summary[key].is_f64(), "{key}");
    }
    for key in ["p50", "p99", "p999", "max"] {
        assert!(summary["compute_ns"][key].is_u64(), "{key}");
    }
    assert!(summary["faults"].as_array().unwrap().is_empty());
    let hash = summary["state_hash"].as_str().unwrap();
    assert!(hash.len() == 16 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn simulate_needs_no_file_and_writes_none() {
    let folder = Folder::new();
    assert_done(&folder.hapticd(&["simulate", "--seconds", "0.01"]));
    assert_eq!(folder.names(), [""; 0]);
}

#[test]
fn the_same_input_gives_the_same_hash_and_another_scene_another() {
    let folder = Folder::new();
    let hash = |scene: &str| {
        let output = folder.hapticd(&["simulate", "--scene", scene, "--seconds", "0.1", "--json"]);
        json(&output)["state_hash"].clone()
    };
    assert_eq!(hash("tower"), hash("tower"));
    assert_ne!(hash("tower"), hash("heap"));
}

#[test]
fn the_trace_has_the_documented_columns_and_a_row_for_each_tick() {
    let folder = Folder::new();
    let hand = folder.file("hand.csv", "t_s,x_m,y_m\n0,0,0.03\n0.01,0.001,0.03\n");
    let arguments = ["simulate", "--profile", "bare", "--hand", &hand, "--seconds", "0.02", "--trace", "t.csv"];
    assert_done(&folder.hapticd(&arguments));
    let trace = folder.read("t.csv");
    let mut lines = trace.lines();
    assert_eq!(
        lines.next().unwrap(),
        "t_s,hand_x_m,hand_y_m,tool_x_m,tool_y_m,tool_angle_rad,tool_vx_m_per_s,tool_vy_m_per_s,tool_spin_rad_per_s,\
         force_x_n,force_y_n,contacts,penetration_m,normal_force_n,tangent_force_n,energy_j,tank_j"
    );
    let rows: Vec<Vec<f64>> = lines.map(|line| line.split(',').map(|field| field.parse().unwrap()).collect()).collect();
    assert_eq!(rows.len(), 20);
    assert!(rows.iter().all(|row| row.len() == 17));
    assert_eq!((rows[0][0], rows[0][1]), (0.001, 0.0001));
    assert_eq!((rows[4][0], rows[4][1]), (0.005, 0.0005));
    assert_eq!((rows[19][0], rows[19][1]), (0.02, 0.001));
}

#[test]
fn the_trace_of_bodies_has_a_row_for_each_tick_and_body() {
    let folder = Folder::new();
    let scene = folder.file("s.toml", BALL);
    assert_done(&folder.hapticd(&[
        "simulate",
        "--scene",
        &scene,
        "--seconds",
        "0.003",
        "--trace-bodies",
        "b.csv",
        "--trace",
        "t.csv",
    ]));
    let trace = folder.read("b.csv");
    let lines: Vec<&str> = trace.lines().collect();
    assert_eq!(lines[0], "t_s,body,x_m,y_m,angle_rad,vx_m_per_s,vy_m_per_s,spin_rad_per_s");
    assert_eq!(lines.len(), 4);
    assert!(lines[3].starts_with("0.003,ball,0.0,-"), "{}", lines[3]);
    let tool_columns =
        folder.read("t.csv").lines().nth(1).unwrap().split(',').take(15).skip(1).map(str::to_owned).collect::<Vec<_>>();
    assert!(tool_columns.iter().all(|field| field.parse::<f64>().unwrap() == 0.0), "{tool_columns:?}");
}

#[test]
fn a_body_that_falls_freely_obeys_gravity() {
    let folder = Folder::new();
    let scene = folder.file("s.toml", BALL);
    assert_done(&folder.hapticd(&["simulate", "--scene", &scene, "--seconds", "0.1", "--trace-bodies", "b.csv"]));
    let last = folder.read("b.csv").lines().last().unwrap().to_owned();
    let fields: Vec<&str> = last.split(',').collect();
    let (y_m, vy_m_per_s): (f64, f64) = (fields[3].parse().unwrap(), fields[6].parse().unwrap());
    assert!((vy_m_per_s + 0.981).abs() < 1e-9, "{last}");
    assert!((y_m + 0.04905).abs() < 0.001, "{last}");
}

#[test]
fn pressing_on_a_floor_pushes_the_hand_up() {
    let folder = Folder::new();
    let hand = folder.file("hand.csv", "t_s,x_m,y_m\n0,0,0.03\n0.5,0,0.005\n");
    let arguments = ["simulate", "--profile", "bare", "--hand", &hand, "--seconds", "1", "--trace", "t.csv"];
    assert_done(&folder.hapticd(&arguments));
    let last = folder.read("t.csv").lines().last().unwrap().to_owned();
    let force_y_n: f64 = last.split(',').nth(10).unwrap().parse().unwrap();
    // The hand is 5 mm below the contact position, which gives 2 N at 400 N/m. The floor carries the weight of the
    // tool.
    assert!((force_y_n - 2.0).abs() < 0.05, "{force_y_n}");
}

#[test]
fn flags_override_the_profile_and_its_paths_start_from_its_folder() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("deep")).unwrap();
    folder.file("deep/s.toml", BALL);
    folder.file("deep/p.toml", "scene = \"s.toml\"\n");
    folder.file("deep/missing.toml", "\nscene = \"nowhere.toml\"\n");
    assert_done(&folder.hapticd(&["simulate", "--profile", "deep/p.toml", "--seconds", "0.01"]));
    let rejected = folder.hapticd(&["simulate", "--profile", "deep/missing.toml", "--seconds", "0.01"]);
    assert_rejected(&rejected, 2, "deep/missing.toml:2:9: scene: 'deep/nowhere.toml': no such file");
    assert_done(&folder.hapticd(&[
        "simulate",
        "--profile",
        "deep/missing.toml",
        "--scene",
        "deep/s.toml",
        "--seconds",
        "0.01",
    ]));
}

#[test]
fn a_file_that_cannot_be_opened_is_invalid_input() {
    let folder = Folder::new();
    let simulate = |scene: &str| folder.hapticd(&["simulate", "--scene", scene, "--seconds", "0.01"]);
    folder.file("latin1.toml", b"# caf\xe9\n");
    assert_rejected(&simulate("nowhere.toml"), 2, "nowhere.toml: no such file; ");
    assert_rejected(
        &simulate("tabel"),
        2,
        "tabel: no such file, and no built-in scene of that name; name a file or one of table,",
    );
    assert_rejected(&simulate("."), 2, ".: is a folder, not a file");
    assert_rejected(&simulate("latin1.toml"), 2, "latin1.toml:1:6: is not valid UTF-8");
    assert_rejected(
        &simulate(&folder.file("empty.toml", "")),
        2,
        "empty.toml:1:1: body: a scene needs at least one body",
    );
    let hand = folder.hapticd(&["simulate", "--hand", "nowhere.csv", "--seconds", "0.01"]);
    assert_rejected(&hand, 2, "nowhere.csv: no such file");
}

#[test]
fn problems_of_the_whole_scene_are_reported_with_their_location_in_the_file() {
    let folder = Folder::new();
    let second = "[[body]]\nname = \"second\"\nshape = { disc_radius_m = 0.01 }\n";
    for (name, text, start) in [
        ("twice.toml", format!("{BALL}{BALL}"), "twice.toml:6:8: body[1].name: "),
        ("tool.toml", format!("{BALL}[tool]\nbody = \"bal\"\n"), "tool.toml:6:8: tool.body: "),
        ("pair.toml", format!("{BALL}[[pair]]\nbodies = [\"ball\", \"bat\"]\n"), "pair.toml:6:10: pair[0].bodies: "),
        ("inside.toml", format!("{BALL}{second}position_m = [0.001, 0]\n"), "inside.toml:8:14: body[1].position_m: "),
        (
            "crossed.toml",
            "[[body]]\nname = \"a\"\nshape = { polygon_m = [[0, 0], [1, 1], [1, 0], [0, 1]] }\n".to_owned(),
            "crossed.toml:3:9: body[0].shape: ",
        ),
    ] {
        let file = folder.file(name, text);
        assert_rejected(&folder.hapticd(&["check", &file]), 2, start);
    }
}

#[test]
fn a_trace_that_cannot_be_written_is_reported_plainly() {
    let folder = Folder::new();
    let trace = |path: &str| folder.hapticd(&["simulate", "--seconds", "1", "--trace", path]);
    assert_rejected(&trace("nowhere/t.csv"), 2, "nowhere/t.csv: cannot be written: ");
    if Path::new("/dev/full").exists() {
        assert_rejected(&trace("/dev/full"), 1, "/dev/full: cannot be written: ");
    }
}

#[test]
fn no_output_destroys_an_input_or_another_output() {
    let folder = Folder::new();
    let device = "kind = \"simulated\"\naxes = 1\n";
    let files = [
        ("s.toml", BALL),
        ("s.svg", BALL),
        ("p.toml", "scene = \"s.toml\"\ndevice = \"d.toml\"\n"),
        ("d.toml", device),
        ("d.svg", device),
        ("h.csv", "t_s,x_m,y_m\n0,0,0.03\n"),
    ];
    files.iter().for_each(|(name, text)| _ = folder.file(name, text));
    assert_done(&folder.hapticd(&["simulate", "--seconds", "0.1", "--record", "r.mcap"]));
    let recording = std::fs::read(folder.join("r.mcap")).unwrap();
    let simulate = ["simulate", "--profile", "p.toml", "--hand", "h.csv", "--seconds", "0.1"];
    let golden = ["--golden", "new.json", "--update-golden", "--trace", "./new.json"];
    for (command, more, flags) in [
        (&simulate[..], &["--trace", "p.toml"][..], ["--trace", "--profile"]),
        (&simulate, &["--trace", "s.toml"], ["--trace", "scene of the profile"]),
        (&simulate, &["--scene", "s.svg", "--trace-bodies", "s.svg"], ["--trace-bodies", "--scene"]),
        (&simulate, &["--record", "d.toml"], ["--record", "device of the profile"]),
        (&simulate, &["--trace", "h.csv"], ["--trace", "--hand"]),
        (&simulate, &["--trace", "new.csv", "--trace-bodies", "./new.csv"], ["--trace-bodies", "--trace"]),
        (&simulate, &golden, ["--trace", "--golden"]),
        (&["run", "--scene", "s.toml", "--seconds", "0.1"], &["--record", "s.toml"], ["--record", "--scene"]),
        (&["report", "r.mcap"], &["--out", "r.mcap"], ["--out", "the recording"]),
        (&["export", "r.mcap"], &["--csv", "r.mcap"], ["--csv", "the recording"]),
        (&["export", "r.mcap"], &["--csv", "new.csv", "--parquet", "new.csv"], ["--parquet", "--csv"]),
        (&["export", "r.mcap"], &["--files", "new", "--csv", "new/scene.toml"], ["--files", "--csv"]),
        (&["snapshot", "--scene", "s.svg"], &["--out", "s.svg"], ["--out", "--scene"]),
        (&["snapshot", "--scene", "s.svg", "--seconds", "0.1"], &["--out", "s.svg"], ["--out", "--scene"]),
        (&["identify", "--device", "d.toml"], &["--out", "d.toml"], ["--out", "--device"]),
        (&["zwidth", "--device", "d.svg"], &["--out", "d.svg"], ["--out", "--device"]),
        (&["emulate", "odrive", "--device", "d.toml", "--link", "l"], &["--trace", "d.toml"], ["--trace", "--device"]),
    ] {
        let output = folder.hapticd(&[command, more].concat());
        let [written, other] = flags;
        assert_rejected(&output, 2, written);
        assert!(stderr(&output).contains(&format!("is the same file as {other} ")), "{}", stderr(&output));
    }
    files.iter().for_each(|(name, text)| assert_eq!(folder.read(name), *text, "{name}"));
    assert!(std::fs::read(folder.join("r.mcap")).unwrap() == recording, "the recording has changed");
    assert!(!folder.join("new.csv").exists() && !folder.join("new.json").exists() && !folder.join("new").exists());
    assert_done(&folder.hapticd(&[&simulate[..], &["--trace", "/dev/null", "--trace-bodies", "/dev/null"]].concat()));
}

#[test]
fn a_file_of_another_kind_is_reported_with_the_flag_that_accepts_it() {
    let folder = Folder::new();
    folder.file("s.toml", BALL);
    folder.file("p.toml", "[coupling]\nstiffness_n_per_m = 300\n");
    folder.file("d.toml", "kind = \"simulated\"\n");
    folder.file("h.csv", "t_s,x_m,y_m\n0,0,0.03\n");
    for (flag, file, expected) in [
        ("--profile", "s.toml", "s.toml: is a scene, not a profile; give it with --scene\n"),
        ("--profile", "h.csv", "h.csv: is a hand, not a profile; give it with --hand\n"),
        ("--scene", "p.toml", "p.toml: is a profile, not a scene; give it with --profile\n"),
        ("--device", "s.toml", "s.toml: is a scene, not a device; give it with --scene\n"),
        ("--scene", "d.toml", "d.toml: is a device, not a scene; give it with --device\n"),
        ("--hand", "d.toml", "d.toml: is a device, not a hand; give it with --device\n"),
    ] {
        let output = folder.hapticd(&["simulate", flag, file, "--seconds", "0.01"]);
        assert_eq!((output.status.code(), stderr(&output).as_str()), (Some(2), expected), "{flag} {file}");
    }
    // An error in a file of the right kind is still reported as such.
    folder.file("p.toml", "[coupling]\n[tool]\n");
    assert_rejected(
        &folder.hapticd(&["simulate", "--profile", "p.toml", "--seconds", "0.01"]),
        2,
        "p.toml:2:2: tool: ",
    );
}

#[test]
fn invalid_values_are_rejected_with_what_would_be_accepted() {
    let folder = Folder::new();
    for (arguments, expected) in [
        (&["doctor", "--seconds", "0"][..], "a number of seconds above 0"),
        (&["latency", "--seconds", "0"], "a number of seconds above 0"),
        (&["latency", "--seconds", "-1"], "a number of seconds above 0"),
        (&["run", "--seconds", "-1"], "a number of seconds from 0"),
        (&["simulate", "--seconds", "-0.5"], "a number of seconds from 0"),
        (&["run", "--record", "r.mcap", "--record-rotate-mb", "-3"], "a number above zero"),
        (&["emulate", "odrive", "--link", "l", "--drop", "-1"], "a fraction from 0 to 1"),
        (&["emulate", "odrive", "--link", "l", "--delay-ms", "-1"], "a number of milliseconds from 0"),
    ] {
        let output = folder.hapticd(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
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
    assert!(!text.contains("Ctrl-C stops it"), "RUST_LOG=off leaves out the rest: {text}");
    let lines: Vec<Value> = run("json").lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let has_line = |expected: &str| {
        let has_text = |line: &Value| line["fields"]["message"].as_str().is_some_and(|text| text.contains(expected));
        lines.iter().any(has_text)
    };
    assert!(has_line("Viewer: http://127.0.0.1:") && has_line("Maximum force "), "{lines:?}");
}

#[test]
fn a_golden_file_is_written_compared_and_its_differences_are_named() {
    let folder = Folder::new();
    let simulate = |seconds: &str, more: &[&str]| {
        let fixed = ["simulate", "--scene", "tower", "--seconds", seconds, "--golden", "g.json"];
        folder.hapticd(&[&fixed[..], more].concat())
    };
    // The file is read first, before the summary is printed.
    assert_rejected(&simulate("0.1", &[]), 2, "g.json: cannot be read");
    assert_done(&simulate("0.1", &["--update-golden"]));
    assert_done(&simulate("0.1", &[]));
    let differs = simulate("0.2", &[]);
    assert_eq!(differs.status.code(), Some(4));
    assert!(stderr(&differs).contains("g.json: ticks: was 100, is 200"), "{}", stderr(&differs));
    folder.file("g.json", "{\n  \"ticks\": x }");
    assert_rejected(&simulate("0.1", &[]), 2, "g.json:2:12: is not a golden file");
    let nowhere = ["simulate", "--seconds", "0.1", "--golden", "nowhere/g.json", "--update-golden"];
    assert_rejected(&folder.hapticd(&nowhere), 2, "nowhere/g.json: cannot be written");
    assert_eq!(folder.hapticd(&["simulate", "--seconds", "1", "--update-golden"]).status.code(), Some(2));
}

#[test]
fn check_reports_every_file_as_text_and_as_json() {
    let folder = Folder::new();
    let good = folder.file("good.toml", BALL);
    let bad = folder.file("bad.toml", format!("{BALL}fricton = 1\n"));
    let output = folder.hapticd(&["check", &good, &bad]);
    assert_rejected(&output, 2, "bad.toml:5:1: body[0].fricton: unknown key; did you mean friction?");
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .starts_with("good.toml: valid scene\n  bodies: 1 (0 fixed, 1 dynamic)")
    );
    let findings = json(&folder.hapticd(&["check", "--json", &good, &bad]));
    assert_eq!(findings["files"][0]["kind"], "scene");
    assert_eq!(findings["files"][0]["ok"], true);
    assert_eq!(findings["files"][0]["scene"]["masses"][0]["mass_kg"], 0.1);
    assert_eq!(findings["files"][1]["ok"], false);
    assert_eq!(findings["files"][1]["errors"][0]["position"]["line"], 5);
    assert_eq!(findings["files"][1]["errors"][0]["key"], "body[0].fricton");
}

#[test]
fn check_warns_of_hardware_that_was_never_measured() {
    let folder = Folder::new();
    let device = folder.file("d.toml", "kind = \"serial\"\nport = \"/dev/ttyACM0\"\n");
    let output = folder.hapticd(&["check", &device]);
    assert_done(&output);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("warning: model.damping_n_s_per_m is missing, 0.05 is assumed"), "{text}");
}

#[test]
fn check_warns_outside_the_envelope_and_only_there() {
    let folder = Folder::new();
    let disc = |name: &str, x: f64, mass: f64| {
        format!(
            "[[body]]\nname = \"{name}\"\nposition_m = [{x}, 0.0]\nshape = {{ disc_radius_m = 0.01 }}\nmass_kg = {mass}\n"
        )
    };
    let tool = "[tool]\nbody = \"light\"\n";
    folder.file("s.toml", format!("{}{}{tool}", disc("light", 0.0, 0.01), disc("heavy", 0.1, 2.5)));
    folder.file("good.toml", format!("{}{}{tool}", disc("light", 0.0, 0.01), disc("heavy", 0.1, 1.0)));
    let warnings = |scene: &str, stiffness: f64| {
        let text = format!("scene = \"{scene}\"\n[coupling]\nstiffness_n_per_m = {stiffness:?}\n");
        let profile = folder.file("p.toml", text);
        let output = folder.hapticd(&["check", "--json", &profile]);
        assert_done(&output);
        json(&output)["files"][0]["warnings"].to_string()
    };
    let all = warnings("s.toml", 6000.0);
    assert!(all.contains("\\\"heavy\\\" is 250 times as heavy as \\\"light\\\": above 100"), "{all}");
    assert!(all.contains("coupling.stiffness_n_per_m is 6000: above 5000"), "{all}");
    assert_eq!(warnings("good.toml", 5000.0), "null");
}

#[test]
fn settings_for_simulation_only_are_rejected_on_hardware_and_accepted_with_a_prescribed_hand() {
    let folder = Folder::new();
    folder.file("d.toml", "kind = \"serial\"\n");
    folder.file("hand.csv", "t_s,x_m,y_m\n0,0,0.03\n");
    let bare = "device = \"d.toml\"\n[safety]\nengage_ramp_s = 0\nslew_n_per_s = 0\npassivity = \"observer\"\n";
    let profile = folder.file("p.toml", bare);
    let rejected = folder.hapticd(&["check", &profile]);
    assert_rejected(
        &rejected,
        2,
        "p.toml:3:17: safety.engage_ramp_s: no ramp is only permitted with a simulated device",
    );
    let text = stderr(&rejected);
    assert!(
        text.contains("\np.toml:4:16: safety.slew_n_per_s: ") && text.contains("\np.toml:5:13: safety.passivity: ")
    );
    assert_done(&folder.hapticd(&["simulate", "--profile", &profile, "--hand", "hand.csv", "--seconds", "0.01"]));
    assert_done(&folder.hapticd(&[
        "simulate",
        "--profile",
        &profile,
        "--device",
        "simulated-2dof",
        "--seconds",
        "0.01",
    ]));
}

#[test]
fn errors_are_json_lines_when_logs_are() {
    let folder = Folder::new();
    let output = folder.hapticd(&["--log-format", "json", "check", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let line: Value = serde_json::from_str(stderr(&output).trim()).unwrap();
    assert!(line["fields"]["message"].as_str().unwrap().starts_with("nowhere.toml: no such file"));
}

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

#[test]
fn check_reports_the_stability_margins_of_a_profile() {
    let folder = Folder::new();
    let profile = folder.file("p.toml", "scene = \"wall\"\n[coupling]\nstiffness_n_per_m = 2000\n");
    let output = String::from_utf8(folder.hapticd(&["check", &profile]).stdout).unwrap();
    assert!(output.contains("not passive: device damping 0.500 N·s/m"), "{output}");
    let facts = json(&folder.hapticd(&["check", "--json", &profile]));
    let stability = &facts["files"][0]["profile"]["stability"];
    assert_eq!(stability["passive"], false);
    assert!((stability["needed_damping_n_s_per_m"].as_f64().unwrap() - 1.7).abs() < 1e-9, "{stability}");
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
