//! The other impact states of Chang & Colgate 1997, section 4.3, for comparison by name.
//!
//! The frame is the paper's: a fixed step; every body flies freely by the trapezoidal rule; closest features are
//! tracked; a pair that overlaps in this tentative state is put into an *impact state*, given one impulse at its closest
//! point, and left there. Several collisions of a tick are processed one after the other, each in the state that the
//! ones before left. What differs is the impact state alone:
//!
//! | choice | position | velocity | rest of the tick |
//! |---|---|---|---|
//! | 1 exact | at the instant of contact | of that instant | flown |
//! | 2 previous | q₀ | v₀ | lost |
//! | 3 previous position | q₀ | v₁ | lost |
//! | 4 limited search | q₀⁺, last free one of a few halvings | of that instant | lost |
//! | 5 as printed | q₀⁺ | v₁ | lost |
//! | 6 force and impulse | q₀ + T (v₀ + v₁)/2 | v₀ and v₁ | – |
//!
//! The coupling is solved inside the flight by the same trapezoidal rule, so a free tool gains nothing; the hand feels
//! it for the displacement that was accepted in the end. Nothing here is used by the rule that the daemon stands on.

mod exact;
mod hit;
mod spread;

use crate::input::CouplingInput;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::scene::description::ImpactState;
use crate::shape::aabb::Aabb;
use crate::solve::coupling::ImplicitCoupling;
use crate::solve::impact_queue::ImpactTotals;
use crate::state::State;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Rounds in which the collisions of a tick are processed one after the other; then what still collides stays at q₀.
const MAX_ROUNDS: usize = 16;
/// Halvings of the search for the last free position of a tick (choices 4 and 5): to a sixteenth of the tick.
const SEARCH_HALVINGS: usize = 4;
/// Room around a piece in which others are near, m.
const NEAR_M: f64 = 1e-3;

/// What the collisions of one tick added up to.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    struck: ImpactTotals,
    /// Pairs in which the tool was struck.
    tool_hits: u32,
    /// Impulses on the tool, N·s.
    tool_normal: f64,
    tool_tangent: f64,
    /// Deepest overlap of any pair and of the tool's that was left, m.
    depth_m: f64,
    tool_depth_m: f64,
}

impl State {
    /// One millisecond by one of the paper's choices. Real-time: [`MAX_ROUNDS`] plus the number of moving bodies times
    /// once over the near pairs; choice 1 is for simulation only.
    pub(crate) fn advance_by_choice(
        &mut self,
        scene: &Scene,
        grip: Option<&CouplingInput>,
        choice: ImpactState,
    ) -> StepOutput {
        self.manifolds.clear();
        let hold = self.fly(scene, grip);
        let tally = match choice {
            ImpactState::Exact => self.fly_from_contact_to_contact(scene),
            ImpactState::ForceImpulse => self.spread_impulses(scene),
            _ => self.collide(scene, choice),
        };
        let force = hold.as_ref().zip(grip).map_or_else(Vector2::zeros, |(hold, grip)| self.pull(hold, grip));
        self.book(scene, hold.as_ref(), grip, force, &tally.struck);
        StepOutput {
            force_on_hand_n: -force,
            tool_contacts: tally.tool_hits,
            tool_penetration_m: tally.tool_depth_m,
            tool_normal_n: tally.tool_normal / TICK_S,
            tool_tangent_n: tally.tool_tangent / TICK_S,
            contacts: tally.struck.count,
            penetration_m: tally.depth_m,
            impacts: tally.struck.count,
            pairs_dropped: self.broad.dropped,
            energy: self.ledger,
        }
    }

