//! The force limit, and the arm of the handle, in a tick under contact load: what a solve of the contacts assumed about
//! them is compared with its result.

use super::{ImplicitCoupling, loaded_arm};
use crate::math::{secant_arm, spin_cross};
use crate::solve::constrained::Constrained;
use crate::solve::contact_work::does_work;
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Maximum number of times that a tick under contact load is solved again with a better arm or fraction of the gains.
pub const MAX_REPEATS: usize = 4;
/// Number of sweeps in a tick after which it is not solved again: sweeps over a pile are not exact enough to tell
/// whether another solve would be better.
pub const REPEAT_SWEEPS: usize = 8;
/// Error of the handle's work above which a tick under contact load is solved again, J.
const REPEAT_J: f64 = 1e-11;
/// Work by the error of the saturated force above which the energy of a tick under contact load is examined, J; 1e-5 of
/// the work in a tick of 10 N at 0.1 m/s.
const MISFIT_J: f64 = 1e-9;
/// Relative error of the saturated force above which a tick under contact load is solved again.
const REPEAT_FRACTION: f64 = 1e-5;
/// Number of times that the error of a saturated force is applied to the tool before the coupling is computed again.
/// Each reduces the error to T (T K + B)/m of it, which is little unless the tool is light and stiffly held.
const MAX_FORCE_STEPS: usize = 2;

/// What a solve of the contacts must repeat because its result differs from what the coupling assumed.
#[derive(Clone, Copy, Debug)]
pub enum Refinement {
    /// Nothing.
    None,
    /// The contacts, after this change of the force on the tool, world, N.
    Force {
        /// The change.
        change_n: Vector2<f64>,
        /// Whether the error that is left is surely small enough.
        is_final: bool,
    },
    /// The coupling and the contacts.
    Coupling,
}

impl ImplicitCoupling {
    /// Whether the force was predicted to reach the limit.
    pub fn is_saturated(&self) -> bool {
        self.fraction < 1.0
    }

    /// Compares the arm and the force limit that a solve of the contacts assumed with its result, and improves them.
    /// Real-time: constant.
    pub fn refine(&mut self, tool: &SolverBody) -> Refinement {
        let rotation = tool.angular_velocity * TICK_S;
        let step = tool.velocity * TICK_S + spin_cross(rotation, self.arm_m);
        if self.is_central && self.fraction >= 1.0 && self.is_far_from_limit(step) {
            return Refinement::None;
        }
        let end = self.limited_part(self.stretch_m - step);
        let change = self.limited_part(self.hand_displacement_m - step);
        let wanted = end * self.stiffness + change * (self.damping / TICK_S);
        let force = if self.is_plain() && self.constrained.is_none() {
            wanted * self.fraction + self.extra_force
        } else {
            self.force_of(step)
        };
        let arm = if self.is_central { self.arm_m } else { loaded_arm(self.start_arm_m, rotation) };
        let wrong_arm = !self.is_central && force.norm() * (arm - self.arm_m).norm() * rotation.abs() > REPEAT_J;
        let size = wanted.norm();
        let fraction = if size > self.max_force_n { self.max_force_n / size } else { 1.0 };
        let error = wanted * fraction - self.limited_part(force);
        let wrong_force = if self.constrained.is_some() {
            let largest = self.limited_part(force).norm().max(end.norm() * self.stiffness);
            largest > self.max_force_n
        } else {
            error.norm() > REPEAT_FRACTION * (size * fraction)
        };
        if !wrong_arm && !wrong_force {
            return Refinement::None;
        }
        if !wrong_arm && self.constrained.is_none() && self.force_steps < MAX_FORCE_STEPS {
            self.force_steps += 1;
            self.extra_force += error;
            let left = error.norm() * self.force_change_by_force();
            let is_final = self.is_central && left < REPEAT_FRACTION * (size * fraction);
            return Refinement::Force { change_n: error, is_final };
        }
        self.arm_m = arm;
        if wrong_force {
            self.constrained = None;
            self.fraction_search.improve(fraction);
            self.fraction = self.fraction_search.x.min(1.0);
        }
        (self.extra_force, self.force_steps) = (Vector2::zeros(), 0);
        Refinement::Coupling
    }

