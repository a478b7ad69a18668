//! Directions of the tool that its contacts constrain, and its motion in a tick under contact load.

use super::{FreeMotion, ImplicitCoupling, across, at_handle, vector3};
use crate::collide::warm_start::Mode;
use crate::solve::constrained::Constrained;
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;
use nalgebra::Vector3;

/// Ratio of the kinetic energy of a loaded tool's mean velocity to that of its end velocity below which the tool stands
/// still. A tool that a spring turns back is that slow in its mean in one tick of a thousand at most.
const STANDING_FRACTION: f64 = 1e-6;

impl ImplicitCoupling {
    /// Finds the directions that contacts of the last tick constrain in this one: the normals that carried load, and
    /// the tangents of the contacts that did not slip. Returns whether the tool is free in some of the others, so that
    /// the coupling must be applied again. Only for a coupling within its force limit. Real-time: one pass over the
    /// manifolds.
    #[inline]
    pub fn constrain(&mut self, manifolds: &[Manifold]) -> bool {
        let was_loaded = |manifold: &Manifold| {
            manifold.involves(self.tool.body) && (manifold.last.normal[0] > 0.0 || manifold.last.normal[1] > 0.0)
        };
        self.fraction >= 1.0 && manifolds.iter().any(was_loaded) && self.constrain_loaded(manifolds)
    }

    /// Does what [`Self::constrain`] does if a contact of the tool carried load.
    #[inline(never)]
    fn constrain_loaded(&mut self, manifolds: &[Manifold]) -> bool {
        let start = self.limited_part(self.stretch_m - self.hand_displacement_m);
        if start.norm() * self.stiffness > self.max_force_n {
            return false;
        }
        let mut all = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        for manifold in manifolds.iter().filter(|manifold| manifold.involves(self.tool.body)) {
            for point in 0..manifold.count {
                if manifold.last.normal[point] > 0.0 {
                    all.add(manifold.normal_row(self.tool.body, point));
                }
            }
            if matches!(manifold.last_mode, Mode::Stick(_)) {
                all.add(manifold.slip_row(self.tool.body));
            }
        }
        if let Some(axis) = self.rail {
            all.add(at_handle(across(axis), self.arm_m));
        }
        let is_partly_free = all.count() < 3;
        if is_partly_free {
            self.constrained = Some(all);
        }
        is_partly_free
    }

    /// Sets the tool's displacement and end velocity after a tick under contact load. Real-time: one pass over the
    /// manifolds.
    pub fn set_displacement(&self, solver_bodies: &mut [SolverBody], manifolds: &[Manifold]) {
        let body = self.tool.body;
        solver_bodies[body].has_contact_load = true;
        solver_bodies[body].set_displacement();
        let Some(constrained) = self.constrained else { return };
        let tool = &solver_bodies[body];
        let mean = vector3(tool.velocity, tool.angular_velocity);
        let end = self.settle(constrained, mean, manifolds, solver_bodies);
        let tool = &mut solver_bodies[body];
        (tool.velocity, tool.angular_velocity) = (end.xy(), end.z);
    }

    /// Sets the end velocity of a free motion that carries contact load. Real-time: two passes over the manifolds.
    pub fn settle_free(&self, motion: &mut FreeMotion, manifolds: &[Manifold], solver_bodies: &[SolverBody]) {
        let mut constrained = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        motion.end = match self.rail {
            Some(axis) => {
                constrained.add(at_handle(across(axis), self.end_arm(motion.rotation_step_rad())));
                self.settle_from(motion.end, constrained, motion.mean, manifolds, solver_bodies)
            }
            None => self.settle(constrained, motion.mean, manifolds, solver_bodies),
        };
    }

    /// Returns the velocity at the end of a tick with the given mean velocity.
    #[inline(never)]
    fn settle(
        &self,
        constrained: Constrained,
        mean: Vector3<f64>,
        manifolds: &[Manifold],
        solver_bodies: &[SolverBody],
    ) -> Vector3<f64> {
        let end = constrained.end_velocity(self.start, mean);
        self.settle_from(end, constrained, mean, manifolds, solver_bodies)
    }

    /// Returns the velocity at the end of a tick with the given mean velocity, from that by the rule of integration,
    /// `end`. In a direction that carries load only since this tick, the free rule would end with a rebound: the
    /// component there is at most the mean one. A slip with friction on a fixed body that would end against its mean
    /// direction ends at rest. A tool that the contacts hold in all directions, although not all of them are
    /// constrained, would reverse its velocity in every tick and never move; it ends with the mean velocity. All of
    /// this only reduces the kinetic energy.
    #[inline(always)]
    fn settle_from(
        &self,
        mut end: Vector3<f64>,
        mut constrained: Constrained,
        mean: Vector3<f64>,
        manifolds: &[Manifold],
        solver_bodies: &[SolverBody],
    ) -> Vector3<f64> {
        let body = self.tool.body;
        let loaded = |manifold: &&Manifold| manifold.involves(body) && manifold.normal_impulse() > 0.0;
        for manifold in manifolds.iter().filter(loaded) {
            for point in 0..manifold.count {
                if manifold.impulse.normal[point] > 0.0 {
                    end = limit_new(&mut constrained, manifold.normal_row(body, point), end, mean);
                }
            }
            if matches!(manifold.mode, Mode::Stick(_)) {
                end = limit_new(&mut constrained, manifold.slip_row(body), end, mean);
            }
        }
        for manifold in manifolds.iter().filter(loaded) {
            let other = manifold.bodies[usize::from(manifold.bodies[0] == body)];
            let slides = matches!(manifold.mode, Mode::SlideForward(_) | Mode::SlideBack(_));
            if slides
                && manifold.friction > 0.0
                && solver_bodies[other].inverse_mass == 0.0
                && let Some(direction) = constrained.add(manifold.slip_row(body))
            {
                let row = manifold.slip_row(body);
                if row.dot(&end) * row.dot(&mean) < 0.0 {
                    end = constrained.with_component(end, direction, 0.0);
                }
            }
        }
        let energy = |velocity: Vector3<f64>| velocity.dot(&constrained.momentum(velocity));
        if energy(mean) < STANDING_FRACTION * energy(end) { mean } else { end }
    }
}

/// Limits the component of an end velocity along a row that was not constrained so far to that of the mean velocity,
/// and adds the row to the constrained ones.
fn limit_new(constrained: &mut Constrained, row: Vector3<f64>, end: Vector3<f64>, mean: Vector3<f64>) -> Vector3<f64> {
    let Some(direction) = constrained.add(row) else { return end };
    let component = |velocity| direction.dot(&constrained.momentum(velocity));
    if component(end).abs() > component(mean).abs() {
        constrained.with_component(end, direction, component(mean))
    } else {
        end
    }
}
