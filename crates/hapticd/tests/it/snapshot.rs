//! Stills: their contents, and errors when they cannot be written.

use crate::common::{Folder, stderr};
use haptic_config::builtin::SCENES;
use haptic_testing::TestFolder;
use hapticd::cli::{InputArguments, SnapshotArguments};
use hapticd::failure::Failure;
use hapticd::still::snapshot;
use std::path::Path;

fn arguments(scene: Option<&str>, seconds: Option<f64>, out: &Path) -> SnapshotArguments {
    let input = InputArguments { scene: scene.map(str::to_owned), ..InputArguments::default() };
    SnapshotArguments { input, out: out.to_owned(), seconds, no_names: false }
}

fn svg(scene: &str, seconds: Option<f64>) -> String {
    let folder = TestFolder::new();
    let out = folder.join("picture.svg");
    snapshot(&arguments(Some(scene), seconds, &out)).unwrap();
    std::fs::read_to_string(&out).unwrap()
}

#[test]
fn every_built_in_scene_can_be_drawn_both_ways() {
    let folder = TestFolder::new();
    for (scene, _) in SCENES.entries {
        let (svg, png) = (folder.join("picture.svg"), folder.join("picture.PNG"));
        snapshot(&arguments(Some(scene), None, &svg)).unwrap();
        snapshot(&arguments(Some(scene), None, &png)).unwrap();
        let (svg, png) = (std::fs::read_to_string(svg).unwrap(), std::fs::read(png).unwrap());
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("NaN"), "{scene}");
        assert!(png.starts_with(b"\x89PNG") && png.len() > 1000, "{scene}");
    }
}

#[test]
fn a_scene_shows_its_names_its_frictions_its_scale_and_its_gravity() {
    let picture = svg("table", None);
    for needed in
        ["Ice, wood and rubber", "ice · μ 0.10", "wood · μ 0.40", "rubber · μ 0.80", "upper box", "20 mm", "9.81 m/s²"]
    {
        assert!(picture.contains(&format!(">{needed}</text>")), "{needed}");
    }
    assert!(!picture.contains("force on the hand") && !picture.contains("<polyline points=\"\""));
}

#[test]
fn a_body_of_several_parts_has_one_outline() {
    let picture = svg("table", None);
    let block: Vec<&str> = picture.lines().filter(|line| line.contains("fill=\"#74a57f\"")).collect();
    let [block] = block[..] else { panic!("one area: {block:?}") };
    assert_eq!((block.matches('M').count(), block.matches('L').count()), (1, 7), "{block}");
}

#[test]
fn a_run_shows_the_paths_and_the_force_and_is_the_same_every_time() {
    let picture = svg("table", Some(5.0));
    assert!(picture.contains("after 5 s · force on the hand"));
    assert!(picture.contains("stroke-dasharray") && picture.contains("#d9480f"));
    assert_eq!(picture, svg("table", Some(5.0)));
}

#[test]
fn the_command_reports_the_picture_that_it_has_written() {
    let folder = Folder::new();
    let output = folder.hapticd(&["snapshot", "--scene", "table", "--out", "picture.svg"]);
    assert!(output.status.success() && stderr(&output).ends_with("wrote picture.svg\n"), "{output:?}");
}

#[test]
fn names_can_be_left_out() {
    let folder = TestFolder::new();
    let out = folder.join("picture.svg");
    snapshot(&SnapshotArguments { no_names: true, ..arguments(Some("table"), None, &out) }).unwrap();
    assert!(!std::fs::read_to_string(out).unwrap().contains(">stylus<"));
}

fn problem(scene: &str, out: &str) -> String {
    match snapshot(&arguments(Some(scene), None, Path::new(out))) {
        Err(Failure::BadInput(text)) => text,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_cannot_be_drawn_or_written_is_reported_with_a_remedy() {
    let right = "pictures are written as .svg or .png; give --out";
    assert_eq!(problem("table", "a.jpg"), format!("--out a.jpg: {right} a.svg"));
    assert_eq!(problem("table", "a"), format!("--out a: {right} a.svg"));
    assert!(problem("tabel", "a.svg").starts_with("tabel: no such file, and no built-in scene of that name"));
    assert!(problem("table", "no/such/folder/a.svg").starts_with("no/such/folder/a.svg: cannot be written: "));
}
