//! Broad phase: finds near pairs from a grid over the fixed pieces and *fat* (enlarged) bounding boxes of the dynamic
//! ones.
//!
//! A dynamic piece is looked up again only when it leaves its fat box, so the cost of a tick does not depend on the
//! number of fixed bodies. In the worst case, for example after a teleport, all dynamic pieces leave their boxes in one
//! tick; the cost bound therefore includes one look-up for each of them.

use crate::collide::pair_table::{Pair, PairTable};
use crate::collide::toi::FAST_M;
use crate::scene::Scene;
use crate::scene::description::Leave;
use crate::shape::aabb::{AABB_MARGIN_M, Aabb};
use crate::shape::piece::PlacedPiece;

/// Fractions of a fast body's sweep that are tried in turn. If none of them can be looked up, the body is limited to
/// [`FAST_M`], which always can.
pub const SWEEP_FRACTIONS: [f64; 3] = [1.0, 0.25, 0.0625];
/// Maximum number of searches for the farthest pair in one update of the near pairs. Further pairs that find the table
/// full are dropped without a search.
pub const MAX_REPLACEMENTS: u32 = 64;

/// State of the broad phase that lasts from tick to tick: the boxes of all pieces and the near pairs.
#[derive(Clone, Debug)]
pub struct BroadPhase {
    /// Box of every piece: tight for fixed ones, fat for dynamic ones.
    boxes: Vec<Aabb>,
    /// Near pairs, up to a fixed capacity.
    pub table: PairTable,
    /// For each body, whether it has left the bounds of the scene and stands still; empty without bounds. No two bodies
    /// that never move are a near pair, and a removed body is in none.
    pub left: Vec<bool>,
}

/// Scratch memory of one tick's look-ups.
#[derive(Clone, Debug)]
pub struct LookUps {
    /// For each piece, whether it is dynamic and left its box in this tick.
    has_left: Vec<bool>,
    any_left: bool,
    /// For each fixed piece, the stamp of the last look-up that visited it, so that a piece in several cells of the
    /// grid counts once.
    seen: Vec<u32>,
    stamp: u32,
    /// Number of near pairs dropped in this tick because the table was full.
    pub dropped: u32,
    /// Number of near pairs dropped in the present update.
    dropped_now: u32,
    /// Number of new near pairs expected from the sweeps of fast bodies.
    expected: usize,
    /// Number of searches for the farthest pair left in this update.
    replacements_left: u32,
    /// Work of this tick.
    pub work: LookUpWork,
}

/// Work of the look-ups of one tick.
#[derive(Clone, Copy, Debug, Default)]
pub struct LookUpWork {
    /// Rows and entries of the grid visited.
    pub grid_visits: u32,
    /// Boxes of dynamic pieces compared with that of a piece that left its box.
    pub box_tests: u32,
    /// Searches for the farthest pair in the full table.
    pub searches: u32,
}

impl LookUps {
    /// Preallocates memory for a scene.
    pub fn new(scene: &Scene) -> Self {
        let pieces = scene.pieces.len();
        Self {
            has_left: vec![false; pieces],
            any_left: false,
            seen: vec![0; pieces],
            stamp: 0,
            dropped: 0,
            dropped_now: 0,
            expected: 0,
            replacements_left: 0,
            work: LookUpWork::default(),
        }
    }

    /// Resets the counts at the start of a tick.
    pub fn start_tick(&mut self) {
        self.dropped = 0;
        self.work = LookUpWork::default();
    }

    /// Calls `visit` for each fixed piece in the cells that a box covers, once for each piece.
    #[inline]
    pub fn each_fixed(&mut self, scene: &Scene, around: &Aabb, mut visit: impl FnMut(&mut Self, usize)) {
        self.stamp = self.stamp.wrapping_add(1);
        for row in scene.grid.rows_over(around) {
            self.work.grid_visits += 1 + row.len() as u32;
            for other in row.iter().map(|&other| other as usize) {
                if self.seen[other] != self.stamp {
                    self.seen[other] = self.stamp;
                    visit(self, other);
                }
            }
        }
    }
}

impl BroadPhase {
    /// Creates a broad phase without near pairs, for a scene whose pieces are placed in their initial poses.
    /// Preallocates all memory.
    pub fn new(scene: &Scene, placed: &[PlacedPiece]) -> Self {
        let around = |piece: usize| match scene.is_fixed_piece(piece) {
            true => Aabb::around(&placed[piece], scene.pieces[piece].radius_m),
            false => Aabb::NOWHERE,
        };
        Self {
            boxes: (0..scene.pieces.len()).map(around).collect(),
            table: PairTable::with_capacity(scene.pair_capacity),
            left: vec![false; if scene.bounds.is_some() { scene.bodies.len() } else { 0 }],
        }
    }

