//! Bodies with several shapes.

use crate::common::measure::{Samples, assert_below};
use crate::common::*;
use haptic_planar::scene::description::{BodyDescription, PlacedShape, ShapeDescription};
use haptic_planar::scene::{Place, Scene};
use nalgebra::vector;

const FRICTION: f64 = 0.4;

fn at(shape: ShapeDescription, x: f64, y: f64) -> PlacedShape {
    PlacedShape { position_m: vector![x, y], ..PlacedShape::at_origin(shape) }
}

fn of_shapes(name: &str, shapes: Vec<PlacedShape>) -> BodyDescription {
    BodyDescription { shapes, ..body(name, disc(1.0), 0.0, 0.0) }
}

fn built(one: BodyDescription) -> haptic_planar::scene::Body {
    Scene::build(&scene(0.0, vec![one], None)).unwrap().bodies.remove(0)
}

#[test]
fn two_discs_have_the_mass_and_the_inertia_of_the_parallel_axis_theorem() {
    let (r, d) = (0.006, 0.02);
    let dumbbell = built(of_shapes("a", vec![at(disc(r), -d, 0.01), at(disc(r), d, 0.01)]));
    let each = 10.0 * std::f64::consts::PI * r * r;
    assert!((dumbbell.mass_kg - 2.0 * each).abs() < 1e-15);
    assert!((dumbbell.inertia_kg_m2 / (2.0 * each * (0.5 * r * r + d * d)) - 1.0).abs() < 1e-13);
    assert!((dumbbell.centre_m - vector![0.0, 0.01]).norm() < 1e-16);
    assert!((dumbbell.reach_m - (d + r)).abs() < 1e-15);
}

#[test]
fn an_overlap_counts_twice() {
    let cross = vec![at(box_shape(0.03, 0.01), 0.0, 0.0), at(box_shape(0.01, 0.03), 0.0, 0.0)];
    let cross = built(of_shapes("cross", cross));
    assert!((cross.mass_kg - 10.0 * 2.0 * 3e-4).abs() < 1e-15);
}

#[test]
fn a_turned_shape_has_its_corners_turned() {
    let mut arm = at(box_shape(0.04, 0.01), 0.03, 0.0);
    arm.angle_rad = std::f64::consts::FRAC_PI_2;
    let scene = Scene::build(&scene(0.0, vec![of_shapes("a", vec![arm])], None)).unwrap();
    let corners = scene.pieces[0].outline();
    let (x, y) = corners.iter().fold((0.0f64, 0.0f64), |(x, y), corner| (x.max(corner.x), y.max(corner.y)));
    assert!((x - 0.005).abs() < 1e-15 && (y - 0.02).abs() < 1e-15);
    assert!((scene.bodies[0].centre_m - vector![0.03, 0.0]).norm() < 1e-17);
}

#[test]
fn each_shape_may_have_its_own_rounding() {
    let mut round = at(box_shape(0.01, 0.01), 0.02, 0.0);
    round.rounding_m = Some(0.003);
    let mut one = of_shapes("a", vec![at(box_shape(0.01, 0.01), 0.0, 0.0), round]);
    one.rounding_m = 0.001;
    let scene = Scene::build(&scene(0.0, vec![one], None)).unwrap();
    assert_eq!(scene.pieces.iter().map(|piece| piece.radius_m).collect::<Vec<_>>(), [0.001, 0.003]);
}

/// Two bodies that are equal except that one consists of two discs fly and rotate alike, to the rounding of the masses.
#[test]
fn a_dumbbell_moves_as_its_mass_and_inertia_say() {
    let each = 10.0 * std::f64::consts::PI * 36e-6;
    let mut dumbbell = of_shapes("a", vec![at(disc(0.006), -0.02, 0.0), at(disc(0.006), 0.02, 0.0)]);
    let mut alike = body("a", capsule(0.04, 0.006), 0.0, 0.0);
    alike.mass_kg = Some(2.0 * each);
    alike.inertia_kg_m2 = Some(2.0 * each * (18e-6 + 4e-4));
    let run = |one: &mut BodyDescription| {
        (one.position_m, one.restitution) = (vector![0.0, 0.05], 0.6);
        let mut lab = Lab::new(&scene(GRAVITY, vec![floor(0.3, 0.6), one.clone()], None));
        lab.state.bodies[1].angular_velocity_rad_per_s = 15.0;
        lab.run_s(0.16);
        let end = lab.body("a");
        (end.centre_m, end.angle_rad, end.velocity_m_per_s)
    };
    let (one, other) = (run(&mut dumbbell), run(&mut alike));
    assert!((one.0 - other.0).norm() < 1e-12 && (one.1 - other.1).abs() < 1e-10, "{one:?} and {other:?}");
    assert!(one.2.y.abs() > 0.01 && (one.2 - other.2).norm() < 1e-10, "{one:?} and {other:?}");
}

