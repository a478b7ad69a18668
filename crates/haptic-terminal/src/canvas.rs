//! A canvas of braille dots. Each cell is two dots wide and four dots high, so that the dot spacing is about square.
//!
//! A cell has one ink colour for its dots and one tint behind them. Lines and outlines are drawn in ink, at dot
//! resolution. The tint covers whole cells and makes areas look filled.
//!
//! Ratatui's own canvas was rejected: its braille grid can set dots but can neither clear them nor colour the
//! background, so a body could not cover what is behind it.

use haptic_draw::colour::Rgb;
use nalgebra::Vector2;

/// Number of dots across a cell.
pub const DOTS_ACROSS: usize = 2;
/// Number of dots down a cell.
pub const DOTS_DOWN: usize = 4;
/// Minimum number of covered dots for a cell to be tinted.
const TINTED_DOTS: usize = 4;

/// Bits of the dots in a braille character, by row and column.
const BITS: [[u32; DOTS_ACROSS]; DOTS_DOWN] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A grid of dots with their colours.
#[derive(Clone, Debug)]
pub struct Canvas {
    columns: usize,
    rows: usize,
    /// Ink of each dot, if it is set.
    ink: Vec<Option<Rgb>>,
    /// Tint of each dot, if it is covered.
    tint: Vec<Option<Rgb>>,
}

/// Contents of one cell of a canvas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Braille character; the blank one if there is no ink.
    pub symbol: char,
    /// Colour of the dots, if any.
    pub ink: Option<Rgb>,
    /// Colour behind the dots, if any.
    pub tint: Option<Rgb>,
}

impl Canvas {
    /// Creates an empty canvas of `columns` × `rows` cells.
    pub fn new(columns: usize, rows: usize) -> Self {
        let dots = columns * DOTS_ACROSS * rows * DOTS_DOWN;
        Self { columns, rows, ink: vec![None; dots], tint: vec![None; dots] }
    }

    /// Returns the width in dots.
    pub fn width(&self) -> usize {
        self.columns * DOTS_ACROSS
    }

    /// Returns the height in dots.
    pub fn height(&self) -> usize {
        self.rows * DOTS_DOWN
    }

    /// Inks a dot; dots outside the canvas are ignored.
    pub fn dot(&mut self, x: i64, y: i64, ink: Rgb) {
        if let Some(index) = self.index(x, y) {
            self.ink[index] = Some(ink);
        }
    }

    /// Tints a dot and clears its ink; dots outside the canvas are ignored.
    pub fn cover(&mut self, x: i64, y: i64, tint: Rgb) {
        if let Some(index) = self.index(x, y) {
            (self.ink[index], self.tint[index]) = (None, Some(tint));
        }
    }

    /// Inks a straight line between two points given in dots.
    pub fn line(&mut self, from: Vector2<f64>, to: Vector2<f64>, ink: Rgb) {
        // Bounds the work for lines that reach far beyond the canvas.
        let steps = (to - from).amax().ceil().clamp(1.0, 4.0 * (self.width() + self.height()) as f64);
        for step in 0..=steps as u64 {
            let at = from + (to - from) * (step as f64 / steps);
            self.dot(at.x.floor() as i64, at.y.floor() as i64, ink);
        }
    }

    /// Inks a circle; centre and radius are in dots.
    pub fn circle(&mut self, centre: Vector2<f64>, radius: f64, ink: Rgb) {
        let steps = (radius * 8.0).ceil().max(8.0);
        for step in 0..steps as u64 {
            let (sine, cosine) = libm::sincos(step as f64 / steps * std::f64::consts::TAU);
            let at = centre + Vector2::new(cosine, sine) * radius;
            self.dot(at.x.floor() as i64, at.y.floor() as i64, ink);
        }
    }

    /// Returns the contents of a cell, given its column and row.
    pub fn cell(&self, column: usize, row: usize) -> Cell {
        let (mut bits, mut ink, mut tints) = (0, None, Vec::with_capacity(DOTS_ACROSS * DOTS_DOWN));
        for (down, across_bits) in BITS.iter().enumerate() {
            for (across, bit) in across_bits.iter().enumerate() {
                let index = (row * DOTS_DOWN + down) * self.width() + column * DOTS_ACROSS + across;
                if self.ink[index].is_some() {
                    bits |= bit;
                    ink = self.ink[index];
                }
                tints.extend(self.tint[index]);
            }
        }
        let symbol = char::from_u32(0x2800 + bits).unwrap_or(' ');
        Cell { symbol, ink, tint: most_frequent(&tints) }
    }

    fn index(&self, x: i64, y: i64) -> Option<usize> {
        let (x, y) = (usize::try_from(x).ok()?, usize::try_from(y).ok()?);
        (x < self.width() && y < self.height()).then(|| y * self.width() + x)
    }
}

/// Returns the most frequent tint of the covered dots; `None` if fewer than `TINTED_DOTS` dots are covered.
fn most_frequent(tints: &[Rgb]) -> Option<Rgb> {
    let count = |tint: &Rgb| tints.iter().filter(|other| *other == tint).count();
    let enough = tints.len() >= TINTED_DOTS;
    enough.then(|| tints.iter().max_by_key(|tint| count(tint)).copied()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    const RED: Rgb = Rgb(255, 0, 0);
    const BLUE: Rgb = Rgb(0, 0, 255);

    #[test]
    fn every_dot_has_its_bit() {
        let mut canvas = Canvas::new(1, 1);
        assert_eq!(canvas.cell(0, 0).symbol, '\u{2800}');
        canvas.dot(0, 0, RED);
        canvas.dot(1, 3, RED);
        assert_eq!(canvas.cell(0, 0), Cell { symbol: '⢁', ink: Some(RED), tint: None });
    }

    #[test]
    fn dots_beyond_the_canvas_are_lost_without_harm() {
        let mut canvas = Canvas::new(2, 1);
        for (x, y) in [(-1, 0), (0, -1), (4, 0), (0, 4), (i64::MAX, i64::MIN)] {
            canvas.dot(x, y, RED);
            canvas.cover(x, y, RED);
        }
        canvas.line(Vector2::new(-1e12, 2.0), Vector2::new(1e12, 2.0), RED);
        assert!(canvas.tint.iter().all(Option::is_none));
    }

    #[test]
    fn a_cover_hides_what_was_inked_and_tints_the_cell() {
        let mut canvas = Canvas::new(1, 1);
        canvas.line(Vector2::new(0.0, 0.0), Vector2::new(0.0, 3.0), RED);
        assert_eq!(canvas.cell(0, 0).symbol, '⡇');
        (0..4).for_each(|y| canvas.cover(0, y, BLUE));
        assert_eq!(canvas.cell(0, 0), Cell { symbol: '\u{2800}', ink: None, tint: Some(BLUE) });
    }

    #[test]
    fn a_cell_that_is_hardly_covered_is_not_tinted() {
        let mut canvas = Canvas::new(1, 1);
        (0..3).for_each(|y| canvas.cover(0, y, BLUE));
        assert_eq!(canvas.cell(0, 0).tint, None);
    }
}
