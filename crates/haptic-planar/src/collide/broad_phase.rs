//! Broad phase: finds near pairs from a grid over the fixed pieces and *fat* (enlarged) bounding boxes of the dynamic
//! ones.
//!
//! A dynamic piece is looked up again only when it leaves its fat box, so the cost of a tick does not depend on the
//! number of fixed bodies. In the worst case, for example after a teleport, all dynamic pieces leave their boxes in one
//! tick; the cost bound therefore includes one look-up for each of them.

use crate::collide::pair_table::{Pair, PairTable};
use crate::scene::Scene;

use crate::shape::aabb::{AABB_MARGIN_M, Aabb};
use crate::shape::piece::PlacedPiece;

/// State of the broad phase that lasts from tick to tick: the boxes of all pieces and the near pairs.
#[derive(Clone, Debug)]
pub struct BroadPhase {
    /// Box of every piece: tight for fixed ones, fat for dynamic ones.
    boxes: Vec<Aabb>,
    /// Near pairs, up to a fixed capacity.
    pub table: PairTable,
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
}

impl LookUps {
    /// Preallocates memory for a scene.
    pub fn new(scene: &Scene) -> Self {
        let pieces = scene.pieces.len();
        Self { has_left: vec![false; pieces], any_left: false, seen: vec![0; pieces], stamp: 0, dropped: 0 }
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

    /// Replaces the fat box of a dynamic piece and marks the piece for a look-up, unless the fat box contains `needed`,
    /// the box that the piece needs in this tick. Real-time: constant.
    #[inline]
    pub fn require_aabb(&mut self, look_ups: &mut LookUps, piece: usize, needed: &Aabb) {
        if !self.boxes[piece].contains(needed) {
            self.boxes[piece] = needed.grown(AABB_MARGIN_M);
            look_ups.has_left[piece] = true;
            look_ups.any_left = true;
        }
    }

    /// Updates the near pairs. Real-time: one look-up for each piece that left its box, and one pass over the near
    /// pairs.
    pub fn update_pairs(&mut self, look_ups: &mut LookUps, scene: &Scene) {
        look_ups.dropped = 0;
        if !look_ups.any_left {
            return;
        }
        look_ups.any_left = false;
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
        look_ups.stamp = look_ups.stamp.wrapping_add(1);
        for row in scene.grid.rows_over(&around) {
            for other in row.iter().map(|&other| other as usize) {
                if look_ups.seen[other] != look_ups.stamp {
                    look_ups.seen[other] = look_ups.stamp;
                    if self.boxes[other].meets(&around) {
                        self.add(look_ups, scene, other, piece);
                    }
                }
            }
        }
    }

    fn look_up_dynamic(&mut self, look_ups: &mut LookUps, scene: &Scene, piece: usize) {
        let around = self.boxes[piece];
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
        {
            return;
        }
        let pair = Pair::new(scene, [a as u32, b as u32]);
        if !self.table.is_full() {
            self.table.insert(pair);
        } else {
            look_ups.dropped += 1;
            self.replace_farthest(scene, pair);
        }
    }

    fn replace_farthest(&mut self, scene: &Scene, pair: Pair) {
        let boxes = &self.boxes;
        let distance = |p: &Pair| boxes[p.pieces[0] as usize].centre_distance(&boxes[p.pieces[1] as usize]);
        let (mut farthest, mut far) = (None, distance(&pair));
        for (i, known) in self.table.pairs().iter().enumerate() {
            if distance(known) > far {
                (farthest, far) = (Some(i), distance(known));
            }
        }
        if let Some(i) = farthest {
            self.table.remove(i);
            self.table.insert(pair);
        }
        // Look up both pieces again in the next tick, when the table may have capacity.
        for piece in pair.pieces {
            if !scene.is_fixed_piece(piece as usize) {
                self.boxes[piece as usize] = Aabb::NOWHERE;
            }
        }
    }
}
