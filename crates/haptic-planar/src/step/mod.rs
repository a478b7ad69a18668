//! One millisecond of the world, from what the hand does to what it feels.

mod displacement;
pub mod worst_case;

use crate::collide::narrow::{ContactGeometry, Near, PairSide, touch};
use crate::collide::toi::{FAST_M, SweepBudget, collide_ahead};
use crate::input::CouplingInput;
use crate::math::integrate_rotation;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::scene::description::ImpactState;
use crate::shape::aabb::Aabb;
use crate::shape::features::FeatureCache;
use crate::solve::coupling::{ImplicitCoupling, release};
use crate::solve::impact_queue::{ImpactTotals, Rules};
use crate::solve::manifold::Manifold;
use crate::state::State;
use crate::tick::TICK_S;
use nalgebra::Vector2;

/// Gap below which features are tracked as a contact even at rest, m.
const MARGIN_M: f64 = 5e-4;
/// … plus this share of what the pair can close in a tick.
const MARGIN_SHARE: f64 = 1.5;
/// Turn of a face in one tick from which its gaps are no longer straight, rad.
const TURNING_RAD: f64 = 0.05;
/// Farthest that a struck body is looked after in the tick of its impact, m; beyond that it stops short.
const SENT_ON_M: f64 = 5e-3;
/// Energy that an island may gain in a tick with impacts before it is done again without restitution, J.
const GAIN_J: f64 = 1e-10;

impl State {
    /// One millisecond. Without a grip nobody holds the tool. Real-time: bounded by the scene's capacities.
    pub fn advance(&mut self, scene: &Scene, grip: Option<&CouplingInput>) -> StepOutput {
        if scene.impact_state != ImpactState::InterState {
            return self.advance_by_choice(scene, grip, scene.impact_state);
        }
        self.works.fall(scene, &self.bodies, &self.moving);
        let hold = self.hold(scene, grip);
        self.find_near_pairs(scene);
        self.find_manifolds(scene);
        let (struck, force_on_tool) = self.resolve(scene, hold.as_ref());
        self.correct();
        self.clamp_to_toi(scene);
        let felt = self.felt(force_on_tool, &struck, scene);
        self.integrate_positions(scene);
        self.book(scene, hold.as_ref(), grip, force_on_tool, &struck);
        StepOutput { energy: self.ledger, ..felt }
    }

    /// Takes the hand's spring-damper into the tool's velocity and mass.
    #[inline(never)]
    fn hold(&mut self, scene: &Scene, grip: Option<&CouplingInput>) -> Option<ImplicitCoupling> {
        let tool = scene.tool?;
        let Some(grip) = grip else {
            release(&mut self.works, tool.body);
            return None;
        };
        let motion = &self.bodies[tool.body];
        let hold = ImplicitCoupling::new(scene, tool, motion, grip, scene.bodies[tool.body].angle_rad);
        hold.seize(&mut self.works, motion);
        Some(hold)
    }

    /// Tells the broad phase where every moving piece can be in this tick.
    #[inline(never)]
    pub(crate) fn find_near_pairs(&mut self, scene: &Scene) {
        let mut farthest: f64 = 0.0;
        for &body in &self.moving {
            let work = &mut self.works.all[body];
            work.set_reach(self.radii_m[body]);
            farthest = farthest.max(work.reach_m);
        }
        // Whatever a fast body strikes is sent on within the tick: its surroundings must be known too.
        let sent = MARGIN_M / 2.0 + farthest.min(SENT_ON_M) / 2.0;
        for &body in &self.moving {
            let work = &self.works.all[body];
            for index in scene.bodies[body].pieces.clone() {
                let room = scene.pieces[index].radius_m + sent + (MARGIN_SHARE - 1.0) * work.reach_m;
                let needed = Aabb::around(&self.placed[index], room).swept(work.velocity * TICK_S);
                self.broad.cover(index, &needed);
            }
        }
        self.broad.refresh(scene);
        for pair in self.broad.table.pairs() {
            let [a, b] = pair.bodies.map(|body| body as usize);
            let (reach_a, reach_b) = (self.works.all[a].reach_m, self.works.all[b].reach_m);
            // A fixed body reaches nowhere and is sent nowhere.
            if reach_b > self.works.all[a].sent_m && self.works.all[a].bare_inverse_mass > 0.0 {
                self.works.all[a].sent_m = reach_b;
            }
            if reach_a > self.works.all[b].sent_m && self.works.all[b].bare_inverse_mass > 0.0 {
                self.works.all[b].sent_m = reach_a;
            }
        }
    }

