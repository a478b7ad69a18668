//! The worst-case step of a scene: as many near pairs as the capacity permits, each on its slowest path, and every loop
//! run to its cap. It runs the code of the ordinary step under the `Forced` policy, so its cost is realistic. Only the
//! cost of such a step is meaningful, not its result.

use super::step;
use crate::collide::meeting::MeetingBudget;
use crate::collide::narrow::{ContactGeometry, Near, PairSide, collide};
use crate::collide::pair_table::Pair;
use crate::collide::toi::{SafeFraction, ToiBudget};
use crate::input::CouplingInput;
use crate::output::StepOutput;
use crate::scene::Scene;
use crate::scene::body_state::BodyState;
use crate::shape::closest::brute_force;
use crate::shape::features::FeatureCache;
use crate::shape::piece::MAX_CORNERS;
use crate::solve::energy::EnergyBalance;
use crate::solve::policy::Forced;
use crate::state::State;
use crate::work::Work;
use crate::workspace::Workspace;
use nalgebra::Vector2;

/// Stretch of the coupling along x and y, m.
const STRETCH_M: f64 = 1e-3;

/// A world that repeats its worst-case step.
#[derive(Clone, Debug)]
pub struct WorstCase {
    state: State,
    workspace: Workspace,
    start: Vec<BodyState>,
    input: CouplingInput,
}

impl WorstCase {
    /// Prepares the worst-case step of a scene, with as many near pairs as its capacity permits.
    pub fn new(scene: &Scene) -> Self {
        Self::with_pairs(scene, scene.pair_capacity)
    }

    /// Prepares the worst-case step with `count` near pairs, limited to the capacity, to measure how the cost grows
    /// with their number.
    pub fn with_pairs(scene: &Scene, count: usize) -> Self {
        let state = State::new(scene);
        let mut workspace = Workspace::new(scene);
        workspace.forced_pairs = slowest_pairs(scene, count.min(scene.pair_capacity));
        let handle_m = state.handle_m(scene);
        // With a rail, the tool's mass matrix is not diagonal, which is the slower case.
        let input = CouplingInput {
            hand_m: handle_m + Vector2::new(STRETCH_M, STRETCH_M),
            hand_before_m: handle_m,
            stiffness_n_per_m: 1000.0,
            damping_n_s_per_m: 1.0,
            angular_stiffness_n_m_per_rad: 0.1,
            angular_damping_n_m_s_per_rad: 1e-3,
            max_force_n: 10.0,
            rail: Some(Vector2::x()),
        };
        Self { start: state.bodies.clone(), state, workspace, input }
    }

    /// Returns the number of near pairs of the step.
    pub fn pairs(&self) -> usize {
        self.workspace.forced_pairs.len()
    }

    /// Returns the counted work of the last step. No ordinary step of the scene does more of any kind.
    pub fn work(&self) -> Work {
        self.workspace.work()
    }

    /// Performs the worst-case step once, from the initial poses and velocities of the bodies. Returns a number that
    /// depends on the whole result, so that nothing is optimised away.
    pub fn tick(&mut self, scene: &Scene) -> f64 {
        self.state.bodies.copy_from_slice(&self.start);
        self.state.energy = EnergyBalance::default();
        let mut output = StepOutput::default();
        step::<Forced>(scene, &mut self.state, &mut self.workspace, Some(&self.input), &mut output);
        if let Some(bounds) = &scene.bounds {
            self.state.slowest_keep_in_bounds(scene, bounds, &mut self.workspace);
        }
        output.penetration_m + output.energy.stored_j() + self.state.hash() as f64
    }
}

/// Replaces the near pairs with `pairs`, those of a forced step.
pub(super) fn load_pairs(scene: &Scene, state: &mut State, pairs: &[[u32; 2]]) {
    let table = &mut state.broad_phase.table;
    table.clear();
    pairs.iter().for_each(|&pieces| table.insert(Pair::new(scene, pieces)));
}

/// Performs the slowest search for a contact, by brute force instead of a walk and over all faces, and then returns an
/// artificial contact with two points. The first pair, which is the slowest, also uses up the budget of advances and
/// poses.
pub(super) fn slowest_geometry(a: &PairSide, b: &PairSide, budget: &mut ToiBudget) -> Option<ContactGeometry> {
    let mut apart_m = 0.0;
    while budget.take_advance() {
        apart_m += slowest_distance_m(a, b);
    }
    while budget.take_substep() {
        apart_m += slowest_distance_m(a, b) + slowest_gap_m(a, b);
    }
    apart_m += slowest_distance_m(a, b) + slowest_gap_m(a, b);
    let centres = [a.centre_m, b.centre_m];
    // The sum is finite and does not matter; it keeps the searches above from being optimised away.
    Some(flat_geometry(centres, apart_m.clamp(-1e-9, 0.0)))
}

