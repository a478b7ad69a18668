//! `simulate`: its summary, traces and golden files.

use super::{BALL, assert_done, assert_rejected, json};
use crate::common::{Folder, stderr};
use std::path::Path;

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
fn a_trace_that_cannot_be_written_is_reported_plainly() {
    let folder = Folder::new();
    let trace = |path: &str| folder.hapticd(&["simulate", "--seconds", "1", "--trace", path]);
    assert_rejected(&trace("nowhere/t.csv"), 2, "nowhere/t.csv: cannot be written: ");
    if Path::new("/dev/full").exists() {
        assert_rejected(&trace("/dev/full"), 1, "/dev/full: cannot be written: ");
    }
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