    /// Velocities and accelerations of free flight over the tick: v₁, and a = (v₁ − v₀)/T.
    fn fly(&mut self, scene: &Scene, grip: Option<&CouplingInput>) -> Option<ImplicitCoupling> {
        self.works.fall(scene, &self.bodies, &self.moving);
        let (tool, grip) = (scene.tool?, grip?);
        let motion = &self.bodies[tool.body];
        let hold = ImplicitCoupling::new(scene, tool, motion, grip, scene.bodies[tool.body].angle_rad);
        let flight = hold.midpoint(motion, scene.gravity_m_per_s2);
        let work = &mut self.works.all[tool.body];
        work.acceleration = (flight.velocity - motion.velocity_m_per_s) / TICK_S;
        work.angular_acceleration = (flight.angular_velocity - motion.angular_velocity_rad_per_s) / TICK_S;
        (work.velocity, work.angular_velocity) = (flight.velocity, flight.angular_velocity);
        Some(hold)
    }

    /// The coupling's force on the tool for the displacement that was accepted, within the limit.
    fn pull(&self, hold: &ImplicitCoupling, grip: &CouplingInput) -> Vector2<f64> {
        let work = &self.works.all[hold.body()];
        let force = hold.midpoint_force(hold.handle_step(work.step, work.step_angle));
        let size = force.norm();
        if size <= grip.max_force_n || grip.rail.is_some() { force } else { force * (grip.max_force_n / size) }
    }

    /// Choices 2 to 5: colliding pairs retreat to their impact state, one after the other.
    fn collide(&mut self, scene: &Scene, choice: ImpactState) -> Tally {
        self.step_all(TICK_S);
        self.find_pairs_on_the_way(scene);
        let mut tally = Tally::default();
        // Past the cap every round sends at least one more body home, where nothing overlaps.
        for round in 0..=MAX_ROUNDS + self.moving.len() {
            let choice = if round < MAX_ROUNDS { choice } else { ImpactState::Previous };
            if !self.each_overlap(scene, &mut tally, |state, index, tally| {
                state.retreat_and_strike(scene, index, choice, tally);
            }) {
                break;
            }
        }
        self.integrate_positions(scene);
        tally
    }

    /// Tentative displacements for a free flight of `time_s`.
    fn step_all(&mut self, time_s: f64) {
        for &body in &self.moving {
            let (work, motion) = (&mut self.works.all[body], &self.bodies[body]);
            work.velocity = motion.velocity_m_per_s + work.acceleration * time_s;
            work.angular_velocity = motion.angular_velocity_rad_per_s + work.angular_acceleration * time_s;
            work.step = (motion.velocity_m_per_s + work.velocity) * (time_s / 2.0);
            work.step_angle = (motion.angular_velocity_rad_per_s + work.angular_velocity) * (time_s / 2.0);
            work.struck = false;
        }
    }

    /// Tells the broad phase where every moving piece goes.
    fn find_pairs_on_the_way(&mut self, scene: &Scene) {
        for &body in &self.moving {
            let work = &self.works.all[body];
            for index in scene.bodies[body].pieces.clone() {
                let piece = &scene.pieces[index];
                let room = piece.radius_m + NEAR_M + work.step_angle.abs() * piece.reach_m;
                self.broad.cover(index, &Aabb::around(&self.placed[index], room).swept(work.step));
            }
        }
        self.broad.refresh(scene);
    }

    /// Calls `solve` for every pair that overlaps where it now is, in turn; returns whether there was one.
    fn each_overlap(
        &mut self,
        scene: &Scene,
        tally: &mut Tally,
        mut solve: impl FnMut(&mut Self, usize, &mut Tally),
    ) -> bool {
        let mut any = false;
        (tally.depth_m, tally.tool_depth_m) = (0.0, 0.0);
        for index in 0..self.broad.table.pairs().len() {
            let depth_m = self.depth_now(scene, index);
            if self.is_overlap(scene, index, depth_m) {
                any = true;
                solve(self, index, tally);
            } else {
                self.note_depth(scene, index, depth_m, tally);
            }
        }
        any
    }

    fn note_depth(&self, scene: &Scene, index: usize, depth_m: f64, tally: &mut Tally) {
        tally.depth_m = tally.depth_m.max(depth_m);
        let bodies = self.broad.table.pairs()[index].bodies;
        if scene.tool.is_some_and(|tool| bodies.contains(&(tool.body as u32))) {
            tally.tool_depth_m = tally.tool_depth_m.max(depth_m);
        }
    }
}
