//! A uniform grid over the fixed pieces.

use crate::shape::aabb::Aabb;
use nalgebra::Vector2;

/// Approximate maximum number of cells of the grid; rounding up to whole columns and rows can exceed it.
const MAX_CELLS: usize = 1 << 17;

/// A uniform grid over the boxes of the fixed pieces; constant after loading.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    origin: Vector2<f64>,
    cells_per_m: Vector2<f64>,
    columns: usize,
    rows: usize,
    /// Position of the first entry of each cell: the entries of cell c are `entries[starts[c]..starts[c + 1]]`.
    starts: Vec<u32>,
    entries: Vec<u32>,
}

impl Grid {
    pub fn over(boxes: &[(u32, Aabb)]) -> Self {
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

    /// Returns the first and last column and row that a box covers, clamped to the grid.
    #[inline]
    fn window(&self, b: &Aabb) -> ((usize, usize), (usize, usize)) {
        let low = (b.low - self.origin).component_mul(&self.cells_per_m);
        let high = (b.high - self.origin).component_mul(&self.cells_per_m);
        // The cast saturates, so positions far outside the grid map to its border.
        let clamp = |x: f64, n: usize| (x as usize).min(n - 1);
        ((clamp(low.x, self.columns), clamp(high.x, self.columns)), (clamp(low.y, self.rows), clamp(high.y, self.rows)))
    }

    /// Returns the indices of the pieces in the cells that a box covers, one slice per row of the grid. A piece that
    /// lies in several cells occurs several times.
    #[inline]
    pub fn rows_over(&self, b: &Aabb) -> impl Iterator<Item = &[u32]> {
        let (columns, rows) = self.window(b);
        (rows.0..=rows.1).map(move |row| {
            let (from, to) = (row * self.columns + columns.0, row * self.columns + columns.1);
            &self.entries[self.starts[from] as usize..self.starts[to + 1] as usize]
        })
    }
}
