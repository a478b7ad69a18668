//! Limits on the size of a scene, so that a file made by a wrong program is rejected before it takes all memory.

use crate::scene::description::SceneDescription;
use crate::scene::validate::{At, written_bounds};
use crate::scene::{Scene, SceneError};
use crate::shape::aabb::Aabb;

/// Largest number of bodies. A tick of a world with a tenth of it takes longer than a period.
pub const MAX_BODIES: usize = 20_000;
/// Largest number of dynamic bodies. The cost of a look-up for all of them grows with their square.
const MAX_DYNAMIC: usize = 8_000;
/// Largest number of near pairs at once. Each takes a few hundred bytes in the state and the workspace.
const MAX_NEAR_PAIRS: usize = 300_000;

/// Largest number of pairs of fixed pieces that touch. In a floor of 20,000 tiles there are a third as many.
const MAX_TOUCHING_FIXED: usize = 240_000;

/// Rejects a scene with too many bodies, at the first one that is too many.
pub fn bodies(description: &SceneDescription) -> Result<(), SceneError> {
    let bodies = &description.bodies;
    if let Some(body) = bodies.get(MAX_BODIES) {
        let problem = format!("the scene has {} bodies, at most {MAX_BODIES} are accepted", bodies.len());
        let remedy = "make several bodies one: write shape = { polygon_m = [[x, y], …] } with their common outline";
        return At::body(MAX_BODIES, &body.name).fail("name", problem, remedy);
    }
    let mut dynamic = bodies.iter().enumerate().filter(|(_, body)| !body.fixed);
    let count = dynamic.clone().count();
    dynamic.nth(MAX_DYNAMIC).map_or(Ok(()), |(index, body)| {
        let problem = format!("the scene has {count} dynamic bodies, at most {MAX_DYNAMIC} are accepted");
        let remedy = "write fixed = true for bodies that need not move, or remove some";
        At::body(index, &body.name).fail("name", problem, remedy)
    })
}

/// Rejects a scene whose bodies can have too many near pairs at once, at the dynamic body with the largest extent.
pub fn near_pairs(scene: &Scene) -> Result<(), SceneError> {
    let largest = scene.dynamic_bodies.iter().copied();
    let largest = largest.max_by(|&a, &b| scene.bodies[a].reach_m.total_cmp(&scene.bodies[b].reach_m));
    match largest {
        Some(index) if scene.pair_capacity > MAX_NEAR_PAIRS => {
            let body = &scene.bodies[index];
            let problem = format!(
                "`{}` and the others can have {} near pairs at once, at most {MAX_NEAR_PAIRS} are accepted",
                body.name, scene.pair_capacity
            );
            let remedy = "write fixed = true for bodies that need not move, or use fewer, of more similar size";
            At::body(index, &body.name).fail("shape", problem, remedy)
        }
        _ => Ok(()),
    }
}

/// Rejects bounds that do not contain the centre of mass of every dynamic body at its start.
pub fn starts_in_bounds(scene: &Scene) -> Result<(), SceneError> {
    let Some(bounds) = &scene.bounds else { return Ok(()) };
    let mut starts = scene.dynamic_bodies.iter().map(|&body| (body, scene.bodies[body].start_pose().0));
    let [low, high] =
        starts.clone().fold(bounds.corners_m, |[low, high], (_, centre)| [low.inf(&centre), high.sup(&centre)]);
    match starts.find(|&(_, centre)| !bounds.contain(centre)) {
        Some((body, centre)) => {
            let name = &scene.bodies[body].name;
            let problem =
                format!("`{name}` starts outside, with its centre of mass at [{:.3}, {:.3}]", centre.x, centre.y);
            At::world().fail("bounds_m", problem, &format!("write {}", written_bounds(low, high)))
        }
        None => Ok(()),
    }
}

/// Rejects a scene in which too many pairs of fixed pieces touch, at the first body that is too many. All of them are
/// compared corner by corner to find the seams.
pub fn touching_fixed(scene: &Scene) -> Result<(), SceneError> {
    let placed = scene.placed_at_start();
    let fixed = (0..scene.pieces.len()).filter(|&piece| scene.is_fixed_piece(piece));
    let mut boxes: Vec<(usize, Aabb)> =
        fixed.map(|piece| (piece, Aabb::around(&placed[piece], scene.pieces[piece].radius_m))).collect();
    boxes.sort_by(|(_, a), (_, b)| a.low.x.total_cmp(&b.low.x));
    let mut count = 0;
    for (index, (piece, around)) in boxes.iter().enumerate() {
        let right = boxes[index + 1..].iter().take_while(|(_, other)| other.low.x <= around.high.x);
        count += right.filter(|(_, other)| other.meets(around)).count();
        if count > MAX_TOUCHING_FIXED {
            let body = scene.pieces[*piece].body as usize;
            let name = &scene.bodies[body].name;
            let problem = format!("`{name}` and others: more than {MAX_TOUCHING_FIXED} pairs of fixed pieces touch");
            let remedy = "remove bodies that lie inside others, or write position_m = [x, y] to move them apart";
            return At::body(body, name).fail("position_m", problem, remedy);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::Place;
    use crate::scene::description::{BodyDescription, ShapeDescription};
    use nalgebra::Vector2;

    fn discs(count: usize, radius_m: impl Fn(usize) -> f64, fixed: bool) -> SceneDescription {
        let disc = |index: usize| BodyDescription {
            fixed,
            position_m: Vector2::new((index % 200) as f64 * 0.5, (index / 200) as f64 * 0.5),
            ..BodyDescription::new(&index.to_string(), ShapeDescription::Disc { radius_m: radius_m(index) })
        };
        SceneDescription { bodies: (0..count).map(disc).collect(), ..SceneDescription::default() }
    }

    #[test]
    fn the_largest_number_of_bodies_is_accepted_and_one_more_is_not() {
        let equal = |_| 0.01;
        assert!(bodies(&discs(MAX_BODIES, equal, true)).is_ok() && bodies(&discs(MAX_DYNAMIC, equal, false)).is_ok());
        let fixed = bodies(&discs(MAX_BODIES + 1, equal, true)).unwrap_err();
        assert_eq!(fixed.place, Place::Body(MAX_BODIES, "name"));
        let dynamic = bodies(&discs(MAX_DYNAMIC + 1, equal, false)).unwrap_err();
        assert_eq!(dynamic.place, Place::Body(MAX_DYNAMIC, "name"));
        assert!(dynamic.problem.contains("8001 dynamic bodies"), "{}", dynamic.problem);
    }

    #[test]
    fn fixed_bodies_that_all_lie_in_each_other_are_rejected() {
        let mut scene = discs(700, |_| 0.01, true);
        assert!(Scene::build(&scene).is_ok());
        scene.bodies.iter_mut().for_each(|body| body.position_m = Vector2::zeros());
        let error = Scene::build(&scene).unwrap_err();
        assert!(matches!(error.place, Place::Body(_, "position_m")), "{error:?}");
    }

    #[test]
    fn bodies_that_can_have_too_many_near_pairs_are_rejected_at_the_largest() {
        let unequal = |index| {
            if index == 7 {
                0.2
            } else if index % 2 == 0 {
                0.1
            } else {
                0.001
            }
        };
        let error = Scene::build(&discs(2000, unequal, false)).unwrap_err();
        assert_eq!(error.place, Place::Body(7, "shape"));
        assert!(Scene::build(&discs(2000, |_| 0.1, false)).is_ok());
    }
}
