//! Prescribed hand: a CSV file of times and positions in the device frame.

use crate::error::{FileErrors, Position, Problem};
use crate::keys::Range;
use crate::keys::scene::{POSITION, TIME};
use crate::kind::FileKind;
use crate::source::Source;
use haptic_device::Path;

const HEADER: [&str; 3] = ["t_s", "x_m", "y_m"];

/// Reads a hand file.
///
/// # Errors
/// If the file has a problem; only the first is reported, with its location.
pub fn load(source: &Source) -> Result<Path, FileErrors> {
    load_hand(source).map_err(|errors| FileKind::Hand.explain(source, errors))
}

fn load_hand(source: &Source) -> Result<Path, FileErrors> {
    let text = source.text.strip_prefix('\u{feff}').unwrap_or(&source.text);
    let mut lines =
        text.lines().enumerate().map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.trim().is_empty());
    check_header(source, lines.next())?;
    let mut rows: Vec<[f64; 3]> = Vec::new();
    for (line, text) in lines {
        let row = row(source, line, text)?;
        check_order(source, line, rows.last(), &row)?;
        rows.push(row);
    }
    // Numbers and times have been checked above, with line and column.
    Path::new(rows, false).map_err(|_| {
        problem(source, 2, 1, "", "has no rows".to_owned(), "write at least one row, such as 0.0,0.0,0.03")
    })
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

fn row(source: &Source, line: usize, text: &str) -> Result<[f64; 3], FileErrors> {
    let fields: Vec<&str> = text.split(',').collect();
    if fields.len() != HEADER.len() {
        let what = format!("must have {} numbers, has {}", HEADER.len(), fields.len());
        return Err(problem(source, line, 1, "", what, "write t_s,x_m,y_m, e.g. 0.001,0.0,0.03"));
    }
    let mut numbers = [0.0; 3];
    let mut column = 1;
    for (index, field) in fields.iter().enumerate() {
        let range = if index == 0 { TIME.accepted } else { POSITION.accepted };
        numbers[index] = number(field, range).map_err(|what| {
            let indent = field.chars().take_while(|character| character.is_whitespace()).count();
            problem(source, line, column + indent, HEADER[index], what, "write a finite number, e.g. 0.03")
        })?;
        column += field.chars().count() + 1;
    }
    Ok(numbers)
}

fn number(field: &str, range: Range) -> Result<f64, String> {
    let number: f64 = field.trim().parse().map_err(|_| format!("is not a number: {:?}", field.trim()))?;
    range.violation(number).map_or(Ok(number), Err)
}

fn check_order(source: &Source, line: usize, before: Option<&[f64; 3]>, row: &[f64; 3]) -> Result<(), FileErrors> {
    match before {
        Some(before) if row[0] <= before[0] => {
            let what = format!("times must increase, but {} follows {}", row[0], before[0]);
            Err(problem(source, line, 1, "t_s", what, "write the rows in the order of time"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Path {
        load(&Source::in_memory("hand.csv", text)).unwrap()
    }

    fn error(text: &str) -> String {
        load(&Source::in_memory("hand.csv", text)).unwrap_err().to_string()
    }

    #[test]
    fn is_linear_between_rows_and_held_outside() {
        let path = path("t_s,x_m,y_m\r\n1.0,0.0,1.0\r\n2.0,4.0,3.0\r\n\r\n");
        let xs = [0.0, 1.0, 1.25, 2.0, 9.0].map(|t| path.at(t).x);
        assert_eq!(xs, [0.0, 0.0, 1.0, 4.0, 4.0]);
        assert_eq!(path.at(9.0).y, 3.0);
    }

    #[test]
    fn errors_name_line_column_and_key() {
        assert!(error("").starts_with("hand.csv:1:1: the first line must name the columns"));
        assert!(error("t_s,x_m\n0,0\n").starts_with("hand.csv:1:1: the first line"));
        assert!(error("t_s,x_m,y_m\n").starts_with("hand.csv:2:1: has no rows"));
        assert!(error("t_s,x_m,y_m\n0,0\n").starts_with("hand.csv:2:1: must have 3 numbers, has 2"));
        assert!(error("t_s,x_m,y_m\n0,0,0\n1, x,0\n").starts_with("hand.csv:3:4: x_m: is not a number: \"x\""));
        assert!(error("t_s,x_m,y_m\n0,0,nan\n").starts_with("hand.csv:2:5: y_m: must be a finite number"));
        assert!(error("t_s,x_m,y_m\n1,0,0\n\n1,0,0\n").starts_with("hand.csv:4:1: t_s: times must increase"));
    }
}
