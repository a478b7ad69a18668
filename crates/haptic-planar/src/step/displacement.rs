//! How far each body goes in the tick: to its end velocity where it presses, by the midpoint rule where it flies free.

use crate::collide::narrow::PairSide;
use crate::collide::toi::{FAST_M, SweepBudget, safe_fraction};
use crate::scene::Scene;
use crate::shape::aabb::Aabb;
use crate::solve::coupling::{FreeMotion, ImplicitCoupling};
use crate::solve::manifold::Manifold;
use crate::solve::solver_body::SolverBody;
use crate::state::State;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Turn in the tick of an impact from which straight gaps are no longer to be trusted, rad.
const SPUN_RAD: f64 = 0.03;
/// … and its least way, m.
const SPUN_M: f64 = 1.5e-3;
/// Passes over the tool's contacts when a flight grazes a wall.
const SKIM_PASSES: usize = 2;

impl State {
    /// Chooses each body's displacement; returns the coupling's force on the tool.
    #[inline(never)]
    pub(crate) fn integrate_displacements(&mut self, scene: &Scene, hold: Option<&ImplicitCoupling>) -> Vector2<f64> {
        let pressing = hold.map_or_else(Vector2::zeros, |hold| hold.settle(&mut self.works));
        for &body in &self.moving {
            self.works.all[body].set_step();
        }
        let Some(hold) = hold else {
            self.press_where_it_would_enter();
            return pressing;
        };
        let flight = self.tool_flight(scene, hold);
        let tool = &mut self.works.all[hold.body()];
        match flight {
            Some(flight) => {
                (tool.velocity, tool.angular_velocity) = (flight.velocity, flight.angular_velocity);
                (tool.step, tool.step_angle) = (flight.step, flight.step_angle);
            }
            None => {
                tool.loaded = true;
                tool.set_step();
            }
        }
        self.press_where_it_would_enter();
        flight.map_or(pressing, |flight| hold.midpoint_force(flight.handle_step))
    }

    /// The tool's free flight by the midpoint rule, if nothing loads or strikes it, its force keeps to the limit and
    /// it enters nothing.
    fn tool_flight(&mut self, scene: &Scene, hold: &ImplicitCoupling) -> Option<FreeMotion> {
        let tool = &self.works.all[hold.body()];
        if !hold.allows_midpoint() || tool.loaded || tool.struck {
            return None;
        }
        let free = hold.midpoint(&self.bodies[hold.body()], scene.gravity_m_per_s2);
        let flight = self.skim(hold, free)?;
        hold.within_limit(hold.midpoint_force(flight.handle_step)).then_some(flight)
    }

    /// A flight that would graze a fixed body slides along it: in the tick in which a hand pulls off, the mean force
    /// still presses although the last one pulls. The impulses act on the mean velocity, so they never add energy.
    /// A flight into a body that can give way is left to the contact solve.
    fn skim(&mut self, hold: &ImplicitCoupling, mut flight: FreeMotion) -> Option<FreeMotion> {
        for _ in 0..SKIM_PASSES {
            let mut grazed = false;
            for manifold in &mut self.manifolds {
                if manifold.involves(hold.body()) {
                    grazed |= skim_along(manifold, &self.works.all, hold, &mut flight)?;
                }
            }
            if !grazed {
                break;
            }
        }
        Some(flight)
    }

    /// Fast bodies whose impacts sent them on a way that nobody has looked at stop short of what they would enter. Only
    /// the displacement is cut, never the velocity: the next tick begins at the obstacle, with an impact.
    pub(crate) fn clamp_to_toi(&mut self, scene: &Scene) {
        let mut any = false;
        for &body in &self.moving {
            let work = &mut self.works.all[body];
            let reach = work.step.norm() + work.step_angle.abs() * self.radii_m[body];
            let spun = work.struck && work.step_angle.abs() > SPUN_RAD && reach > SPUN_M;
            work.fast = reach > FAST_M || spun;
            any |= work.fast;
        }
        if any {
            self.leave_the_crowded();
            self.cover_fast_bodies(scene);
            self.cut_steps(scene);
        }
    }

