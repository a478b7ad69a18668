//! `identify`, `zwidth` and the proposals of `check` from the command line.

use crate::common::Folder;
use serde_json::Value;

const DEVICE: &str = "kind = \"simulated\"\naxes = 2\n[model]\nmass_kg = [0.05, 0.2]\ndamping_n_s_per_m = [0.3, 1.2]\n\
                      coulomb_n = [0.02, 0.1]\nencoder_step_m = [2e-6, 1.7e-5]\ndelay_s = [0.0002, 0.0011]\n";

fn near(found: &Value, truth: f64, tolerance: f64) -> bool {
    (found.as_f64().unwrap() / truth - 1.0).abs() < tolerance
}

#[test]
fn identify_measures_both_axes_and_writes_a_file_that_check_and_simulate_accept() {
    let folder = Folder::new();
    let device = folder.file("device.toml", DEVICE);
    let found: Value =
        serde_json::from_str(&folder.done(&["identify", "--device", &device, "--out", "found.toml", "--json"]))
            .unwrap();
    let axes = &found["axes"];
    assert!(near(&axes[0]["mass_kg"]["value"], 0.05, 0.02) && near(&axes[1]["mass_kg"]["value"], 0.2, 0.02), "{axes}");
    assert!(near(&axes[1]["delay_s"]["value"], 0.0011, 0.02), "{axes}");
    assert!(near(&axes[1]["encoder_step_m"], 1.7e-5, 1e-9), "{axes}");
    assert_eq!(axes[0]["doubts"], Value::Array(Vec::new()));
    assert!(found["proposals"]["passive"]["stiffness_n_per_m"].as_f64().unwrap() > 0.0);
    folder.done(&["check", "found.toml"]);
    folder.done(&["simulate", "--device", "found.toml", "--scene", "wall", "--seconds", "0.1"]);
    assert_eq!(folder.names().len(), 2, "nothing else is left: {:?}", folder.names());
}

#[test]
fn identify_prints_its_results_and_how_to_use_them() {
    let folder = Folder::new();
    let text = folder.done(&["identify", "--device", "simulated-1dof", "--out", "a.toml", "--known-mass-kg", "0.08"]);
    for expected in
        ["mass          99.99", "dry friction", "delay         0.300", "encoder step  10 µm", "force scale   0.8000"]
    {
        assert!(text.contains(expected), "‘{expected}’ is missing in:\n{text}");
    }
    assert!(text.contains("proposed, passive: stiffness_n_per_m = 43"), "{text}");
    assert!(folder.read("a.toml").contains("[hand]"), "the section of the user stays");
}

#[test]
fn a_device_that_cannot_be_measured_leaves_the_old_file_as_it_was() {
    let folder = Folder::new();
    let stuck = folder.file("stuck.toml", "kind = \"simulated\"\naxes = 1\n[model]\ncoulomb_n = 9.0\n");
    let old = folder.file("old.toml", "# kept\n");
    let text = folder.ended(1, &["identify", "--device", &stuck, "--out", &old]);
    assert!(text.contains("nothing written, no force: axis 1: the encoder did not move"), "{text}");
    assert_eq!(folder.read("old.toml"), "# kept\n");
    assert_eq!(folder.names().len(), 2, "{:?}", folder.names());
}

#[test]
fn an_invalid_device_file_is_rejected_with_its_location() {
    let folder = Folder::new();
    let wrong = folder.file("wrong.toml", "kind = \"simulated\"\naxes = 1\n[model]\nmas_kg = 0.1\n");
    let text = folder.ended(2, &["identify", "--device", &wrong, "--out", "a.toml"]);
    assert!(text.starts_with("wrong.toml:4:1: model.mas_kg") && text.contains("mass_kg"), "{text}");
    let text = folder.ended(2, &["identify", "--device", "nothing.toml", "--out", "a.toml"]);
    assert!(text.contains("no such file"), "{text}");
    let text = folder.ended(2, &["identify", "--device", "simulated-1dof", "--out", "no/such/folder/a.toml"]);
    assert!(text.contains("cannot be written"), "{text}");
    assert_eq!(folder.names(), ["wrong.toml"]);
}

