//! Placement of bodies between two steps: whether there is room at another place, and moving a body there.
//!
//! The tool is brought to the hand in this way before the force comes on, and a body that has left the bounds of the
//! scene to its start. Nothing else moves, and nothing is struck.

use crate::collide::warm_start::WarmStart;
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::shape::aabb::Aabb;
use crate::shape::closest::{Seed, brute_force, track};
use crate::shape::piece::PlacedPiece;
use crate::solve::position_correction::SLOP_M;
use crate::state::State;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Distance to other bodies that a placed tool keeps, m. It covers rounding and the motion of the first tick; a larger
/// distance would be visible.
const CLEARANCE_M: f64 = 1e-4;
/// Maximum number of distance queries of one test whether the start of a body is free. If more bodies are near, it
/// counts as occupied.
const MAX_DISTANCES: usize = 64;

impl State {
    /// Whether the tool has room if it is displaced by `displacement_m`: every other body of its layer is at least
    /// 0.1 mm away. The way there does not matter. False without a tool, and for a displacement that is not
    /// finite. Real-time: for each piece of the tool, one look-up in the grid of the fixed pieces and one pass over the
    /// dynamic pieces; each piece whose box is near costs one distance query.
    pub fn has_room(&self, scene: &Scene, workspace: &mut Workspace, displacement_m: Vector2<f64>) -> bool {
        let Some(tool) = scene.tool else { return false };
        if !(displacement_m.x + displacement_m.y).is_finite() {
            return false;
        }
        let body = &self.bodies[tool.body];
        scene.bodies[tool.body].pieces.clone().all(|index| {
            let piece = &scene.pieces[index];
            let placed = PlacedPiece::new(piece, body.centre_m + displacement_m, body.rotation);
            let around = Aabb::around(&placed, piece.radius_m).grown(CLEARANCE_M);
            let mut is_clear = true;
            let mut look_at = |other: usize| {
                is_clear = is_clear
                    && (!self.can_touch(scene, index, other)
                        || !self.is_near(scene, &around, other)
                        || self.is_apart(scene, index, &placed, other, CLEARANCE_M));
            };
            workspace.look_ups.each_fixed(scene, &around, |_, other| look_at(other));
            scene.dynamic_pieces.iter().for_each(|&other| look_at(other as usize));
            is_clear
        })
    }

    /// Displaces the tool by `displacement_m` and brings it to rest. Real-time: one pass over the pieces of the tool
    /// and over the near pairs and the dynamic bodies.
    pub fn place_tool(&mut self, scene: &Scene, displacement_m: Vector2<f64>) {
        let Some(tool) = scene.tool else { return };
        let body = &mut self.bodies[tool.body];
        body.centre_m += displacement_m;
        body.velocity_m_per_s = Vector2::zeros();
        body.angular_velocity_rad_per_s = 0.0;
        self.finish_placement(scene, tool.body);
        self.restart_energy(scene);
    }

    /// Whether no other dynamic body is at the start of a body. Fixed bodies are not in its way, because the scene put
    /// it there. Touching is permitted, because bodies can start in contact. Real-time: for each piece of the body, one
    /// pass over the dynamic pieces; at most [`MAX_DISTANCES`] distance queries.
    pub(crate) fn is_start_free(&self, scene: &Scene, workspace: &mut Workspace, body: usize) -> bool {
        let (centre, rotation) = scene.bodies[body].start_pose();
        let mut queries_left = MAX_DISTANCES;
        scene.bodies[body].pieces.clone().all(|index| {
            let piece = &scene.pieces[index];
            let placed = PlacedPiece::new(piece, centre, rotation);
            let around = Aabb::around(&placed, piece.radius_m);
            workspace.look_ups.work.box_tests += scene.dynamic_pieces.len() as u32;
            scene.dynamic_pieces.iter().map(|&other| other as usize).all(|other| {
                if !self.can_touch(scene, index, other) || !self.is_near(scene, &around, other) {
                    return true;
                }
                let is_counted = queries_left > 0;
                queries_left = queries_left.saturating_sub(1);
                is_counted && self.is_apart(scene, index, &placed, other, -SLOP_M)
            })
        })
    }

    /// Does the work of the most expensive [`Self::is_start_free`] of a body.
    pub(crate) fn slowest_start_test(&self, scene: &Scene, workspace: &mut Workspace, body: usize) {
        let mut met = 0;
        for index in scene.bodies[body].pieces.clone() {
            let around = Aabb::around(&self.placed[index], scene.pieces[index].radius_m);
            workspace.look_ups.work.box_tests += scene.dynamic_pieces.len() as u32;
            for other in scene.dynamic_pieces.iter().map(|&other| other as usize) {
                met += usize::from(self.can_touch(scene, index, other) && self.is_near(scene, &around, other));
            }
        }
        if let Some(pieces) = workspace.forced_pairs.first() {
            let [a, b] = pieces.map(|piece| &self.placed[piece as usize]);
            met += (0..MAX_DISTANCES).filter(|_| std::hint::black_box(brute_force(a, b)).is_some()).count();
        }
        // Keeps the work from being optimised away.
        std::hint::black_box(met);
    }

