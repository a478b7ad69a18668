//! The simulated hand of a scene: it rests at its start, demonstrates the scene, and yields to a user.

use crate::common::{floor_and_tool, hand, rendering, run, settings, simulated, world};
use haptic_device::Path;
use haptic_device::simulated::HandModel;
use haptic_loop::command::Command;
use haptic_loop::scene_hand::SceneHand;
use haptic_loop::settings::{MappingSettings, Settings};
use haptic_loop::tick::HapticLoop;
use haptic_loop::world::World;
use haptic_testing::assert_no_allocator_calls;
use nalgebra::Vector2;

const START: [f64; 2] = [0.02, 0.05];

/// A hand that moves 20 mm to the right and back within two seconds.
fn scene_hand(idle_s: f64) -> SceneHand {
    let [x, y] = START;
    let path = Path::new(vec![[0.0, x, y], [1.0, x + 0.02, y], [2.0, x, y]], true).unwrap();
    SceneHand { start_m: Some(START.into()), path: Some(path), idle_s }
}

fn scene(idle_s: f64) -> World {
    let mut description = floor_and_tool(9.81);
    description.tool.as_mut().unwrap().weightless = true;
    world(&description).with_hand(scene_hand(idle_s))
}

fn free_hand() -> HandModel {
    HandModel { damping_n_s_per_m: 10.0, ..hand(&[]) }
}

fn held(world: World, settings: &Settings) -> HapticLoop {
    rendering(simulated(Some(&free_hand())), world, settings)
}

fn assert_near(hand_m: Vector2<f64>, wanted_m: [f64; 2], what: &str) {
    assert!((hand_m - Vector2::from(wanted_m)).norm() < 1.5e-3, "{what}: {hand_m}");
}

#[test]
fn a_hand_rests_at_the_handle_of_the_tool_by_default() {
    let mut rendering = held(world(&floor_and_tool(0.0)), &settings(400.0, 0.1));
    run(&mut rendering, 3000, |report| assert!((report.hand_m - Vector2::new(0.0, 0.03)).norm() < 1.1e-5));
}

#[test]
fn a_path_begins_after_the_idle_time_and_restarts_with_the_scene() {
    let mut rendering = held(scene(0.5), &settings(400.0, 0.1));
    run(&mut rendering, 500, |report| assert!((report.hand_m - Vector2::from(START)).norm() < 1.1e-5));
    run(&mut rendering, 1000, |_| {});
    assert_near(rendering.last().hand_m, [0.04, 0.05], "half of the path");
    drop(rendering.apply(Command::ReplaceWorld(Box::new(scene(0.5)))));
    run(&mut rendering, 500, |report| assert!((report.hand_m - Vector2::from(START)).norm() < 1.1e-5));
    run(&mut rendering, 1000, |report| assert_eq!(report.fault, None));
    assert_near(rendering.last().hand_m, [0.04, 0.05], "half of the path, again");
}

#[test]
fn a_user_interrupts_the_path_and_a_pause_holds_it() {
    let mut rendering = held(scene(1.0), &settings(400.0, 0.1));
    run(&mut rendering, 1500, |_| {});
    rendering.apply(Command::GuideHand(Some(Vector2::new(0.0, 0.04))));
    run(&mut rendering, 3000, |_| {});
    assert_near(rendering.last().hand_m, [0.0, 0.04], "guided");
    rendering.apply(Command::GuideHand(None));
    run(&mut rendering, 950, |_| {});
    assert_near(rendering.last().hand_m, [0.0, 0.04], "idle");
    run(&mut rendering, 300 + 500, |_| {});
    rendering.apply(Command::Pause);
    run(&mut rendering, 5000, |_| {});
    rendering.apply(Command::Resume);
    run(&mut rendering, 480, |_| {});
    assert_near(rendering.last().hand_m, [0.04, 0.05], "half of the path");
}

#[test]
fn a_path_of_the_device_overrides_the_path_of_the_scene() {
    let own = HandModel { damping_n_s_per_m: 10.0, ..hand(&[[0.0, -0.03, 0.05], [1.0, -0.05, 0.05]]) };
    let mut rendering = rendering(simulated(Some(&own)), scene(0.0), &settings(400.0, 0.1));
    let first_m = rendering.tick(Default::default(), 0).hand_m;
    assert_near(first_m, [-0.03, 0.05], "from the first tick");
    run(&mut rendering, 2000, |_| {});
    assert_near(rendering.last().hand_m, [-0.05, 0.05], "its end");
}

#[test]
fn the_path_is_in_the_world_frame() {
    let mapping =
        MappingSettings { scale: 2.0, rotation_rad: 0.5, offset_m: Vector2::new(0.01, 0.02), ..Default::default() };
    let mut rendering = held(scene(0.0), &Settings { mapping, ..settings(400.0, 0.1) });
    let first_m = rendering.tick(Default::default(), 0).hand_m;
    assert_near(first_m, START, "start");
    run(&mut rendering, 999, |report| assert_eq!(report.fault, None));
    assert_near(rendering.last().hand_m, [0.04, 0.05], "half of the path");
}

#[test]
fn neither_the_path_nor_another_scene_allocates_or_frees_on_the_loop() {
    let mut rendering = held(scene(0.0), &settings(400.0, 0.1));
    let mut other = Some(Box::new(scene(0.1)));
    let mut old = None;
    assert_no_allocator_calls(|| {
        run(&mut rendering, 1500, |_| {});
        old = other.take().and_then(|world| rendering.apply(Command::ReplaceWorld(world)));
        run(&mut rendering, 500, |_| {});
        rendering.apply(Command::GuideHand(Some(Vector2::new(0.0, 0.04))));
        run(&mut rendering, 500, |_| {});
    });
    assert!(old.is_some());
}
