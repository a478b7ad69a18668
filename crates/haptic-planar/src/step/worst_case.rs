//! The worst tick that a scene can have: every near pair there is room for, each on its slowest path, every loop run to
//! its cap. It is made of the tick's own parts, so that it costs what they cost; what it computes means nothing.

use crate::collide::narrow::{ContactGeometry, Near, PairSide, touch};
use crate::collide::pair_table::Pair;
use crate::collide::toi::{LEAPS_A_TICK, STRIDES_A_TICK};
use crate::collide::warm_start::WarmStart;
use crate::collide::warm_start::{BlockImpulse, Mode};
use crate::scene::Scene;
use crate::scene::description::RestitutionLaw;
use crate::shape::closest::brute_force;
use crate::shape::features::{FeatureCache, FeatureId};
use crate::solve::contact_solver::MAX_SWEEPS;
use crate::solve::impact_queue::{MAX_IMPACTS, Rules};
use crate::solve::manifold::Manifold;
use crate::solve::position_correction::CORRECTION_SWEEPS;
use crate::state::State;
use nalgebra::Vector2;

/// How often the contact side of a tick can run: once, and once more without restitution.
const RESOLVES: usize = 2;

/// A world in its worst tick, over and over.
#[derive(Clone, Debug)]
pub struct WorstCase {
    state: State,
    pairs: Vec<Pair>,
    law: RestitutionLaw,
}

impl WorstCase {
    /// The worst tick of a scene with all near pairs that it has room for.
    pub fn new(scene: &Scene) -> Self {
        let capacity = State::new(scene).pair_capacity();
        Self::with_pairs(scene, capacity)
    }

    /// The worst tick with a given number of near pairs, to see how the cost grows with them.
    pub fn with_pairs(scene: &Scene, count: usize) -> Self {
        let state = State::new(scene);
        let candidates = touching_candidates(scene);
        let pairs = candidates.iter().cycle().take(if candidates.is_empty() { 0 } else { count }).copied().collect();
        Self { state, pairs, law: scene.restitution_law }
    }

    /// Near pairs in the tick.
    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    /// One worst tick; returns something that depends on all of it, so that nothing is optimised away.
    pub fn tick(&mut self, scene: &Scene) -> f64 {
        let mut sum = self.look_everything_up(scene);
        sum += self.find_every_feature_the_slow_way(scene);
        for _ in 0..RESOLVES {
            sum += self.strike_to_the_cap();
            sum += self.sweep_to_the_cap();
        }
        sum += self.correct_to_the_cap();
        sum + self.move_and_book(scene)
    }

    /// Every moving piece leaves its box at once.
    fn look_everything_up(&mut self, scene: &Scene) -> f64 {
        self.state.works.fall(scene, &self.state.bodies, &self.state.moving);
        self.state.broad.forget_everything();
        self.state.find_near_pairs(scene);
        self.state.broad.table.pairs().len() as f64
    }

    /// Every sweep that a tick may make, and for each pair brute force and separating axes from cold.
    fn find_every_feature_the_slow_way(&mut self, scene: &Scene) -> f64 {
        let mut sum = 0.0;
        self.state.manifolds.clear();
        // The slowest pair comes first; the sweeps of a whole tick may all be its own, before and after the impacts.
        if let Some(pair) = self.pairs.first() {
            let (a, b) = sides(&self.state, scene, pair);
            for _ in 0..2 * LEAPS_A_TICK {
                sum += slowest_distance(&a, &b);
            }
            for _ in 0..STRIDES_A_TICK {
                sum += slowest_touch(&a, &b);
            }
        }
        for (index, pair) in self.pairs.iter().enumerate() {
            let (a, b) = sides(&self.state, scene, pair);
            sum += slowest_distance(&a, &b) + slowest_touch(&a, &b);
            let flat = flat_touch(&a, &b);
            let manifold = Manifold::new(index, pair, &flat, [a.centre_m, b.centre_m], &self.state.works);
            self.state.manifolds.push(manifold);
        }
        sum
    }

    /// As many impacts as a tick resolves, each followed by a look at every manifold.
    fn strike_to_the_cap(&mut self) -> f64 {
        let state = &mut self.state;
        let rules = Rules { law: self.law, hold: None };
        let mut sum = 0.0;
        for _ in 0..MAX_IMPACTS {
            state.queue.fill(&state.manifolds, &state.works);
            if let Some(manifold) = state.manifolds.first() {
                let impulse = BlockImpulse { normal: [1e-9, 1e-9], tangent: 1e-9 };
                crate::solve::impact_queue::apply(manifold, &impulse, 1e-4, &mut state.works, rules.hold);
            }
            sum += state.works.all.first().map_or(0.0, |work| work.angular_velocity);
        }
        sum
    }