    /// Puts a body at rest to its start. Real-time: one pass over its pieces and over the near pairs.
    pub(crate) fn place_at_start(&mut self, scene: &Scene, body: usize) {
        let start = BodyState::at_start(&scene.bodies[body]);
        self.bodies[body] = BodyState { velocity_m_per_s: Vector2::zeros(), angular_velocity_rad_per_s: 0.0, ..start };
        self.finish_placement(scene, body);
        self.broad_phase.forget_box(scene, body);
    }

    /// Updates what follows from the pose of a body, and forgets the loads of its contacts.
    fn finish_placement(&mut self, scene: &Scene, body: usize) {
        let BodyState { centre_m, rotation, .. } = self.bodies[body];
        for index in scene.bodies[body].pieces.clone() {
            self.placed[index].place(&scene.pieces[index], centre_m, rotation);
        }
        self.had_contact_load[body] = false;
        for pair in self.broad_phase.table.pairs_mut() {
            if pair.bodies.contains(&(body as u32)) {
                pair.warm_start = WarmStart::default();
            }
        }
    }

    fn can_touch(&self, scene: &Scene, piece: usize, other: usize) -> bool {
        let [body, other] = [piece, other].map(|piece| scene.pieces[piece].body as usize);
        body != other && scene.bodies[body].layer == scene.bodies[other].layer
    }

    fn is_near(&self, scene: &Scene, around: &Aabb, other: usize) -> bool {
        Aabb::around(&self.placed[other], scene.pieces[other].radius_m).meets(around)
    }

    /// Whether a piece that is placed at `placed` is at least `clearance_m` away from another one.
    fn is_apart(&self, scene: &Scene, piece: usize, placed: &PlacedPiece, other: usize, clearance_m: f64) -> bool {
        let reach_m = scene.pieces[piece].radius_m + scene.pieces[other].radius_m + clearance_m;
        track(placed, &self.placed[other], &mut Seed::default()).is_some_and(|found| found.distance_m >= reach_m)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::description::{BodyDescription, SceneDescription, ShapeDescription, ToolDescription};
    use nalgebra::vector;

    /// A disc of 10 mm radius at the origin as the tool, a fixed wall from x = 50 mm to 60 mm, a dynamic box at
    /// x = -50 mm, and a fixed body of another layer at y = 50 mm.
    fn scene() -> Scene {
        let disc = ShapeDescription::Disc { radius_m: 0.01 };
        let body = |name: &str, shape: ShapeDescription, position_m, fixed, layer| BodyDescription {
            position_m,
            fixed,
            layer,
            ..BodyDescription::new(name, shape)
        };
        let wall = ShapeDescription::Box { size_m: vector![0.01, 1.0] };
        let block = ShapeDescription::Box { size_m: vector![0.02, 0.02] };
        Scene::build(&SceneDescription {
            bodies: vec![
                body("tool", disc.clone(), vector![0.0, 0.0], false, 0),
                body("wall", wall, vector![0.055, 0.0], true, 0),
                body("block", block, vector![-0.05, 0.0], false, 0),
                body("other layer", disc, vector![0.0, 0.05], true, 1),
            ],
            tool: Some(ToolDescription { body: "tool".to_owned(), handle_m: Vector2::zeros(), weightless: false }),
            ..SceneDescription::default()
        })
        .unwrap()
    }

    #[test]
    fn the_tool_has_room_where_no_other_body_of_its_layer_is_near() {
        let scene = scene();
        let (state, mut workspace) = (State::new(&scene), Workspace::new(&scene));
        let mut has_room = |x_m, y_m| state.has_room(&scene, &mut workspace, vector![x_m, y_m]);
        assert!(has_room(0.0, 0.0) && has_room(0.0, 0.05) && has_room(0.0, -3.0));
        assert!(has_room(0.0398, 0.0) && !has_room(0.03995, 0.0), "0.2 mm and 0.05 mm from the wall");
        assert!(!has_room(0.05, 0.3) && !has_room(0.055, 0.0), "in the wall");
        assert!(has_room(0.0702, 0.0), "behind the wall");
        assert!(has_room(-0.0298, 0.0) && !has_room(-0.03, 0.0) && !has_room(-0.05, 0.0), "at and in the block");
        assert!(!has_room(f64::NAN, 0.0));
    }

    #[test]
    fn a_placed_tool_is_at_rest_and_is_simulated_from_there() {
        let scene = scene();
        let (mut state, mut workspace) = (State::new(&scene), Workspace::new(&scene));
        (0..100).for_each(|_| _ = state.advance(&scene, &mut workspace, None));
        state.place_tool(&scene, vector![0.0702, 0.0]);
        let tool = state.bodies[0];
        assert_eq!((tool.velocity_m_per_s, tool.angular_velocity_rad_per_s), (Vector2::zeros(), 0.0));
        state.bodies[0].velocity_m_per_s.x = -0.5;
        (0..100).for_each(|_| _ = state.advance(&scene, &mut workspace, None));
        assert!(
            state.bodies[0].centre_m.x > 0.0699,
            "it bounces off the back of the wall: {}",
            state.bodies[0].centre_m
        );
    }
}