/// Drags a tool, held at `handle_m`, over the ground at y = 0 and asserts the friction at every tick.
#[track_caller]
fn assert_smooth(ground: BodyDescription, tool: BodyDescription, handle_m: [f64; 2], way_m: f64) {
    let bodies = vec![with(ground, 1.0, FRICTION, 0.2), with(tool, 0.1, FRICTION, 0.2)];
    let mut description = scene(0.0, bodies, Some("tool"));
    description.tool.as_mut().unwrap().handle_m = handle_m.into();
    let mut lab = Lab::new(&description).gains(800.0, 4.0).upright(5.0, 0.02);
    let start = lab.input.hand_m;
    lab.lead(start - vector![0.0, 0.005], 500, |_, _| ());
    let (mut ratio, mut tick) = (Samples::default(), 0);
    lab.lead(start + vector![way_m, -0.005], 1000, |_, output| {
        tick += 1;
        if tick > 300 {
            ratio.push(-output.force_on_hand_n.x / output.force_on_hand_n.y);
        }
    });
    assert_below("worst ratio off friction", ratio.worst_from(FRICTION), 5e-3);
    assert_below("penetration, m", lab.penetration_m, 1e-5);
    assert_below("energy gain, J", lab.gain_j(), 1e-9);
}

/// Grounds of one body whose shapes are flush at y = 0: boxes side by side, boxes that overlap, boxes with different
/// roundings, and capsules and boxes.
fn grounds() -> Vec<Vec<PlacedShape>> {
    let boxes = |step: f64| (0..12).map(move |i| at(box_shape(0.02, 0.02), step * f64::from(i), -0.01)).collect();
    let rounded = |i: i32| PlacedShape {
        rounding_m: Some(if i % 2 == 0 { 0.004 } else { 0.0 }),
        ..at(box_shape(0.03, if i % 2 == 0 { 0.012 } else { 0.02 }), 0.02 * f64::from(i), -0.01)
    };
    let capsules = |i: i32| {
        let shape = if i % 2 == 0 { capsule(0.02, 0.01) } else { box_shape(0.02, 0.02) };
        at(shape, 0.02 * f64::from(i), -0.01)
    };
    vec![boxes(0.02), boxes(0.013), (0..9).map(rounded).collect(), (0..9).map(capsules).collect()]
}

#[test]
fn a_tool_dragged_over_flush_shapes_feels_no_seam() {
    for ground in grounds() {
        for tool in [disc(0.01), box_shape(0.012, 0.02), box_shape(0.03, 0.02)] {
            let ground = BodyDescription { fixed: true, ..of_shapes("ground", ground.clone()) };
            assert_smooth(ground, body("tool", tool, 0.03, 0.01), [0.0, 0.0], 0.1);
        }
    }
}

#[test]
fn a_tool_of_flush_shapes_slides_over_a_corner_without_a_seam() {
    for shapes in grounds() {
        let moved = |placed: PlacedShape| PlacedShape { position_m: placed.position_m + vector![0.0, 0.02], ..placed };
        let shapes: Vec<_> = shapes.into_iter().take(6).map(moved).collect();
        let tool = BodyDescription { position_m: vector![-0.045, 0.0], ..of_shapes("tool", shapes) };
        assert_smooth(fixed("ground", box_shape(0.07, 0.02), 0.025, -0.01), tool, [0.05, 0.01], 0.045);
    }
}

#[test]
fn the_number_of_shapes_is_limited() {
    let refused = |count: usize| {
        let one = of_shapes("a", vec![at(disc(0.01), 0.0, 0.0); count]);
        Scene::build(&scene(0.0, vec![one], None)).err().map(|error| error.place)
    };
    assert_eq!(refused(64), None);
    assert_eq!((refused(0), refused(65)), (Some(Place::Body(0, "shapes")), Some(Place::Body(0, "shapes"))));
    let bad = of_shapes("a", vec![at(disc(0.01), 0.0, 0.0), at(disc(0.01), f64::NAN, 0.0)]);
    let error = Scene::build(&scene(0.0, vec![bad], None)).unwrap_err();
    assert_eq!(error.place, Place::Shape(0, 1, "position_m"));
}
