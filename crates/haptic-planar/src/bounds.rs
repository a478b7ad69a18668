//! Bodies that leave the bounds of the scene: what happens to them between two steps.
//!
//! A body that has left stands still, like a fixed body; a removed one touches nothing either. The tool may leave. A
//! scene without bounds skips all of this.

use crate::scene::Scene;
use crate::scene::description::{Bounds, Leave};
use crate::state::State;
use crate::workspace::Workspace;
use nalgebra::Vector2;

impl State {
    /// Stops the bodies that left the bounds in this tick, and puts at most one of those that stand outside back to its
    /// start. Real-time: one pass over the dynamic bodies; if any has left, another one and one over the near pairs; for
    /// a body to put back, one test whether its start is free.
    #[cold]
    #[inline(never)]
    pub(crate) fn keep_in_bounds(&mut self, scene: &Scene, bounds: &Bounds, workspace: &mut Workspace) {
        let has_stopped = self.stop_outside(scene, bounds);
        let is_back = bounds.leave == Leave::Respawn && self.respawn_next(scene, workspace);
        if has_stopped || is_back {
            self.book_energy(scene);
        }
    }

    /// Does the work of the most expensive [`Self::keep_in_bounds`]: every body leaves, and the
    /// one with the most pieces is put back after the largest number of distance queries.
    pub(crate) fn slowest_keep_in_bounds(&mut self, scene: &Scene, bounds: &Bounds, workspace: &mut Workspace) {
        let movable = scene.dynamic_bodies.iter().copied().filter(|&body| !is_tool(scene, body));
        let Some(largest) = movable.max_by_key(|&body| scene.bodies[body].pieces.len()) else { return };
        self.stop_outside(scene, bounds);
        self.broad_phase.left.fill(true);
        self.broad_phase.part_left(scene, bounds.leave);
        self.broad_phase.left.fill(false);
        if bounds.leave == Leave::Respawn {
            self.slowest_start_test(scene, workspace, largest);
            self.place_at_start(scene, largest);
        }
        self.book_energy(scene);
    }

    /// Stops the bodies whose centres of mass are outside. Returns whether there were any that had not left before.
    fn stop_outside(&mut self, scene: &Scene, bounds: &Bounds) -> bool {
        let mut has_stopped = false;
        for &body in &scene.dynamic_bodies {
            let state = &mut self.bodies[body];
            if bounds.contain(state.centre_m) || self.broad_phase.left[body] || is_tool(scene, body) {
                continue;
            }
            (state.velocity_m_per_s, state.angular_velocity_rad_per_s) = (Vector2::zeros(), 0.0);
            self.had_contact_load[body] = false;
            self.broad_phase.left[body] = true;
            has_stopped = true;
        }
        if has_stopped {
            self.broad_phase.part_left(scene, bounds.leave);
        }
        has_stopped
    }

    /// Puts the next body that stands outside back to its start if that place is free. Returns whether it was.
    fn respawn_next(&mut self, scene: &Scene, workspace: &mut Workspace) -> bool {
        let (next, left) = (self.next_respawn as usize, &self.broad_phase.left);
        let Some(body) = (next..left.len()).chain(0..next).find(|&body| left[body]) else { return false };
        self.next_respawn = ((body + 1) % left.len()) as u32;
        let is_free = self.is_start_free(scene, workspace, body);
        if is_free {
            self.broad_phase.left[body] = false;
            self.place_at_start(scene, body);
        }
        is_free
    }

    /// Sets the energy of the bodies after a change that no step has made. What it brought or took is no gain.
    fn book_energy(&mut self, scene: &Scene) {
        let before_j = self.energy.stored_j();
        self.set_body_energy(scene);
        let change_j = self.energy.stored_j() - before_j;
        self.energy.explain(change_j);
    }
}

fn is_tool(scene: &Scene, body: usize) -> bool {
    scene.tool.is_some_and(|tool| tool.body == body)
}
