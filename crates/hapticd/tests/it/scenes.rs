//! Every built-in scene starts still, is demonstrated by a hand of its own, stays usable, and hardly rings.

use haptic_config::builtin::{PROFILES, SCENES};
use haptic_config::setup::Setup;
use haptic_config::stability::Stability;
use haptic_device::Path;
use haptic_draw::placement::Placement;
use haptic_draw::view::SceneView;
use haptic_loop::tick::HapticLoop;
use haptic_planar::scene::Scene;
use hapticd::cli::InputArguments;
use hapticd::commands::simulate::SimulationRun;
use nalgebra::Vector2;
use std::f64::consts::PI;

/// Distance that a body may move while the hand rests, m.
const STILL_M: f64 = 1e-4;
/// Distance that bodies may be outside of the scene's initial extent after a demonstration, m.
const MARGIN_M: f64 = 0.03;
/// Lowest permitted damping ratio of the tool on the coupling.
const MIN_DAMPING_RATIO: f64 = 0.1;

fn setup(profile: &str, scene: &str) -> Setup {
    let input =
        InputArguments { profile: Some(profile.to_owned()), scene: Some(scene.to_owned()), ..Default::default() };
    Setup::open(&input, None).unwrap_or_else(|errors| panic!("{profile}, {scene}: {errors}"))
}

fn simulation(setup: Setup) -> SimulationRun {
    let device = setup.simulated_device().unwrap();
    SimulationRun::new(setup.into_loop(device).unwrap())
}

fn positions_m(rendering: &HapticLoop) -> Vec<Vector2<f64>> {
    rendering.world().state.bodies.iter().map(|body| body.centre_m).collect()
}

fn scenes() -> impl Iterator<Item = &'static str> {
    SCENES.entries.iter().map(|(name, _)| *name)
}

#[test]
fn nothing_moves_for_ten_seconds_while_the_hand_rests() {
    for name in scenes() {
        let mut setup = setup("default", name);
        setup.hand_waits = true;
        assert!(
            setup.scene.tool.is_some() && setup.scene_hand.path.is_some() && setup.scene_hand.idle_s >= 10.0,
            "{name}"
        );
        let mut run = simulation(setup);
        let start_m = positions_m(run.rendering());
        run.advance(10_000, None);
        for (body, (start_m, end_m)) in start_m.iter().zip(positions_m(run.rendering())).enumerate() {
            let world = run.rendering().world();
            // The coupling carries the weight of the tool: the hand of the device yields to it.
            let yields_m =
                if world.scene.tool.unwrap().body == body { 2.0 * world.tool_weight_n().norm() / 300.0 } else { 0.0 };
            let moved_m = (end_m - start_m).norm();
            assert!(moved_m < STILL_M + yields_m, "{name}: {} moved {moved_m} m", world.scene.bodies[body].name);
        }
        assert!(run.summary().faults.is_empty(), "{name}");
    }
}

fn extent(scene: &Scene, rendering: &HapticLoop) -> (Vector2<f64>, Vector2<f64>) {
    let view = SceneView::new(scene);
    let states = &rendering.world().state.bodies;
    let placements: Vec<_> = states
        .iter()
        .map(|body| Placement { centre_m: body.centre_m, rotation: body.rotation, is_removed: false })
        .collect();
    let bounds = view.bounds_of(&placements);
    (bounds.low_m, bounds.high_m)
}