    /// Returns the box of a piece. A dynamic piece is looked up again when it leaves its box.
    pub fn box_of(&self, piece: u32) -> Aabb {
        self.boxes[piece as usize]
    }

    /// Sets the box of a piece when a checkpoint is restored.
    pub fn set_box(&mut self, piece: u32, around: Aabb) {
        self.boxes[piece as usize] = around;
    }

    /// Removes all near pairs and the boxes of dynamic pieces, so that every dynamic piece is looked up in the next
    /// tick.
    pub fn clear(&mut self, scene: &Scene) {
        for &piece in &scene.dynamic_pieces {
            self.boxes[piece as usize] = Aabb::NOWHERE;
        }
        self.table.clear();
    }

    /// Removes the near pairs of bodies that cannot meet any more, after bodies have left the bounds. Real-time: one
    /// pass over the near pairs.
    pub fn part_left(&mut self, scene: &Scene, leave: Leave) {
        let left = &self.left;
        self.table.retain(|pair| !cannot_meet(scene, leave, left, pair.bodies.map(|body| body as usize)));
    }

    /// Removes the box of a body that was displaced, so that it is looked up in the next tick. Real-time: one pass over
    /// its pieces.
    pub fn forget_box(&mut self, scene: &Scene, body: usize) {
        for piece in scene.bodies[body].pieces.clone() {
            self.boxes[piece] = Aabb::NOWHERE;
        }
    }

    /// Replaces the fat box of a dynamic piece and marks the piece for a look-up, unless the fat box contains `needed`,
    /// the box that the piece needs in this tick. Real-time: constant.
    #[inline]
    pub fn require_aabb(&mut self, look_ups: &mut LookUps, piece: usize, needed: &Aabb) {
        if !self.boxes[piece].contains(needed) {
            self.replace_aabb(look_ups, piece, needed.grown(AABB_MARGIN_M));
        }
    }

    /// Replaces the box of a dynamic piece and marks the piece for a look-up. Real-time: constant.
    #[inline]
    pub fn replace_aabb(&mut self, look_ups: &mut LookUps, piece: usize, around: Aabb) {
        self.boxes[piece] = around;
        look_ups.has_left[piece] = true;
        look_ups.any_left = true;
    }

    /// Returns the fraction of the motion of a fast body that can be looked up: the work is permitted, and the near
    /// pairs fit into the table. `reach_m` is the largest motion of a point of the body, and `needed` returns the box
    /// of a piece for a fraction of the motion. Motions up to [`FAST_M`] can always be looked up. Real-time: for each
    /// piece and each of [`SWEEP_FRACTIONS`], one look-up whose work is permitted.
    #[cold]
    pub fn searchable_fraction(
        &self,
        look_ups: &mut LookUps,
        scene: &Scene,
        body: usize,
        reach_m: f64,
        needed: impl Fn(usize, f64) -> Aabb,
    ) -> f64 {
        let slow = (FAST_M / reach_m).min(1.0);
        let mut least = 1.0_f64;
        for piece in scene.bodies[body].pieces.clone() {
            if !self.boxes[piece].contains(&needed(piece, 1.0)) {
                let can_be_searched = |&fraction: &f64| {
                    fraction > slow && self.is_searchable(look_ups, scene, piece, &needed(piece, fraction))
                };
                least = least.min(SWEEP_FRACTIONS.into_iter().find(can_be_searched).unwrap_or(slow));
            }
        }
        least
    }

    /// Whether a piece that needs a box can be looked up with permitted work and without filling the table.
    fn is_searchable(&self, look_ups: &mut LookUps, scene: &Scene, piece: usize, needed: &Aabb) -> bool {
        let around = needed.grown(AABB_MARGIN_M);
        if scene.grid.work_over(&around) > scene.look_up_work {
            return false;
        }
        let new = self.count_new(look_ups, scene, piece, &around);
        let fits = self.table.pairs().len() + look_ups.expected + new <= scene.pair_capacity;
        look_ups.expected += if fits { new } else { 0 };
        fits
    }

