//! Flight of the held tool through a tick in parts.
//!
//! Between impacts on fixed bodies, the tool moves by the midpoint rule in parts that end at the impacts and are short
//! enough for the frequency of the coupling. An impact changes the velocity of the tool alone, because it is too short
//! for the coupling to act. Each part conserves the energy, so the rebound does not depend on the phase of the tick in
//! which the impact falls. The hand moves uniformly within the tick. The felt force is the mean over time, so that its
//! work on the hand is the sum over the parts.

use crate::collide::toi::FAST_M;
use crate::math::integrate_rotation;
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::solve::coupling::{FreeMotion, ImplicitCoupling, MAX_PARTS, velocity_of};
use crate::solve::impact_queue::{FLAT_FRACTION, FLAT_GAP_M, ImpactTotals, MIN_APPROACH_M_PER_S, impact_now, is_flat};
use crate::solve::manifold::Manifold;
use crate::solve::policy::Policy;
use crate::solve::solver_body::{SolverBodies, SolverBody};
use crate::state::State;
use crate::tick::TICK_S;
use crate::workspace::Workspace;
use nalgebra::{Vector2, Vector3};

/// Maximum number of impacts of one flight; a tool that has more is left to the contact solve.
const MAX_STRIKES: usize = 8;
/// Time at the end of a tick that counts as no time, s.
const NO_TIME_S: f64 = 1e-15;
/// Rotation in the tick above which the tool does not fly in parts, rad, because the gaps of its contacts are linear.
const MAX_ROTATION_RAD: f64 = 0.03;
/// Part of the tick's change of velocity by the known forces below which an approach is no impact.
const SLOW_FRACTION: f64 = 0.25;

/// The tool at the end of its flight.
pub(super) struct Flight {
    /// Pose and velocity of the tool.
    now: BodyState,
    displacement: Vector2<f64>,
    rotation_step_rad: f64,
    /// Mean coupling force on the tool, world, N.
    pub force: Vector2<f64>,
    /// Totals over the impacts of the tool.
    pub impacts: ImpactTotals,
}

impl Flight {
    /// Sets the displacement and the end velocity of the tool.
    pub fn finish(&self, tool: &mut SolverBody) {
        (tool.displacement, tool.rotation_step_rad) = (self.displacement, self.rotation_step_rad);
        tool.velocity = self.now.velocity_m_per_s;
        tool.angular_velocity = self.now.angular_velocity_rad_per_s;
        tool.had_impact = self.impacts.count > 0;
        tool.has_contact_load = false;
        tool.is_free_motion = true;
    }

    fn advance(&mut self, motion: &FreeMotion, duration_s: f64) {
        let (step, angle) = (motion.displacement(), motion.rotation_step_rad());
        self.displacement += step;
        self.rotation_step_rad += angle;
        self.force += motion.force * (duration_s / TICK_S);
        self.now.centre_m += step;
        self.now.angle_rad += angle;
        self.now.rotation = integrate_rotation(self.now.rotation, angle);
        self.now.velocity_m_per_s = motion.end.xy();
        self.now.angular_velocity_rad_per_s = motion.end.z;
    }
}

/// A point that closes during a part of the tick.
#[derive(Clone, Copy)]
struct Event {
    manifold: usize,
    point: usize,
    /// Time after the start of the part, s.
    after_s: f64,
    /// Normal acceleration of the point, m/s².
    acceleration: f64,
}

/// Flies the tool through the tick in parts and takes its contacts out of the solve. Returns `None`, without any
/// change, if the tool touches dynamic bodies, carried load in the last tick, moves fast, or meets a body too slowly
/// for an impact. Only needed if there is an impact or the coupling is stiff. Real-time: at most [`MAX_PARTS`] +
/// 2 [`MAX_STRIKES`] free motions, each with one pass over the manifolds.
#[inline(never)]
pub(super) fn fly<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
) -> Option<Flight> {
    if !is_clear(state, workspace, coupling) && !P::FORCED {
        return None;
    }
    fly_in_parts::<P>(scene, state, workspace, coupling)
}

