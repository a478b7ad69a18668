//! Arguments: help, precedence, rejected values, the format of errors.

use super::{BALL, assert_done, assert_rejected};
use crate::common::{Folder, stderr};
use serde_json::Value;

#[test]
fn help_lists_the_commands_and_unknown_ones_are_rejected() {
    let folder = Folder::new();
    let help = folder.hapticd(&["--help"]);
    assert_done(&help);
    let text = String::from_utf8(help.stdout).unwrap();
    for command in ["run", "stop", "simulate", "check", "bench", "doctor", "latency", "install-udev"] {
        assert!(text.contains(&format!("\n  {command} ")), "{text}");
    }
    assert_eq!(folder.hapticd(&["fly"]).status.code(), Some(2));
    assert_eq!(folder.hapticd(&["simulate"]).status.code(), Some(2));
    assert_eq!(folder.hapticd(&["simulate", "--seconds", "nan"]).status.code(), Some(2));
    assert_eq!(folder.hapticd(&["simulate", "--seconds", "-1"]).status.code(), Some(2));
}

#[test]
fn the_udev_rules_are_printed_without_rights() {
    assert_eq!(Folder::new().done(&["install-udev", "--print"]), haptic_backends::udev::RULES);
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
        (&["emulate", "odrive", "--link", "l", "--lever-m=-1"], "; give --lever-m 0."),
        (
            &["emulate", "odrive", "--link", "none/l"],
            "--link none/l: its folder does not exist; give --link /tmp/l-port",
        ),
        (&["emulate", "odrive", "--link", "."], "--link .: exists and is not a link; give --link /tmp/"),
        (&["emulate", "odrive", "--link", "l", "--trace", "none/t.csv"], "none/t.csv: cannot be written"),
        (&["emulate", "odrive", "--link", "l", "--seed", "x"], "; give --seed 1"),
        (&["identify", "--device", "d", "--out", "o", "--travel-m=-0.1"], "above zero; give --travel-m 0.02"),
        (&["identify", "--device", "d", "--out", "o", "--max-force-n", "0"], "above zero; give --max-force-n 2"),
        (&["zwidth", "--points", "1"], "from 2 to 1000; give --points 28"),
        (&["run", "--view", "somewhere"], "an address and a port; give --view 127.0.0.1:8520"),
        (&["run", "--view", "127.0.0.1:1", "--no-view"], "not both"),
        (&["run", "--zzz"], "`hapticd run --help` lists"),
        (&["emulate", "odrive", "--link", "l", "--emergency-stop", "1+2"], "native-1dof or native-2dof"),
        (&["emulate", "native-1dof", "--link", "l", "--emergency-stop", "-1+2"], "give START+SECONDS, e.g. 5+2"),
        (&["emulate", "native-1dof", "--link", "l", "--emergency-stop", "3"], "give START+SECONDS, e.g. 5+2"),
        (&["emulate", "odrive", "--link", "l", "--fault", "stuck@1+2"], "the kinds are frozen, jump, drift, reversed,"),
        (&["emulate", "odrive", "--link", "l", "--fault", "late@1"], "after the @, give START+SECONDS, e.g. 5+2"),
    ] {
        let output = folder.hapticd(arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
        assert!(stderr(&output).contains(expected), "{arguments:?}: {}", stderr(&output));
    }
}

#[test]
fn an_export_without_an_output_is_rejected_with_the_flags_to_give() {
    let output = Folder::new().hapticd(&["export", "r.mcap"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("<--csv <FILE.csv>|--parquet <FILE.parquet>|--files <FOLDER>>"), "{output:?}");
}

#[test]
fn errors_are_json_lines_when_logs_are() {
    let folder = Folder::new();
    let output = folder.hapticd(&["--log-format", "json", "check", "nowhere.toml"]);
    assert_eq!(output.status.code(), Some(2));
    let line: Value = serde_json::from_str(stderr(&output).trim()).unwrap();
    assert!(line["fields"]["message"].as_str().unwrap().starts_with("nowhere.toml: no such file"));
}
