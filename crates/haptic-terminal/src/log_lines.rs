//! Holds back log lines while the picture is shown. The newest line is shown below the picture; all held lines are
//! written to standard error when the picture closes.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Maximum number of held lines; the oldest are dropped first.
const MAX_LINES: usize = 1000;

/// Held lines; `None` while no picture is shown.
static HELD: Mutex<Option<VecDeque<String>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<VecDeque<String>>> {
    // A panic leaves no partial line behind this lock.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the writer for `tracing_subscriber`'s `with_writer`.
pub fn writer() -> LogWriter {
    LogWriter
}

/// Writes log lines to standard error, or to the held lines while a picture is shown. Never fails: a reader of the log
/// that goes away, or a closed terminal, does not concern the loop.
#[derive(Clone, Copy, Debug)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *held() {
            None => drop(io::stderr().write_all(bytes)),
            Some(lines) => hold(lines, &String::from_utf8_lossy(bytes)),
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn hold(lines: &mut VecDeque<String>, text: &str) {
    lines.extend(text.lines().map(str::to_owned));
    while lines.len() > MAX_LINES {
        lines.pop_front();
    }
}

/// Prints a line to standard error. Unlike `eprintln!`, it does not panic if nobody reads it.
pub fn print(line: &dyn fmt::Display) {
    drop(writeln!(io::stderr(), "{line}"));
}

/// Starts holding back lines.
pub(crate) fn begin() {
    *held() = Some(VecDeque::new());
}

/// Writes the held lines to standard error and stops holding back lines.
pub(crate) fn end() {
    let lines = held().take().unwrap_or_default();
    for line in lines {
        print(&line);
    }
}

/// Returns the newest held line without escape sequences, if any.
pub(crate) fn newest() -> Option<String> {
    held().as_ref().and_then(|lines| lines.back().map(|line| without_escapes(line)))
}

fn without_escapes(line: &str) -> String {
    let mut plain = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => _ = characters.find(char::is_ascii_alphabetic),
            _ if character.is_control() => plain.push(' '),
            _ => plain.push(character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_taken_out_of_a_line() {
        assert_eq!(
            without_escapes("\u{1b}[2m12:00\u{1b}[0m \u{1b}[33mWARN\u{1b}[0m late\tagain"),
            "12:00 WARN late again"
        );
    }

    #[test]
    fn the_oldest_lines_are_dropped_first() {
        let mut lines = VecDeque::new();
        (0..MAX_LINES + 5).for_each(|number| hold(&mut lines, &format!("{number}\n")));
        assert_eq!((lines.len(), lines.front().unwrap().as_str()), (MAX_LINES, "5"));
    }
}
