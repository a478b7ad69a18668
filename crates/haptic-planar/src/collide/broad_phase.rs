//! Which pieces are near each other: a grid over the fixed ones, fat boxes around the moving ones.
//!
//! A moving piece is looked up again only when it leaves its fat box, so the cost of a tick does not depend on how many
//! fixed bodies there are. The worst tick (everything leaves at once, a teleport included) looks up every moving piece
//! once; that is what the bound counts.

use crate::collide::pair_table::{Pair, PairTable};
use crate::scene::Scene;
use crate::scene::grid::Grid;
use crate::shape::aabb::{AABB_MARGIN_M, Aabb};
use crate::shape::piece::PlacedPiece;

/// Tracks which pieces are near each other.
#[derive(Clone, Debug)]
pub struct BroadPhase {
    grid: Grid,
    /// Box of every piece: tight for fixed ones, fat for moving ones.
    boxes: Vec<Aabb>,
    /// Indices of the moving pieces.
    moving: Vec<u32>,
    /// Set when a moving piece must be looked up in this tick.
    left: Vec<bool>,
    /// Stamp of the last look-up that saw a fixed piece, so that one in several cells counts once.
    seen: Vec<u32>,
    stamp: u32,
    /// Near pairs, at most their capacity.
    pub table: PairTable,
    /// Pairs that found no room in this tick.
    pub dropped: u32,
    any_left: bool,
}

impl BroadPhase {
    /// An empty broad phase with room for the scene's near pairs.
    pub fn new(scene: &Scene, placed: &[PlacedPiece], pair_capacity: usize) -> Self {
        let fixed = |piece: usize| scene.bodies[scene.pieces[piece].body as usize].fixed;
        let boxes: Vec<Aabb> = (0..scene.pieces.len())
            .map(|i| if fixed(i) { Aabb::around(&placed[i], scene.pieces[i].radius_m) } else { Aabb::NOWHERE })
            .collect();
        let fixed_boxes: Vec<(u32, Aabb)> =
            (0..boxes.len()).filter(|&i| fixed(i)).map(|i| (i as u32, boxes[i])).collect();
        Self {
            grid: Grid::over(&fixed_boxes),
            moving: (0..boxes.len()).filter(|&i| !fixed(i)).map(|i| i as u32).collect(),
            left: vec![false; boxes.len()],
            seen: vec![0; boxes.len()],
            boxes,
            stamp: 0,
            table: PairTable::with_capacity(pair_capacity),
            dropped: 0,
            any_left: false,
        }
    }

    /// Indices of the moving pieces.
    pub fn moving(&self) -> &[u32] {
        &self.moving
    }

    /// Where a piece may be before it is looked up again.
    pub fn box_of(&self, piece: u32) -> Aabb {
        self.boxes[piece as usize]
    }

    /// The same, from an image.
    pub fn set_box(&mut self, piece: u32, around: Aabb) {
        self.boxes[piece as usize] = around;
    }

    /// Forgets all near pairs and boxes of moving pieces, as if everything had been moved elsewhere at once.
    pub fn forget_everything(&mut self) {
        for m in 0..self.moving.len() {
            self.boxes[self.moving[m] as usize] = Aabb::NOWHERE;
        }
        self.table.retain(|_| false);
    }

    /// Tells where a moving piece may be during this tick. Real-time: constant.
    #[inline]
    pub fn cover(&mut self, piece: usize, needed: &Aabb) {
        if !self.boxes[piece].contains(needed) {
            self.boxes[piece] = needed.grown(AABB_MARGIN_M);
            self.left[piece] = true;
            self.any_left = true;
        }
    }

    /// Brings the near pairs up to date. Real-time: one look-up for each piece that left its box.
    pub fn refresh(&mut self, scene: &Scene) {
        self.dropped = 0;
        if !self.any_left {
            return;
        }
        self.any_left = false;
        self.forget_parted();
        for m in 0..self.moving.len() {
            let piece = self.moving[m] as usize;
            if self.left[piece] {
                self.look_up_fixed(scene, piece);
                self.look_up_moving(scene, piece);
            }
        }
        for m in 0..self.moving.len() {
            self.left[self.moving[m] as usize] = false;
        }
    }

    /// Drops the pairs whose boxes no longer meet.
    fn forget_parted(&mut self) {
        let (boxes, left) = (&self.boxes, &self.left);
        self.table.retain(|pair| {
            let (a, b) = (pair.pieces[0] as usize, pair.pieces[1] as usize);
            !(left[a] || left[b]) || boxes[a].meets(&boxes[b])
        });
    }

    fn look_up_fixed(&mut self, scene: &Scene, piece: usize) {
        let around = self.boxes[piece];
        self.stamp = self.stamp.wrapping_add(1);
        let (columns, rows) = self.grid.window(&around);
        for row in rows.0..=rows.1 {
            let (from, to) = (row * self.grid.columns + columns.0, row * self.grid.columns + columns.1);
            for entry in self.grid.starts[from]..self.grid.starts[to + 1] {
                let other = self.grid.entries[entry as usize] as usize;
                if self.seen[other] != self.stamp {
                    self.seen[other] = self.stamp;
                    if self.boxes[other].meets(&around) {
                        self.meet(scene, other, piece);
                    }
                }
            }
        }
    }

    fn look_up_moving(&mut self, scene: &Scene, piece: usize) {
        let around = self.boxes[piece];
        for m in 0..self.moving.len() {
            let other = self.moving[m] as usize;
            if other != piece && self.boxes[other].meets(&around) {
                self.meet(scene, other.min(piece), other.max(piece));
            }
        }
    }

    /// Adds a pair unless it is known or may not touch; without room the nearest are kept.
    fn meet(&mut self, scene: &Scene, a: usize, b: usize) {
        let bodies = [scene.pieces[a].body as usize, scene.pieces[b].body as usize];
        if bodies[0] == bodies[1]
            || scene.bodies[bodies[0]].layer != scene.bodies[bodies[1]].layer
            || self.table.knows(a as u32, b as u32)
        {
            return;
        }
        let pair = Pair::of(scene, [a as u32, b as u32]);
        if !self.table.is_full() {
            self.table.insert(pair);
        } else {
            self.replace_farthest(pair);
        }
    }

    fn replace_farthest(&mut self, pair: Pair) {
        self.dropped += 1;
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
        // Look again next tick: what found no room now may find it then.
        for piece in pair.pieces {
            self.boxes[piece as usize] =
                if self.moving.binary_search(&piece).is_ok() { Aabb::NOWHERE } else { self.boxes[piece as usize] };
        }
    }
}
