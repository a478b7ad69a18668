//! Scenes with bounds: recordings, pictures and messages.

use crate::recording::{Run, replayed};
use haptic_draw::follower::SceneFollower;
use haptic_draw::placement::in_state;
use haptic_draw::view::SceneView;
use haptic_loop::snapshot::Snapshot;
use haptic_testing::TestFolder;
use hapticd::cli::{InputArguments, SnapshotArguments};
use hapticd::still::snapshot;

const LEAVES: [&str; 3] = ["respawn", "remove", "stop"];

fn scene(leave: &str) -> String {
    format!("{}/tests/data/scenes/bounds-{leave}.toml", env!("CARGO_MANIFEST_DIR"))
}

/// Returns the number of bodies that stand outside.
fn outside(run: &Run) -> usize {
    let world = run.rendering.world();
    (0..world.scene.bodies.len()).filter(|&body| world.state.has_left(body)).count()
}

#[test]
fn a_run_with_bounds_replays_from_its_start_and_from_a_checkpoint_mid_run() {
    let folder = TestFolder::new();
    let [whole, late] = ["whole.mcap", "late.mcap"].map(|name| folder.join(name));
    for leave in LEAVES {
        let mut run = Run::plain(&scene(leave), &whole);
        run.ticks(2400);
        let (count, gain_j) = (outside(&run), run.rendering.world().state.energy.gain_max_j);
        assert!(leave == "respawn" || count >= 2, "{leave}: {count} outside");
        assert!(gain_j < 1e-9, "{leave}: {gain_j:e} J");
        let hash = run.end();
        let result = replayed(&whole).0;
        assert_eq!((&result.first_difference, &result.unproved), (&None, &None), "{leave}");
        assert_eq!((result.ticks, &result.state_hash), (2400, &hash), "{leave}");

        let mut run = Run::plain(&scene(leave), &whole);
        run.ticks(1000);
        assert!(leave == "respawn" || outside(&run) >= 1, "{leave}: the checkpoint has a body that has left");
        run.record_from_here(&late);
        run.ticks(1400);
        assert_eq!(run.end(), hash, "{leave}");
        let result = replayed(&late).0;
        assert_eq!((&result.first_difference, &result.unproved), (&None, &None), "{leave}");
        assert_eq!((result.ticks, &result.state_hash), (1400, &hash), "{leave}");
    }
}

#[test]
fn a_removed_body_is_in_no_picture_and_a_stopped_one_is() {
    let folder = TestFolder::new();
    let out = folder.join("picture.svg");
    for (leave, is_drawn) in [("remove", false), ("stop", true)] {
        let input = InputArguments { scene: Some(scene(leave)), ..InputArguments::default() };
        snapshot(&SnapshotArguments { input, out: out.clone(), seconds: Some(1.0), no_names: false }).unwrap();
        let picture = std::fs::read_to_string(&out).unwrap();
        assert_eq!(picture.contains(">thrown<"), is_drawn, "{leave}");
        assert!(picture.contains(">probe<"));
    }
}

#[test]
fn viewers_learn_which_bodies_are_removed() {
    let folder = TestFolder::new();
    let mut run = Run::plain(&scene("remove"), &folder.join("a.mcap"));
    let thrown = run.rendering.world().scene.bodies.iter().position(|body| body.name == "thrown").unwrap();
    let mut follower = SceneFollower::new(SceneView::new(&run.rendering.world().scene));
    for (ticks, is_removed) in [(1, false), (500, true)] {
        run.ticks(ticks);
        let world = run.rendering.world();
        assert_eq!(in_state(&world.scene, &world.state)[thrown].is_removed, is_removed);
        follower.update(&Snapshot::with_capacity_for(world));
        assert_eq!(follower.placements()[thrown].is_removed, is_removed);
    }
}
