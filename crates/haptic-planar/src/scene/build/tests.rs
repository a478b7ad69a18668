//! Properties of built scenes, and the errors for invalid descriptions.

use super::*;
use crate::math::rotate;
use crate::scene::Place;
use crate::scene::description::RestitutionLaw;
use crate::scene::polygon::signed_area_m2;
use crate::scene::polygon::tests::{points, star_outlines};
use crate::shape::piece::Cone;
use proptest::prelude::*;

fn disc(name: &str) -> BodyDescription {
    BodyDescription::new(name, ShapeDescription::Disc { radius_m: 0.01 })
}

fn square(name: &str) -> BodyDescription {
    BodyDescription::new(name, ShapeDescription::Box { size_m: Vector2::new(0.02, 0.02) })
}

fn polygon_of(name: &str, corners: &[[f64; 2]]) -> BodyDescription {
    BodyDescription::new(name, ShapeDescription::Polygon { corners_m: points(corners) })
}

fn scene_of(bodies: Vec<BodyDescription>) -> SceneDescription {
    SceneDescription { bodies, ..SceneDescription::default() }
}

fn changed(change: impl FnOnce(&mut SceneDescription)) -> Result<Scene, SceneError> {
    let mut description = scene_of(vec![disc("table"), square("probe")]);
    description.bodies[0].fixed = true;
    change(&mut description);
    Scene::build(&description)
}

#[track_caller]
fn assert_refused(place: Place, change: impl FnOnce(&mut SceneDescription)) -> SceneError {
    let error = changed(change).expect_err("this must be refused");
    assert_eq!(error.place, place, "{error}");
    assert!(!error.problem.is_empty() && !error.remedy.is_empty());
    error
}

fn pair_of(one: &str, other: &str) -> PairDescription {
    PairDescription { bodies: [one.to_owned(), other.to_owned()], friction: Some(0.3), restitution: None }
}

fn tool_of(body: &str) -> Option<ToolDescription> {
    Some(ToolDescription { body: body.to_owned(), handle_m: Vector2::new(0.01, 0.0), weightless: false })
}

#[test]
fn the_world_comes_through_unchanged() {
    let scene = changed(|description| {
        description.gravity_m_per_s2 = Vector2::new(0.5, -2.0);
        description.restitution_law = RestitutionLaw::Poisson;
        description.rolling_friction = 0.001;
    })
    .unwrap();
    assert_eq!(scene.gravity_m_per_s2, Vector2::new(0.5, -2.0));
    assert_eq!(scene.restitution_law, RestitutionLaw::Poisson);
    assert_eq!(scene.rolling_friction_m, 0.001);
    assert_eq!(scene.bodies[1].pieces, 1..2);
    assert!(scene.tool.is_none());
}

#[test]
fn an_empty_scene_is_a_scene() {
    assert!(Scene::build(&SceneDescription::default()).unwrap().bodies.is_empty());
}

#[test]
fn fixed_bodies_have_infinite_mass_and_moving_ones_that_of_their_area() {
    let scene = changed(|_| {}).unwrap();
    assert_eq!((scene.bodies[0].mass_kg, scene.bodies[0].inertia_kg_m2), (f64::INFINITY, f64::INFINITY));
    assert!((scene.bodies[1].mass_kg - 10.0 * 4e-4).abs() < 1e-15);
    assert!((scene.bodies[1].inertia_kg_m2 - 4e-3 * 8e-4 / 12.0).abs() < 1e-18);
}

#[test]
fn a_given_mass_and_inertia_win_over_density() {
    let scene = changed(|description| description.bodies[1].mass_kg = Some(0.3)).unwrap();
    assert_eq!(scene.bodies[1].mass_kg, 0.3);
    assert!((scene.bodies[1].inertia_kg_m2 - 0.3 * 8e-4 / 12.0).abs() < 1e-16);
    let scene = changed(|description| description.bodies[1].inertia_kg_m2 = Some(7e-6)).unwrap();
    assert_eq!(scene.bodies[1].inertia_kg_m2, 7e-6);
}