    /// Returns the coupling force on the tool by the rule of the contact solve, in a tick in which the handle moves by
    /// `step`, world, N.
    #[inline]
    fn force_of(&self, step: Vector2<f64>) -> Vector2<f64> {
        if self.is_plain() && self.constrained.is_none() {
            return self.whole_force(step) * self.fraction + self.extra_force;
        }
        self.force(step, &self.coefficients(self.fraction, self.loaded_rule())) + self.extra_force
    }

    /// Returns the coupling force on the tool by backward Euler with the whole gains, in a tick in which the handle
    /// moves by `step`, world, N.
    #[inline]
    fn whole_force(&self, step: Vector2<f64>) -> Vector2<f64> {
        if self.rail.is_some() {
            return self.force(step, &self.coefficients(1.0, None));
        }
        (self.stretch_m - step) * self.stiffness + (self.hand_displacement_m - step) * (self.damping / TICK_S)
    }

    /// Whether a tick in which the handle moves by `step` keeps the force limit with any rule.
    #[inline]
    fn is_far_from_limit(&self, step: Vector2<f64>) -> bool {
        // K (s₀ + Θ Δs) is at most K (|s₁| + ½ |Δs|), because Θ is between ½ and 1.
        let end = (self.stretch_m - step).norm();
        let change = (self.hand_displacement_m - step).norm();
        let start_square = (self.stretch_m - self.hand_displacement_m).norm_squared();
        let (k, limit) = (self.stiffness, self.max_force_n);
        k * end + (0.5 * k + self.damping / TICK_S) * change <= limit && start_square * (k * k) <= limit * limit
    }

    /// Returns the coupling force on the tool over the tick, clipped to the limit, world, N. The effect of the part
    /// that is clipped off is removed from the tool's velocity as well. At the limit, the force is that of the tool's
    /// pose at the end of the tick: the solve used a predicted fraction of the gains, and with its force the hand would
    /// not pay for the energy that the spring stores.
    pub fn finish(&self, solver_bodies: &mut SolverBodies) -> Vector2<f64> {
        let solver_body = &solver_bodies.all[self.tool.body];
        let step = solver_body.velocity * TICK_S
            + solver_body.shift
            + spin_cross(solver_body.angular_velocity * TICK_S + solver_body.shift_angle, self.arm_m);
        let force = self.force_of(step);
        let clipped = self.clipped(force);
        if clipped != force {
            self.apply_force(solver_bodies, clipped - force);
        }
        let end = self.limited_part(self.stretch_m - step);
        let is_limited = self.fraction < 1.0 || self.force_steps > 0 || clipped != force;
        if is_limited || end.norm_squared() * (self.stiffness * self.stiffness) > self.max_force_n * self.max_force_n {
            let force = self.force_at_end(&solver_bodies.all[self.tool.body]);
            // After a force step, the rest of the error is small, and the tool gets it too. Otherwise it may be large,
            // and would violate the contacts: then only the hand pays for the spring.
            if self.force_steps > 0 {
                self.apply_force(solver_bodies, force - clipped);
            }
            return force;
        }
        clipped
    }

    /// Returns the force of backward Euler on the tool in its pose at the end of the tick, clipped to the limit, world,
    /// N.
    fn force_at_end(&self, tool: &SolverBody) -> Vector2<f64> {
        let displacement = tool.velocity * TICK_S + tool.shift;
        let step = self.handle_displacement(displacement, tool.angular_velocity * TICK_S + tool.shift_angle);
        self.clipped(self.whole_force(step))
    }

    /// Returns the change of the whole force at the end of a tick by a force on the tool, as a fraction of that force,
    /// for a handle at the centre of mass: T (T K + B)/m.
    #[inline]
    fn force_change_by_force(&self) -> f64 {
        TICK_S * (TICK_S * self.stiffness + self.damping) / self.mass_kg
    }

    /// Clips a force to the limit. On a rail, only the component along the rail is clipped, because the force of the
    /// rail itself is not limited.
    fn clipped(&self, force: Vector2<f64>) -> Vector2<f64> {
        let limit = self.max_force_n;
        match self.rail {
            None if force.norm() > limit => force * (limit / force.norm()),
            Some(axis) if axis.dot(&force).abs() > limit => {
                let along = axis.dot(&force);
                force + axis * (along.clamp(-limit, limit) - along)
            }
            _ => force,
        }
    }

    /// Returns the part of a vector on which the force limit acts: the component along the rail, if there is one.
    pub(super) fn limited_part(&self, vector: Vector2<f64>) -> Vector2<f64> {
        self.rail.map_or(vector, |axis| axis * axis.dot(&vector))
    }

