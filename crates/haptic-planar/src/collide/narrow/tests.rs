use super::{ContactGeometry, Near, PairSide, VelocityChange, collide};
use crate::scene::Scene;
use crate::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use crate::tick::TICK_S;
use nalgebra::{Vector2, vector};

/// Returns the normal of the contact between a tile, whose top left corner is at the origin, and a box under load. The
/// right end of the flat underside of the box is at `corner_m` and has the velocity `velocity_m_per_s` before the
/// forces of the tick, which press the box down.
fn normal_on_tile(corner_m: Vector2<f64>, rounding_m: f64, velocity_m_per_s: Vector2<f64>) -> Vector2<f64> {
    contact_on_tile(corner_m, rounding_m, velocity_m_per_s, vector![0.0, -0.06]).normal
}

/// Returns the contact of [`normal_on_tile`] if the forces of the tick change the velocity of the box by
/// `forced_m_per_s`.
fn contact_on_tile(
    corner_m: Vector2<f64>,
    rounding_m: f64,
    velocity_m_per_s: Vector2<f64>,
    forced_m_per_s: Vector2<f64>,
) -> ContactGeometry {
    let square = |name: &str, rounding_m: f64| {
        let size_m = Vector2::repeat(0.02 - 2.0 * rounding_m);
        BodyDescription { rounding_m, ..BodyDescription::new(name, ShapeDescription::Box { size_m }) }
    };
    let tile = BodyDescription { fixed: true, ..square("tile", 0.0) };
    let rider = BodyDescription { position_m: vector![0.0, 0.1], ..square("box", rounding_m) };
    let scene = Scene::build(&SceneDescription { bodies: vec![tile, rider], ..SceneDescription::default() }).unwrap();
    let centres = [vector![0.01, -0.01], corner_m + vector![rounding_m - 0.01, 0.01]];
    let placed = [0, 1].map(|i| PlacedPiece::new(&scene.pieces[i], centres[i], Vector2::x()));
    let pressed = VelocityChange { linear_m_per_s: forced_m_per_s, angular_rad_per_s: 0.0 };
    let side = |i: usize, velocity_m_per_s: Vector2<f64>| PairSide {
        piece: &scene.pieces[i],
        placed: &placed[i],
        centre_m: centres[i],
        rotation: Vector2::x(),
        velocity_m_per_s,
        angular_velocity_rad_per_s: 0.0,
    };
    let (tile, rider) = (side(0, Vector2::zeros()), side(1, velocity_m_per_s + pressed.linear_m_per_s));
    let near = Near { had_contact_load: true, forced: [VelocityChange::default(), pressed], ..Near::within(5e-4) };
    collide(&tile, &rider, &near, &mut FeatureCache::default()).unwrap()
}

#[test]
fn a_box_that_slides_past_the_side_of_a_tile_stays_on_top_of_it() {
    for past_m in [-5e-6, -1e-9, 1e-9, 4.6e-6, 9e-6] {
        for above_m in [-1e-6, -1e-12, 0.0, 1e-12, 5e-8] {
            let normal = normal_on_tile(vector![past_m, above_m], 0.0, vector![0.01, 0.0]);
            assert!(normal.y > 0.999, "{past_m} m past the side, {above_m} m above the top: normal {normal:?}");
        }
    }
}

#[test]
fn a_box_at_rest_with_its_end_on_a_tile_stays_on_top_of_it() {
    for past_m in [1e-9, 4.6e-6, 8.4e-6] {
        for above_m in [-1e-12, 1e-12, 4e-10, 5e-8] {
            for speed in [vector![1e-6, -1.4e-6], vector![-1e-6, -1.4e-6], vector![0.0, 0.0]] {
                let normal = normal_on_tile(vector![past_m, above_m], 0.0, speed);
                assert!(normal.y > 0.999, "{past_m} m past the side, {above_m} m above the top: normal {normal:?}");
            }
        }
    }
}

