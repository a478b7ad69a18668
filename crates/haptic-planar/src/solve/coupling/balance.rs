//! Energy stored in the coupling, and lost in its dampers.

use super::{ImplicitCoupling, RAIL_DAMPING_N_S_PER_M, RAIL_STIFFNESS_N_PER_M};
use crate::scene::body_state::BodyState;
use crate::solve::solver_body::SolverBody;
use crate::tick::TICK_S;
use nalgebra::Vector2;

impl ImplicitCoupling {
    /// Returns the energy stored in the coupling for the given positions of hand and handle and the given twist, J.
    /// Beyond the stretch at which the force reaches its limit, the spring force is constant.
    pub fn stored_j(&self, hand_m: Vector2<f64>, handle_m: Vector2<f64>, twist_rad: f64) -> f64 {
        let stretch = hand_m - handle_m;
        let angular = 0.5 * self.angular_stiffness * twist_rad * twist_rad;
        let Some(axis) = self.rail else { return self.spring_j(stretch.norm()) + angular };
        let along = axis.dot(&stretch);
        let across = stretch - axis * along;
        self.spring_j(along.abs()) + 0.5 * RAIL_STIFFNESS_N_PER_M * across.norm_squared() + angular
    }

    /// Returns the energy of the spring at a stretch, J.
    fn spring_j(&self, stretch_m: f64) -> f64 {
        if self.stiffness * stretch_m <= self.max_force_n {
            0.5 * self.stiffness * stretch_m * stretch_m
        } else {
            self.max_force_n * (stretch_m - 0.5 * self.max_force_n / self.stiffness)
        }
    }

    /// Returns the change of the energy stored in the coupling over the tick, J.
    pub fn gain_j(&self, start: &BodyState, solver_body: &SolverBody) -> f64 {
        let step = self.handle_displacement(solver_body.displacement, solver_body.rotation_step_rad);
        let handle = start.centre_m + self.start_arm_m;
        let hand = handle + self.stretch_m;
        self.stored_j(hand, handle + step, self.twist_rad - solver_body.rotation_step_rad)
            - self.stored_j(hand - self.hand_displacement_m, handle, self.twist_rad)
    }

    /// Returns the energy dissipated by the dampers in a tick in which the handle moves by `step` and the tool rotates
    /// by `rotation`, J.
    pub fn damped_j(&self, step: Vector2<f64>, rotation: f64) -> f64 {
        let slip = self.hand_displacement_m - step;
        let along = self.limited_part(slip);
        let mut linear = along.norm_squared() * self.damping * self.fraction;
        if self.rail.is_some() {
            linear += (slip - along).norm_squared() * RAIL_DAMPING_N_S_PER_M;
        }
        (linear + self.angular_damping * rotation * rotation) / TICK_S
    }
}
