//! Motion of the tool in a tick, or in a part of one, of which the contacts are known: the midpoint rule.

use super::{ImplicitCoupling, across, at_handle, vector3, velocity_of};
use crate::collide::warm_start::Mode;
use crate::math::{rotate, secant_arm, spin_cross};
use crate::scene::body_state::BodyState;
use crate::solve::block::{Block, Factor, InverseEffectiveMass};
use crate::solve::constrained::Constrained;
use crate::solve::fixed_point::FixedPoint;
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::symmetric::Symmetric3;
use crate::tick::TICK_S;
use nalgebra::{Vector2, Vector3};

/// Maximum number of linear solves for the free motions of a tick beyond one for each of them: a free motion takes two
/// to four for a handle off centre.
pub const MAX_SOLVES: usize = 64;
/// Error of the rotation in a free motion that is tolerated, rad. With a larger one, a handle off centre would gain or
/// lose energy.
const ROTATION_TOLERANCE_RAD: f64 = 1e-15;
/// Largest number of parts of equal duration in which the tool flies through a tick.
pub const MAX_PARTS: usize = 8;
/// Phase of the coupling's oscillation that one part of a tick may cover, rad. The frequency of the midpoint rule is
/// low by a twelfth of its square.
const PART_RAD: f64 = 0.3;

/// The tool's motion in a tick, of which the contacts are known.
#[derive(Clone, Copy, Debug)]
pub struct FreeMotion {
    /// Mean velocity over the tick (x, y, angle), world, m/s and rad/s.
    pub mean: Vector3<f64>,
    /// Velocity at the end of the tick (x, y, angle), world, m/s and rad/s.
    pub end: Vector3<f64>,
    /// Impulse of all forces other than the coupling (x, y, angle), world, N·s and N·m·s.
    pub impulse: Vector3<f64>,
    /// Mean coupling force on the tool, world, N.
    pub force: Vector2<f64>,
    /// Change of the mean velocity by an impulse.
    pub(super) response: Symmetric3,
    pub(super) duration_s: f64,
}

impl FreeMotion {
    /// Returns the displacement of the centre of mass, world, m.
    pub fn displacement(&self) -> Vector2<f64> {
        self.mean.xy() * self.duration_s
    }

    /// Returns the change of the angle, rad.
    pub fn rotation_step_rad(&self) -> f64 {
        self.mean.z * self.duration_s
    }

    /// Solves the contact law of one manifold between the tool and a fixed body for the mean velocity. Changes only the
    /// mean velocity and the impulse, to first order in the rotation. Returns the largest change of a velocity, m/s.
    pub fn relax<P: Policy>(&mut self, manifold: &mut Manifold, tool: usize) -> f64 {
        let rows = rows(manifold, tool);
        let by_rows = rows.map(|row| self.response.times(row));
        let entry = |row: usize, by: usize| rows[row].dot(&by_rows[by]);
        let mass = InverseEffectiveMass {
            n11: entry(0, 0),
            n12: entry(0, 1),
            n22: entry(1, 1),
            n1t: entry(0, 2),
            n2t: entry(1, 2),
            tt: entry(2, 2),
        };
        let speeds = rows.map(|row| row.dot(&self.mean));
        let last = manifold.impulse;
        let block = Block {
            mass: &mass,
            friction: manifold.friction,
            impulse: last,
            normal: [speeds[0] + manifold.bias[0], speeds[1] + manifold.bias[1]],
            tangent: speeds[2],
        };
        let mode = if P::FORCED { Mode::Open } else { manifold.mode };
        (manifold.impulse, manifold.mode) = block.solve(mode, &mut Factor::default());
        let now = manifold.impulse;
        let changes = [now.normal[0] - last.normal[0], now.normal[1] - last.normal[1], now.tangent - last.tangent];
        let mut largest: f64 = 0.0;
        for (change, (row, by_row)) in changes.into_iter().zip(rows.into_iter().zip(by_rows)) {
            self.mean += by_row * change;
            self.impulse += row * change;
            largest = largest.max((row.dot(&by_row) * change).abs());
        }
        largest
    }

    /// Returns the work that the loads of one manifold between the tool and a fixed body add, J. It is zero if they are
    /// exact: a normal load acts only where it closes its gap, and friction opposes the slip.
    pub fn work_j(&self, manifold: &Manifold, tool: usize) -> f64 {
        let speeds = rows(manifold, tool).map(|row| row.dot(&self.mean));
        let impulse = &manifold.impulse;
        let normal = |point: usize| impulse.normal[point] * (speeds[point] + manifold.bias[point]);
        (0..manifold.count).map(normal).sum::<f64>() + (impulse.tangent * speeds[2]).max(0.0)
    }
}