    /// Tracks the features of every near pair.
    #[inline(never)]
    fn find_manifolds(&mut self, scene: &Scene) {
        self.manifolds.clear();
        let mut budget = SweepBudget::of_a_tick();
        let (motions, works, placed) = (&self.bodies, &self.works, &self.placed);
        for (index, pair) in self.broad.table.pairs_mut().iter_mut().enumerate() {
            let side = |which: usize| {
                let work = &works.all[pair.bodies[which] as usize];
                PairSide::of(pair, which, scene, placed, motions, (work.velocity, work.angular_velocity))
            };
            let (a, b) = (side(0), side(1));
            let [work_a, work_b] = pair.bodies.map(|body| &works.all[body as usize]);
            let reach = work_a.reach_m + work_b.reach_m;
            let sent = work_a.sent_m.max(work_b.sent_m).min(SENT_ON_M);
            // A body that stands among others is shoved by loads that nobody foresees.
            let aside = if work_a.was_loaded || work_b.was_loaded { sent } else { 0.0 };
            match find_touch(&a, &b, reach, (sent, aside), &mut pair.track, &mut budget) {
                Some((mut touch, centres)) => {
                    let face = usize::from(touch.id.face_of == 2);
                    lower_by_turning(&mut touch, centres[face], [&a, &b][face].angular_velocity_rad_per_s * TICK_S);
                    self.manifolds.push(Manifold::new(index, pair, &touch, centres, works));
                }
                None => pair.warm = Default::default(),
            }
        }
    }

    /// Impacts, then contact. Should an impact on a body that is loaded elsewhere have added energy, its island is done
    /// again without restitution.
    #[inline(never)]
    fn resolve(&mut self, scene: &Scene, hold: Option<&ImplicitCoupling>) -> (ImpactTotals, Vector2<f64>) {
        if !self.queue.fill(&self.manifolds, &self.works) {
            self.solve_contacts(scene);
            return (ImpactTotals::default(), self.integrate_displacements(scene, hold));
        }
        for (kept, &body) in self.saved_bodies.iter_mut().zip(&self.moving) {
            *kept = self.works.all[body];
        }
        let first = self.strike_and_carry(scene, hold);
        if !self.drop_restitution_of_gaining_islands(scene, hold, first.1) {
            return first;
        }
        for (kept, &body) in self.saved_bodies.iter().zip(&self.moving) {
            self.works.all[body] = *kept;
        }
        for manifold in &mut self.manifolds {
            (manifold.impulse, manifold.mode) = (manifold.last, manifold.last_mode);
        }
        self.queue.fill(&self.manifolds, &self.works);
        self.strike_and_carry(scene, hold)
    }

    fn strike_and_carry(&mut self, scene: &Scene, hold: Option<&ImplicitCoupling>) -> (ImpactTotals, Vector2<f64>) {
        let rules = Rules { law: scene.restitution_law, hold };
        let struck = self.queue.run(&self.manifolds, &mut self.works, &rules);
        self.solve_contacts(scene);
        (struck, self.integrate_displacements(scene, hold))
    }

    /// Takes the restitution off every island that gained energy in this tick; returns whether there was one.
    fn drop_restitution_of_gaining_islands(
        &mut self,
        scene: &Scene,
        hold: Option<&ImplicitCoupling>,
        force: Vector2<f64>,
    ) -> bool {
        self.islands.find(&self.manifolds, &self.works.all, &self.moving);
        for &index in &self.moving {
            let (body, motion, work) = (&scene.bodies[index], &self.bodies[index], &self.works.all[index]);
            let kinetic =
                |v: Vector2<f64>, w: f64| 0.5 * (body.mass_kg * v.norm_squared() + body.inertia_kg_m2 * w * w);
            let before = kinetic(motion.velocity_m_per_s, motion.angular_velocity_rad_per_s);
            let fallen = body.mass_kg * scene.gravity_m_per_s2.dot(&work.step);
            let coupling = match hold {
                Some(hold) if hold.body() == index => hold.gain_j(motion, work) - force.dot(&hold.hand_step_m()),
                _ => 0.0,
            };
            self.islands.add(index, kinetic(work.velocity, work.angular_velocity) - before - fallen + coupling);
        }
        let mut any = false;
        for manifold in &mut self.manifolds {
            let moves = usize::from(self.works.all[manifold.bodies[0]].bare_inverse_mass == 0.0);
            if manifold.restitution > 0.0 && self.islands.gain_j(manifold.bodies[moves]) > GAIN_J {
                manifold.restitution = 0.0;
                any = true;
            }
        }
        any
    }

    /// Lets contacts carry their loads.
    #[inline(never)]
    fn solve_contacts(&mut self, scene: &Scene) {
        for manifold in &mut self.manifolds {
            manifold.set_bias(&self.works.all);
        }
        if scene.rolling_friction_m > 0.0 {
            self.solver.run_rolling(&mut self.manifolds, &mut self.works, scene.rolling_friction_m);
        } else {
            self.solver.run(&mut self.manifolds, &mut self.works, &self.moving);
        }
        for manifold in &self.manifolds {
            if manifold.load() > 0.0 {
                self.works.all[manifold.bodies[0]].loaded = true;
                self.works.all[manifold.bodies[1]].loaded = true;
            }
            self.broad.table.pairs_mut()[manifold.pair].warm = manifold.warm_start();
        }
    }

    /// Takes out what penetration there is.
    #[inline(never)]
    fn correct(&mut self) {
        if self.correction.run(&self.manifolds, &self.works.all, &self.moving) {
            for &body in &self.moving {
                let nudge = self.correction.nudges[body];
                let work = &mut self.works.all[body];
                work.step += nudge.by;
                work.step_angle += nudge.angle;
            }
        }
    }

