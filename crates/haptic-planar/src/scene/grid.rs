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
    /// Number of entries in the cells below and to the left of each corner of a cell, with one column more than the
    /// grid: a summed-area table, from which the entries of any window follow in constant time.
    sums: Vec<u32>,
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
            sums: vec![0; (columns + 1) * (rows + 1)],
        };
        grid.fill(boxes);
        grid.sum();
        grid
    }

    fn sum(&mut self) {
        let wide = self.columns + 1;
        for row in 0..self.rows {
            for column in 0..self.columns {
                let cell = row * self.columns + column;
                let here = row * wide + column;
                let entries = self.starts[cell + 1] - self.starts[cell];
                self.sums[here + wide + 1] = self.sums[here + wide] + self.sums[here + 1] - self.sums[here] + entries;
            }
        }
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

    /// Returns the work of a look-up over a box: the rows and entries of the grid that it visits. Real-time: constant.
    pub fn work_over(&self, b: &Aabb) -> usize {
        let (columns, rows) = self.window(b);
        self.work_in(columns, rows)
    }

    fn work_in(&self, columns: (usize, usize), rows: (usize, usize)) -> usize {
        let at = |row: usize, column: usize| self.sums[row * (self.columns + 1) + column] as usize;
        let (right, top) = (columns.1 + 1, rows.1 + 1);
        let entries = at(top, right) + at(rows.0, columns.0) - at(top, columns.0) - at(rows.0, right);
        entries + rows.1 - rows.0 + 1
    }

    /// Returns the largest work of a look-up over any box with these sides, m.
    pub fn max_work(&self, side_m: f64) -> usize {
        // A box that starts inside a cell reaches into one more than its sides alone would.
        let cells = |per_m: f64, most: usize| ((side_m * per_m).ceil() as usize + 1).min(most);
        let (wide, high) = (cells(self.cells_per_m.x, self.columns), cells(self.cells_per_m.y, self.rows));
        let windows = (0..=self.rows - high).flat_map(|row| (0..=self.columns - wide).map(move |column| (row, column)));
        let work = |(row, column)| self.work_in((column, column + wide - 1), (row, row + high - 1));
        windows.map(work).max().unwrap_or(0)
    }

    /// Returns the box of the whole grid.
    pub fn whole(&self) -> Aabb {
        let size = Vector2::new(self.columns as f64 / self.cells_per_m.x, self.rows as f64 / self.cells_per_m.y);
        Aabb { low: self.origin, high: self.origin + size }
    }
}
