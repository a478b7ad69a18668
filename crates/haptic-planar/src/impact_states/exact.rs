//! Choice 1, the exact collision state: the tick advances from contact to contact. Its cost has no useful bound, so it
//! is for simulation only.

use super::hit::at_start;
use super::{Tally, Tick};
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Maximum number of contacts in one tick; the time that remains after the last of them is lost.
const MAX_CONTACTS: usize = 10_000;
/// Number of bisections in the search for the time of a contact. They reduce its uncertainty from a millisecond to less
/// than a femtosecond.
const EXACT_HALVINGS: usize = 42;
/// Duration of one bounce of a resting contact, s (a micro-collision of Mirtich & Canny). A shorter bounce is closer to
/// a steady force and costs more contacts.
const REST_S: f64 = 1e-5;

impl Tick<'_> {
    /// Advances to the first contact, applies its impulse and repeats this until the tick is over. Returns the sums
    /// over all contacts.
    pub(super) fn advance_to_contacts(&mut self) -> Tally {
        let mut tally = Tally::default();
        let mut left_s = TICK_S;
        for _ in 0..MAX_CONTACTS {
            self.displace_all(left_s);
            self.find_near_pairs();
            let Some((index, time_s)) = self.first_contact(left_s) else {
                self.move_and_sum();
                break;
            };
            self.displace_all(time_s);
            self.move_and_sum();
            left_s -= time_s;
            if !self.resolve_now(index, &mut tally) {
                left_s -= REST_S;
            }
            if left_s <= 0.0 {
                break;
            }
        }
        for &body in &self.scene.dynamic_bodies {
            let solver_body = &mut self.solver_bodies.all[body];
            (solver_body.displacement, solver_body.rotation_step_rad) = (solver_body.shift, solver_body.shift_angle);
        }
        tally
    }

    /// Moves the bodies by their displacements and adds these to the sums for this tick.
    fn move_and_sum(&mut self) {
        self.integrate_positions();
        for &body in &self.scene.dynamic_bodies {
            let solver_body = &mut self.solver_bodies.all[body];
            solver_body.shift += solver_body.displacement;
            solver_body.shift_angle += solver_body.rotation_step_rad;
            (solver_body.displacement, solver_body.rotation_step_rad) = (Vector2::zeros(), 0.0);
        }
    }

    /// Returns the index of the pair that collides first within `within_s`, and the last time at which that pair is
    /// free, s.
    fn first_contact(&mut self, within_s: f64) -> Option<(usize, f64)> {
        let mut first = None;
        let mut until_s = within_s;
        for index in 0..self.state.broad_phase.table.pairs().len() {
            if self.collides_after(index, until_s) {
                until_s = self.last_free_instant(index, until_s);
                first = Some((index, until_s));
            }
        }
        first
    }

    fn last_free_instant(&self, index: usize, until_s: f64) -> f64 {
        let (mut free, mut taken) = (0.0, until_s);
        for _ in 0..EXACT_HALVINGS {
            let middle = (free + taken) / 2.0;
            *(if self.collides_after(index, middle) { &mut taken } else { &mut free }) = middle;
        }
        free
    }

    fn collides_after(&self, index: usize, time_s: f64) -> bool {
        let pair = &self.state.broad_phase.table.pairs()[index];
        let mut seed = pair.features.seed;
        let displacements = pair.bodies.map(|body| self.free_motion(body as usize, time_s));
        let depth_m = self.depth_at(index, displacements, &mut seed);
        self.is_overlap(index, depth_m)
    }

    /// Applies the impulse of a pair in contact: an impact, or the next micro-collision of a resting contact. Returns
    /// whether an impulse was applied.
    fn resolve_now(&mut self, index: usize, tally: &mut Tally) -> bool {
        let bodies = self.state.broad_phase.table.pairs()[index].bodies.map(|body| body as usize);
        let soon = bodies.map(|body| self.free_motion(body, REST_S));
        let Some(mut hit) = self.closest_point(index, at_start(), soon) else { return false };
        let (pull, drag) = hit.manifold.acceleration(&self.solver_bodies.all, hit.point);
        // An approach that the forces can explain is a resting contact, not an impact.
        if hit.approach > pull.min(0.0) * REST_S {
            hit.approach += pull * REST_S;
            hit.slip += drag * REST_S;
            hit.restitution = 0.0;
        }
        self.resolve_at(&hit, tally);
        for body in bodies {
            let (solver_body, body_state) = (&self.solver_bodies.all[body], &mut self.state.bodies[body]);
            (body_state.velocity_m_per_s, body_state.angular_velocity_rad_per_s) =
                (solver_body.velocity, solver_body.angular_velocity);
        }
        hit.approach < 0.0
    }
}
