//! One report as bytes.

use super::field::{Field, ReportKind};

/// Length of the longest report that can be written, bytes, without its id.
pub const MAX_REPORT_BYTES: usize = 64;

/// Kind, id and length of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its kind.
    pub kind: ReportKind,
    /// Its id; 0 if the device has none.
    pub id: u8,
    bytes: usize,
}

impl Shape {
    /// None if it is longer than [`MAX_REPORT_BYTES`].
    pub fn new(kind: ReportKind, id: u8, bytes: usize) -> Option<Self> {
        (bytes <= MAX_REPORT_BYTES).then_some(Self { kind, id, bytes })
    }

    /// A report of this shape with every field zero.
    pub fn empty(self) -> Report {
        let mut report = Report { bytes: [0; MAX_REPORT_BYTES + 1], length: self.bytes + 1 };
        report.bytes[0] = self.id;
        report
    }
}

/// A report with its id first, as Linux expects it, even if the id is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    bytes: [u8; MAX_REPORT_BYTES + 1],
    length: usize,
}

impl Report {
    /// The same report with a field set.
    ///
    /// Real-time: at most 32 steps.
    #[must_use]
    pub fn with(mut self, field: &Field, value: i64) -> Self {
        field.put(&mut self.bytes[1..self.length], value);
        self
    }

    /// Id and content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Id and content, to be filled by a device.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// The value of a field.
    pub fn get(&self, field: &Field) -> i64 {
        field.get(&self.bytes[1..self.length])
    }
}
