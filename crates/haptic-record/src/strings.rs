//! Lengths of the strings in a record. The library allocates memory for a string before it reads it, so a damaged length
//! would cost up to 4 GB; and it panics at an attachment that ends within its strings.

use mcap::records::op;
use std::fmt;

/// Strings of one type of record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strings {
    /// Number of bytes before the strings.
    first_at: usize,
    /// Number of strings, each preceded by its length.
    count: usize,
    /// Whether a map of strings follows, preceded by its length in bytes.
    has_map: bool,
    /// Least number of bytes after the strings.
    rest: usize,
}

/// Error for a string that does not fit into its record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// Byte offset of the length in the record.
    pub offset: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the text at byte {} of a record does not fit into the record", self.offset)
    }
}

impl std::error::Error for TooLong {}

impl Strings {
    /// Returns the strings of a type of record; `None` for a type that the reader does not need.
    pub fn of(opcode: u8) -> Option<Self> {
        let (first_at, count, has_map, rest) = match opcode {
            op::CHANNEL => (4, 2, true, 0),
            op::MESSAGE => (0, 0, false, 0),
            op::ATTACHMENT => (16, 2, false, 12),
            op::METADATA => (0, 1, true, 0),
            _ => return None,
        };
        Some(Self { first_at, count, has_map, rest })
    }

    /// Checks that every string ends within its record.
    ///
    /// # Errors
    /// If a string is longer than the rest of the record, or the record is too short for its strings.
    pub fn check(self, data: &[u8]) -> Result<(), TooLong> {
        let mut at = self.first_at;
        for _ in 0..self.count {
            at = end(data, at)?;
        }
        if !self.has_map {
            return if at + self.rest <= data.len() { Ok(()) } else { Err(TooLong { offset: at }) };
        }
        let end_of_map = end(data, at)?;
        at += 4;
        while at < end_of_map {
            at = end(data, at)?;
        }
        Ok(())
    }
}

/// Returns the end of what has its length at `at`.
fn end(data: &[u8], at: usize) -> Result<usize, TooLong> {
    let length = data.get(at..).and_then(|rest| rest.first_chunk()).ok_or(TooLong { offset: at })?;
    let end = at + 4 + u32::from_le_bytes(*length) as usize;
    if end <= data.len() { Ok(end) } else { Err(TooLong { offset: at }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const METADATA: &[u8] = b"\x01\0\0\0n\x0b\0\0\0\x01\0\0\0k\x02\0\0\0vw";

    #[test]
    fn a_record_that_holds_its_strings_is_accepted() {
        assert_eq!(Strings::of(op::METADATA).unwrap().check(METADATA), Ok(()));
        assert_eq!(Strings::of(op::MESSAGE).unwrap().check(b""), Ok(()));
        assert_eq!(Strings::of(op::STATISTICS), None);
    }

    #[test]
    fn an_attachment_that_ends_within_its_strings_is_found() {
        let mut record = vec![0; 16 + 4 + 4 + 12];
        assert_eq!(Strings::of(op::ATTACHMENT).unwrap().check(&record), Ok(()));
        record.pop();
        assert_eq!(Strings::of(op::ATTACHMENT).unwrap().check(&record), Err(TooLong { offset: 24 }));
    }

    #[test]
    fn a_length_beyond_the_record_is_found() {
        for offset in [0, 5, 9, 14] {
            let mut record = METADATA.to_vec();
            record[offset + 3] = 0x80;
            assert_eq!(Strings::of(op::METADATA).unwrap().check(&record), Err(TooLong { offset }));
        }
        assert_eq!(Strings::of(op::ATTACHMENT).unwrap().check(b"short"), Err(TooLong { offset: 16 }));
    }
}
