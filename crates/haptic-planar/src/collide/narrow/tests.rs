use super::{Near, PairSide, VelocityChange, collide};
use crate::scene::Scene;
use crate::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
use crate::shape::features::FeatureCache;
use crate::shape::piece::PlacedPiece;
use nalgebra::{Vector2, vector};

/// Returns the normal of the contact between a tile, whose top left corner is at the origin, and a box under load whose
/// bottom right corner is at `corner_m` and moves to the right. The forces of the tick press the box down.
fn normal_on_tile(corner_m: Vector2<f64>) -> Vector2<f64> {
    let size_m = vector![0.02, 0.02];
    let square = |name: &str| BodyDescription::new(name, ShapeDescription::Box { size_m });
    let tile = BodyDescription { fixed: true, ..square("tile") };
    let rider = BodyDescription { position_m: vector![0.0, 0.1], ..square("box") };
    let scene = Scene::build(&SceneDescription { bodies: vec![tile, rider], ..SceneDescription::default() }).unwrap();
    let centres = [vector![0.01, -0.01], corner_m + vector![-0.01, 0.01]];
    let placed = [0, 1].map(|i| PlacedPiece::new(&scene.pieces[i], centres[i], Vector2::x()));
    let pressed = VelocityChange { linear_m_per_s: vector![0.0, -0.06], angular_rad_per_s: 0.0 };
    let side = |i: usize, velocity_m_per_s: Vector2<f64>| PairSide {
        piece: &scene.pieces[i],
        placed: &placed[i],
        centre_m: centres[i],
        rotation: Vector2::x(),
        velocity_m_per_s,
        angular_velocity_rad_per_s: 0.0,
    };
    let (tile, rider) = (side(0, Vector2::zeros()), side(1, vector![0.01, 0.0] + pressed.linear_m_per_s));
    let near = Near { had_contact_load: true, forced: [VelocityChange::default(), pressed], ..Near::within(5e-4) };
    collide(&tile, &rider, near, &mut FeatureCache::default()).unwrap().normal
}

#[test]
fn a_box_that_slides_past_the_side_of_a_tile_stays_on_top_of_it() {
    for past_m in [-5e-6, -1e-9, 1e-9, 4.6e-6, 9e-6] {
        for above_m in [-1e-6, -1e-12, 0.0, 1e-12, 5e-8] {
            let normal = normal_on_tile(vector![past_m, above_m]);
            assert!(normal.y > 0.999, "{past_m} m past the side, {above_m} m above the top: normal {normal:?}");
        }
    }
}