    /// Returns the coupling force on the tool if the handle moves by `step` instead of by `whole`, the motion for which
    /// `force` was computed, world, N. The rule must be that of `force`: `is_free_motion` selects the midpoint rule, in
    /// which `force` may be a mean over several parts, otherwise it is that of the contact solve. With this force, a
    /// tick that ends early is passive: the kinetic energy of v₀ + s (v₁ − v₀) and the energy of the spring are convex
    /// in s, and the force is linear in s. At the limit, the force is that of the end of the shorter motion: a linear
    /// change of a force that is clipped already would take away what the hand must pay for.
    pub fn force_of_shorter_motion(
        &self,
        force: Vector2<f64>,
        [whole, step]: [Vector2<f64>; 2],
        is_free_motion: bool,
    ) -> Vector2<f64> {
        if is_free_motion {
            let free = Constrained::none(self.mass_kg, self.inertia_kg_m2);
            return self.clipped(force + self.coefficients(1.0, Some((&free, self.arm_m))).implicit * (whole - step));
        }
        self.clipped(if self.is_at_limit(whole) { self.whole_force(step) } else { self.force_of(step) })
    }

    /// Whether the force of a tick under contact load, in which the handle moves by `step`, is that of its end at the
    /// limit.
    fn is_at_limit(&self, step: Vector2<f64>) -> bool {
        let reach_m = self.max_force_n / self.stiffness;
        let end = self.limited_part(self.stretch_m - step);
        self.fraction < 1.0 || self.force_steps > 0 || end.norm_squared() > reach_m * reach_m
    }

    /// Whether the force on the hand may not fit the motion of the tool in a tick under contact load. At the force
    /// limit, it may differ from that of the solve, which used a predicted fraction of the gains, by a work of more
    /// than [`MISFIT_J`]; or the tool got the difference after the contacts were solved, so that their loads do work.
    /// Below the limit, the work at the handle may be wrong by more than [`REPEAT_J`], because the tool rotates by
    /// another angle than that of the secant arm. A free motion always fits. Real-time: one pass over the manifolds.
    #[inline(always)]
    pub fn may_not_fit(&self, solver_bodies: &[SolverBody], manifolds: &[Manifold], force: Vector2<f64>) -> bool {
        !solver_bodies[self.tool.body].is_free_motion && self.may_not_fit_under_load(solver_bodies, manifolds, force)
    }

    #[inline(never)]
    fn may_not_fit_under_load(
        &self,
        solver_bodies: &[SolverBody],
        manifolds: &[Manifold],
        force: Vector2<f64>,
    ) -> bool {
        let tool = &solver_bodies[self.tool.body];
        if (self.fraction < 1.0 || self.force_steps > 0) && self.misfits_at_limit(solver_bodies, manifolds, force) {
            return true;
        }
        if self.is_central {
            return false;
        }
        let arm = secant_arm(self.start_arm_m, tool.rotation_step_rad);
        force.norm() * (arm - self.arm_m).norm() * tool.rotation_step_rad.abs() > REPEAT_J
    }

    /// Does what [`Self::may_not_fit`] does at the force limit. With the force F on the hand, F_s of the solve and F_e
    /// of the end of the tick, the tick gains at most (F_s − F)·Δhandle + (F_e − F)·Δhand. A force that the tool got
    /// after the contacts were solved is part of F_s, but it moved the tool and so changed F_e, by T (T K + B)/m of it.
    #[inline]
    fn misfits_at_limit(&self, solver_bodies: &[SolverBody], manifolds: &[Manifold], force: Vector2<f64>) -> bool {
        let tool = &solver_bodies[self.tool.body];
        let step = tool.displacement + spin_cross(tool.rotation_step_rad, self.arm_m);
        let misfit = force - self.clipped(self.force_of(step));
        let part = if self.force_steps > 0 && self.is_central { self.force_change_by_force() } else { 1.0 };
        let moved_square = 2.0 * (step.norm_squared() + self.hand_displacement_m.norm_squared());
        let works = |manifold: &Manifold| manifold.involves(self.tool.body) && does_work(manifold, solver_bodies);
        misfit.norm_squared() * (part * part) * moved_square > MISFIT_J * MISFIT_J || manifolds.iter().any(works)
    }
}