    /// All sweeps, every block searching all its modes.
    fn sweep_to_the_cap(&mut self) -> f64 {
        let state = &mut self.state;
        for manifold in &mut state.manifolds {
            manifold.set_bias(&state.works.all);
        }
        for _ in 0..MAX_SWEEPS {
            for manifold in &mut state.manifolds {
                manifold.mode = Mode::Open;
                manifold.impulse = BlockImpulse { normal: [1e-6, 1e-6], tangent: 0.0 };
            }
            state.solver.sweep_once(&mut state.manifolds, &mut state.works, &state.moving);
        }
        state.works.all.iter().map(|work| work.angular_velocity).sum()
    }

    fn correct_to_the_cap(&mut self) -> f64 {
        let state = &mut self.state;
        for &body in &state.moving {
            state.works.all[body].set_step();
        }
        for manifold in &mut state.manifolds {
            manifold.gap_m = [-1e-4; 2];
        }
        f64::from(u8::from(state.correction.run(&state.manifolds, &state.works.all, &state.moving)))
            * CORRECTION_SWEEPS[1] as f64
    }

    /// The way of every body, and the account.
    fn move_and_book(&mut self, scene: &Scene) -> f64 {
        let kept = self.state.bodies.clone();
        self.state.integrate_positions(scene);
        self.state.bodies.copy_from_slice(&kept);
        self.state.hash() as f64
    }
}

/// Pairs of a moving piece with any other that may touch it, as a full table would hold them.
fn touching_candidates(scene: &Scene) -> Vec<Pair> {
    const ENOUGH: usize = 4096;
    let moves = |piece: usize| !scene.bodies[scene.pieces[piece].body as usize].fixed;
    let mut found = Vec::new();
    for a in (0..scene.pieces.len()).filter(|&a| moves(a)) {
        for b in (0..scene.pieces.len()).filter(|&b| b != a) {
            let bodies = [scene.pieces[a].body, scene.pieces[b].body];
            let layers = bodies.map(|body| scene.bodies[body as usize].layer);
            if bodies[0] != bodies[1] && layers[0] == layers[1] && found.len() < ENOUGH {
                let (friction, restitution) = (0.5, 0.5);
                let (track, warm) = (FeatureCache::default(), WarmStart::default());
                found.push(Pair { pieces: [a as u32, b as u32], bodies, friction, restitution, track, warm });
            }
        }
    }
    // Those with most corners first: the slowest features.
    found.sort_by_key(|pair| std::cmp::Reverse(pair.pieces.map(|p| scene.pieces[p as usize].count).iter().sum::<u8>()));
    found
}

/// A walk that gives up for brute force.
fn slowest_distance(a: &PairSide, b: &PairSide) -> f64 {
    brute_force(a.placed, b.placed).map_or(0.0, |closest| closest.distance_m)
}

/// A manifold from cold, by separating axes, wherever the pair is.
fn slowest_touch(a: &PairSide, b: &PairSide) -> f64 {
    touch(a, b, Near::within(f64::MAX), &mut FeatureCache::default()).map_or(0.0, |found| found.gap_m[0])
}

/// The two sides of a pair, flying at each other.
fn sides<'s>(state: &'s State, scene: &'s Scene, pair: &Pair) -> (PairSide<'s>, PairSide<'s>) {
    let fast = Vector2::new(60.0, 60.0);
    let side = |which, velocity| PairSide::of(pair, which, scene, &state.placed, &state.bodies, (velocity, 60.0));
    (side(0, fast), side(1, -fast))
}

/// A flat contact of two points half-way between the bodies.
fn flat_touch(a: &PairSide, b: &PairSide) -> ContactGeometry {
    let middle = (a.centre_m + b.centre_m) / 2.0;
    let across = Vector2::new(1e-3, 0.0);
    ContactGeometry {
        normal: Vector2::y(),
        count: 2,
        gap_m: [1e-9; 2],
        at_m: [middle - across, middle + across],
        apart_m: 0.0,
        end: 0,
        id: FeatureId::default(),
    }
}