/// Flies the tool through the tick in parts, as [`fly`] does for a tool that is clear of other bodies.
fn fly_in_parts<P: Policy>(
    scene: &Scene,
    state: &State,
    workspace: &mut Workspace,
    coupling: &ImplicitCoupling,
) -> Option<Flight> {
    let parts = coupling.parts();
    let Workspace { manifolds, solver_bodies, solves_left, .. } = workspace;
    let saved = solver_bodies.all[coupling.body()];
    let pilot = Pilot { scene, start: &state.bodies[coupling.body()], coupling, manifolds };
    let flight = pilot.fly::<P>(solver_bodies, parts, solves_left);
    solver_bodies.all[coupling.body()] = saved;
    if flight.is_some() && !P::FORCED {
        manifolds.iter_mut().filter(|manifold| manifold.involves(coupling.body())).for_each(Manifold::silence);
    }
    flight.filter(|_| !P::FORCED)
}

/// Whether the tool carried no load in the last tick, is near no dynamic body, and moves so little in this tick that
/// the gaps of its contacts are linear.
fn is_clear(state: &State, workspace: &Workspace, coupling: &ImplicitCoupling) -> bool {
    let tool = coupling.body();
    let bodies = &workspace.solver_bodies.all;
    let rotation_rad = state.bodies[tool].angular_velocity_rad_per_s * TICK_S;
    !state.had_contact_load[tool]
        && bodies[tool].reach_m <= FAST_M
        && rotation_rad.abs() <= MAX_ROTATION_RAD
        && workspace.manifolds.iter().all(|manifold| {
            let [a, b] = manifold.bodies;
            !manifold.involves(tool)
                || (manifold.last == Default::default()
                    && (bodies[a].inverse_mass == 0.0 || bodies[b].inverse_mass == 0.0))
        })
}

/// Data of a flight that do not change.
struct Pilot<'a> {
    scene: &'a Scene,
    start: &'a BodyState,
    coupling: &'a ImplicitCoupling,
    manifolds: &'a [Manifold],
}

