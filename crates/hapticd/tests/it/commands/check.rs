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
    assert!(all.contains("\\\"heavy\\\" is 250 times as heavy as \\\"light\\\": above 100"), "{all}");
    assert!(
        all.contains("coupling.stiffness_n_per_m: 6000.0 N/m is unusual; usual values are from 1 to 5000"),
        "{all}"
    );
    assert_eq!(warnings("good.toml", 5000.0), "null");
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
