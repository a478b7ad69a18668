//! A prescribed hand: a CSV file of times and positions in the device's frame.

use crate::error::{FileErrors, Position, Problem};
use crate::kind::FileKind;
use crate::source::Source;
use haptic_device::prescribed::Trajectory;
use nalgebra::Vector2;

const HEADER: [&str; 3] = ["t_s", "x_m", "y_m"];

/// A hand's way: linear between rows, held before the first and after the last.
#[derive(Clone, Debug, PartialEq)]
pub struct HandPath {
    rows: Vec<HandRow>,
}

/// Where the hand is at one time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandRow {
    /// Time, s.
    pub t_s: f64,
    /// Device frame, m.
    pub position_m: Vector2<f64>,
}

/// Reads a hand file.
///
/// # Errors
/// The first thing that is wrong, with its place.
pub fn load(source: &Source) -> Result<HandPath, FileErrors> {
    load_hand(source).map_err(|errors| FileKind::Hand.blame(source, errors))
}

fn load_hand(source: &Source) -> Result<HandPath, FileErrors> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let mut lines =
        text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    check_header(source, lines.next())?;
    let mut rows: Vec<HandRow> = Vec::new();
    for (line, text) in lines {
        let row = row(source, line, text)?;
        check_order(source, line, rows.last(), &row)?;
        rows.push(row);
    }
    if rows.is_empty() {
        return Err(Problem::of_file(&source.name, "has no rows", "write at least one row, e.g. 0.0,0.0,0.03").into());
    }
    Ok(HandPath { rows })
}

fn problem(source: &Source, line: usize, column: usize, key: &str, problem: String, remedy: &str) -> FileErrors {
    let blank = Problem::at(&source.name, Position { line, column }, problem, remedy);
    Problem { key: key.to_owned(), ..blank }.into()
}

fn check_header(source: &Source, first: Option<(usize, &str)>) -> Result<(), FileErrors> {
    let (line, text) = first.unwrap_or((1, ""));
    if text.split(',').map(str::trim).eq(HEADER) {
        return Ok(());
    }
    let what = format!("the first line must name the columns, got {text:?}");
    Err(problem(source, line, 1, "", what, "write t_s,x_m,y_m"))
}

fn row(source: &Source, line: usize, text: &str) -> Result<HandRow, FileErrors> {
    let fields: Vec<&str> = text.split(',').collect();
    if fields.len() != HEADER.len() {
        let what = format!("must have {} numbers, has {}", HEADER.len(), fields.len());
        return Err(problem(source, line, 1, "", what, "write t_s,x_m,y_m, e.g. 0.001,0.0,0.03"));
    }
    let mut numbers = [0.0; 3];
    let mut column = 1;
    for (index, field) in fields.iter().enumerate() {
        numbers[index] = number(field).map_err(|what| {
            let indent = field.chars().take_while(|character| character.is_whitespace()).count();
            problem(source, line, column + indent, HEADER[index], what, "write a finite number, e.g. 0.03")
        })?;
        column += field.chars().count() + 1;
    }
    Ok(HandRow { t_s: numbers[0], position_m: Vector2::new(numbers[1], numbers[2]) })
}

fn number(field: &str) -> Result<f64, String> {
    let number: f64 = field.trim().parse().map_err(|_| format!("is not a number: {:?}", field.trim()))?;
    crate::rule::ANY.objection(number).map_or(Ok(number), Err)
}

fn check_order(source: &Source, line: usize, before: Option<&HandRow>, row: &HandRow) -> Result<(), FileErrors> {
    match before {
        Some(before) if row.t_s <= before.t_s => {
            let what = format!("times must increase, but {} follows {}", row.t_s, before.t_s);
            Err(problem(source, line, 1, "t_s", what, "sort the rows by time"))
        }
        _ => Ok(()),
    }
}

impl HandPath {
    /// A hand of given rows, in the order of their times.
    pub fn of(rows: Vec<HandRow>) -> Self {
        Self { rows }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows.len()
    }

    /// The time of the last row, s.
    pub fn end_s(&self) -> f64 {
        self.rows.last().map_or(0.0, |row| row.t_s)
    }

    /// Where the hand is at a time, device frame, m. `segment` remembers the row last used, so that times that only
    /// grow cost one comparison each. Real-time: each row is passed once in the whole run.
    #[inline]
    pub fn at(&self, t_s: f64, segment: &mut usize) -> Vector2<f64> {
        while self.rows.get(*segment + 1).is_some_and(|next| next.t_s <= t_s) {
            *segment += 1;
        }
        let Some(from) = self.rows.get(*segment) else { return Vector2::zeros() };
        match self.rows.get(*segment + 1) {
            Some(to) if t_s > from.t_s => {
                let share = (t_s - from.t_s) / (to.t_s - from.t_s);
                from.position_m + (to.position_m - from.position_m) * share
            }
            _ => from.position_m,
        }
    }
}

/// A hand on its way, for a device that follows it.
#[derive(Clone, Debug)]
pub struct FollowedPath {
    path: HandPath,
    segment: usize,
}

impl FollowedPath {
    /// At the start.
    pub fn new(path: HandPath) -> Self {
        Self { path, segment: 0 }
    }
}

impl Trajectory for FollowedPath {
    fn at(&mut self, time_s: f64) -> Vector2<f64> {
        self.path.at(time_s, &mut self.segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> HandPath {
        load(&Source::in_memory("hand.csv", text)).unwrap()
    }

    fn error(text: &str) -> String {
        load(&Source::in_memory("hand.csv", text)).unwrap_err().to_string()
    }

    #[test]
    fn is_linear_between_rows_and_held_outside() {
        let path = path("t_s,x_m,y_m\r\n1.0,0.0,1.0\r\n2.0,4.0,3.0\r\n\r\n");
        let mut segment = 0;
        let xs = [0.0, 1.0, 1.25, 2.0, 9.0].map(|t| path.at(t, &mut segment).x);
        assert_eq!(xs, [0.0, 0.0, 1.0, 4.0, 4.0]);
        assert_eq!(path.at(9.0, &mut segment).y, 3.0);
    }

    #[test]
    fn errors_name_line_column_and_key() {
        assert!(error("").starts_with("hand.csv:1:1: the first line must name the columns"));
        assert!(error("t_s,x_m\n0,0\n").starts_with("hand.csv:1:1: the first line"));
        assert!(error("t_s,x_m,y_m\n").starts_with("hand.csv: has no rows"));
        assert!(error("t_s,x_m,y_m\n0,0\n").starts_with("hand.csv:2:1: must have 3 numbers, has 2"));
        assert!(error("t_s,x_m,y_m\n0,0,0\n1, x,0\n").starts_with("hand.csv:3:4: x_m: is not a number: \"x\""));
        assert!(error("t_s,x_m,y_m\n0,0,nan\n").starts_with("hand.csv:2:5: y_m: must be a finite number"));
        assert!(error("t_s,x_m,y_m\n1,0,0\n\n1,0,0\n").starts_with("hand.csv:4:1: t_s: times must increase"));
    }
}
