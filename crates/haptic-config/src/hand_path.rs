//! Paths of simulated hands: rows of t_s, x_m, y_m in `[hand]` of device and scene files.

use crate::keys::Key;
use crate::section::Section;
use haptic_device::Path;
use haptic_device::path::PathError;

/// Reports each problem for which [`Path`] rejects the rows, at its location.
pub fn check(section: &Section<'_>, key: &Key, rows: &[[f64; 3]], looped: bool) {
    if let Some([start_s, ..]) = rows.first().filter(|[start_s, ..]| *start_s < 0.0) {
        section.row_error(
            key,
            0,
            format!("starts before time zero, at {start_s} s"),
            format!("write 0.0 as the first time, as in {}", key.example_line()),
        );
    }
    match Path::new(rows.to_vec(), looped) {
        Ok(_) => {}
        Err(PathError::Time { row }) => {
            let problem = format!("times must increase, but {} s follows {} s", rows[row][0], rows[row - 1][0]);
            section.row_error(
                key,
                row,
                problem,
                format!("write the rows in the order of time, as in {}", key.example_line()),
            );
        }
        Err(PathError::Open) => {
            let (first, last) = (&rows[0][1..], &rows[rows.len() - 1][1..]);
            let problem = format!("must end where it starts to repeat: ends at {last:?}, starts at {first:?}");
            section.row_error(key, rows.len() - 1, problem, "end at the first point, or write loop = false");
        }
        Err(PathError::TooShortToLoop) => {
            section.row_error(key, 0, "needs two rows or more to repeat", "add a row, or write loop = false");
        }
        Err(PathError::NotFinite { row }) => {
            section.row_error(key, row, "must be finite numbers", "write t_s, x_m, y_m");
        }
        Err(PathError::Empty) => {
            section.error(key, "is empty", format!("write {}", key.example_line()));
        }
    }
}
