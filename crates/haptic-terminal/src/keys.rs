//! Keys pressed on the terminal.
//!
//! They are read here and not by crossterm, which searches for an event without end once the terminal is closed.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::fs::{Mode, OFlags};
use std::io::{self, ErrorKind, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// A letter, digit, sign or space; with Control, the character below 32.
    Character(u8),
    /// Escape.
    Escape,
    /// Any other key, such as an arrow.
    Other,
}

/// Ctrl-C, which arrives as a character in raw mode.
pub const CONTROL_C: Key = Key::Character(3);

const ESCAPE: u8 = 0x1b;

/// Reads keys from the terminal at standard input, or from the controlling terminal if standard input is not one.
#[derive(Debug)]
pub struct KeyReader {
    /// The controlling terminal; `None` for standard input.
    controlling: Option<OwnedFd>,
}

impl KeyReader {
    /// Opens the terminal, which should be in raw mode.
    ///
    /// # Errors
    /// If there is none.
    pub fn open() -> io::Result<Self> {
        let is_terminal = io::stdin().is_terminal();
        let controlling = if is_terminal { None } else { Some(open_controlling_terminal()?) };
        Ok(Self { controlling })
    }

    /// Waits for keys up to `timeout` and returns those that were pressed.
    ///
    /// # Errors
    /// If the terminal has been closed.
    pub fn read(&self, timeout: Duration) -> io::Result<Vec<Key>> {
        let stdin = io::stdin();
        let terminal = self.controlling.as_ref().map_or(stdin.as_fd(), AsFd::as_fd);
        let mut bytes = [0; 64];
        match has_input(terminal, timeout)? {
            false => Ok(Vec::new()),
            true => match rustix::io::read(terminal, &mut bytes)? {
                0 => Err(io::Error::new(ErrorKind::UnexpectedEof, "the terminal has been closed")),
                count => Ok(keys(&bytes[..count])),
            },
        }
    }
}

/// Opens the controlling terminal of this process without waiting.
pub(crate) fn open_controlling_terminal() -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(
        "/dev/tty",
        OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

/// Waits up to `timeout` until the terminal has input or has been closed.
fn has_input(terminal: BorrowedFd<'_>, timeout: Duration) -> io::Result<bool> {
    let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
    match poll(&mut [PollFd::new(&terminal, PollFlags::IN)], Some(&timeout)) {
        Err(rustix::io::Errno::INTR) => Ok(false),
        ready => Ok(ready? > 0),
    }
}

/// Returns the keys in the bytes of one read. Keys without a character are sequences that start with Escape and arrive
/// in one read; an Escape that ends the read is the key itself.
fn keys(bytes: &[u8]) -> Vec<Key> {
    let mut keys = Vec::new();
    let mut rest = bytes;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        keys.push(match first {
            ESCAPE if after.is_empty() || after[0] == ESCAPE => Key::Escape,
            ESCAPE => {
                rest = &after[sequence_length(after)..];
                Key::Other
            }
            0x80.. => Key::Other,
            _ => Key::Character(first),
        });
    }
    keys
}

/// Returns the length of the sequence after an Escape: a character, or an introducer, parameters and a final character.
fn sequence_length(bytes: &[u8]) -> usize {
    match bytes {
        [b'[' | b'O', parameters @ ..] => {
            let last = parameters.iter().position(|byte| (0x40..0x7f).contains(byte));
            last.map_or(bytes.len(), |last| last + 2)
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_escape_alone_is_a_key_and_a_sequence_is_another() {
        assert_eq!(keys(b"\x1b"), [Key::Escape]);
        assert_eq!(keys(b"\x1b\x1b"), [Key::Escape; 2]);
        assert_eq!(keys(b"\x1b[A"), [Key::Other], "an arrow");
        assert_eq!(keys(b"\x1b[1;5Cs"), [Key::Other, Key::Character(b's')], "Control with an arrow, then s");
        assert_eq!(keys(b"\x1bOPq"), [Key::Other, Key::Character(b'q')], "F1, then q");
        assert_eq!(keys(b"\x1bs"), [Key::Other], "Alt with s");
        assert_eq!(keys(b"\x03 r"), [CONTROL_C, Key::Character(b' '), Key::Character(b'r')]);
        assert_eq!(keys("é".as_bytes()), [Key::Other; 2]);
    }
}
