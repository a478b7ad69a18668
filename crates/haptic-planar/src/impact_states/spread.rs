//! Choice 6: the impulse acts as a constant force over the whole tick, in addition to the other forces, by the
//! trapezoidal rule.
//!
//! This is a reconstruction, because the paper describes little more than the properties of this choice. v₁ = v₀ +
//! M⁻¹(T F + Jᵀ P) and q₁ = q₀ + T (v₀ + v₁)/2, so the contact's work is P·J(v₀ + v₁)/2, which is zero if the approach
//! is reversed exactly. P is the impulse of an impact with v₀ plus the impulse that balances the tick's other forces.
//! Pairs that still overlap are pushed until they end the tick touching.

use super::hit::{Hit, at_start};
use super::{MAX_ROUNDS, Tally, Tick};
use crate::scene::description::ImpactState;
use crate::tick::TICK_S;

impl Tick<'_> {
    /// Applies a constant force over the tick to each colliding pair, one after the other. Returns the sums over all
    /// collisions.
    pub(super) fn spread_impulses(&mut self) -> Tally {
        self.displace_all(TICK_S);
        self.find_near_pairs();
        let mut tally = Tally::default();
        // After `MAX_ROUNDS`, every round returns at least one more body to its start, where nothing overlaps.
        for round in 0..=MAX_ROUNDS + self.scene.dynamic_bodies.len() {
            if !self.each_overlap(&mut tally, |state, index, tally| match round {
                0 => state.resolve_over_tick(index, tally),
                _ if round < MAX_ROUNDS => state.push_to_touching(index, tally),
                _ => state.retreat_and_resolve(index, ImpactState::PreviousPosition, tally),
            }) {
                break;
            }
        }
        self.integrate_positions();
        tally
    }

    /// Applies the impulse of an impact with the velocity v₀ and the impulse that balances the other forces of the
    /// tick.
    fn resolve_over_tick(&mut self, index: usize, tally: &mut Tally) {
        let Some(hit) = self.point_at_start(index) else { return };
        let (pull, drag) = hit.manifold.acceleration(&self.solver_bodies.all, hit.point);
        let (approach, slip) = (hit.approach - TICK_S * pull, hit.slip - TICK_S * drag);
        self.resolve_at(&Hit { approach, slip, ..hit }, tally);
        let slip = hit.manifold.slip_speed(&self.solver_bodies.all);
        self.resolve_at(&Hit { approach: TICK_S * pull, slip, restitution: 0.0, ..hit }, tally);
        self.displace_again(hit.manifold.bodies);
    }

    /// Applies the force that makes an overlapping pair end the tick touching.
    fn push_to_touching(&mut self, index: usize, tally: &mut Tally) {
        let depth_m = self.depth_now(index);
        let Some(hit) = self.point_at_start(index) else { return };
        self.resolve_at(&Hit { approach: -2.0 * depth_m / TICK_S, restitution: 0.0, ..hit }, tally);
        self.displace_again(hit.manifold.bodies);
    }

    fn point_at_start(&self, index: usize) -> Option<Hit> {
        let ahead = self.state.broad_phase.table.pairs()[index].bodies.map(|body| {
            let solver_body = &self.solver_bodies.all[body as usize];
            (solver_body.displacement, solver_body.rotation_step_rad)
        });
        self.closest_point(index, at_start(), ahead)
    }

    /// Sets the trapezoidal displacements for the new velocities at the end of the tick.
    fn displace_again(&mut self, bodies: [usize; 2]) {
        for body in bodies {
            let (solver_body, body_state) = (&mut self.solver_bodies.all[body], &self.state.bodies[body]);
            solver_body.displacement = (body_state.velocity_m_per_s + solver_body.velocity) * (TICK_S / 2.0);
            solver_body.rotation_step_rad =
                (body_state.angular_velocity_rad_per_s + solver_body.angular_velocity) * (TICK_S / 2.0);
        }
    }
}
