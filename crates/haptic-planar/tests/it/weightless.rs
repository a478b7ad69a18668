//! Gravity does not act on a weightless tool, and acts on everything else.

use crate::common::{Lab, body as dynamic, box_shape, fixed, scene};
use haptic_planar::scene::description::{SceneDescription, ShapeDescription, ToolDescription};
use nalgebra::{Vector2, vector};

/// A floor, a weightless tool of 50 g above it, and a box of 20 g beside it in the air.
fn world(weightless: bool) -> SceneDescription {
    let mut tool = dynamic("tool", box_shape(0.04, 0.01), 0.0, 0.05);
    tool.mass_kg = Some(0.05);
    let mut other = dynamic("box", box_shape(0.01, 0.01), 0.1, 0.05);
    other.mass_kg = Some(0.02);
    let floor = fixed("floor", box_shape(0.4, 0.02), 0.0, -0.01);
    let held = ToolDescription { body: "tool".to_owned(), handle_m: Vector2::zeros(), weightless };
    SceneDescription { tool: Some(held), ..scene(9.81, vec![floor, tool, other], None) }
}

#[test]
fn the_hand_does_not_feel_the_weight_of_a_weightless_tool() {
    let mut lab = Lab::new(&world(true)).gains(400.0, 0.1);
    let held_m = lab.body("tool").centre_m;
    for _ in 0..1000 {
        assert_eq!(lab.hand(held_m).force_on_hand_n, Vector2::zeros());
    }
    assert_eq!(lab.body("tool").centre_m, held_m);
    assert!(lab.body("box").centre_m.y < 0.006, "the other body falls");
    let mut heavy = Lab::new(&world(false)).gains(400.0, 20.0);
    let force_n = (0..2000).map(|_| heavy.hand(held_m).force_on_hand_n).last().unwrap();
    assert!((force_n.y + 0.05 * 9.81).abs() < 1e-6, "{force_n}");
}

#[test]
fn a_released_weightless_tool_floats() {
    let mut lab = Lab::new(&world(true));
    let start_m = lab.body("tool").centre_m;
    lab.run_s(1.0);
    assert_eq!(lab.body("tool").centre_m, start_m);
    assert!(lab.state.energy.potential_j < -0.02 * 9.81 * 0.04, "only the box has potential energy");
}

#[test]
fn a_weightless_tool_carries_the_weight_of_what_lies_on_it() {
    let mut description = world(true);
    description.bodies[2].position_m = vector![0.0, 0.06];
    let mut lab = Lab::new(&description).gains(400.0, 4.0).upright(5.0, 0.02);
    let force_n = (0..3000).map(|_| lab.hand(vector![0.0, 0.05]).force_on_hand_n).last().unwrap();
    assert!((force_n.y + 0.02 * 9.81).abs() < 1e-4, "{force_n}");
}

#[test]
fn a_weightless_tool_gains_no_energy_in_flight_on_the_floor_or_under_a_blow() {
    let mut description = world(true);
    description.bodies[1].shapes[0].shape = ShapeDescription::Disc { radius_m: 0.01 };
    description.bodies[2].position_m = vector![0.002, 0.2];
    description.bodies[2].restitution = 0.8;
    let mut lab = Lab::new(&description).gains(400.0, 0.1);
    for to in [vector![0.0, 0.03], vector![0.05, -0.01], vector![-0.05, -0.005], vector![0.0, 0.1]] {
        lab.lead(to, 700, |_, _| {});
    }
    assert!(lab.gain_j() < 1e-9, "{} J", lab.gain_j());
}