impl Pilot<'_> {
    fn fly<P: Policy>(
        &self,
        solver_bodies: &mut SolverBodies,
        parts: usize,
        solves_left: &mut usize,
    ) -> Option<Flight> {
        let mut flight = Flight {
            now: *self.start,
            displacement: Vector2::zeros(),
            rotation_step_rad: 0.0,
            force: Vector2::zeros(),
            impacts: ImpactTotals::default(),
        };
        let (mut time_s, part_s) = (0.0, TICK_S / parts as f64);
        for _ in 0..MAX_PARTS + MAX_STRIKES {
            let left_s = TICK_S - time_s;
            let duration_s = if part_s < left_s - NO_TIME_S { part_s } else { left_s };
            let motion = self.motion::<P>(&flight.now, time_s, duration_s, solves_left)?;
            let event = self.first_event(&flight, &motion, duration_s);
            if P::FORCED {
                self.motion::<P>(&flight.now, time_s, duration_s, solves_left)?;
                continue;
            }
            let Some(event) = event else {
                flight.advance(&motion, duration_s);
                time_s += duration_s;
                if TICK_S - time_s <= NO_TIME_S {
                    return Some(flight);
                }
                continue;
            };
            if event.after_s > 0.0 {
                let motion = self.motion::<P>(&flight.now, time_s, event.after_s, solves_left)?;
                flight.advance(&motion, event.after_s);
                time_s += event.after_s;
            }
            self.strike(&mut flight, &event, solver_bodies)?;
            if flight.impacts.count > MAX_STRIKES as u32 {
                return None;
            }
        }
        None
    }

    /// Returns the tool's free motion from the time `from_s` on, for `duration_s`.
    fn motion<P: Policy>(
        &self,
        now: &BodyState,
        from_s: f64,
        duration_s: f64,
        solves_left: &mut usize,
    ) -> Option<FreeMotion> {
        let tool = &self.scene.bodies[self.coupling.body()];
        let weight = tool.gravity_m_per_s2 * (tool.mass_kg * duration_s);
        let part = self.coupling.part(self.start, now, from_s, duration_s);
        part.free_motion::<P>(now, Vector3::new(weight.x, weight.y, 0.0), solves_left)
    }

    /// Returns the gap of a point after the given displacement, m. A penetration at the start of the tick counts as a
    /// gap of zero.
    fn clearance(&self, manifold: &Manifold, point: usize, moved: Vector3<f64>) -> f64 {
        let gap = manifold.gap_m[point];
        gap - gap.min(0.0) + self.row(manifold, point).dot(&moved)
    }

    /// Returns the row of the Jacobian of a point's gap for the tool.
    fn row(&self, manifold: &Manifold, point: usize) -> Vector3<f64> {
        let body = self.coupling.body();
        let outward = if manifold.bodies[1] == body { 1.0 } else { -1.0 };
        manifold.normal_row(body, point) * outward
    }

    /// Returns the first point that closes during a motion. The gap is a parabola between its values at both ends.
    fn first_event(&self, flight: &Flight, motion: &FreeMotion, duration_s: f64) -> Option<Event> {
        let moved = Vector3::new(flight.displacement.x, flight.displacement.y, flight.rotation_step_rad);
        let velocity = velocity_of(&flight.now);
        let mut first: Option<Event> = None;
        for (index, manifold) in self.manifolds.iter().enumerate() {
            if !manifold.involves(self.coupling.body()) {
                continue;
            }
            for point in 0..manifold.count {
                let gap = self.clearance(manifold, point, moved);
                let row = self.row(manifold, point);
                if gap + row.dot(&motion.mean) * duration_s >= 0.0 {
                    continue;
                }
                let speed = row.dot(&velocity);
                let acceleration = 2.0 * (row.dot(&motion.mean) - speed) / duration_s;
                let after_s = closing_time(gap, speed, acceleration).clamp(0.0, duration_s);
                if first.is_none_or(|first| after_s < first.after_s) {
                    first = Some(Event { manifold: index, point, after_s, acceleration });
                }
            }
        }
        first
    }

    /// Resolves an impact with the mass of the tool alone; `None` if the approach is too slow for one.
    fn strike(&self, flight: &mut Flight, event: &Event, solver_bodies: &mut SolverBodies) -> Option<()> {
        let manifold = &self.manifolds[event.manifold];
        let body = self.coupling.body();
        let tool = &mut solver_bodies.all[body];
        tool.velocity = flight.now.velocity_m_per_s;
        tool.angular_velocity = flight.now.angular_velocity_rad_per_s;
        let bodies = &solver_bodies.all;
        let approach = manifold.normal_speed(bodies, event.point);
        if -approach <= MIN_APPROACH_M_PER_S + SLOW_FRACTION * TICK_S * event.acceleration.abs() {
            return None;
        }
        let moved = Vector3::new(flight.displacement.x, flight.displacement.y, flight.rotation_step_rad);
        let other = 1 - event.point;
        let limit_m = FLAT_GAP_M + FLAT_FRACTION * TICK_S * approach.abs();
        let is_flat = manifold.count == 2
            && manifold.normal_speed(bodies, other) < 0.0
            && is_flat(manifold, self.clearance(manifold, other, moved), limit_m);
        let (impulse, lost_j) = impact_now(manifold, bodies, event.point, is_flat, self.scene.restitution_law);
        flight.impacts.add(1, lost_j);
        let side = usize::from(manifold.bodies[1] == body);
        let outward = if side == 1 { 1.0 } else { -1.0 };
        let [p1, p2] = impulse.normal;
        let tool = &solver_bodies.all[body];
        let force = manifold.normal * (p1 + p2) + manifold.tangent * impulse.tangent;
        let about = manifold.arm[side][0] * p1 + manifold.arm[side][1] * p2 + manifold.slip_arm[side] * impulse.tangent;
        flight.now.velocity_m_per_s += force * (outward * tool.inverse_mass);
        flight.now.angular_velocity_rad_per_s += about * (outward * tool.inverse_inertia);
        Some(())
    }
}

/// Returns the first time, s, at which gap + speed t + ½ acceleration t² falls below zero, if it does.
fn closing_time(gap: f64, speed: f64, acceleration: f64) -> f64 {
    let root = (speed * speed - 2.0 * acceleration * gap.max(0.0)).max(0.0).sqrt();
    if speed < 0.0 || acceleration >= 0.0 {
        2.0 * gap.max(0.0) / (root - speed).max(f64::MIN_POSITIVE)
    } else {
        -(speed + root) / acceleration
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_times_are_the_roots_of_the_gap() {
        for (gap, speed, acceleration) in
            [(1e-3, -2.0, 300.0), (1e-3, 0.5, -800.0), (1e-3, -1.0, 0.0), (0.0, 0.5, -800.0)]
        {
            let time: f64 = closing_time(gap, speed, acceleration);
            assert!(time > 0.0 && (gap + speed * time + 0.5 * acceleration * time * time).abs() < 1e-15);
        }
        assert_eq!(closing_time(0.0, -1.0, 10.0), 0.0);
    }
}
