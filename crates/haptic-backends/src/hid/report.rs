//! HID reports as bytes.

use super::field::{Field, ReportKind};

/// Maximum length of a report to write, bytes, without its id.
pub const MAX_REPORT_BYTES: usize = 64;

/// Kind, id and length of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Kind of the report.
    pub kind: ReportKind,
    /// Id of the report; 0 if the device does not use ids.
    pub id: u8,
    bytes: usize,
}

impl Shape {
    /// Creates a shape. Returns `None` if the report is longer than [`MAX_REPORT_BYTES`] bytes.
    pub fn new(kind: ReportKind, id: u8, bytes: usize) -> Option<Self> {
        (bytes <= MAX_REPORT_BYTES).then_some(Self { kind, id, bytes })
    }

    /// Creates a report of this shape with all fields zero.
    pub fn empty(self) -> Report {
        let mut report = Report { bytes: [0; MAX_REPORT_BYTES + 1], length: self.bytes + 1 };
        report.bytes[0] = self.id;
        report
    }
}

/// A report that starts with its id, even if the id is 0, as Linux expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Report {
    bytes: [u8; MAX_REPORT_BYTES + 1],
    length: usize,
}

impl Report {
    /// Returns the report with a field set to a value.
    ///
    /// Real-time: at most 32 steps.
    #[must_use]
    pub fn with(mut self, field: &Field, value: i64) -> Self {
        field.put(&mut self.bytes[1..self.length], value);
        self
    }

    /// Returns the id and the contents.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Returns the id and the contents as a mutable slice, to be filled by a device.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[..self.length]
    }

    /// Returns the value of a field.
    pub fn get(&self, field: &Field) -> i64 {
        field.get(&self.bytes[1..self.length])
    }
}
