//! One millisecond of the world, from what the hand does to what it feels.

use crate::broad::Aabb;
use crate::description::ImpactState;
use crate::grip::{Felt, Grip};
use crate::hold::{Hold, release};
use crate::impacts::{Rules, Struck};
use crate::manifold::Manifold;
use crate::narrow::{Side, Touch, Track, touch};
use crate::scene::{Scene, TICK_S};
use crate::state::State;
use crate::sweep::{FAST_M, touch_ahead};
use crate::turn::turned;
use nalgebra::Vector2;

/// Gap below which features are tracked as a contact even at rest, m.
const MARGIN_M: f64 = 1e-3;
/// … plus this share of what the pair can close in a tick.
const MARGIN_SHARE: f64 = 1.5;

impl State {
    /// One millisecond. Without a grip nobody holds the tool. Real-time: bounded by the scene's capacities.
    pub fn advance(&mut self, scene: &Scene, grip: Option<&Grip>) -> Felt {
        if scene.impact_state != ImpactState::InterState {
            return self.advance_by_choice(scene, grip, scene.impact_state);
        }
        self.works.fall(scene, &self.motions, &self.moving);
        let hold = self.hold(scene, grip);
        self.find_near_pairs(scene);
        self.find_manifolds(scene);
        let struck = self.strike(scene, hold.as_ref());
        self.carry_loads(scene);
        let force_on_tool = self.let_go_or_press(scene, hold.as_ref());
        self.correct();
        let felt = self.felt(force_on_tool, &struck, scene);
        self.move_bodies(scene);
        self.book(scene, hold.as_ref(), grip, force_on_tool, &struck);
        Felt { energy: self.ledger, ..felt }
    }

    /// Takes the hand's spring-damper into the tool's velocity and mass.
    fn hold(&mut self, scene: &Scene, grip: Option<&Grip>) -> Option<Hold> {
        let tool = scene.tool?;
        let Some(grip) = grip else {
            release(&mut self.works, tool.body);
            return None;
        };
        let motion = &self.motions[tool.body];
        let hold = Hold::new(scene, tool, motion, grip, scene.bodies[tool.body].angle_rad);
        hold.seize(&mut self.works, motion);
        Some(hold)
    }

    /// Tells the broad phase where every moving piece can be in this tick.
    fn find_near_pairs(&mut self, scene: &Scene) {
        for &body in &self.moving {
            let work = &self.works.all[body];
            for index in scene.bodies[body].pieces.clone() {
                let piece = &scene.pieces[index];
                let room = MARGIN_M / 2.0 + (MARGIN_SHARE - 1.0) * TICK_S * work.speed(piece.reach_m);
                let needed = Aabb::around(&self.placed[index], piece.radius_m + room).swept(work.velocity * TICK_S);
                self.broad.cover(index, &needed);
            }
        }
        self.broad.refresh(scene);
    }

    /// Tracks the features of every near pair.
    fn find_manifolds(&mut self, scene: &Scene) {
        self.manifolds.clear();
        let (motions, works, placed) = (&self.motions, &self.works, &self.placed);
        for (index, pair) in self.broad.table.pairs_mut().iter_mut().enumerate() {
            let side = |which: usize| {
                let (piece, body) = (pair.pieces[which] as usize, pair.bodies[which] as usize);
                Side {
                    piece: &scene.pieces[piece],
                    placed: &placed[piece],
                    centre_m: motions[body].centre_m,
                    turn: motions[body].turn,
                    velocity_m_per_s: works.all[body].velocity,
                    spin_rad_per_s: works.all[body].spin,
                }
            };
            let (a, b) = (side(0), side(1));
            let speed = |s: &Side, which: usize| works.all[pair.bodies[which] as usize].speed(s.piece.reach_m);
            let reach = TICK_S * (speed(&a, 0) + speed(&b, 1));
            match find_touch(&a, &b, reach, &mut pair.track) {
                Some((touch, centres)) => {
                    self.manifolds.push(Manifold::new(index, pair, &touch, centres, works));
                }
                None => pair.warm = Default::default(),
            }
        }
    }

