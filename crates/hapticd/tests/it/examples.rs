//! Every example file loads, runs and is compiled in.

use haptic_backends::KINDS;
use haptic_config::builtin::{DEVICES, Library, PROFILES, SCENES};
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_config::{device, profile, scene};
use hapticd::cli::InputArguments;
use hapticd::commands::simulate::SimulationRun;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn config(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config").join(folder)
}

fn files_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(config(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect()
}

fn names_of(library: &Library) -> BTreeSet<&str> {
    library.entries.iter().map(|(name, _)| *name).collect()
}

#[test]
fn every_example_file_loads() {
    for path in files_in("scenes") {
        scene::load(&Source::read(&path).unwrap()).unwrap_or_else(|errors| panic!("{errors}"));
    }
    for path in files_in("profiles") {
        let profile = profile::load(&Source::read(&path).unwrap()).unwrap_or_else(|errors| panic!("{errors}"));
        Setup::from_profile(profile, None, KINDS).unwrap_or_else(|errors| panic!("{errors}"));
    }
    for path in files_in("devices") {
        device::load(&Source::read(&path).unwrap(), KINDS).unwrap_or_else(|errors| panic!("{errors}"));
    }
}

#[test]
fn the_scenes_in_the_documentation_are_short_and_run_without_a_fault() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples");
    for name in ["maze", "pinball", "dominoes"] {
        let path = folder.join(name).with_extension("toml");
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.lines().count() < 40, "{name} has {} lines", text.lines().count());
        let file = scene::load_file(&Source::read(&path).unwrap()).unwrap_or_else(|errors| panic!("{errors}"));
        assert!(file.warnings.is_empty() && !file.about.description.is_empty(), "{name}: {:?}", file.warnings);
        let input = InputArguments { scene: Some(path.display().to_string()), ..InputArguments::default() };
        let setup = Setup::open(&input, None).unwrap();
        let device = setup.simulated_device().unwrap();
        let mut session = SimulationRun::new(setup.into_loop(device).unwrap());
        session.advance(10_000, None);
        assert!(session.summary().faults.is_empty(), "{name}: {:?}", session.summary().faults);
    }
}

#[test]
fn every_example_is_compiled_in() {
    for (folder, library) in [("scenes", &SCENES), ("profiles", &PROFILES), ("devices", &DEVICES)] {
        let files = files_in(folder);
        let stems: BTreeSet<&str> = files.iter().map(|path| path.file_stem().unwrap().to_str().unwrap()).collect();
        assert_eq!(names_of(library), stems);
    }
}

#[test]
fn the_default_profile_says_what_an_empty_one_means() {
    let default = Setup::open(&InputArguments::default(), None).unwrap();
    assert_eq!(
        (default.profile.scene.name.as_str(), default.profile.device.name.as_str()),
        ("table", "simulated-2dof")
    );
    assert!(default.is_simulated() && default.device.hand.is_some() && default.scene.tool.is_some());
    assert!(names_of(&PROFILES).contains("default") && names_of(&DEVICES).contains("simulated-2dof"));
}

#[test]
fn every_example_scene_runs_a_second_twice_alike_and_stays_finite() {
    for (name, _) in SCENES.entries {
        let run = || {
            let input = InputArguments { scene: Some((*name).to_owned()), ..Default::default() };
            let setup = Setup::open(&input, None).unwrap();
            let device = setup.simulated_device().unwrap();
            let mut session = SimulationRun::new(setup.into_loop(device).unwrap());
            session.advance(1000, None);
            session
        };
        let (first, second) = (run(), run());
        assert_eq!(first.summary(), second.summary(), "{name}");
        for motion in &first.rendering().world().state.bodies {
            assert!(motion.centre_m.norm() < 10.0 && motion.velocity_m_per_s.norm() < 10.0, "{name}: {motion:?}");
        }
        assert_eq!(first.summary().pairs_dropped, 0, "{name}");
    }
}

fn overlaps(bodies: &[(&str, [f64; 2], &str)]) -> Vec<String> {
    let text: String = bodies
        .iter()
        .map(|(shape, [x, y], more)| (shape, x, y, more))
        .enumerate()
        .map(|(index, (shape, x, y, more))| {
            format!("[[body]]\nname = \"{index}\"\nshape = {{ {shape} }}\nposition_m = [{x}, {y}]\n{more}\n")
        })
        .collect();
    match scene::load(&Source::in_memory("x.toml", &text)) {
        Ok(_) => Vec::new(),
        Err(errors) => errors.0.into_iter().map(|problem| problem.problem).collect(),
    }
}

#[test]
fn bodies_inside_each_other_at_the_start_are_refused_by_depth() {
    const DISC: &str = "disc_radius_m = 0.01";
    const BOX: &str = "box_m = [0.02, 0.02]";
    const CAPSULE: &str = "capsule_m = { length_m = 0.02, radius_m = 0.005 }";
    let depth = |a, b, x| overlaps(&[(a, [0.0, 0.0], ""), (b, [x, 0.0], "")]);
    assert_eq!(depth(DISC, DISC, 0.015), ["`1` starts 5.00 mm inside `0`"]);
    assert_eq!(depth(DISC, DISC, 0.0), ["`1` starts 20.00 mm inside `0`"]);
    assert_eq!(depth(BOX, BOX, 0.0198), ["`1` starts 0.20 mm inside `0`"]);
    assert_eq!(depth(BOX, DISC, 0.0190), ["`1` starts 1.00 mm inside `0`"]);
    assert_eq!(depth(BOX, DISC, 0.0050), ["`1` starts 15.00 mm inside `0`"]);
    assert_eq!(depth(CAPSULE, BOX, 0.0245), ["`1` starts 0.50 mm inside `0`"]);
    assert_eq!(depth(CAPSULE, CAPSULE, 0.0), ["`1` starts 10.00 mm inside `0`"]);
    assert!(depth(BOX, BOX, 0.01991).is_empty() && depth(DISC, DISC, 0.01991).is_empty());
}

#[test]
fn fixed_bodies_and_other_layers_may_start_inside_each_other() {
    const BOX: &str = "box_m = [0.02, 0.02]";
    let here = [0.0, 0.0];
    assert!(overlaps(&[(BOX, here, "fixed = true"), (BOX, here, "fixed = true")]).is_empty());
    assert!(overlaps(&[(BOX, here, "layer = 1"), (BOX, here, "")]).is_empty());
    assert_eq!(overlaps(&[(BOX, here, "fixed = true"), (BOX, here, "")]).len(), 1);
}
