//! Scenes that include other files.

use haptic_config::include::{expanded, open_scene};
use haptic_config::profile;
use haptic_config::scene;
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_planar::scene::Scene;
use haptic_testing::TestFolder;
use std::path::{Path, PathBuf};

fn maze() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/scenes/maze/maze.toml")
}

/// Opens and loads a scene as `--scene FILE` does.
fn open(path: &Path) -> Result<(Source, Scene), String> {
    let source = open_scene(&path.display().to_string(), None).map_err(|errors| errors.to_string())?;
    let scene = scene::load(&source).map_err(|errors| errors.to_string())?;
    Ok((source, scene))
}

/// Creates a folder with these files.
fn folder_with(files: &[(&str, &str)]) -> TestFolder {
    let folder = TestFolder::new();
    for (name, text) in files {
        folder.write(name, text);
    }
    folder
}

/// Returns the errors of `main.toml`, with paths relative to its folder.
fn errors(folder: &TestFolder) -> String {
    let errors = open(&folder.join("main.toml")).map(|(_, scene)| scene.bodies.len()).unwrap_err();
    errors.replace(&format!("{}/", folder.path().display()), "")
}

const DISC: &str = "[[body]]\nname = \"disc\"\nshape = { disc_radius_m = 0.01 }\n";

fn body(name: &str, x: f64) -> String {
    format!("[[body]]\nname = \"{name}\"\nposition_m = [{x:?}, 0.0]\nshape = {{ disc_radius_m = 0.01 }}\n")
}

#[test]
fn bodies_of_included_files_follow_those_of_the_scene() {
    let (_, scene) = open(&maze()).unwrap();
    let names: Vec<&str> = scene.bodies.iter().map(|body| body.name.as_str()).collect();
    assert_eq!(names, ["probe", "outer wall", "inner wall", "peg 1", "peg 2", "peg 3"]);
    assert_eq!(scene.friction_of(0, 3), 0.0);
    assert_eq!(scene.tool.unwrap().body, 0);
}

#[test]
fn the_text_of_a_scene_with_included_files_needs_no_other_file() {
    let (source, scene) = open(&maze()).unwrap();
    let copy = scene::load(&Source::in_memory("scene of a recording", &source.text)).unwrap();
    let poses = |scene: &Scene| scene.bodies.iter().map(|body| (body.position_m, body.angle_rad)).collect::<Vec<_>>();
    assert_eq!(poses(&copy), poses(&scene));
    assert!(!source.text.contains("include"));
    let included: Vec<&str> = source.included().filter_map(|path| path.file_name()?.to_str()).collect();
    assert_eq!(included, ["walls.toml", "pegs.toml"]);
}

#[test]
fn a_scene_without_a_folder_includes_nothing() {
    let source = Source::in_memory("scene", &format!("include = [\"walls.toml\"]\n{DISC}"));
    let expected = "scene:1:11: include: a scene without a folder cannot include files; \
                    remove include and write the [[body]] sections of the other file here";
    assert_eq!(scene::load(&expanded(source).unwrap()).unwrap_err().to_string(), expected);
}

#[test]
fn every_mistake_is_reported_in_the_file_that_has_it() {
    let main = format!("title = \"x\"\ninclude = [\n  \"a.toml\",\n]\n{DISC}friction = -1\n");
    let a = format!("# no bodies here\ninclude = [\"sub/b.toml\"] # b\n{}fricton = 1\n", body("a", 0.1));
    let b = format!("{}mass_kg = 0\n", body("b", 0.2));
    let folder = folder_with(&[("main.toml", &main), ("a.toml", &a), ("sub/b.toml", &b)]);
    let found = errors(&folder);
    let lines: Vec<&str> = found.lines().collect();
    assert_eq!(lines[0], "main.toml:8:12: body[0].friction: must be from 0 to 100, got -1; write friction = 0.5");
    assert_eq!(
        lines[1],
        "a.toml:7:1: body[1].fricton: unknown key; did you mean friction? write friction = 1 \
         (a.toml is named in main.toml:3:3)"
    );
    assert!(lines[2].starts_with("sub/b.toml:5:11: body[2].mass_kg: must be from 1e-6"), "{found}");
    assert!(lines[2].ends_with("(sub/b.toml is named in a.toml:2:12)"), "{found}");
}