    /// Resolves the impacts of this tick in time order.
    fn strike(&mut self, scene: &Scene, hold: Option<&Hold>) -> Struck {
        let rules = Rules { law: scene.restitution_law, bounce: 1.0, hold };
        self.queue.run(&self.manifolds, &mut self.works, &rules)
    }

    /// Lets contacts carry their loads.
    fn carry_loads(&mut self, scene: &Scene) {
        for manifold in &mut self.manifolds {
            manifold.set_bias(&self.works.all);
        }
        self.solver.run(&mut self.manifolds, &mut self.works, &self.moving);
        if scene.rolling_friction_m > 0.0 {
            self.roll(scene.rolling_friction_m);
        }
        for manifold in &self.manifolds {
            if manifold.load() > 0.0 {
                self.works.all[manifold.bodies[0]].loaded = true;
                self.works.all[manifold.bodies[1]].loaded = true;
            }
            self.broad.table.pairs_mut()[manifold.pair].warm = manifold.remember();
        }
    }

    /// Rolling friction (Sauer et al.): a spin against the contact loses up to ρ times the load, never more than it has.
    fn roll(&mut self, lever_m: f64) {
        for manifold in &self.manifolds {
            let [a, b] = manifold.bodies;
            let relative = self.works.all[b].spin - self.works.all[a].spin;
            let softness = self.works.all[a].inverse_inertia + self.works.all[b].inverse_inertia;
            let most = lever_m * manifold.load();
            if most > 0.0 && softness > 0.0 {
                let impulse = (relative / softness).clamp(-most, most);
                self.works.all[a].spin += impulse * self.works.all[a].inverse_inertia;
                self.works.all[b].spin -= impulse * self.works.all[b].inverse_inertia;
            }
        }
    }

    /// Chooses each body's displacement: backward Euler where it presses, midpoint where it flies free; returns the
    /// coupling's force on the tool.
    fn let_go_or_press(&mut self, scene: &Scene, hold: Option<&Hold>) -> Vector2<f64> {
        let force = hold.map_or_else(Vector2::zeros, |hold| hold.settle(&mut self.works));
        for &body in &self.moving {
            self.works.all[body].set_step();
        }
        let Some(hold) = hold else {
            self.press_where_it_would_enter(None);
            return force;
        };
        let tool = hold.body();
        let work = &mut self.works.all[tool];
        let free = hold.allows_midpoint() && !work.loaded && !work.struck;
        let pressed = (work.velocity, work.spin);
        work.step = work.shift + work.velocity * TICK_S;
        work.step_angle = work.shift_angle + work.spin * TICK_S;
        let mut felt = force;
        if free {
            let start = &self.motions[tool];
            let (v, w, f) = hold.midpoint(start, scene.gravity_m_per_s2);
            work.step = (start.velocity_m_per_s + v) * (TICK_S / 2.0);
            work.step_angle = (start.spin_rad_per_s + w) * (TICK_S / 2.0);
            (work.velocity, work.spin) = (v, w);
            felt = f;
        }
        if self.press_where_it_would_enter(free.then_some((tool, pressed))) {
            felt = force;
        }
        felt
    }