/// Returns the rows of the Jacobian of a manifold for the tool: of the normal velocities of both points, and of the
/// slip.
fn rows(manifold: &Manifold, tool: usize) -> [Vector3<f64>; 3] {
    let outward = if manifold.bodies[1] == tool { 1.0 } else { -1.0 };
    [manifold.normal_row(tool, 0), manifold.normal_row(tool, 1), manifold.slip_row(tool)].map(|row| row * outward)
}

impl ImplicitCoupling {
    /// Returns the coupling of a part of this tick: from the time `from_s` after its start, at which the tool has moved
    /// from `start` to `now`, and for `duration_s`. The hand moves uniformly over the tick.
    pub fn part(&self, start: &BodyState, now: &BodyState, from_s: f64, duration_s: f64) -> Self {
        let start_arm_m = rotate(now.rotation, self.tool.handle_m);
        let left_s = TICK_S - from_s - duration_s;
        let hand_m = self.hand_m - self.hand_displacement_m * (left_s / TICK_S);
        Self {
            duration_s,
            start_arm_m,
            stretch_m: hand_m - (now.centre_m + start_arm_m),
            hand_displacement_m: self.hand_displacement_m * (duration_s / TICK_S),
            twist_rad: self.twist_rad + start.angle_rad - now.angle_rad,
            ..*self
        }
    }

    /// Whether one part of a tick is too long for the frequency of the linear spring.
    #[inline]
    pub fn needs_parts(&self) -> bool {
        self.squared_phase() > PART_RAD * PART_RAD
    }

    /// Returns the number of parts of a tick in which a free motion keeps the frequency of the linear spring, at most
    /// [`MAX_PARTS`].
    pub fn parts(&self) -> usize {
        let square = self.squared_phase();
        let covered = |parts: &usize| square <= (PART_RAD * *parts as f64) * (PART_RAD * *parts as f64);
        (1..MAX_PARTS).find(covered).unwrap_or(MAX_PARTS)
    }

    /// Returns the square of the phase of the linear spring's oscillation in a tick, rad². The angular spring, which is
    /// not felt, does not count.
    #[inline]
    fn squared_phase(&self) -> f64 {
        let arm_square = if self.is_central { 0.0 } else { self.start_arm_m.norm_squared() };
        self.stiffness * (1.0 / self.mass_kg + arm_square / self.inertia_kg_m2) * (TICK_S * TICK_S)
    }

    /// Returns the tool's motion over the tick under the coupling and an impulse of other forces (x, y, angle); `None`
    /// if the force limit is reached. The rule is the midpoint rule; a rail does no work. Real-time: one 3×3 solve, and
    /// at most `solves_left` more.
    #[inline(always)]
    pub fn free_motion<P: Policy>(
        &self,
        start: &BodyState,
        impulse: Vector3<f64>,
        solves_left: &mut usize,
    ) -> Option<FreeMotion> {
        if self.is_plain() && !P::FORCED {
            let motion = self.plain_motion(velocity_of(start), impulse, 1.0);
            return if self.keeps_limit(motion.displacement()) { Some(motion) } else { None };
        }
        self.matrix_motion::<P>(start, impulse, solves_left)
    }

    /// Does what [`Self::free_motion`] does if the mass matrix is not diagonal.
    #[inline(never)]
    fn matrix_motion<P: Policy>(
        &self,
        start: &BodyState,
        impulse: Vector3<f64>,
        solves_left: &mut usize,
    ) -> Option<FreeMotion> {
        let mut rotation = FixedPoint::from(start.angular_velocity_rad_per_s * self.duration_s);
        loop {
            let arm = secant_arm(self.start_arm_m, rotation.x);
            let motion = match self.rail {
                Some(axis) => self.rail_motion(start, impulse, axis, rotation.x),
                None => self.motion(start, impulse, arm, 1.0),
            };
            let has_rotation = (motion.rotation_step_rad() - rotation.x).abs()
                <= ROTATION_TOLERANCE_RAD * (1.0 + 8.0 * rotation.x.abs())
                || self.is_central;
            if (has_rotation && !P::FORCED) || *solves_left == 0 {
                let step = motion.displacement() + spin_cross(motion.rotation_step_rad(), arm);
                return (self.keeps_limit(step) || P::FORCED).then_some(motion);
            }
            rotation.improve(motion.rotation_step_rad());
            *solves_left -= 1;
        }
    }

