//! `check`: problems, warnings and stability margins.

use super::{BALL, assert_done, assert_rejected, json};
use crate::common::{Folder, stderr};

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
    assert!(text.contains("warning: model.delay_s is missing, a full service period is assumed"), "{text}");
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
    assert!(all.contains("\\\"heavy\\\" is 250 times as heavy as \\\"light\\\", the tool: above 100"), "{all}");
    assert!(all.contains("; write mass_kg = 0.025 for \\\"light\\\""), "{all}");
    assert!(all.contains("coupling.stiffness_n_per_m: 6000.0 N/m is unusual"), "{all}");
    let good = warnings("good.toml", 5000.0);
    assert!(!good.contains("unusual") && !good.contains("heavy"), "{good}");
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
    assert_eq!((&stability["trembling_is_free"], &stability["trembling_press_s"]), (&true.into(), &().into()));
    assert_eq!(stability["loss_per_crossing_j"], 0.0);
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

/// A profile with these gains, a light tool and a simulated device or hardware.
fn profile(folder: &Folder, stiffness: f64, damping: f64, device: &str) -> String {
    folder.file("light.toml", format!("{}[tool]\nbody = \"ball\"\n", BALL.replace("0.1", "0.004")));
    folder.file("board.toml", "kind = \"serial\"\n[model]\ndamping_n_s_per_m = 0.5\ndelay_s = 0.0003\n");
    let gains = format!("[coupling]\nstiffness_n_per_m = {stiffness:?}\ndamping_n_s_per_m = {damping:?}\n");
    folder.file("p.toml", format!("scene = \"light.toml\"\ndevice = \"{device}\"\n{gains}"))
}

/// Warnings about a profile on a simulated device; the first line of the output must count them.
fn warnings_of(folder: &Folder, stiffness: f64, damping: f64) -> Vec<String> {
    let file = profile(folder, stiffness, damping, "simulated-2dof");
    let findings = json(&folder.hapticd(&["check", "--json", &file]))["files"][0].clone();
    assert_eq!(findings["ok"], true, "{findings}");
    let warnings: Vec<String> = serde_json::from_value(findings["warnings"].clone()).unwrap_or_default();
    let text = String::from_utf8(folder.hapticd(&["check", &file]).stdout).unwrap();
    let count = match warnings.len() {
        0 => String::new(),
        1 => ", 1 warning".to_owned(),
        count => format!(", {count} warnings"),
    };
    assert_eq!(text.lines().next().unwrap(), format!("{file}: valid profile{count}"));
    warnings
}

/// Follows a remedy `write KEY = VALUE and KEY = VALUE` for the gains.
fn followed(warning: &str, stiffness: f64, damping: f64) -> (f64, f64) {
    let value = |key: &str, otherwise: f64| {
        let after = warning.split_once("; write ").unwrap().1.split_once(&format!("{key} = "));
        after.map_or(otherwise, |(_, rest)| rest.split_whitespace().next().unwrap().parse().unwrap())
    };
    (value("stiffness_n_per_m", stiffness), value("damping_n_s_per_m", damping))
}

#[test]
fn each_remedy_for_the_gains_removes_its_warning() {
    let folder = Folder::new();
    assert_eq!(warnings_of(&folder, 300.0, 0.24), Vec::<String>::new());
    for (stiffness, damping, expected) in [
        (2000.0, 0.24, "p.toml:4:21: coupling.stiffness_n_per_m: is 2000.0: above the passive bound of 325 N/m"),
        (400.0, 2.0, "p.toml:5:21: coupling.damping_n_s_per_m: is 2.0: above the passive bound"),
        (
            300.0,
            0.01,
            "p.toml:5:21: coupling.damping_n_s_per_m: is 0.01: the tool of 0.004 kg has a damping ratio of 0.005",
        ),
        (
            4000.0,
            0.0,
            "p.toml:5:21: coupling.damping_n_s_per_m: is 0.0: the tool of 0.004 kg has a damping ratio of 0.0",
        ),
        (50000.0, 0.1, "not valid for hardware: p.toml:4:21: coupling.stiffness_n_per_m: the coupling of 50000.0 N/m"),
        (400.0, 500.0, "not valid for hardware: p.toml:4:21: coupling.stiffness_n_per_m: the coupling of 400.0 N/m"),
    ] {
        let warnings = warnings_of(&folder, stiffness, damping);
        let found = warnings.iter().find(|warning| warning.contains(expected));
        let warning = found.unwrap_or_else(|| panic!("{expected}: {warnings:?}"));
        let (softer, damped) = followed(warning, stiffness, damping);
        assert!(softer <= stiffness, "{warning}");
        let cause = expected.split(": is ").next().unwrap().split(": the ").next().unwrap();
        let left = warnings_of(&folder, softer, damped);
        assert!(left.iter().all(|left| !left.starts_with(cause)), "{warning}\nleaves {left:?}");
    }
}