    /// Free flight by the midpoint rule lags behind the velocity the contacts have agreed to; where it would enter
    /// another body the displacement of the contact solve takes its place. Returns whether the tool was one.
    fn press_where_it_would_enter(&mut self, tool: Option<(usize, (Vector2<f64>, f64))>) -> bool {
        let mut tool_pressed = false;
        for index in 0..self.manifolds.len() {
            let manifold = &self.manifolds[index];
            let works = &self.works.all;
            let bodies = manifold.bodies;
            let flies = |body: usize| works[body].bare_inverse_mass > 0.0 && !works[body].loaded;
            if !(flies(bodies[0]) || flies(bodies[1])) {
                continue;
            }
            let enters = (0..manifold.count).any(|i| manifold.gap_after(works, i) < manifold.gap_m[i].min(0.0));
            if !enters {
                continue;
            }
            for body in bodies {
                let work = &mut self.works.all[body];
                if work.bare_inverse_mass == 0.0 || work.loaded {
                    continue;
                }
                work.loaded = true;
                if let Some((held, (v, w))) = tool
                    && held == body
                {
                    (work.velocity, work.spin) = (v, w);
                    tool_pressed = true;
                }
                work.set_step();
            }
        }
        tool_pressed
    }

    /// Takes out what penetration there is.
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
    pub(crate) fn move_bodies(&mut self, scene: &Scene) {
        for &body in &self.moving {
            let work = &self.works.all[body];
            let motion = &mut self.motions[body];
            motion.centre_m += work.step;
            motion.angle_rad += work.step_angle;
            motion.turn = turned(motion.turn, work.step_angle);
            motion.velocity_m_per_s = work.velocity;
            motion.spin_rad_per_s = work.spin;
            for index in scene.bodies[body].pieces.clone() {
                self.placed[index].place(&scene.pieces[index], motion.centre_m, motion.turn);
            }
        }
    }

    /// What the tick felt like.
    fn felt(&self, force_on_tool: Vector2<f64>, struck: &Struck, scene: &Scene) -> Felt {
        let mut felt = Felt {
            force_on_hand_n: -force_on_tool,
            impacts: struck.count,
            pairs_dropped: self.broad.dropped,
            ..Felt::default()
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
    pub(crate) fn book(
        &mut self,
        scene: &Scene,
        hold: Option<&Hold>,
        grip: Option<&Grip>,
        force_on_tool: Vector2<f64>,
        struck: &Struck,
    ) {
        for manifold in &self.manifolds {
            self.ledger.friction_j -= manifold.impulse.tangent * manifold.slip_speed(&self.works.all);
        }
        self.ledger.impact_j += struck.lost_j;
        let (mut kinetic, mut potential) = (0.0, 0.0);
        for &index in &self.moving {
            let (body, motion) = (&scene.bodies[index], &self.motions[index]);
            kinetic += 0.5 * body.mass_kg * motion.velocity_m_per_s.norm_squared()
                + 0.5 * body.inertia_kg_m2 * motion.spin_rad_per_s * motion.spin_rad_per_s;
            potential -= body.mass_kg * scene.gravity_m_per_s2.dot(&(motion.centre_m - body.position_m));
        }
        let (mut coupling, mut work) = (0.0, 0.0);
        if let (Some(hold), Some(grip)) = (hold, grip) {
            let tool = hold.body();
            let moved = &self.works.all[tool];
            let twist = scene.bodies[tool].angle_rad - self.motions[tool].angle_rad;
            coupling = hold.stored_j(grip.hand_m, self.handle_m(scene), twist);
            work = force_on_tool.dot(&hold.hand_step_m());
            self.ledger.damping_j += hold.damped_j(hold.handle_step(moved.step, moved.step_angle), moved.step_angle);
        }
        self.ledger.balance(kinetic, potential, coupling, work);
    }
}

/// The manifold of a pair that can close by `reach_m` in this tick, and where its bodies' centres are for it.
#[inline]
fn find_touch(a: &Side, b: &Side, reach_m: f64, track: &mut Track) -> Option<(Touch, [Vector2<f64>; 2])> {
    if reach_m > FAST_M
        && let Some(ahead) = touch_ahead(a, b, MARGIN_M, track)
    {
        return Some(ahead);
    }
    let margin = MARGIN_M + MARGIN_SHARE * reach_m.min(FAST_M);
    touch(a, b, margin, track).map(|touch| (touch, [a.centre_m, b.centre_m]))
}
