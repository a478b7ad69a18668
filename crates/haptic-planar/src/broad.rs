//! Which pieces are near each other: a grid over the fixed ones, fat boxes around the moving ones.
//!
//! A moving piece is looked up again only when it leaves its fat box, so the cost of a tick does not depend on how many
//! fixed bodies there are. The worst tick (everything leaves at once, a teleport included) looks up every moving piece
//! once; that is what the bound counts.

use crate::pairs::{Pair, PairTable};
use crate::piece::PlacedPiece;
use crate::scene::Scene;
use nalgebra::Vector2;

/// How much larger than needed a fat box is, m. Less: more look-ups; more: more pairs that do not touch.
pub const AABB_MARGIN_M: f64 = 2e-3;
/// Most cells of the grid over fixed pieces.
const MAX_CELLS: usize = 1 << 17;

/// An axis-aligned box, world, m.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Aabb {
    /// Lower left.
    pub low: Vector2<f64>,
    /// Upper right.
    pub high: Vector2<f64>,
}

impl Aabb {
    /// A box that touches nothing.
    pub const NOWHERE: Self = Self {
        low: Vector2::new(f64::INFINITY, f64::INFINITY),
        high: Vector2::new(f64::NEG_INFINITY, f64::NEG_INFINITY),
    };

    /// Around a placed piece, grown by its radius and a margin.
    #[inline]
    pub fn around(placed: &PlacedPiece, grow_m: f64) -> Self {
        let mut low = placed.corners[0];
        let mut high = low;
        for corner in &placed.corners[1..placed.count] {
            low = low.inf(corner);
            high = high.sup(corner);
        }
        let grow = Vector2::new(grow_m, grow_m);
        Self { low: low - grow, high: high + grow }
    }

    /// Extended by a displacement.
    #[inline]
    pub fn swept(self, by: Vector2<f64>) -> Self {
        Self { low: self.low + by.inf(&Vector2::zeros()), high: self.high + by.sup(&Vector2::zeros()) }
    }

    /// Larger by `m` on every side.
    #[inline]
    pub fn grown(self, m: f64) -> Self {
        let grow = Vector2::new(m, m);
        Self { low: self.low - grow, high: self.high + grow }
    }

    /// Whether `inner` lies within.
    #[inline]
    pub fn contains(&self, inner: &Self) -> bool {
        self.low.x <= inner.low.x
            && self.low.y <= inner.low.y
            && self.high.x >= inner.high.x
            && self.high.y >= inner.high.y
    }

    /// Whether the two share a point.
    #[inline]
    pub fn meets(&self, other: &Self) -> bool {
        self.low.x <= other.high.x
            && other.low.x <= self.high.x
            && self.low.y <= other.high.y
            && other.low.y <= self.high.y
    }

    /// Squared distance between the boxes' centres.
    fn centre_distance(&self, other: &Self) -> f64 {
        (self.low + self.high - other.low - other.high).norm_squared()
    }
}

/// A uniform grid over the boxes of fixed pieces; const after load.
#[derive(Clone, Debug)]
struct Grid {
    origin: Vector2<f64>,
    cells_per_m: Vector2<f64>,
    columns: usize,
    rows: usize,
    /// Entries of cell c are `entries[starts[c]..starts[c + 1]]`.
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl Grid {
    fn over(boxes: &[(u32, Aabb)]) -> Self {
        let mut all = Aabb::NOWHERE;
        let mut side_sum = 0.0;
        for (_, b) in boxes {
            all = Aabb { low: all.low.inf(&b.low), high: all.high.sup(&b.high) };
            side_sum += (b.high - b.low).amin();
        }
        if boxes.is_empty() {
            all = Aabb { low: Vector2::zeros(), high: Vector2::new(1.0, 1.0) };
        }
        let extent = (all.high - all.low).sup(&Vector2::new(1e-3, 1e-3));
        let wanted = (side_sum / boxes.len().max(1) as f64).max(5e-3);
        let cell = wanted.max((extent.x * extent.y / MAX_CELLS as f64).sqrt());
        let columns = ((extent.x / cell).ceil() as usize).clamp(1, MAX_CELLS);
        let rows = ((extent.y / cell).ceil() as usize).clamp(1, MAX_CELLS);
        let cells_per_m = Vector2::new(columns as f64 / extent.x, rows as f64 / extent.y);
        let mut grid = Self {
            origin: all.low,
            cells_per_m,
            columns,
            rows,
            starts: vec![0; columns * rows + 1],
            entries: Vec::new(),
        };
        grid.fill(boxes);
        grid
    }

    fn fill(&mut self, boxes: &[(u32, Aabb)]) {
        for (_, b) in boxes {
            self.each_cell(b, |starts, c| starts[c + 1] += 1);
        }
        for c in 0..self.columns * self.rows {
            self.starts[c + 1] += self.starts[c];
        }
        let mut next = self.starts.clone();
        let mut entries = vec![0; self.starts[self.columns * self.rows] as usize];
        for (piece, b) in boxes {
            self.each_cell(b, |_, c| {
                entries[next[c] as usize] = *piece;
                next[c] += 1;
            });
        }
        self.entries = entries;
    }

    fn each_cell(&mut self, b: &Aabb, mut visit: impl FnMut(&mut Vec<u32>, usize)) {
        let (columns, rows) = self.window(b);
        for row in rows.0..=rows.1 {
            for column in columns.0..=columns.1 {
                visit(&mut self.starts, row * self.columns + column);
            }
        }
    }

    /// First and last column and row that a box covers, clamped to the grid.
    #[inline]
    fn window(&self, b: &Aabb) -> ((usize, usize), (usize, usize)) {
        let low = (b.low - self.origin).component_mul(&self.cells_per_m);
        let high = (b.high - self.origin).component_mul(&self.cells_per_m);
        // A cast saturates, so places far outside fall on the border.
        let clamp = |x: f64, n: usize| (x as usize).min(n - 1);
        ((clamp(low.x, self.columns), clamp(high.x, self.columns)), (clamp(low.y, self.rows), clamp(high.y, self.rows)))
    }
}

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