#[test]
fn a_box_that_friction_holds_with_its_end_at_a_side_stays_on_top_of_the_tile() {
    for past_m in [-1e-9, -1e-15, 9e-19, 4.5e-13, 1e-9] {
        for above_m in [-1e-12, -1e-18, 0.0, 1e-18, 1e-12] {
            for sideways_m_per_s in [-1e-19, 0.0, 1e-19, 6e-11, 5e-5] {
                let speed = vector![sideways_m_per_s, -1e-19];
                for pull_m_per_s in [-0.04, -1e-5, 0.0, 1e-5, 0.04] {
                    let contact = contact_on_tile(vector![past_m, above_m], 0.0, speed, vector![pull_m_per_s, -0.06]);
                    let is_apart = past_m < 0.0 && pull_m_per_s < 0.01;
                    assert!(
                        is_apart || contact.normal.y > 0.999,
                        "{past_m} m past the side, {above_m} m above the top, pulled by {pull_m_per_s} m/s: {contact:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_round_corner_of_a_level_box_passes_the_edge_of_the_next_tile_at_any_speed() {
    for rounding_m in [2e-5, 5e-5, 1e-4, 5e-4] {
        for speed_m_per_s in [0.01, 0.04, 0.1, 0.2, 0.4] {
            for share in [0.01, 0.3, 0.5, 0.8, 0.95, 0.999, 1.001, 1.05, 1.2] {
                for deep_m in [-5e-8, 0.0, 1e-6, 5e-6] {
                    let corner_m = vector![-share * speed_m_per_s * TICK_S, -deep_m];
                    let speed = vector![speed_m_per_s, 0.0];
                    let contact = contact_on_tile(corner_m, rounding_m, speed, vector![-0.001, -0.06]);
                    let end_m = contact.gap_m[0] + TICK_S * contact.normal.dot(&speed);
                    assert!(
                        end_m > -deep_m.max(0.0) - 1e-12 && (end_m > 0.0 || contact.normal.y > 0.999_99),
                        "radius {rounding_m} m, {speed_m_per_s} m/s, {share}, {deep_m} m deep: {end_m} m, {contact:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_round_corner_meets_a_step_in_the_direction_of_the_impact() {
    let (radius, step): (f64, f64) = (2e-4, 5e-5);
    let reach_m = (radius * radius - (radius - step) * (radius - step)).sqrt();
    for share in [0.0, 0.1, 0.5, 0.9] {
        let speed = vector![0.3, 0.0];
        let corner_m = vector![-reach_m - share * speed.x * TICK_S, -step];
        let contact = contact_on_tile(corner_m, radius, speed, vector![0.0, -0.06]);
        let (slope, end_m) = (-contact.normal.x, contact.gap_m[0] + share * TICK_S * contact.normal.dot(&speed));
        assert!((slope - reach_m / radius).abs() < 1e-6 && end_m.abs() < 1e-12, "{share}: {slope}, {end_m} m");
    }
}

#[test]
fn a_rounded_box_that_touches_the_next_tile_stays_on_top_of_it_if_it_is_level() {
    for rounding_m in [5e-4, 2e-3, 8e-3] {
        for deep_m in [1e-6, 5e-6, 9e-6_f64] {
            // The round corner touches the edge of the tile from here on.
            let reach_m = (2.0 * rounding_m * deep_m).sqrt();
            for (share, speed) in [(0.95, 0.003), (0.95, -0.003), (0.5, 0.003), (0.5, 0.0), (0.1, 0.003), (0.1, 0.1)] {
                let normal = normal_on_tile(vector![-share * reach_m, -deep_m], rounding_m, vector![speed, 0.0]);
                assert!(normal.y > 0.999_999, "radius {rounding_m} m, {deep_m} m deep, {speed} m/s: normal {normal:?}");
            }
        }
        // It reaches the edge within the tick.
        let normal = normal_on_tile(vector![-8e-5, 0.0], rounding_m, vector![0.1, 0.0]);
        assert!(normal.y > 0.999_999, "radius {rounding_m} m: normal {normal:?}");
    }
}

#[test]
fn a_rounded_box_meets_the_edge_of_a_tile_that_is_not_level_or_out_of_reach() {
    let slope = |corner_m: Vector2<f64>, velocity_m_per_s| -normal_on_tile(corner_m, 1e-3, velocity_m_per_s).x;
    // Deeper than the pieces can lie by the contact solve, above the tile, falling, and leaving it.
    assert!(slope(vector![-1e-4, -2e-5], vector![0.01, 0.0]) > 0.05);
    assert!(slope(vector![-1e-4, 1e-6], vector![0.04, 0.0]) > 0.05);
    assert!(slope(vector![-1e-4, -5e-6], vector![0.01, -0.02]) > 0.05);
    assert!(slope(vector![-1e-4, 0.0], vector![-0.01, 0.0]) > 0.05);
}

/// A box whose top right corner is at the origin, and a tip that falls onto its top from the right, 60 µm beside the
/// corner. The side of the tip has two faces. The plane of the far one passes through the corner of the box.
fn box_and_tip() -> Scene {
    let (tip, up) = (vector![-6e-5, 1.05e-4], vector![-0.7225, 0.6914]);
    let out = vector![-0.6914, -0.7225];
    let corners_m = vec![tip, tip + vector![9e-3, 9e-3], tip + up * 15.6e-3, tip + up * 5.2e-3 + out * 24e-6];
    let square = ShapeDescription::Box { size_m: vector![0.02, 0.02] };
    let below =
        BodyDescription { fixed: true, position_m: vector![-0.01, -0.01], ..BodyDescription::new("box", square) };
    let above = BodyDescription::new("tip", ShapeDescription::Polygon { corners_m });
    Scene::build(&SceneDescription { bodies: vec![below, above], ..SceneDescription::default() }).unwrap()
}

#[test]
fn a_tip_that_falls_past_the_plane_of_its_other_face_has_a_contact() {
    let scene = box_and_tip();
    let mut cache = FeatureCache::default();
    // The far face is level with the corner at some height between these.
    for step in 0..60 {
        let fallen = vector![0.0, -1e-6 * f64::from(step)];
        let start = |i: usize| scene.bodies[i].start_pose().0 + if i == 1 { fallen } else { Vector2::zeros() };
        let placed = [0, 1].map(|i| PlacedPiece::new(&scene.pieces[i], start(i), Vector2::x()));
        let side = |i: usize, velocity_m_per_s: Vector2<f64>| PairSide {
            piece: &scene.pieces[i],
            placed: &placed[i],
            centre_m: start(i),
            rotation: Vector2::x(),
            velocity_m_per_s,
            angular_velocity_rad_per_s: 0.0,
        };
        let (below, above) = (side(0, Vector2::zeros()), side(1, vector![-0.1, -0.46]));
        let near = Near { had_contact_load: true, ..Near::within(1.5e-3) };
        let found = collide(&below, &above, &near, &mut cache);
        assert!(found.is_some_and(|contact| contact.gap_m[0].abs() < 2e-4), "{step} um lower: {found:?}");
    }
}

/// A wide notch with its bottom at the origin, and a tip beside the bottom that overlaps its left wall by 0.22 mm and is
/// behind the plane of the right one.
#[test]
fn a_tip_beside_the_bottom_of_a_notch_has_a_contact_with_both_walls() {
    let notch = [[-0.02, -0.02], [0.02, -0.02], [0.02, 0.01], [0.0, 0.0], [-0.02, 0.01]].map(Vector2::from);
    let tip = [[0.0, 0.0], [0.003, 0.012], [-0.003, 0.012]].map(Vector2::from);
    let polygon = |name: &str, corners_m: &[Vector2<f64>]| {
        BodyDescription::new(name, ShapeDescription::Polygon { corners_m: corners_m.to_vec() })
    };
    let at_m = vector![-2e-4, -1.5e-4];
    let below = BodyDescription { fixed: true, ..polygon("notch", &notch) };
    let above = BodyDescription { position_m: at_m, ..polygon("tip", &tip) };
    let scene = Scene::build(&SceneDescription { bodies: vec![below, above], ..SceneDescription::default() }).unwrap();
    let placed = scene.placed_at_start();
    let side = |index: usize| {
        let body = &scene.bodies[scene.pieces[index].body as usize];
        at_rest(&scene, &placed[index], index, body.start_pose().0, Vector2::x())
    };
    let above = side(scene.bodies[1].pieces.start);
    let pieces = scene.bodies[0].pieces.clone();
    let near = Near::within(1e-3);
    let found: Vec<ContactGeometry> =
        pieces.filter_map(|index| collide(&side(index), &above, &near, &mut FeatureCache::default())).collect();
    for normal in [vector![1.0, 2.0], vector![-1.0, 2.0]].map(|normal: Vector2<f64>| normal.normalize()) {
        let contact = found.iter().find(|contact| contact.normal.dot(&normal) > 0.999);
        let gap_m = contact.map(|contact| contact.gap_m[0]);
        assert!(gap_m.is_some_and(|gap_m| (gap_m - normal.dot(&at_m)).abs() < 1e-9), "{normal}: {found:?}");
    }
}

#[test]
fn a_corner_that_slides_in_front_of_a_face_closes_at_its_own_gap() {
    let square = |name: &str| BodyDescription::new(name, ShapeDescription::Box { size_m: vector![0.02, 0.02] });
    let angle_rad = 0.9;
    let (sine, cosine) = libm::sincos(angle_rad);
    // The lowest corner is beside the end of the top of the lower box and moves over it.
    let corner_m = vector![2e-4, 3e-4];
    let below = BodyDescription { fixed: true, position_m: vector![-0.01, -0.01], ..square("below") };
    let position_m = corner_m + vector![cosine - sine, cosine + sine] * 0.01;
    let above = BodyDescription { position_m, angle_rad, ..square("above") };
    let scene = Scene::build(&SceneDescription { bodies: vec![below, above], ..SceneDescription::default() }).unwrap();
    let placed = scene.placed_at_start();
    let side = |i: usize, rotation, velocity_m_per_s| PairSide {
        piece: &scene.pieces[i],
        placed: &placed[i],
        centre_m: scene.bodies[i].start_pose().0,
        rotation,
        velocity_m_per_s,
        angular_velocity_rad_per_s: 0.0,
    };
    let below = side(0, Vector2::x(), Vector2::zeros());
    let above = side(1, vector![cosine, sine], vector![-0.5, -0.5]);
    let found = collide(&below, &above, &Near::within(1e-3), &mut FeatureCache::default()).unwrap();
    let least_m = found.gap_m[..found.count].iter().copied().fold(f64::INFINITY, f64::min);
    assert!((least_m - 3e-4).abs() < 1e-9, "{found:?}");
}

/// Returns one piece of a scene at rest in a pose.
fn at_rest<'a>(
    scene: &'a Scene,
    placed: &'a PlacedPiece,
    piece: usize,
    centre_m: Vector2<f64>,
    rotation: Vector2<f64>,
) -> PairSide<'a> {
    PairSide {
        piece: &scene.pieces[piece],
        placed,
        centre_m,
        rotation,
        velocity_m_per_s: Vector2::zeros(),
        angular_velocity_rad_per_s: 0.0,
    }
}

/// The search compares the separations of cores, to which the radii are added again: the face of the last tick must not
/// be left out for the rounding error of this.
#[test]
fn a_rounded_box_keeps_the_contact_on_the_face_that_it_is_deep_in() {
    for rounding_um in 1..60 {
        let rounding_m = f64::from(rounding_um) * 1.7e-5;
        let shape = |side: f64| ShapeDescription::Box { size_m: Vector2::repeat(side) };
        let floor = BodyDescription { fixed: true, ..BodyDescription::new("floor", shape(0.1)) };
        let rider =
            BodyDescription { rounding_m, position_m: vector![0.0, 0.2], ..BodyDescription::new("box", shape(0.007)) };
        let scene =
            Scene::build(&SceneDescription { bodies: vec![floor, rider], ..SceneDescription::default() }).unwrap();
        for deeper_um in 1..40 {
            let depth_m = rounding_m + f64::from(deeper_um) * 3.1e-5;
            let centre_m = vector![0.003, 0.0535 + rounding_m - depth_m];
            let placed = [(0, Vector2::zeros()), (1, centre_m)]
                .map(|(piece, centre_m)| PlacedPiece::new(&scene.pieces[piece], centre_m, Vector2::x()));
            let floor = at_rest(&scene, &placed[0], 0, Vector2::zeros(), Vector2::x());
            let rider = at_rest(&scene, &placed[1], 1, centre_m, Vector2::x());
            let mut cache = FeatureCache::default();
            for tick in 0..3 {
                let contact = collide(&floor, &rider, &Near::within(5e-4), &mut cache);
                assert!(contact.is_some(), "rounding {rounding_m} m, {depth_m} m deep, tick {tick}");
            }
        }
    }
}

/// Two angles are interlocked and touch along one edge of each, which ends at the covered inner corner of its angle.
/// Which end of an edge is deeper is a matter of rounding.
#[test]
fn edges_that_lie_flat_on_each_other_touch_whatever_the_rounding() {
    let corners = [[-5.0, -5.0], [10.0, -5.0], [10.0, 0.0], [0.0, 0.0], [0.0, 5.0], [-5.0, 5.0]];
    let corners_m = corners.iter().map(|&[x, y]| vector![x, y] * 1e-3).collect();
    let angle = |name: &str, position_m: Vector2<f64>| BodyDescription {
        position_m,
        ..BodyDescription::new(name, ShapeDescription::Polygon { corners_m })
    };
    let one = angle("one", Vector2::zeros());
    let other = BodyDescription { name: "other".to_owned(), position_m: vector![0.1, 0.0], ..one.clone() };
    let scene = Scene::build(&SceneDescription { bodies: vec![one, other], ..SceneDescription::default() }).unwrap();
    let to_centre_m = scene.bodies[0].centre_m;
    for step in 0..2000 {
        let (sine, cosine) = libm::sincos(f64::from(step) * 0.0031);
        let rotations = [vector![cosine, sine], vector![-cosine, -sine]];
        let turned = |by: Vector2<f64>, v: Vector2<f64>| vector![by.x * v.x - by.y * v.y, by.y * v.x + by.x * v.y];
        let deep_m = vector![0.0101, -3e-6];
        let origins = [vector![0.0, 0.0], turned(rotations[0], deep_m)];
        let centres = [0, 1].map(|i| origins[i] + turned(rotations[i], to_centre_m));
        let mut deepest_m = 0.0_f64;
        for a in scene.bodies[0].pieces.clone() {
            for b in scene.bodies[1].pieces.clone() {
                let placed = [(a, 0), (b, 1)]
                    .map(|(piece, body)| PlacedPiece::new(&scene.pieces[piece], centres[body], rotations[body]));
                let one = at_rest(&scene, &placed[0], a, centres[0], rotations[0]);
                let other = at_rest(&scene, &placed[1], b, centres[1], rotations[1]);
                let contact = collide(&one, &other, &Near::within(5e-4), &mut FeatureCache::default());
                deepest_m = contact.map_or(deepest_m, |contact| deepest_m.min(contact.apart_m));
            }
        }
        assert!((deepest_m + 3e-6).abs() < 1e-9, "step {step}: {deepest_m} m");
    }
}

/// The square of the speed underflows, so that the time of the meeting is infinite.
#[test]
fn round_corners_that_hardly_move_have_a_finite_contact() {
    let disc = |name: &str, x: f64| BodyDescription {
        position_m: vector![x, 0.0],
        ..BodyDescription::new(name, ShapeDescription::Disc { radius_m: 1e-3 })
    };
    let bodies = vec![disc("one", 0.0), disc("other", 0.1)];
    let scene = Scene::build(&SceneDescription { bodies, ..SceneDescription::default() }).unwrap();
    for apart_m in [vector![0.0018, 0.0001], vector![0.001_999_999, -0.000_001]] {
        for speed in [1e-319, 1e-200, 1e-150, 1e-20] {
            for direction in [vector![0.0, 1.0], vector![0.0, -1.0], vector![1.0, 0.0], vector![-1.0, 0.0]] {
                let placed = [PlacedPiece::new(&scene.pieces[0], Vector2::zeros(), Vector2::x()), {
                    PlacedPiece::new(&scene.pieces[1], apart_m, Vector2::x())
                }];
                let one = at_rest(&scene, &placed[0], 0, Vector2::zeros(), Vector2::x());
                let other = PairSide {
                    velocity_m_per_s: direction * speed,
                    ..at_rest(&scene, &placed[1], 1, apart_m, Vector2::x())
                };
                let near = Near { had_contact_load: true, ..Near::within(5e-4) };
                let contact = collide(&one, &other, &near, &mut FeatureCache::default()).unwrap();
                assert!(contact.normal.norm() > 0.999 && contact.gap_m[0].is_finite(), "{speed} m/s: {contact:?}");
            }
        }
    }
}