#[test]
fn pieces_stand_about_the_centre_of_mass_and_the_handle_moves_with_them() {
    let mut description = scene_of(vec![polygon_of("wedge", &[[0.0, 0.0], [0.03, 0.0], [0.0, 0.03]])]);
    description.tool = tool_of("wedge");
    let scene = Scene::build(&description).unwrap();
    assert!((scene.bodies[0].centre_m - Vector2::new(0.01, 0.01)).norm() < 1e-15);
    assert!((scene.pieces[0].corners[0] - Vector2::new(-0.01, -0.01)).norm() < 1e-15);
    assert!((scene.tool.unwrap().handle_m - Vector2::new(0.0, -0.01)).norm() < 1e-15);
}

#[test]
fn rounding_grows_discs_capsules_and_boxes_alike() {
    let capsule = BodyDescription::new("rod", ShapeDescription::Capsule { length_m: 0.1, radius_m: 0.005 });
    let mut description = scene_of(vec![disc("ball"), capsule, square("brick")]);
    description.bodies.iter_mut().for_each(|body| body.rounding_m = 0.002);
    let scene = Scene::build(&description).unwrap();
    let found: Vec<_> = scene.pieces.iter().map(|piece| (piece.count, piece.radius_m)).collect();
    assert_eq!(found, [(1, 0.012), (2, 0.007), (4, 0.002)]);
}

#[test]
fn a_concave_body_has_seams_along_its_cuts() {
    let corners = [[0.0, 0.0], [0.03, 0.0], [0.03, 0.01], [0.01, 0.01], [0.01, 0.03], [0.0, 0.03]];
    let scene = Scene::build(&scene_of(vec![polygon_of("angle", &corners)])).unwrap();
    assert_eq!(scene.pieces.len(), 2);
    for piece in &scene.pieces {
        let seams = piece.seams.as_ref().unwrap();
        assert_eq!(seams.internal_edges.count_ones(), 1);
        assert!(seams.cones.contains(&Cone::Empty));
    }
}

#[test]
fn a_pair_takes_the_geometric_mean_and_the_larger_unless_overridden() {
    let scene = changed(|description| {
        description.bodies.push(disc("ball"));
        for (body, value) in description.bodies.iter_mut().zip([0.1, 0.4, 0.9]) {
            (body.friction, body.restitution) = (value, value);
        }
        description.pairs = vec![pair_of("ball", "probe"), pair_of("probe", "table")];
        description.pairs[1] = PairDescription { friction: None, restitution: Some(0.0), ..pair_of("probe", "table") };
    })
    .unwrap();
    assert!((scene.friction_of(0, 1) - 0.2).abs() < 1e-15);
    assert_eq!((scene.friction_of(1, 2), scene.friction_of(2, 1)), (0.3, 0.3));
    assert_eq!((scene.restitution_of(0, 1), scene.restitution_of(1, 0)), (0.0, 0.0));
    assert_eq!(scene.restitution_of(1, 2), 0.9);
    assert_eq!(scene.restitution_of(2, 0), 0.9);
}

#[test]
fn names_must_be_there_and_differ() {
    assert_refused(Place::Body(1, "name"), |description| description.bodies[1].name = " ".to_owned());
    let error = assert_refused(Place::Body(1, "name"), |description| description.bodies[1].name = "table".to_owned());
    assert_eq!(error.to_string(), "bodies 1 and 2 are both named `table`; write name = \"table 2\"");
}

