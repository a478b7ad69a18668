//! Runs a generated world and measures it from outside: energy from masses, velocities and the hand's work, overlap
//! from the poses by separating axes, and bodies that stand still although they have a velocity.

use super::generate::{TICKS, World};
use crate::common::measure::separation_m;
use haptic_planar::input::CouplingInput;
use haptic_planar::scene::Scene;
use haptic_planar::scene::body_state::BodyState;
use haptic_planar::scene::envelope::{MAX_FORCE_N, MAX_MASS_RATIO};
use haptic_planar::shape::aabb::Aabb;
use haptic_planar::shape::piece::PlacedPiece;
use haptic_planar::state::State;
use haptic_planar::tick::TICK_S;
use haptic_planar::workspace::Workspace;
use nalgebra::Vector2;

/// Largest energy gain relative to the energy exchanged.
pub const MAX_GAIN_RATIO: f64 = 0.01;
/// Deepest overlap, m.
pub const MAX_DEPTH_M: f64 = 1e-3;
/// Ticks in a row without any change of the pose after which a moving body counts as frozen. A body that stops short
/// of an obstacle stands still for a tick or two before its impact.
const FROZEN_TICKS: usize = 10;
/// Speed of the fastest point above which a body counts as moving, m/s.
const MOVING_M_PER_S: f64 = 1e-3;
/// Fraction of its velocity's path below which a body counts as starved.
const STARVED_FRACTION: f64 = 0.01;

/// Measurements of one run.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub mass_ratio: f64,
    /// Largest rise of (stored energy − work of the hand) above its lowest earlier value, J.
    pub gain_j: f64,
    /// Tick with the largest rise.
    pub gain_tick: usize,
    /// The same gain according to the simulation's own balance, J.
    pub own_gain_j: f64,
    /// Energy exchanged, J: the magnitude of the work of the hand plus the work of gravity on falling bodies.
    pub turned_over_j: f64,
    /// Deepest overlap of two bodies, m.
    pub depth_m: f64,
    /// Tick and bodies of the deepest overlap.
    pub deepest: (usize, [usize; 2]),
    /// Deepest overlap according to the simulation, m.
    pub own_depth_m: f64,
    /// Number of bodies that left the room.
    pub escaped: usize,
    /// Number of bodies whose pose was constant to the bit while they had a velocity.
    pub frozen: usize,
    /// Number of bodies that moved much less than their velocity demands.
    pub starved: usize,
    /// Largest force on the hand, N.
    pub felt_n: f64,
    pub pairs_dropped: u32,
    /// Whether every number stayed finite.
    pub is_finite: bool,
}

impl Measured {
    /// Whether the run was inside the envelope; its stiffness and the hand's motion always are.
    pub fn is_in_envelope(&self) -> bool {
        self.mass_ratio <= MAX_MASS_RATIO && self.felt_n <= MAX_FORCE_N
    }

    pub fn gain_ratio(&self) -> f64 {
        self.gain_j / self.turned_over_j
    }

    pub fn gains(&self) -> bool {
        self.gain_ratio() > MAX_GAIN_RATIO || !self.is_finite
    }

    pub fn is_deep(&self) -> bool {
        self.depth_m > MAX_DEPTH_M || self.escaped > 0
    }

    pub fn freezes(&self) -> bool {
        self.frozen > 0
    }
}