    /// A body that presses on others that move is not stopped: they would run into it.
    #[cold]
    fn leave_the_crowded(&mut self) {
        for manifold in &self.manifolds {
            let [a, b] = manifold.bodies;
            let both_move = self.works.all[a].bare_inverse_mass > 0.0 && self.works.all[b].bare_inverse_mass > 0.0;
            if both_move && manifold.load() > 0.0 {
                self.works.all[a].fast = false;
                self.works.all[b].fast = false;
            }
        }
    }

    /// Finds what is near the whole way of each fast body.
    #[cold]
    fn cover_fast_bodies(&mut self, scene: &Scene) {
        for &body in &self.moving {
            let work = &self.works.all[body];
            if work.fast {
                for index in scene.bodies[body].pieces.clone() {
                    let room = scene.pieces[index].radius_m + work.step_angle.abs() * self.radii_m[body];
                    self.broad.cover(index, &Aabb::around(&self.placed[index], room).swept(work.step));
                }
            }
        }
        self.broad.refresh(scene);
    }

    #[cold]
    fn cut_steps(&mut self, scene: &Scene) {
        let mut budget = SweepBudget::of_a_tick();
        for &body in &self.moving {
            self.shares[body] = 1.0;
        }
        for pair in self.broad.table.pairs() {
            let [a, b] = pair.bodies.map(|body| body as usize);
            // What an impact of this tick sped up is left to the next: to stop it here would let others run into it.
            let fast = |body: usize| self.works.all[body].fast && self.works.all[body].reach_m > FAST_M;
            if !(fast(a) || fast(b)) {
                continue;
            }
            let side = |which: usize| {
                let work = &self.works.all[pair.bodies[which] as usize];
                let whole_way = (work.step / TICK_S, work.step_angle / TICK_S);
                PairSide::of(pair, which, scene, &self.placed, &self.bodies, whole_way)
            };
            let share = safe_fraction(&side(0), &side(1), &mut budget);
            for body in [a, b] {
                if fast(body) {
                    self.shares[body] = self.shares[body].min(share);
                }
            }
        }
        for &body in &self.moving {
            let share = self.shares[body];
            let work = &mut self.works.all[body];
            work.step *= share;
            work.step_angle *= share;
        }
    }

    /// Free flight by the midpoint rule lags behind the velocity the contacts have agreed to; where it would enter
    /// another body the displacement of the contact solve takes its place.
    fn press_where_it_would_enter(&mut self) {
        for manifold in &self.manifolds {
            let works = &mut self.works.all;
            let flies = |body: usize| works[body].bare_inverse_mass > 0.0 && !works[body].loaded;
            let [a, b] = manifold.bodies;
            if !(flies(a) || flies(b)) {
                continue;
            }
            if (0..manifold.count).any(|i| manifold.gap_after(works, i) < manifold.gap_m[i].min(0.0)) {
                for body in [a, b] {
                    if works[body].bare_inverse_mass > 0.0 && !works[body].loaded {
                        works[body].loaded = true;
                        works[body].set_step();
                    }
                }
            }
        }
    }
}

/// Lifts a flight off one manifold; says whether it had to, or nothing if the other body could give way.
fn skim_along(
    manifold: &mut Manifold,
    works: &[SolverBody],
    hold: &ImplicitCoupling,
    flight: &mut FreeMotion,
) -> Option<bool> {
    let side = usize::from(manifold.bodies[1] == hold.body());
    let outward = if side == 1 { 1.0 } else { -1.0 };
    let other = &works[manifold.bodies[1 - side]];
    let direction = manifold.normal * outward;
    let mut grazed = false;
    for point in 0..manifold.count {
        let (arm, other_arm) = (manifold.arm[side][point] * outward, manifold.arm[1 - side][point] * outward);
        let way = direction.dot(&(flight.step - other.step)) + arm * flight.step_angle - other_arm * other.step_angle;
        let gap = manifold.gap_m[point] + way;
        if gap >= manifold.gap_m[point].min(0.0) {
            continue;
        }
        if other.bare_inverse_mass > 0.0 {
            return None;
        }
        manifold.impulse.normal[point] += hold.nudge(flight, direction, arm, -gap);
        grazed = true;
    }
    Some(grazed)
}