#[test]
fn numbers_out_of_range_are_refused_where_they_stand() {
    type Change = fn(&mut BodyDescription, f64);
    let cases: [(&'static str, &[f64], Change); 11] = [
        ("position_m", &[1e4], |body, value| body.position_m.x = value),
        ("angle_rad", &[], |body, value| body.angle_rad = value),
        ("shape", &[0.0, -1.0], |body, value| {
            body.shapes[0].shape = ShapeDescription::Box { size_m: Vector2::new(1.0, value) }
        }),
        ("rounding_m", &[-1e-3], |body, value| body.rounding_m = value),
        ("density_kg_per_m2", &[0.0, -1.0], |body, value| body.density_kg_per_m2 = value),
        ("mass_kg", &[0.0, -1.0], |body, value| body.mass_kg = Some(value)),
        ("inertia_kg_m2", &[0.0, -1.0], |body, value| body.inertia_kg_m2 = Some(value)),
        ("friction", &[-0.1], |body, value| body.friction = value),
        ("restitution", &[-0.1, 1.1], |body, value| body.restitution = value),
        ("velocity_m_per_s", &[], |body, value| body.velocity_m_per_s.y = value),
        ("spin_rad_per_s", &[], |body, value| body.angular_velocity_rad_per_s = value),
    ];
    for (key, wrong, change) in cases {
        for value in wrong.iter().chain(&[f64::NAN, f64::INFINITY]) {
            assert_refused(Place::Body(1, key), |description| change(&mut description.bodies[1], *value));
        }
    }
}

#[test]
fn shapes_without_size_are_refused() {
    let shapes = [
        ShapeDescription::Disc { radius_m: 0.0 },
        ShapeDescription::Capsule { length_m: 0.0, radius_m: 0.1 },
        ShapeDescription::Capsule { length_m: 0.1, radius_m: -0.1 },
        ShapeDescription::Polygon { corners_m: points(&[[0.0, 0.0], [1.0, 0.0]]) },
    ];
    for shape in shapes {
        assert_refused(Place::Body(0, "shape"), |description| description.bodies[0].shapes[0].shape = shape);
    }
}

#[test]
fn the_world_needs_finite_numbers() {
    assert_refused(Place::World("gravity_m_per_s2"), |description| description.gravity_m_per_s2.y = f64::NAN);
    assert_refused(Place::World("rolling_friction"), |description| description.rolling_friction = -1.0);
    let drag = Place::World("air_drag_n_m_s_per_rad");
    assert_refused(drag, |description| description.air_drag_n_m_s_per_rad = f64::INFINITY);
}

#[test]
fn a_polygon_corner_that_is_no_number_is_counted_out() {
    let corners = [[0.0, 0.0], [0.1, f64::NAN], [0.1, 0.1]];
    let error = Scene::build(&scene_of(vec![polygon_of("wedge", &corners)])).unwrap_err();
    assert_eq!(error.place, Place::Body(0, "shape"));
    assert_eq!(error.problem, "polygon_m, corner 2, of body `wedge` is NaN");
}

#[test]
fn an_outline_that_crosses_itself_is_explained() {
    let crossing = [[0.0, 0.0], [0.1, 0.1], [0.1, 0.0], [0.0, 0.1]];
    let error = Scene::build(&scene_of(vec![polygon_of("tie", &crossing)])).unwrap_err();
    assert_eq!(error.place, Place::Body(0, "shape"));
    assert!(error.problem.contains("edges 1 and 3"), "{error}");
}

#[test]
fn a_convex_outline_of_too_many_corners_is_pointed_to_discs() {
    let corner = |i: i32| [libm::cos(f64::from(i) * 0.3), libm::sin(f64::from(i) * 0.3)];
    let corners: Vec<_> = (0..20).map(corner).collect();
    let error = Scene::build(&scene_of(vec![polygon_of("wheel", &corners)])).unwrap_err();
    assert_eq!(error.place, Place::Body(0, "shape"));
    assert!(error.problem.contains("20 corners") && error.remedy.contains("disc"), "{error}");
}

#[test]
fn rounding_that_fills_a_notch_is_refused_with_the_limit() {
    let notched =
        [[0.0, 0.0], [0.05, 0.0], [0.05, 0.02], [0.03, 0.02], [0.03, 0.01], [0.02, 0.01], [0.02, 0.02], [0.0, 0.02]];
    let mut body = polygon_of("comb", &notched);
    body.rounding_m = 0.006;
    let error = Scene::build(&scene_of(vec![body.clone()])).unwrap_err();
    assert_eq!(error.place, Place::Body(0, "rounding_m"));
    body.rounding_m = 0.004;
    assert!(Scene::build(&scene_of(vec![body])).is_ok());
}

#[test]
fn colours_are_six_hexadecimal_digits() {
    for wrong in ["red", "#12345", "#12345g", "123456", "#1234567", "#ééé"] {
        assert_refused(Place::Body(0, "colour"), |description| description.bodies[0].colour = wrong.to_owned());
    }
    assert!(changed(|description| description.bodies[0].colour = "#AbCdEf".to_owned()).is_ok());
}

#[test]
fn fixed_bodies_do_not_start_moving() {
    assert_refused(Place::Body(0, "velocity_m_per_s"), |description| description.bodies[0].velocity_m_per_s.x = 1.0);
    assert_refused(Place::Body(0, "spin_rad_per_s"), |description| {
        description.bodies[0].angular_velocity_rad_per_s = 1.0
    });
}

#[test]
fn pairs_name_two_bodies_that_exist_once() {
    let error =
        assert_refused(Place::Pair(0, "bodies"), |description| description.pairs = vec![pair_of("tabel", "probe")]);
    assert_eq!(error.to_string(), "there is no body named `tabel`; the scene's bodies are `probe`, `table`");
    let candidates = vec!["probe".to_owned(), "table".to_owned()];
    assert_eq!(error.unknown_name, Some(Box::new(UnknownName { name: "tabel".to_owned(), candidates })));
    assert_refused(Place::Pair(0, "bodies"), |description| description.pairs = vec![pair_of("table", "table")]);
    let twice = || vec![pair_of("table", "probe"), pair_of("probe", "table")];
    assert_refused(Place::Pair(1, "bodies"), |description| description.pairs = twice());
}

#[test]
fn values_of_pairs_are_checked() {
    let with = |friction, restitution| PairDescription { friction, restitution, ..pair_of("table", "probe") };
    assert_refused(Place::Pair(0, "friction"), |description| description.pairs = vec![with(Some(-0.1), None)]);
    assert_refused(Place::Pair(0, "restitution"), |description| description.pairs = vec![with(None, Some(1.5))]);
}

#[test]
fn the_tool_is_a_body_that_can_move() {
    let error = assert_refused(Place::Tool("body"), |description| description.tool = tool_of("sponge"));
    assert_eq!(error.remedy, "the scene's bodies are `probe`, `table`");
    assert_refused(Place::Tool("body"), |description| description.tool = tool_of("table"));
    assert_refused(Place::Tool("handle_m"), |description| {
        description.tool = Some(ToolDescription {
            body: "probe".to_owned(),
            handle_m: Vector2::new(f64::NAN, 0.0),
            weightless: false,
        });
    });
}

#[test]
fn a_mass_that_underflows_is_refused() {
    assert_refused(Place::Body(1, "density_kg_per_m2"), |description| description.bodies[1].density_kg_per_m2 = 1e-307);
}

proptest! {
    #[test]
    fn pieces_of_any_outline_cover_it_from_the_start_pose(
        corners_m in star_outlines(), x in -1.0..1.0f64, angle_rad in -3.0..3.0f64,
    ) {
        prop_assume!(tidy(&corners_m).is_ok_and(|outline| convex_parts(&outline).is_ok()));
        let mut body = BodyDescription::new("star", ShapeDescription::Polygon { corners_m: corners_m.clone() });
        (body.position_m.x, body.angle_rad) = (x, angle_rad);
        let scene = Scene::build(&scene_of(vec![body])).unwrap();
        let area: f64 = scene.pieces.iter().map(|piece| signed_area_m2(piece.outline())).sum();
        prop_assert!((area - signed_area_m2(&corners_m)).abs() < 1e-9 * area);
        let (centre, rotation) = scene.bodies[0].start_pose();
        for corner in scene.pieces.iter().flat_map(|piece| piece.outline()) {
            let placed = centre + rotate(rotation, *corner);
            let (sine, cosine) = libm::sincos(angle_rad);
            let expected = |c: &Vector2<f64>| Vector2::new(x, 0.0) + rotate(Vector2::new(cosine, sine), *c);
            prop_assert!(corners_m.iter().any(|c| (expected(c) - placed).norm() < 1e-12));
        }
    }
}