/// Runs a world for all its ticks.
pub fn run(world: &World) -> Measured {
    let scene = Scene::build(&world.description).unwrap_or_else(|error| panic!("{error}"));
    let (mut state, mut workspace) = (State::new(&scene), Workspace::new(&scene));
    let start_m = state.handle_m(&scene);
    let mut input = CouplingInput { hand_m: start_m, hand_before_m: start_m, ..world.coupling };
    let mut measured = Measured { mass_ratio: world.mass_ratio, is_finite: true, ..Measured::default() };
    let mut energy = Ledger::new(stored_j(&scene, &state, &input));
    let mut overlap = Overlap::new(&scene, &state);
    let mut still = vec![Still::default(); scene.bodies.len()];
    for tick in 1..=TICKS {
        let before = state.bodies.clone();
        input.hand_before_m = input.hand_m;
        input.hand_m = start_m + world.hand_m[tick - 1];
        let output = state.advance(&scene, &mut workspace, Some(&input));
        let work = -output.force_on_hand_n.dot(&(input.hand_m - input.hand_before_m));
        energy.add(tick, stored_j(&scene, &state, &input), work, fallen_j(&scene, &before, &state.bodies));
        overlap.measure(&scene, &state, tick, &mut measured);
        for (index, still) in still.iter_mut().enumerate().filter(|(index, _)| !scene.bodies[*index].fixed) {
            still.add(&before[index], &state.bodies[index], scene.bodies[index].reach_m);
        }
        measured.felt_n = measured.felt_n.max(output.force_on_hand_n.norm());
        measured.own_depth_m = measured.own_depth_m.max(output.penetration_m);
        measured.pairs_dropped += output.pairs_dropped;
        measured.is_finite &= energy.level_j.is_finite();
    }
    (measured.gain_j, measured.gain_tick, measured.turned_over_j) = (energy.gain_j, energy.tick, energy.turned_over_j);
    measured.own_gain_j = state.energy.gain_max_j;
    measured.frozen = still.iter().filter(|still| still.is_frozen).count();
    measured.starved = still.iter().filter(|still| still.is_starved).count();
    let out = world.half_m + Vector2::repeat(world.wall_m);
    let has_left = |body: &&BodyState| body.centre_m.x.abs() > out.x || body.centre_m.y.abs() > out.y;
    measured.escaped = state.bodies.iter().filter(has_left).count();
    measured
}

/// Energy that the work of the hand does not explain.
struct Ledger {
    /// Stored energy minus the hand's work so far, J.
    level_j: f64,
    lowest_j: f64,
    work_j: f64,
    gain_j: f64,
    turned_over_j: f64,
    tick: usize,
    largest_rise_j: f64,
}

impl Ledger {
    fn new(stored_j: f64) -> Self {
        Self {
            level_j: stored_j,
            lowest_j: stored_j,
            work_j: 0.0,
            gain_j: 0.0,
            turned_over_j: 0.0,
            tick: 0,
            largest_rise_j: 0.0,
        }
    }

    fn add(&mut self, tick: usize, stored_j: f64, work_j: f64, fallen_j: f64) {
        self.work_j += work_j;
        self.turned_over_j += work_j.abs() + fallen_j;
        let level_j = stored_j - self.work_j;
        if level_j - self.level_j > self.largest_rise_j {
            (self.largest_rise_j, self.tick) = (level_j - self.level_j, tick);
        }
        self.level_j = level_j;
        self.gain_j = self.gain_j.max(level_j - self.lowest_j);
        self.lowest_j = self.lowest_j.min(level_j);
    }
}

/// Returns the kinetic and potential energy of the bodies and the energy in the coupling's springs, J.
fn stored_j(scene: &Scene, state: &State, input: &CouplingInput) -> f64 {
    let mut sum = 0.0;
    for (body, now) in scene.bodies.iter().zip(&state.bodies).filter(|(body, _)| !body.fixed) {
        let spin = now.angular_velocity_rad_per_s;
        sum += 0.5 * (body.mass_kg * now.velocity_m_per_s.norm_squared() + body.inertia_kg_m2 * spin * spin)
            - body.mass_kg * scene.gravity_m_per_s2.dot(&now.centre_m);
    }
    let Some(tool) = scene.tool else { return sum };
    let twist = state.bodies[tool.body].angle_rad - scene.bodies[tool.body].angle_rad;
    let stretch = (input.hand_m - state.handle_m(scene)).norm();
    sum + spring_j(input, stretch) + 0.5 * input.angular_stiffness_n_m_per_rad * twist * twist
}