    /// Returns the number of pieces that a look-up over a box would add to the near pairs of a piece.
    fn count_new(&self, look_ups: &mut LookUps, scene: &Scene, piece: usize, around: &Aabb) -> usize {
        let mut new = 0;
        look_ups.each_fixed(scene, around, |_, other| {
            let is_new = self.boxes[other].meets(around) && !self.table.contains(other as u32, piece as u32);
            new += usize::from(is_new);
        });
        look_ups.work.box_tests += scene.dynamic_pieces.len() as u32;
        for &other in &scene.dynamic_pieces {
            let meets = self.boxes[other as usize].meets(around)
                && scene.pieces[other as usize].body != scene.pieces[piece].body;
            let (first, second) = (other.min(piece as u32), other.max(piece as u32));
            new += usize::from(meets && !self.table.contains(first, second));
        }
        new
    }

    /// Updates the near pairs. If the table is full, further pairs replace at most `replacements` farther ones. Returns
    /// the number of pairs that were dropped. Real-time: one look-up for each piece that left its box, and one pass
    /// over the near pairs.
    #[inline]
    pub fn update_pairs(&mut self, look_ups: &mut LookUps, scene: &Scene, replacements: u32) -> u32 {
        if look_ups.any_left { self.look_up(look_ups, scene, replacements) } else { 0 }
    }

    /// Looks up the pieces that left their boxes. Returns the number of pairs that were dropped.
    #[inline(never)]
    fn look_up(&mut self, look_ups: &mut LookUps, scene: &Scene, replacements: u32) -> u32 {
        look_ups.any_left = false;
        look_ups.expected = 0;
        look_ups.replacements_left = replacements;
        look_ups.dropped_now = 0;
        self.remove_parted(look_ups);
        for &piece in &scene.dynamic_pieces {
            if look_ups.has_left[piece as usize] {
                self.look_up_fixed(look_ups, scene, piece as usize);
                self.look_up_dynamic(look_ups, scene, piece as usize);
            }
        }
        for &piece in &scene.dynamic_pieces {
            look_ups.has_left[piece as usize] = false;
        }
        look_ups.dropped_now
    }

    /// Does the work of the most expensive look-ups that one update can need, without changing anything that lasts:
    /// every dynamic piece tries all [`SWEEP_FRACTIONS`] and is looked up twice, and [`MAX_REPLACEMENTS`] pairs find
    /// the table full.
    pub fn slowest_look_ups(&self, look_ups: &mut LookUps, scene: &Scene) {
        let mut met = 0;
        for &piece in &scene.dynamic_pieces {
            let around = self.boxes[piece as usize];
            for _ in 0..SWEEP_FRACTIONS.len() + 2 {
                met += self.slowest_grid_visits(look_ups, scene, piece, &around);
                look_ups.work.box_tests += scene.dynamic_pieces.len() as u32;
                for &other in &scene.dynamic_pieces {
                    let meets = self.boxes[other as usize].meets(&around);
                    met += usize::from(meets && self.table.contains(other.min(piece), other.max(piece)));
                }
            }
        }
        if let Some(pair) = self.table.pairs().first() {
            for _ in 0..MAX_REPLACEMENTS {
                look_ups.work.searches += 1;
                met += usize::from(self.farther_than(scene, pair).is_some());
            }
        }
        // Keeps the work from being optimised away.
        std::hint::black_box(met);
    }

    /// Visits as much of the grid as one look-up is permitted to.
    fn slowest_grid_visits(&self, look_ups: &mut LookUps, scene: &Scene, piece: u32, around: &Aabb) -> usize {
        let whole = scene.grid.whole();
        let mut left = scene.look_up_work;
        let mut met = 0;
        for row in scene.grid.rows_over(&whole) {
            let visited = row.len().min(left.saturating_sub(1));
            left = left.saturating_sub(1 + visited);
            for other in row[..visited].iter().map(|&other| other as usize) {
                look_ups.seen[other] = look_ups.stamp;
                met += usize::from(self.boxes[other].meets(around) || self.table.contains(other as u32, piece));
            }
        }
        look_ups.work.grid_visits += (scene.look_up_work - left) as u32;
        met
    }

    /// Removes the pairs whose boxes no longer meet.
    fn remove_parted(&mut self, look_ups: &LookUps) {
        let (boxes, has_left) = (&self.boxes, &look_ups.has_left);
        self.table.retain(|pair| {
            let (a, b) = (pair.pieces[0] as usize, pair.pieces[1] as usize);
            !(has_left[a] || has_left[b]) || boxes[a].meets(&boxes[b])
        });
    }

    fn look_up_fixed(&mut self, look_ups: &mut LookUps, scene: &Scene, piece: usize) {
        let around = self.boxes[piece];
        look_ups.each_fixed(scene, &around, |look_ups, other| {
            if self.boxes[other].meets(&around) {
                self.add(look_ups, scene, other, piece);
            }
        });
    }

