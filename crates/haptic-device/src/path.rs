//! A path in the plane, given as rows of time and position and interpolated linearly.

use nalgebra::Vector2;

/// Reason why rows are not a valid path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathError {
    /// A path needs at least one row.
    Empty,
    /// A row is not finite.
    NotFinite {
        /// Index of the row, counted from zero.
        row: usize,
    },
    /// Times must increase.
    Time {
        /// Index, counted from zero, of the row that is not later than the one before it.
        row: usize,
    },
    /// A looped path must end at its start.
    Open,
    /// A looped path needs two rows or more.
    TooShortToLoop,
}

impl core::fmt::Display for PathError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Empty => write!(out, "the path has no rows; give at least one [t_s, x_m, y_m]"),
            Self::NotFinite { row } => write!(out, "row {} of the path is not three finite numbers", row + 1),
            Self::Time { row } => {
                write!(out, "the time in row {} of the path must be later than the one before", row + 1)
            }
            Self::Open => write!(out, "the path loops, so its last point must equal its first"),
            Self::TooShortToLoop => write!(out, "the path loops, so it needs two rows or more"),
        }
    }
}

impl std::error::Error for PathError {}

/// A path in the plane: position as a function of time. Times increase from row to row.
#[derive(Clone, Debug, PartialEq)]
pub struct Path {
    /// Rows of t_s, x_m, y_m.
    rows: Vec<[f64; 3]>,
    looped: bool,
    /// Index of the first row later than the time last passed to [`Path::follow`].
    cursor: usize,
}

impl Path {
    /// Creates a path from rows of t_s, x_m, y_m. A `looped` path repeats. Returns an error if the rows are invalid.
    pub fn new(rows: Vec<[f64; 3]>, looped: bool) -> Result<Self, PathError> {
        if let Some(row) = rows.iter().position(|row| !row.iter().all(|value| value.is_finite())) {
            return Err(PathError::NotFinite { row });
        }
        if let Some(row) = rows.windows(2).position(|pair| pair[1][0] <= pair[0][0]) {
            return Err(PathError::Time { row: row + 1 });
        }
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Err(PathError::Empty) };
        if looped && rows.len() < 2 {
            return Err(PathError::TooShortToLoop);
        }
        if looped && first[1..] != last[1..] {
            return Err(PathError::Open);
        }
        Ok(Self { rows, looped, cursor: 0 })
    }

    /// The rows: t_s, x_m, y_m.
    pub fn rows(&self) -> &[[f64; 3]] {
        &self.rows
    }

    /// Position at `time_s`, m. The position is constant before the first row and, unless the path loops, after the
    /// last.
    ///
    /// Real-time: a binary search of the rows.
    pub fn at(&self, time_s: f64) -> Vector2<f64> {
        let time_s = self.time_in_rows(time_s);
        self.interpolate(self.row_after(time_s), time_s)
    }

    /// Like [`Path::at`], but faster for a sequence of times: the search starts at the row found by the last call.
    ///
    /// Real-time: constant while times advance by less than a row; a binary search of the rows otherwise.
    #[inline(always)]
    pub fn follow(&mut self, time_s: f64) -> Vector2<f64> {
        let time_s = self.time_in_rows(time_s);
        let has_passed = self.rows.get(self.cursor).is_some_and(|row| row[0] <= time_s);
        self.cursor += usize::from(has_passed);
        if let Some([before, after]) = self.rows.get(self.cursor.wrapping_sub(1)..).and_then(<[_]>::first_chunk)
            && before[0] <= time_s
            && time_s < after[0]
        {
            return between(before, after, time_s);
        }
        self.cursor = self.row_after(time_s);
        self.interpolate(self.cursor, time_s)
    }

    /// Index of the first row later than `time_s`.
    fn row_after(&self, time_s: f64) -> usize {
        self.rows.partition_point(|row| row[0] <= time_s)
    }

    fn interpolate(&self, after: usize, time_s: f64) -> Vector2<f64> {
        match (after.checked_sub(1).and_then(|before| self.rows.get(before)), self.rows.get(after)) {
            (Some(before), Some(after)) => between(before, after, time_s),
            (Some(only), None) | (None, Some(only)) => point(only),
            (None, None) => Vector2::zeros(),
        }
    }

    /// Maps `time_s` to the equivalent time within the rows of a looped path; returns it unchanged for other paths.
    fn time_in_rows(&self, time_s: f64) -> f64 {
        if !self.looped {
            return time_s;
        }
        match (self.rows.first(), self.rows.last()) {
            (Some(first), Some(last)) if time_s >= last[0] => {
                // The remainder of floating-point division is exact, so it is the same on every machine.
                first[0] + (time_s - first[0]) % (last[0] - first[0])
            }
            _ => time_s,
        }
    }
}

fn point(row: &[f64; 3]) -> Vector2<f64> {
    Vector2::new(row[1], row[2])
}

fn between(before: &[f64; 3], after: &[f64; 3], time_s: f64) -> Vector2<f64> {
    let fraction = (time_s - before[0]) / (after[0] - before[0]);
    point(before) + (point(after) - point(before)) * fraction
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle(looped: bool) -> Path {
        Path::new(vec![[0.0, 0.0, 0.03], [1.0, 0.02, -0.01], [2.0, 0.0, 0.03]], looped).unwrap()
    }

    #[test]
    fn positions_are_linear_between_rows() {
        assert!((triangle(false).at(0.25) - Vector2::new(0.005, 0.02)).norm() < 1e-16);
        assert_eq!(triangle(false).at(1.0), Vector2::new(0.02, -0.01));
    }

    #[test]
    fn a_path_is_held_before_its_first_and_after_its_last_row() {
        let path = Path::new(vec![[1.0, 0.1, 0.2], [2.0, 0.3, 0.4]], false).unwrap();
        assert_eq!(path.at(0.0), Vector2::new(0.1, 0.2));
        assert_eq!(path.at(50.0), Vector2::new(0.3, 0.4));
    }

    #[test]
    fn following_a_path_gives_the_same_bits_as_looking_it_up() {
        for looped in [false, true] {
            let mut path = triangle(looped);
            let times = (0..9000).map(|tick| f64::from(tick) * 1e-3).chain([0.5, 8.0, -1.0, 1.0, 1.5]);
            for time_s in times {
                assert_eq!(path.follow(time_s), path.at(time_s), "at {time_s} s");
            }
        }
    }

    #[test]
    fn a_looped_path_restarts() {
        let path = triangle(true);
        for second in 0..5 {
            let again = path.at(0.25 + 2.0 * f64::from(second));
            assert!((again - path.at(0.25)).norm() < 1e-15);
        }
        assert_eq!(path.at(2.0), path.at(0.0));
    }

    #[test]
    fn invalid_rows_are_rejected_with_their_number() {
        assert_eq!(Path::new(vec![], false), Err(PathError::Empty));
        let backwards = vec![[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 0.1, 0.0]];
        assert_eq!(Path::new(backwards, false), Err(PathError::Time { row: 2 }));
        assert_eq!(Path::new(vec![[0.0, f64::NAN, 0.0]], false), Err(PathError::NotFinite { row: 0 }));
        assert_eq!(Path::new(vec![[0.0, 0.0, 0.0], [1.0, 0.1, 0.0]], true), Err(PathError::Open));
        assert_eq!(Path::new(vec![[0.0, 0.0, 0.0]], true), Err(PathError::TooShortToLoop));
    }
}