#[test]
fn an_unstable_coupling_is_an_error_on_hardware_and_says_what_is_stable() {
    let folder = Folder::new();
    let unstable = profile(&folder, 50_000.0, 0.1, "board.toml");
    let output = folder.hapticd(&["check", &unstable]);
    assert_rejected(&output, 2, "p.toml:4:21: coupling.stiffness_n_per_m: the coupling of 50000.0 N/m and 0.1 N·s/m");
    assert!(stderr(&output).contains("spectral radius 1.") && output.stdout.is_empty(), "{output:?}");
    let findings = json(&folder.hapticd(&["check", "--json", &unstable]))["files"][0].clone();
    assert_eq!((&findings["ok"], &findings["profile"]["stability"]["stable"]), (&false.into(), &false.into()));
    let (stiffness, damping) = followed(&stderr(&output), 50_000.0, 0.1);
    assert_done(&folder.hapticd(&["check", &profile(&folder, stiffness, damping, "board.toml")]));
}

#[test]
fn a_worst_tick_that_is_too_long_is_an_error_on_hardware_and_a_warning_elsewhere() {
    let folder = Folder::new();
    let disc = |index: u32| {
        let (x, y) = (f64::from(index % 40) * 0.02, f64::from(index / 40) * 0.02);
        format!("[[body]]\nname = \"{index}\"\nposition_m = [{x}, {y}]\nshape = {{ disc_radius_m = 0.009 }}\n")
    };
    let scene = folder.file("many.toml", (0..1500).map(disc).collect::<String>());
    folder.file("board.toml", "kind = \"serial\"\n");
    let words = "not valid for hardware: the worst tick takes more than ";
    let findings = json(&folder.hapticd(&["check", "--json", &scene]))["files"][0].clone();
    assert_eq!((&findings["ok"], &findings["scene"]["worst_tick"]["is_lower_bound"]), (&true.into(), &true.into()));
    assert!(findings["warnings"][0].as_str().unwrap().starts_with(words), "{findings}");
    let hardware = folder.file("hardware.toml", "scene = \"many.toml\"\ndevice = \"board.toml\"\n");
    let rejected = folder.hapticd(&["check", &hardware]);
    assert_rejected(&rejected, 2, "hardware.toml:1:9: scene: the worst tick takes more than ");
    let simulated = folder.file("simulated.toml", "scene = \"many.toml\"\n");
    let findings = json(&folder.hapticd(&["check", "--json", &simulated]))["files"][0].clone();
    assert!(findings["warnings"].to_string().contains("not valid for hardware: simulated.toml:1:9: scene: "));
}

#[test]
fn the_shipped_profiles_are_valid_and_only_the_crisp_one_is_not_passive() {
    let folder = Folder::new();
    let profiles = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/profiles");
    for entry in std::fs::read_dir(profiles).unwrap() {
        let path = entry.unwrap().path();
        let findings = json(&folder.hapticd(&["check", "--json", path.to_str().unwrap()]))["files"][0].clone();
        assert_eq!(findings["ok"], true, "{findings}");
        let is_crisp = path.ends_with("crisp.toml");
        let warnings = findings["warnings"].to_string();
        assert_eq!(warnings.contains("above the passive bound"), is_crisp, "{}: {warnings}", path.display());
        // The default gains and the passive ones of `identify` know no tool.
        let may_ring = ["bare.toml", "passive.toml"].iter().any(|name| path.ends_with(name));
        assert!(!warnings.contains("damping ratio") || may_ring, "{}: {warnings}", path.display());
        assert!(!warnings.contains("heavy") && !warnings.contains("unusual"), "{}: {warnings}", path.display());
    }
}

#[test]
fn a_picture_shows_the_scene_that_was_read_and_other_files_have_none() {
    let folder = Folder::new();
    let scene = folder.file("s.toml", BALL);
    folder.file("p.toml", "scene = \"s.toml\"\n");
    let device = folder.file("d.toml", "kind = \"simulated\"\n");
    for file in ["s.toml", "p.toml"] {
        let output = folder.hapticd(&["check", file, "--picture", "f.svg"]);
        assert_done(&output);
        assert!(stderr(&output).contains("wrote f.svg"), "{output:?}");
        let picture = std::fs::read_to_string(folder.join("f.svg")).unwrap();
        assert!(picture.starts_with("<svg") && picture.contains(">ball<"), "{picture}");
        std::fs::remove_file(folder.join("f.svg")).unwrap();
    }
    assert_done(&folder.hapticd(&["check", "s.toml", "--picture", "f.png"]));
    let no_scene = folder.hapticd(&["check", &device, "--picture", "f.svg"]);
    assert_rejected(
        &no_scene,
        2,
        "d.toml: a device file has no scene to draw; run `hapticd check SCENE.toml --picture",
    );
    let two = folder.hapticd(&["check", &scene, &device, "--picture", "f.svg"]);
    assert_rejected(
        &two,
        2,
        "--picture f.svg shows one file, and 2 are given; run `hapticd check s.toml --picture f.svg`",
    );
    assert_rejected(&folder.hapticd(&["check", &scene, "--picture", "f.jpg"]), 2, "--picture f.jpg: pictures are");
    assert_rejected(&folder.hapticd(&["check", &scene, "--picture", "s.toml"]), 2, "--picture s.toml: pictures are");
    assert!(!folder.join("f.svg").exists());
}