/// Returns the energy of the spring: beyond the stretch at which the force reaches its limit, the force is constant.
fn spring_j(input: &CouplingInput, stretch: f64) -> f64 {
    let (stiffness, limit) = (input.stiffness_n_per_m, input.max_force_n);
    if stiffness * stretch <= limit {
        0.5 * stiffness * stretch * stretch
    } else {
        limit * (stretch - 0.5 * limit / stiffness)
    }
}

/// Returns the work of gravity in one tick on the bodies that fall, J.
fn fallen_j(scene: &Scene, before: &[BodyState], now: &[BodyState]) -> f64 {
    let bodies = scene.bodies.iter().zip(before).zip(now).filter(|((body, _), _)| !body.fixed);
    bodies.map(|((body, b), n)| (body.mass_kg * scene.gravity_m_per_s2.dot(&(n.centre_m - b.centre_m))).max(0.0)).sum()
}

/// Outlines of all pieces in their poses.
struct Overlap {
    placed: Vec<PlacedPiece>,
    boxes: Vec<Aabb>,
}

impl Overlap {
    fn new(scene: &Scene, state: &State) -> Self {
        let place = |index: usize| {
            let body = &state.bodies[scene.pieces[index].body as usize];
            PlacedPiece::new(&scene.pieces[index], body.centre_m, body.rotation)
        };
        let placed: Vec<PlacedPiece> = (0..scene.pieces.len()).map(place).collect();
        let boxes = placed.iter().zip(&scene.pieces).map(|(at, piece)| Aabb::around(at, piece.radius_m)).collect();
        Self { placed, boxes }
    }

    /// Updates the deepest overlap of two bodies that can touch.
    fn measure(&mut self, scene: &Scene, state: &State, tick: usize, measured: &mut Measured) {
        *self = Self::new(scene, state);
        for a in 0..scene.pieces.len() {
            for b in a + 1..scene.pieces.len() {
                let bodies = [a, b].map(|piece| scene.pieces[piece].body as usize);
                let can_touch = bodies[0] != bodies[1] && !bodies.iter().all(|&body| scene.bodies[body].fixed);
                if can_touch && self.boxes[a].meets(&self.boxes[b]) {
                    let radii = scene.pieces[a].radius_m + scene.pieces[b].radius_m;
                    let depth_m = radii - separation_m(&self.placed[a], &self.placed[b]);
                    if depth_m > measured.depth_m {
                        (measured.depth_m, measured.deepest) = (depth_m, (tick, bodies));
                    }
                }
            }
        }
    }
}

/// How long a body has been standing still although it has a velocity.
#[derive(Clone, Copy, Default)]
struct Still {
    frozen_ticks: usize,
    starved_ticks: usize,
    is_frozen: bool,
    is_starved: bool,
}

impl Still {
    fn add(&mut self, before: &BodyState, now: &BodyState, reach_m: f64) {
        let speed = |body: &BodyState| body.velocity_m_per_s.norm() + body.angular_velocity_rad_per_s.abs() * reach_m;
        let demanded_m = speed(before).min(speed(now)) * TICK_S;
        let moved_m = (now.centre_m - before.centre_m).norm() + (now.angle_rad - before.angle_rad).abs() * reach_m;
        let moves = demanded_m > MOVING_M_PER_S * TICK_S;
        let count = |ticks: usize, holds: bool| if holds { ticks + 1 } else { 0 };
        self.frozen_ticks = count(self.frozen_ticks, moves && moved_m == 0.0);
        self.starved_ticks = count(self.starved_ticks, moves && moved_m < STARVED_FRACTION * demanded_m);
        self.is_frozen |= self.frozen_ticks >= FROZEN_TICKS;
        self.is_starved |= self.starved_ticks >= FROZEN_TICKS;
    }
}