#[test]
fn a_demonstration_is_felt_and_leaves_everything_in_its_place_for_a_minute() {
    for name in scenes() {
        let setup = setup("default", name);
        let scene = setup.scene.clone();
        let mut run = simulation(setup);
        let (low_m, high_m) = extent(&scene, run.rendering());
        let mut felt = 0;
        for _ in 0..60_000 {
            let report = run.tick();
            felt += u32::from(report.force_n.norm() > 0.3 && report.felt.tool_contacts > 0);
            assert!(report.force_n.norm() < 3.9, "{name}: {} N at tick {}", report.force_n.norm(), report.tick);
        }
        assert!(felt > 300, "{name}: a force is felt for {felt} ms");
        let (now_low_m, now_high_m) = extent(&scene, run.rendering());
        let is_inside = |value: Vector2<f64>| value.min() > -MARGIN_M;
        assert!(is_inside(now_low_m - low_m) && is_inside(high_m - now_high_m), "{name}: {now_low_m} to {now_high_m}");
        let (world, hand_m) = (run.rendering().world(), run.rendering().last().hand_m);
        let stretch_m = (world.state.handle_m(&world.scene) - hand_m).norm();
        assert!(stretch_m < 0.01, "{name}: the tool is {stretch_m} m from the hand");
        assert!(run.summary().faults.is_empty(), "{name}");
    }
}

/// Measures the damping ratio of the tool on the coupling: a prescribed hand jumps by 1 mm, and the tool rings down.
fn ring_down_ratio(mut setup: Setup) -> f64 {
    let handle_m = setup.scene_hand.start_m.unwrap_or_else(|| {
        let run = simulation(setup.clone());
        let world = run.rendering().world();
        world.state.handle_m(&world.scene)
    });
    // Along the axis of a one-axis device, which is vertical in the profile, and vertically otherwise.
    let at = |t_s: f64, lift_m: f64| {
        let y_m = handle_m.y + lift_m;
        if setup.device.axes == 1 { [t_s, y_m, 0.0] } else { [t_s, handle_m.x, y_m] }
    };
    let rows = vec![at(0.0, 0.0), at(3.0, 0.0), at(3.001, 0.001)];
    setup.hand = Some(Path::new(rows, false).unwrap());
    let mut run = simulation(setup);
    run.advance(3001, None);
    let height_m = |run: &SimulationRun| run.rendering().world().state.handle_m(&run.rendering().world().scene).y;
    let heights_m: Vec<f64> = (0..3000)
        .map(|_| {
            run.tick();
            height_m(&run)
        })
        .collect();
    let end_m = heights_m[2500..].iter().sum::<f64>() / 500.0;
    let heights_m: Vec<f64> = heights_m.iter().map(|height_m| height_m - end_m).collect();
    let peaks_m: Vec<f64> = heights_m
        .windows(3)
        .filter(|near| near[1].abs() > near[0].abs() && near[1].abs() >= near[2].abs() && near[1].abs() > 2e-6)
        .map(vertex)
        .collect();
    let halves = (peaks_m.len() - 1).min(6);
    if halves < 2 {
        return 1.0;
    }
    let decay = (peaks_m[0] / peaks_m[halves]).ln() / halves as f64;
    decay / decay.hypot(PI)
}

/// Height of the vertex of the parabola through three points.
fn vertex(near: &[f64]) -> f64 {
    let (slope, bend) = (0.5 * (near[2] - near[0]), near[2] - 2.0 * near[1] + near[0]);
    (near[1] - 0.5 * slope * slope / bend).abs()
}

#[test]
fn the_tool_rings_down_with_a_damping_ratio_of_at_least_a_tenth() {
    for profile in ["default", "soft", "friction-lab", "crisp"] {
        for name in scenes() {
            let setup = setup(profile, name);
            let stated = Stability::new(&setup).tool_damping_ratio.unwrap();
            let measured = ring_down_ratio(setup);
            println!("{profile} {name}: stated {stated:.3}, measured {measured:.3}");
            assert!(stated >= MIN_DAMPING_RATIO, "{profile}, {name}: {stated}");
            assert!(measured >= MIN_DAMPING_RATIO, "{profile}, {name}: {measured}");
        }
    }
    let measured = ring_down_ratio(setup("one-axis", "wall"));
    assert!(measured >= MIN_DAMPING_RATIO, "one-axis, wall: {measured}");
}

#[test]
fn every_profile_is_passive_with_every_scene_except_the_crisp_one() {
    for (profile, _) in PROFILES.entries {
        for name in scenes() {
            let stability = Stability::new(&setup(profile, name));
            assert_eq!(stability.passive, *profile != "crisp", "{profile}, {name}: {}", stability.text);
        }
    }
}
