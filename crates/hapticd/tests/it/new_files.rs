//! `hapticd new` and `hapticd schema`.

use crate::common::{Folder, stderr};
use std::path::Path;

const KINDS: [&str; 3] = ["scene", "profile", "device"];

#[test]
fn every_starter_is_valid_and_is_named_with_commands_that_use_it() {
    let folder = Folder::new();
    for kind in KINDS {
        let output = folder.done(&["new", kind, kind]);
        let (first, commands) = output.split_once('\n').unwrap();
        assert_eq!(first, format!("{kind}.toml"));
        assert!(commands.contains(&format!("\n  hapticd check {kind}.toml\n")), "{commands}");
        assert_eq!(folder.json(&["check", "--json", first])["files"][0]["kind"], kind);
    }
    folder.done(&["simulate", "--scene", "scene.toml", "--profile", "profile.toml", "--seconds", "0.1"]);
}

#[test]
fn a_name_can_contain_a_folder_spaces_and_the_extension() {
    let folder = Folder::new();
    std::fs::create_dir(folder.join("my scenes")).unwrap();
    let output = folder.done(&["new", "scene", "my scenes/maze.toml"]);
    assert!(output.starts_with("my scenes/maze.toml\n") && output.contains("'my scenes/maze.toml'"), "{output}");
    assert!(folder.join("my scenes/maze.toml").exists());
}

#[test]
fn an_existing_file_is_never_overwritten() {
    let folder = Folder::new();
    let file = folder.file("maze.toml", "# mine\n");
    folder.done(&["new", "device", "maze-2"]);
    let message = folder.ended(2, &["new", "scene", "maze"]);
    assert_eq!(message, "maze.toml: exists and is not overwritten; run `hapticd new scene maze-3`\n");
    assert_eq!(std::fs::read_to_string(folder.join(&file)).unwrap(), "# mine\n");
    std::os::unix::fs::symlink("nowhere.toml", folder.join("link.toml")).unwrap();
    folder.ended(2, &["new", "scene", "link"]);
    assert!(!folder.join("nowhere.toml").exists());
}

#[test]
fn a_name_that_is_not_that_of_a_file_is_rejected_with_a_command_that_works() {
    let folder = Folder::new();
    let long = "x".repeat(300);
    for name in ["", ".", "..", "folder/", "a\nb", ".toml", &long, "/"] {
        let message = folder.ended(2, &["new", "scene", name]);
        assert!(message.starts_with("NAME ") && message.ends_with("; run `hapticd new scene my-scene`\n"), "{message}");
    }
    let message = folder.ended(2, &["new", "scene", "--", "-x"]);
    assert!(message.contains("starts with -"), "{message}");
    let message = folder.ended(2, &["new", "scene", "no/such/maze"]);
    assert_eq!(message, "no/such/maze.toml: the folder does not exist; run `mkdir -p no/such`\n");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    folder.done(&["new", "scene", "my-scene"]);
}

#[test]
fn the_printed_schema_is_the_one_in_the_repository() {
    let folder = Folder::new();
    let schemas = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/schemas");
    for kind in KINDS {
        let written = std::fs::read_to_string(schemas.join(format!("{kind}.schema.json"))).unwrap();
        assert_eq!(folder.done(&["schema", kind]), written);
    }
    let output = folder.hapticd(&["schema", "hand"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("scene, profile, device"));
}