    /// Moves every body by its displacement.
    #[inline(never)]
    pub(crate) fn integrate_positions(&mut self, scene: &Scene) {
        for &body in &self.moving {
            let work = &self.works.all[body];
            let motion = &mut self.bodies[body];
            motion.centre_m += work.step;
            motion.angle_rad += work.step_angle;
            motion.rotation = integrate_rotation(motion.rotation, work.step_angle);
            motion.velocity_m_per_s = work.velocity;
            motion.angular_velocity_rad_per_s = work.angular_velocity;
            for index in scene.bodies[body].pieces.clone() {
                self.placed[index].place(&scene.pieces[index], motion.centre_m, motion.rotation);
            }
        }
    }

    /// What the tick felt like.
    #[inline(never)]
    fn felt(&self, force_on_tool: Vector2<f64>, struck: &ImpactTotals, scene: &Scene) -> StepOutput {
        let mut felt = StepOutput {
            force_on_hand_n: -force_on_tool,
            impacts: struck.count,
            pairs_dropped: self.broad.dropped,
            ..StepOutput::default()
        };
        let tool = scene.tool.map(|tool| tool.body);
        for manifold in &self.manifolds {
            let mut loaded = 0;
            let mut deep: f64 = 0.0;
            for point in 0..manifold.count {
                loaded += u32::from(manifold.impulse.normal[point] > 0.0);
                deep = deep.max(-manifold.gap_after(&self.works.all, point));
            }
            felt.contacts += loaded;
            felt.penetration_m = felt.penetration_m.max(deep);
            if tool.is_some_and(|tool| manifold.involves(tool)) {
                felt.tool_contacts += loaded;
                felt.tool_penetration_m = felt.tool_penetration_m.max(deep);
                felt.tool_normal_n += manifold.load() / TICK_S;
                felt.tool_tangent_n += manifold.impulse.tangent / TICK_S;
            }
        }
        felt
    }

    /// Keeps the energy account.
    #[inline(never)]
    pub(crate) fn book(
        &mut self,
        scene: &Scene,
        hold: Option<&ImplicitCoupling>,
        grip: Option<&CouplingInput>,
        force_on_tool: Vector2<f64>,
        struck: &ImpactTotals,
    ) {
        for manifold in &self.manifolds {
            self.ledger.friction_j -= manifold.impulse.tangent * manifold.slip_speed(&self.works.all);
        }
        self.ledger.impact_j += struck.lost_j;
        let (mut kinetic, mut potential) = (0.0, 0.0);
        for &index in &self.moving {
            let (body, motion) = (&scene.bodies[index], &self.bodies[index]);
            kinetic += 0.5 * body.mass_kg * motion.velocity_m_per_s.norm_squared()
                + 0.5 * body.inertia_kg_m2 * motion.angular_velocity_rad_per_s * motion.angular_velocity_rad_per_s;
            potential -= body.mass_kg * scene.gravity_m_per_s2.dot(&(motion.centre_m - body.position_m));
        }
        let (mut coupling, mut work) = (0.0, 0.0);
        if let (Some(hold), Some(grip)) = (hold, grip) {
            let tool = hold.body();
            let moved = &self.works.all[tool];
            let twist = scene.bodies[tool].angle_rad - self.bodies[tool].angle_rad;
            coupling = hold.stored_j(grip.hand_m, self.handle_m(scene), twist);
            work = force_on_tool.dot(&hold.hand_step_m());
            self.ledger.damping_j += hold.damped_j(hold.handle_step(moved.step, moved.step_angle), moved.step_angle);
        }
        self.ledger.balance(kinetic, potential, coupling, work);
    }
}

/// The manifold of a pair that can close by `reach_m` in this tick, or by `sent_m` once struck, and come from `aside_m`
/// beside a face; and where the bodies' centres are for it.
#[inline]
fn find_touch(
    a: &PairSide,
    b: &PairSide,
    reach_m: f64,
    (sent_m, aside_m): (f64, f64),
    track: &mut FeatureCache,
    budget: &mut SweepBudget,
) -> Option<(ContactGeometry, [Vector2<f64>; 2])> {
    if reach_m > FAST_M
        && let Some(ahead) = collide_ahead(a, b, MARGIN_M, track, budget)
    {
        return Some(ahead);
    }
    let margin = MARGIN_M + (MARGIN_SHARE * reach_m.min(FAST_M)).max(sent_m);
    touch(a, b, Near { margin_m: margin, aside_m }, track).map(|touch| (touch, [a.centre_m, b.centre_m]))
}

/// A face that turns quickly sinks towards whatever stands over it, by ½ θ² times its height over the turning centre;
/// the straight gap does not know that.
#[inline]
fn lower_by_turning(touch: &mut ContactGeometry, centre: Vector2<f64>, turn_rad: f64) {
    if turn_rad.abs() < TURNING_RAD || touch.id.face_of == 0 {
        return;
    }
    for point in 0..touch.count {
        let height = touch.normal.dot(&(touch.at_m[point] - centre)).abs();
        touch.gap_m[point] -= 0.5 * turn_rad * turn_rad * height;
    }
}
