//! Keeps log lines from falling into the picture: while it is up they are held, the newest is shown under it, and all
//! of them go to standard error when it is gone.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Lines held while the picture is up; older ones are dropped.
const MAX_LINES: usize = 1000;

/// None: no picture is up.
static HELD: Mutex<Option<VecDeque<String>>> = Mutex::new(None);

fn held() -> MutexGuard<'static, Option<VecDeque<String>>> {
    // A panic while holding it leaves a queue of whole lines.
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where log lines go; for `tracing_subscriber`'s `with_writer`.
pub fn writer() -> LogWriter {
    LogWriter
}

/// Standard error, or the held lines while a picture is up.
#[derive(Clone, Copy, Debug)]
pub struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut *held() {
            None => io::stderr().write(bytes),
            Some(lines) => {
                hold(lines, &String::from_utf8_lossy(bytes));
                Ok(bytes.len())
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn hold(lines: &mut VecDeque<String>, text: &str) {
    lines.extend(text.lines().map(str::to_owned));
    while lines.len() > MAX_LINES {
        lines.pop_front();
    }
}

/// From now on lines are held.
pub(super) fn begin() {
    *held() = Some(VecDeque::new());
}

/// Gives the held lines out; from now on lines go to standard error at once.
pub(super) fn end() {
    let lines = held().take().unwrap_or_default();
    for line in lines {
        eprintln!("{line}");
    }
}

/// The newest line, without the colours that terminals understand and pictures do not.
pub(super) fn newest() -> Option<String> {
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