    /// Returns the tool's velocity (x, y, angle) at the end of a free motion with the predicted arm and fraction of the
    /// gains.
    pub fn midpoint_velocity(&self, start: &BodyState, gravity: Vector2<f64>) -> Vector3<f64> {
        self.motion(start, vector3(gravity * (self.mass_kg * TICK_S), 0.0), self.arm_m, self.fraction).end
    }

    /// Returns the tool's motion for a given arm and fraction of the gains.
    #[inline(always)]
    fn motion(&self, start: &BodyState, impulse: Vector3<f64>, arm: Vector2<f64>, fraction: f64) -> FreeMotion {
        let v0 = velocity_of(start);
        if self.is_plain() {
            return self.plain_motion(v0, impulse, fraction);
        }
        let mut constrained = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        if let Some(axis) = self.rail {
            constrained.add(at_handle(across(axis), arm));
        }
        let coefficients = self.coefficients(fraction, Some((&constrained, arm)));
        let inertia = constrained.matrix();
        let response = self.inverse(inertia, arm, &coefficients);
        let mean = response.times(inertia.times(v0) + impulse + self.pull(arm, &coefficients));
        let step = mean.xy() * self.duration_s + spin_cross(mean.z * self.duration_s, arm);
        let force = self.force(step, &coefficients);
        FreeMotion {
            mean,
            end: constrained.end_velocity(v0, mean),
            impulse,
            force,
            response,
            duration_s: self.duration_s,
        }
    }

    /// Returns the motion of a tool that is held at its centre of mass, without a rail.
    #[inline(always)]
    fn plain_motion(&self, v0: Vector3<f64>, impulse: Vector3<f64>, fraction: f64) -> FreeMotion {
        let stiffness = self.stiffness * fraction;
        let implicit = stiffness / 2.0 + self.damping * fraction / self.duration_s;
        let angular = self.angular_stiffness / 2.0 + self.angular_damping / self.duration_s;
        let pull = (self.stretch_m - self.hand_displacement_m) * stiffness + self.hand_displacement_m * implicit;
        let twist = self.angular_stiffness * self.twist_rad;
        let response = 1.0 / (2.0 * self.mass_kg + implicit * (self.duration_s * self.duration_s));
        let angular_response = 1.0 / (2.0 * self.inertia_kg_m2 + angular * (self.duration_s * self.duration_s));
        let mean = (v0.xy() * (2.0 * self.mass_kg) + impulse.xy() + pull * self.duration_s) * response;
        let spin = (v0.z * (2.0 * self.inertia_kg_m2) + impulse.z + twist * self.duration_s) * angular_response;
        let mean = vector3(mean, spin);
        FreeMotion {
            mean,
            end: mean * 2.0 - v0,
            impulse,
            force: pull - mean.xy() * (implicit * self.duration_s),
            response: Symmetric3::diagonal(Vector3::new(response, response, angular_response)),
            duration_s: self.duration_s,
        }
    }

    /// Whether the force limit is not reached in a free motion with the given displacement of the handle: neither by
    /// the mean force nor by the spring at either end, where its potential would become linear.
    #[inline(always)]
    fn keeps_limit(&self, step: Vector2<f64>) -> bool {
        let change = self.limited_part(self.hand_displacement_m - step);
        let end = self.limited_part(self.stretch_m - step);
        let start = end - change;
        let wanted = (start + end) * (0.5 * self.stiffness) + change * (self.damping / self.duration_s);
        let (limit, reach) = (self.max_force_n, self.max_force_n / self.stiffness);
        let square = reach * reach;
        wanted.norm_squared() <= limit * limit && start.norm_squared() <= square && end.norm_squared() <= square
    }

    /// Returns the coupling force on the tool by the midpoint rule, in a tick in which the centre of mass and the angle
    /// change by the given amounts, world, N. Without a force limit.
    pub fn midpoint_force(&self, displacement: Vector2<f64>, rotation_step_rad: f64) -> Vector2<f64> {
        let constrained = Constrained::none(self.mass_kg, self.inertia_kg_m2);
        let step = self.handle_displacement(displacement, rotation_step_rad);
        self.force(step, &self.coefficients(self.fraction, Some((&constrained, self.arm_m))))
    }
}