#[test]
fn zwidth_draws_three_curves_and_prints_the_same_numbers() {
    let folder = Folder::new();
    let device =
        folder.file("device.toml", "kind = \"simulated\"\naxes = 1\n[model]\ncoulomb_n = 0.0\nmax_force_n = 400.0\n");
    let command = ["zwidth", "--device", &device, "--out", "region.svg", "--points", "6", "--json"];
    let report: Value = serde_json::from_str(&folder.done(&command)).unwrap();
    let points = report["points"].as_array().unwrap();
    assert_eq!(points.len(), 6);
    for point in &points[..5] {
        let [spectral, simulated] = ["spectral_n_per_m", "simulated_n_per_m"].map(|key| point[key].as_f64().unwrap());
        assert!((simulated / spectral - 1.0).abs() < 0.1, "{point}");
    }
    let picture = folder.read("region.svg");
    for expected in [
        "stiffness of the coupling, N/m",
        "damping of the coupling, N·s/m",
        "passive with any hand",
        "eigenvalues",
        "tapped",
        "profile default: 300 N/m",
    ] {
        assert!(picture.contains(expected), "‘{expected}’ is missing");
    }
    let text = folder.ended(2, &["zwidth", "--device", &device, "--out", "region.jpg"]);
    assert!(text.contains(".svg or .png"), "{text}");
}

#[test]
fn zwidth_measures_springs_on_the_device_on_request() {
    let folder = Folder::new();
    let device = folder.file("device.toml", "kind = \"simulated\"\naxes = 1\n[model]\ncoulomb_n = 0.0\n");
    let report = folder.done(&["zwidth", "--device", &device, "--measure", "--points", "2", "--json"]);
    let report: Value = serde_json::from_str(&report).unwrap();
    let first = &report["measured"][0];
    // (b + B)/(T/2 + t_d) with B = 0.05: 687 N/m, and the springs increase by an eighth each.
    assert!(near(&first["stiffest_n_per_m"], 687.5, 0.15), "{first}");
    assert_eq!(folder.names(), ["device.toml"]);
}

#[test]
fn check_proposes_gains_for_devices_and_profiles() {
    let folder = Folder::new();
    let device = folder.file("device.toml", "kind = \"simulated\"\naxes = 1\n");
    let profile = folder.file("profile.toml", "device = \"device.toml\"\n[mapping]\nscale = 2.0\n");
    let text = folder.done(&["check", &device, &profile]);
    assert!(text.contains("proposed, passive: stiffness_n_per_m = 437, damping_n_s_per_m = 0.1\n"), "{text}");
    assert!(text.contains("proposed, passive: stiffness_n_per_m = 109, damping_n_s_per_m = 0.025\n"), "{text}");
    let report: Value = serde_json::from_str(&folder.done(&["check", "--json", &profile])).unwrap();
    let proposals = &report["files"][0]["profile"]["stability"]["proposals"];
    assert_eq!(proposals["passive"]["stiffness_n_per_m"], 109.0, "{report}");
}

#[test]
fn the_example_profiles_match_their_names() {
    let folder = Folder::new();
    let profiles = concat!(env!("CARGO_MANIFEST_DIR"), "/../../config/profiles");
    let stability = |name: &str| -> Value {
        let report = folder.done(&["check", "--json", &format!("{profiles}/{name}.toml")]);
        serde_json::from_str::<Value>(&report).unwrap()["files"][0]["profile"]["stability"].clone()
    };
    let hardware = ["hapkit", "haply-2diy-v2", "haply-2diy-v3", "hid-joystick", "odrive-knob"];
    for name in ["default", "soft", "passive", "friction-lab"].iter().chain(&hardware) {
        let found = stability(name);
        assert!(found["passive"] == true && found["stable"] == true, "{name}: {found}");
    }
    let crisp = stability("crisp");
    assert!(crisp["passive"] == false && crisp["stable"] == true, "{crisp}");
    assert!(crisp["displayed_stiffness_n_per_m"].as_f64().unwrap() < 700.0, "the tank limits it: {crisp}");
}
