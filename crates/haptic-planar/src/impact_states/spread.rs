//! Choice 6: the impulse acts as a constant force over the whole tick, beside the others, by the trapezoidal rule.
//!
//! Of the paper's text on this choice only its end is left, so this is a reconstruction. v₁ = v₀ + M⁻¹(T F + Jᵀ P) and
//! q₁ = q₀ + T (v₀ + v₁)/2, so the contact's work is P·J(v₀ + v₁)/2: none if the approach is reversed exactly. P is the
//! impulse of an impact with v₀, plus what carries the other forces' push into the contact over the tick. What still
//! overlaps then is pushed just so far that it ends the tick touching.

use super::hit::{Hit, home};
use super::{MAX_ROUNDS, Tally};
use crate::scene::Scene;
use crate::scene::description::ImpactState;
use crate::state::State;
use crate::tick::TICK_S;

impl State {
    /// Gives colliding pairs a constant force over the tick, one after the other.
    pub(super) fn spread_impulses(&mut self, scene: &Scene) -> Tally {
        self.step_all(TICK_S);
        self.find_pairs_on_the_way(scene);
        let mut tally = Tally::default();
        // Past the cap every round sends at least one more body home, where nothing overlaps.
        for round in 0..=MAX_ROUNDS + self.moving.len() {
            if !self.each_overlap(scene, &mut tally, |state, index, tally| match round {
                0 => state.strike_over_the_tick(scene, index, tally),
                _ if round < MAX_ROUNDS => state.push_to_touching(scene, index, tally),
                _ => state.retreat_and_strike(scene, index, ImpactState::PreviousPosition, tally),
            }) {
                break;
            }
        }
        self.integrate_positions(scene);
        tally
    }

    /// The impact of v₀, and the load of the tick's forces.
    fn strike_over_the_tick(&mut self, scene: &Scene, index: usize, tally: &mut Tally) {
        let Some(hit) = self.point_at_start(scene, index) else { return };
        let (pull, drag) = hit.manifold.acceleration(&self.works.all, hit.point);
        let (approach, slip) = (hit.approach - TICK_S * pull, hit.slip - TICK_S * drag);
        self.strike_at(scene, &Hit { approach, slip, ..hit }, tally);
        let slip = hit.manifold.slip_speed(&self.works.all);
        self.strike_at(scene, &Hit { approach: TICK_S * pull, slip, restitution: 0.0, ..hit }, tally);
        self.step_again(hit.manifold.bodies);
    }

    /// The force that brings a pair from overlap to touch at the end of the tick.
    fn push_to_touching(&mut self, scene: &Scene, index: usize, tally: &mut Tally) {
        let depth_m = self.depth_now(scene, index);
        let Some(hit) = self.point_at_start(scene, index) else { return };
        self.strike_at(scene, &Hit { approach: -2.0 * depth_m / TICK_S, restitution: 0.0, ..hit }, tally);
        self.step_again(hit.manifold.bodies);
    }

    fn point_at_start(&self, scene: &Scene, index: usize) -> Option<Hit> {
        let ahead = self.broad.table.pairs()[index].bodies.map(|body| {
            let work = &self.works.all[body as usize];
            (work.step, work.step_angle)
        });
        self.closest_point(scene, index, home(), ahead)
    }

    /// The trapezoidal displacement for the new end velocity.
    fn step_again(&mut self, bodies: [usize; 2]) {
        for body in bodies {
            let (work, motion) = (&mut self.works.all[body], &self.bodies[body]);
            work.step = (motion.velocity_m_per_s + work.velocity) * (TICK_S / 2.0);
            work.step_angle = (motion.angular_velocity_rad_per_s + work.angular_velocity) * (TICK_S / 2.0);
        }
    }
}