#[test]
fn a_file_that_cannot_be_included_is_reported_where_it_is_named() {
    let include = |files: &str| format!("include = {files}\n{DISC}");
    let folder = folder_with(&[("main.toml", &include("[\"wals.toml\"]")), ("walls.toml", &body("a", 0.1))]);
    let expected = "main.toml:1:12: include[0]: 'wals.toml': no such file; write include = [\"walls.toml\"]";
    assert_eq!(errors(&folder), expected);
    for (files, expected) in [
        (
            "[\"walls.toml\", \"nothing at all.toml\"]",
            "main.toml:1:26: include[1]: 'nothing at all.toml': no such file; \
             write the file, or write include = [\"walls.toml\"]",
        ),
        ("[\"main.toml\"]", "main.toml:1:12: include[0]: 'main.toml' includes itself; write include = []"),
        (
            "[\"there.toml\"]",
            "there.toml:1:12: include[0]: 'main.toml' includes itself, through 'there.toml'; write include = [] \
             (there.toml is named in main.toml:1:12)",
        ),
        (
            "[\"world.toml\"]",
            "world.toml:1:1: world: an included file has only [[body]], [[template]], [[repeat]], [[pair]] and include; \
             write [world] in the file that includes this one (world.toml is named in main.toml:1:12)",
        ),
        (
            "[\"wrong.toml\"]",
            "wrong.toml:1:3: boddy: unknown key; did you mean body? write [[body]] \
             (wrong.toml is named in main.toml:1:12)",
        ),
        (
            "[\"inline.toml\"]",
            "inline.toml:1:8: body: cannot be a value in a file that includes others or is included; \
             write [[body]] on a line of its own (inline.toml is named in main.toml:1:12)",
        ),
        (
            "\"walls.toml\"",
            "main.toml:1:11: include: must be a list of texts, got the text \"walls.toml\"; write include = [\"walls.toml\"]",
        ),
    ] {
        folder.write("main.toml", include(files));
        folder.write("there.toml", include("[\"main.toml\"]"));
        folder.write("world.toml", "[world]\n");
        folder.write("wrong.toml", "[[boddy]]\nname = \"a\"\n");
        folder.write("inline.toml", "body = [{ name = \"a\", shape = { disc_radius_m = 1 } }]\n");
        assert_eq!(errors(&folder), expected);
    }
    folder.write("main.toml", include("[\"not.toml\"]"));
    folder.write("not.toml", "[[body]]\nname = = 3\n");
    let found = errors(&folder);
    assert!(found.starts_with("not.toml:2:8: is not TOML: ") && found.ends_with("named in main.toml:1:12)"), "{found}");
}

#[test]
fn a_file_that_two_files_include_counts_once() {
    let folder = folder_with(&[
        ("main.toml", &format!("include = [\"a.toml\", \"b.toml\"]\n{DISC}")),
        ("a.toml", &format!("include = [\"common.toml\"]\n{}", body("a", 0.1))),
        ("b.toml", &format!("include = [\"./common.toml\"]\n{}", body("b", 0.2))),
        ("common.toml", &body("common", 0.3)),
    ]);
    assert_eq!(open(&folder.join("main.toml")).unwrap().1.bodies.len(), 4);
}

#[test]
fn the_number_of_files_and_their_depth_are_limited() {
    let folder = folder_with(&[("main.toml", &format!("include = [\"1.toml\"]\n{DISC}"))]);
    for depth in 1..=9 {
        folder.write(&format!("{depth}.toml"), format!("include = [\"{}.toml\"]\n", depth + 1));
    }
    folder.write("8.toml", "");
    open(&folder.join("main.toml")).unwrap();
    folder.write("8.toml", "include = [\"9.toml\"]\n");
    let expected = "8.toml:1:12: include[0]: '9.toml': a scene includes at most 64 files, at most 8 deep; \
                    write include = [] (8.toml is named in 7.toml:1:12)";
    assert_eq!(errors(&folder), expected);
    let names: Vec<String> = (0..65).map(|number| format!("f{number}.toml")).collect();
    for name in &names {
        folder.write(name, "");
    }
    folder.write("main.toml", format!("include = {names:?}\n{DISC}"));
    assert!(errors(&folder).contains("include[64]: 'f64.toml': a scene includes at most 64 files"));
}

#[test]
fn the_scene_of_a_profile_can_include_files() {
    let profile = format!("scene = \"{}\"\n", maze().display());
    let open = |text: &str| {
        Setup::from_profile(profile::load(&Source::in_memory("p.toml", text)).unwrap(), None, haptic_backends::KINDS)
    };
    assert_eq!(open(&profile).unwrap().scene.bodies.len(), 6);
    let folder = folder_with(&[("main.toml", &format!("include = [\"none.toml\"]\n{DISC}"))]);
    let errors = open(&format!("scene = \"{}\"\n", folder.join("main.toml").display())).unwrap_err().to_string();
    assert!(errors.contains("main.toml:1:12: include[0]: "), "{errors}");
    assert!(errors.ends_with("is named in p.toml:1:9)"), "{errors}");
}