/// Uses up the budget for times of impact and then returns 1, the whole displacement.
pub(super) fn slowest_fraction(a: &PairSide, b: &PairSide, budget: &mut ToiBudget) -> SafeFraction {
    let mut sum_m = 0.0;
    while budget.take_advance() {
        sum_m += slowest_distance_m(a, b);
    }
    while budget.take_substep() {
        sum_m += slowest_gap_m(a, b);
    }
    SafeFraction { fraction: if sum_m.is_nan() { 0.0 } else { 1.0 }, is_uncertain: false }
}

/// Uses up the budget for the next meetings of pairs. Returns a finite number that depends on the result.
pub(super) fn slowest_meeting(a: &PairSide, b: &PairSide, budget: &mut MeetingBudget) -> f64 {
    let mut sum_m = 0.0;
    while budget.take_axis() {
        sum_m += slowest_distance_m(a, b) + slowest_gap_m(a, b);
    }
    sum_m.clamp(0.0, 1.0)
}

/// Performs the slowest search for the penetration of a pair, by brute force instead of a walk and over all faces.
/// Returns a finite number that depends on the result.
pub(super) fn slowest_penetration_m(a: &PairSide, b: &PairSide) -> f64 {
    (slowest_distance_m(a, b) + slowest_gap_m(a, b)).clamp(0.0, 1e-9)
}

fn slowest_distance_m(a: &PairSide, b: &PairSide) -> f64 {
    brute_force(a.placed, b.placed).map_or(0.0, |closest| closest.distance_m)
}

fn slowest_gap_m(a: &PairSide, b: &PairSide) -> f64 {
    let near = Near { examines_all: true, ..Near::within(f64::MAX) };
    collide(a, b, &near, &mut FeatureCache::default()).map_or(0.0, |found| found.gap_m[0])
}

/// Returns a contact with two points halfway between the centres of mass of the bodies.
fn flat_geometry(centres: [Vector2<f64>; 2], apart_m: f64) -> ContactGeometry {
    let middle = (centres[0] + centres[1]) / 2.0;
    let across = Vector2::new(1e-3, 0.0);
    ContactGeometry {
        normal: Vector2::y(),
        count: 2,
        gap_m: [1e-9; 2],
        at_m: [middle - across, middle + across],
        apart_m,
        ..ContactGeometry::default()
    }
}

/// Returns up to `count` pairs of pieces that can touch, those with the most corners first. Each pair is in the order
/// of the pair table: the fixed piece first or, if both are dynamic, the lower index first.
fn slowest_pairs(scene: &Scene, count: usize) -> Vec<[u32; 2]> {
    let mut all = vec![Vec::new(); MAX_CORNERS + 1];
    let mut dynamic = all.clone();
    for (index, piece) in scene.pieces.iter().enumerate() {
        all[usize::from(piece.count)].push(index);
        if !scene.is_fixed_piece(index) {
            dynamic[usize::from(piece.count)].push(index);
        }
    }
    let sums = (2..=2 * MAX_CORNERS).rev();
    let splits = sums.flat_map(|sum| (1..sum).map(move |first| (first, sum - first)));
    let possible = splits.filter(|&(first, second)| first <= MAX_CORNERS && second <= MAX_CORNERS);
    let pairs = possible.flat_map(|(first, second)| {
        let (first, second) = (&all[first], &dynamic[second]);
        second.iter().flat_map(move |&b| first.iter().map(move |&a| [a, b]))
    });
    pairs.filter(|&pair| can_touch(scene, pair)).take(count).map(|pair| pair.map(|piece| piece as u32)).collect()
}

/// Whether the piece `a` can touch the dynamic piece `b`. False if both are dynamic and `a` has the higher index, so
/// that each pair is listed once.
fn can_touch(scene: &Scene, [a, b]: [usize; 2]) -> bool {
    let bodies = [a, b].map(|piece| scene.pieces[piece].body as usize);
    let in_order = scene.is_fixed_piece(a) || a < b;
    in_order && bodies[0] != bodies[1] && scene.bodies[bodies[0]].layer == scene.bodies[bodies[1]].layer
}
