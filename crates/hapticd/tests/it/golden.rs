//! Golden runs of the example profiles and scenes, compared bit for bit: states, forces and figures.
//!
//! `scripts/update-golden` writes `config/golden/PROFILE+SCENE.json`.

use std::path::{Path, PathBuf};
use std::process::Command;

fn golden_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/golden")
}

#[test]
fn every_golden_run_is_reproduced() {
    let entries = std::fs::read_dir(golden_folder()).unwrap().map(|entry| entry.unwrap().path());
    let files: Vec<PathBuf> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "json")).collect();
    assert!(files.len() >= 12, "only {} golden runs", files.len());
    let mut differences = String::new();
    for path in files {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let (profile, scene) = stem.split_once('+').expect("PROFILE+SCENE.json");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hapticd"));
        command.args(["simulate", "--profile", profile, "--scene", scene, "--seconds", "3"]);
        let output = command.arg("--golden").arg(&path).output().unwrap();
        if !output.status.success() {
            differences += &String::from_utf8_lossy(&output.stderr);
        }
    }
    assert!(differences.is_empty(), "{differences}\nif this is meant: scripts/update-golden");
}
