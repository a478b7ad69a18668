//! Plain CDR, little-endian: the encoding of ROS 2 messages, which plotting tools read without configuration.
//!
//! A message starts with four bytes that identify the encoding. Numbers are aligned to their size, relative to the end
//! of those four bytes.

use std::fmt;

/// First four bytes of a message, which identify plain little-endian CDR.
const PREFIX: [u8; 4] = [0, 1, 0, 0];

/// Encodes messages, one at a time.
#[derive(Clone, Debug, Default)]
pub struct CdrWriter {
    bytes: Vec<u8>,
}

/// Error for a message that is too short, is not CDR, or contains an invalid value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotCdr {
    /// Byte offset of the error in the message.
    pub offset: usize,
}

impl fmt::Display for NotCdr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the message ends or makes no sense at byte {}", self.offset)
    }
}

impl std::error::Error for NotCdr {}

impl CdrWriter {
    /// Starts a new message, reusing the memory of the previous one.
    pub fn begin(&mut self) -> &mut Self {
        self.bytes.clear();
        self.bytes.extend_from_slice(&PREFIX);
        self
    }

    /// Returns the bytes of the message.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Appends a number of `N` bytes, aligned to `N`.
    fn put<const N: usize>(&mut self, value: [u8; N]) -> &mut Self {
        let behind_prefix = self.bytes.len() - PREFIX.len();
        let padding = behind_prefix.next_multiple_of(N) - behind_prefix;
        self.bytes.resize(self.bytes.len() + padding, 0);
        self.bytes.extend_from_slice(&value);
        self
    }

    /// Appends a `uint64`.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.put(value.to_le_bytes())
    }

    /// Appends a `uint32`.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.put(value.to_le_bytes())
    }

    /// Appends a `uint8`.
    pub fn u8(&mut self, value: u8) -> &mut Self {
        self.put([value])
    }

    /// Appends a `float64`, bit for bit.
    pub fn f64(&mut self, value: f64) -> &mut Self {
        self.put(value.to_bits().to_le_bytes())
    }

    /// Appends a `float32`, bit for bit.
    pub fn f32(&mut self, value: f32) -> &mut Self {
        self.put(value.to_bits().to_le_bytes())
    }
}

/// Decodes one message.
#[derive(Clone, Copy, Debug)]
pub struct CdrReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> CdrReader<'a> {
    /// Starts reading a message.
    ///
    /// # Errors
    /// If the message is not plain little-endian CDR.
    pub fn of(bytes: &'a [u8]) -> Result<Self, NotCdr> {
        match bytes.strip_prefix(&PREFIX) {
            Some(bytes) => Ok(Self { bytes, at: 0 }),
            None => Err(NotCdr { offset: 0 }),
        }
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], NotCdr> {
        let start = self.at.next_multiple_of(N);
        let value = self.bytes.get(start..start + N).and_then(|slice| slice.try_into().ok());
        self.at = start + N;
        value.ok_or(NotCdr { offset: PREFIX.len() + start })
    }

    /// Reads the next `uint64`.
    ///
    /// # Errors
    /// If the message is too short.
    pub fn u64(&mut self) -> Result<u64, NotCdr> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads the next `uint32`.
    ///
    /// # Errors
    /// If the message is too short.
    pub fn u32(&mut self) -> Result<u32, NotCdr> {
        self.take().map(u32::from_le_bytes)
    }

    /// Reads the next `uint8`.
    ///
    /// # Errors
    /// If the message is too short.
    pub fn u8(&mut self) -> Result<u8, NotCdr> {
        self.take().map(|[byte]| byte)
    }

    /// Reads the next `float64`, bit for bit.
    ///
    /// # Errors
    /// If the message is too short.
    pub fn f64(&mut self) -> Result<f64, NotCdr> {
        self.take().map(|bytes| f64::from_bits(u64::from_le_bytes(bytes)))
    }

    /// Reads the next `float32`, bit for bit.
    ///
    /// # Errors
    /// If the message is too short.
    pub fn f32(&mut self) -> Result<f32, NotCdr> {
        self.take().map(|bytes| f32::from_bits(u32::from_le_bytes(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_aligned_to_their_size_behind_the_prefix() {
        let mut writer = CdrWriter::default();
        writer.begin().u8(7).u32(1).u8(9).f64(-0.0);
        assert_eq!(writer.bytes()[..16], [0, 1, 0, 0, 7, 0, 0, 0, 1, 0, 0, 0, 9, 0, 0, 0]);
        assert_eq!(writer.bytes().len(), 4 + 16 + 8);
    }

    #[test]
    fn what_was_written_is_read_back_to_the_bit() {
        let mut writer = CdrWriter::default();
        let odd = f64::from_bits(0x7ff8_0000_0000_1234);
        writer.begin().u8(1).f64(odd).f32(0.1).u64(u64::MAX).u32(5);
        let mut reader = CdrReader::of(writer.bytes()).unwrap();
        assert_eq!(reader.u8(), Ok(1));
        assert_eq!(reader.f64().unwrap().to_bits(), odd.to_bits());
        assert_eq!((reader.f32(), reader.u64(), reader.u32()), (Ok(0.1), Ok(u64::MAX), Ok(5)));
        assert!(reader.u8().is_err());
    }

    #[test]
    fn what_is_no_cdr_is_refused() {
        assert_eq!(CdrReader::of(b"{}").unwrap_err(), NotCdr { offset: 0 });
    }
}