    fn look_up_dynamic(&mut self, look_ups: &mut LookUps, scene: &Scene, piece: usize) {
        let around = self.boxes[piece];
        look_ups.work.box_tests += scene.dynamic_pieces.len() as u32;
        for &other in &scene.dynamic_pieces {
            let other = other as usize;
            if other != piece && self.boxes[other].meets(&around) {
                self.add(look_ups, scene, other.min(piece), other.max(piece));
            }
        }
    }

    /// Adds the pair of the pieces `a` and `b`, unless it is already in the table or the pieces cannot touch. If the
    /// table is full, the nearest pairs are kept.
    fn add(&mut self, look_ups: &mut LookUps, scene: &Scene, a: usize, b: usize) {
        let bodies = [scene.pieces[a].body as usize, scene.pieces[b].body as usize];
        if bodies[0] == bodies[1]
            || scene.bodies[bodies[0]].layer != scene.bodies[bodies[1]].layer
            || self.table.contains(a as u32, b as u32)
            || scene.bounds.is_some_and(|bounds| cannot_meet(scene, bounds.leave, &self.left, bodies))
        {
            return;
        }
        let pair = Pair::new(scene, [a as u32, b as u32]);
        if !self.table.is_full() {
            self.table.insert(pair);
        } else {
            look_ups.dropped_now += 1;
            if look_ups.replacements_left > 0 {
                look_ups.replacements_left -= 1;
                look_ups.work.searches += 1;
                self.replace_farthest(scene, pair);
            }
            self.look_up_again(scene, &pair);
        }
    }

    fn replace_farthest(&mut self, scene: &Scene, pair: Pair) {
        if let Some(index) = self.farther_than(scene, &pair) {
            self.table.remove(index);
            self.table.insert(pair);
        }
    }

    /// Returns the index of the pair in the table that is farthest apart, if it is farther apart than `pair`. Two
    /// dynamic pieces count as farther apart than a piece and a fixed one, so that no body leaves a room. Real-time:
    /// one pass over the pairs.
    fn farther_than(&self, scene: &Scene, pair: &Pair) -> Option<usize> {
        let boxes = &self.boxes;
        let distance = |p: &Pair| {
            let [first, second] = p.pieces.map(|piece| piece as usize);
            (!scene.is_fixed_piece(first), boxes[first].centre_distance(&boxes[second]))
        };
        let (mut farthest, mut far) = (None, distance(pair));
        for (i, known) in self.table.pairs().iter().enumerate() {
            if distance(known) > far {
                (farthest, far) = (Some(i), distance(known));
            }
        }
        farthest
    }

    /// Makes sure that both pieces of a dropped pair are looked up in the next tick, when the table may have capacity.
    fn look_up_again(&mut self, scene: &Scene, pair: &Pair) {
        for piece in pair.pieces {
            if !scene.is_fixed_piece(piece as usize) {
                self.boxes[piece as usize] = Aabb::NOWHERE;
            }
        }
    }
}

/// Whether two bodies cannot meet because of the bounds: neither moves, or one is removed.
fn cannot_meet(scene: &Scene, leave: Leave, left: &[bool], bodies: [usize; 2]) -> bool {
    match leave {
        Leave::Remove => bodies.iter().any(|&body| left[body]),
        Leave::Respawn | Leave::Stop => bodies.iter().all(|&body| left[body] || scene.bodies[body].fixed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
    use crate::state::State;
    use crate::workspace::Workspace;
    use nalgebra::vector;

    #[test]
    fn pairs_with_fixed_pieces_are_the_last_to_be_dropped() {
        let floor = BodyDescription {
            fixed: true,
            position_m: vector![0.3, -0.01],
            ..BodyDescription::new("floor", ShapeDescription::Box { size_m: vector![1.0, 0.02] })
        };
        let disc_at = |i: usize| BodyDescription {
            position_m: vector![0.0101 * i as f64, 0.005],
            ..BodyDescription::new(&i.to_string(), ShapeDescription::Disc { radius_m: 0.005 })
        };
        let bodies = std::iter::once(floor).chain((0..4).map(disc_at)).collect();
        let mut scene = Scene::build(&SceneDescription { bodies, ..SceneDescription::default() }).unwrap();
        scene.pair_capacity = 4;
        let (mut state, mut workspace) = (State::new(&scene), Workspace::new(&scene));
        let output = state.advance(&scene, &mut workspace, None);
        assert!(output.pairs_dropped > 0);
        assert!(state.broad_phase.table.pairs().iter().all(|pair| pair.pieces[0] == 0), "the floor is in every pair");
    }
}
