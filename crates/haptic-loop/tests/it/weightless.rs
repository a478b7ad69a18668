//! A weightless tool through the whole tick: no force in free air, no sag, no energy of its height in the tank.

use crate::common::{floor_and_tool, hand, rendering, run, settings, simulated, world};
use haptic_loop::engagement::Phase;
use haptic_loop::world::World;
use nalgebra::Vector2;

fn weightless_world() -> World {
    let mut description = floor_and_tool(9.81);
    description.tool.as_mut().unwrap().weightless = true;
    world(&description)
}

#[test]
fn free_air_is_felt_as_nothing_and_the_tool_is_at_the_hand() {
    let device = simulated(Some(&hand(&[[0.0, 0.01, 0.05]])));
    let mut rendering = rendering(device, weightless_world(), &settings(400.0, 0.1));
    run(&mut rendering, 3000, |report| assert!(report.force_n.norm() < 1e-9, "{}", report.force_n));
    let report = rendering.last();
    assert_eq!(report.phase, Phase::Engaged);
    assert!((report.tool.centre_m - report.hand_m).norm() < 1e-9, "it does not sag");
}

#[test]
fn a_floor_is_felt_as_with_a_tool_that_has_weight() {
    let path = [[0.0, 0.0, 0.03], [1.0, 0.0, 0.03], [2.0, 0.0, 0.0]];
    let pressed_n = |world: World| {
        let mut rendering = rendering(simulated(Some(&hand(&path))), world, &settings(400.0, 0.1));
        run(&mut rendering, 62_000, |report| assert_eq!(report.fault, None));
        assert!(rendering.last().felt.energy.gain_max_j < 1e-6);
        rendering.last().force_n.y
    };
    let (weightless_n, heavy_n) = (pressed_n(weightless_world()), pressed_n(world(&floor_and_tool(9.81))));
    assert!(weightless_n > 1.0, "{weightless_n} N");
    assert!(
        (weightless_n - heavy_n).abs() < 0.06,
        "{weightless_n} N and {heavy_n} N: a tool on the floor has no weight"
    );
}

#[test]
fn the_tank_counts_no_height_of_a_weightless_tool() {
    let (light, heavy) = (weightless_world().stored_at_start(), world(&floor_and_tool(9.81)).stored_at_start());
    assert_eq!((light.total_j, light.height_j), (0.0, 0.0));
    assert!(heavy.height_j > 0.4);
    assert_eq!(weightless_world().tool_weight_n(), Vector2::zeros());
}
