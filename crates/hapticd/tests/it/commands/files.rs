//! Files named in arguments: those that cannot be read, conflicts between inputs and outputs, files of another kind.

use super::{BALL, assert_done, assert_rejected};
use crate::common::{Folder, stderr};

#[test]
fn a_file_that_cannot_be_opened_is_invalid_input() {
    let folder = Folder::new();
    let simulate = |scene: &str| folder.hapticd(&["simulate", "--scene", scene, "--seconds", "0.01"]);
    folder.file("latin1.toml", b"# caf\xe9\n");
    assert_rejected(&simulate("nowhere.toml"), 2, "nowhere.toml: no such file; ");
    assert_rejected(
        &simulate("tabel"),
        2,
        "tabel: no such file, and no built-in scene of that name; give --scene table; the built-in ones are table,",
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
fn no_output_destroys_an_input_or_another_output() {
    let folder = Folder::new();
    let device = "kind = \"simulated\"\naxes = 1\n";
    let files = [
        ("s.toml", BALL),
        ("s.svg", BALL),
        ("p.toml", "scene = \"s.toml\"\ndevice = \"d.toml\"\n"),
        ("i.toml", "include = [\"w.toml\"]\n"),
        ("w.toml", BALL),
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
        (&simulate, &["--scene", "i.toml", "--trace", "w.toml"], ["--trace", "include of --scene"]),
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
