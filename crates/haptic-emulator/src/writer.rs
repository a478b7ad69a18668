//! Writes HID report descriptors, item by item.

/// A main item of a report descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Main {
    /// Data from the device.
    Input = 0x80,
    /// Data to the device.
    Output = 0x90,
    /// Data in both directions, sent or requested by the host.
    Feature = 0xB0,
}

/// Usage page for physical interface devices, which covers force feedback.
pub const PHYSICAL_INTERFACE: i64 = 0x0F;
/// Usage page for pointers and joysticks.
pub const GENERIC_DESKTOP: i64 = 0x01;

/// Builds a report descriptor.
#[derive(Clone, Debug, Default)]
pub struct DescriptorWriter {
    bytes: Vec<u8>,
}

impl DescriptorWriter {
    /// Returns the bytes of the descriptor.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Writes one item, using the fewest bytes that can represent its signed value.
    fn item(&mut self, tag: u8, value: i64) {
        let little = value.to_le_bytes();
        let (code, size) = match value {
            -0x80..=0x7F => (1, 1),
            -0x8000..=0x7FFF => (2, 2),
            _ => (3, 4),
        };
        self.bytes.push(tag | code);
        self.bytes.extend_from_slice(&little[..size]);
    }

    /// Sets the usage page of the following items.
    pub fn page(&mut self, page: i64) {
        self.item(0x04, page);
    }

    /// Adds usages to the next item.
    pub fn usages(&mut self, usages: &[i64]) {
        usages.iter().for_each(|usage| self.usage(*usage));
    }

    /// Adds a usage to the next item. A usage that would be negative in one byte is written in two bytes.
    pub fn usage(&mut self, usage: i64) {
        self.item(0x08, usage);
    }

    /// Sets the report id of the following items.
    pub fn report_id(&mut self, id: u8) {
        self.bytes.extend_from_slice(&[0x85, id]);
    }

    /// Writes an application collection with this usage around the items written by `content`.
    pub fn application(&mut self, usage: i64, content: impl FnOnce(&mut Self)) {
        self.collection(1, usage, content);
    }

    /// Writes a logical collection with this usage around the items written by `content`.
    pub fn logical(&mut self, usage: i64, content: impl FnOnce(&mut Self)) {
        self.collection(2, usage, content);
    }

    fn collection(&mut self, kind: i64, usage: i64, content: impl FnOnce(&mut Self)) {
        self.usage(usage);
        self.item(0xA0, kind);
        content(self);
        self.bytes.push(0xC0);
    }

    /// Sets the physical range of the following items; (0, 0) removes it.
    pub fn physical(&mut self, range: (i64, i64)) {
        self.item(0x34, range.0);
        self.item(0x44, range.1);
    }

    /// Sets the unit of the following items, and its power-of-ten exponent.
    pub fn unit(&mut self, unit: i64, exponent: i64) {
        self.item(0x64, unit);
        self.item(0x54, exponent);
    }

    /// Declares `count` fields of `bits` bits each, one for each preceding usage.
    pub fn numbers(&mut self, main: Main, bits: i64, count: i64, range: (i64, i64)) {
        self.fields(main, bits, count, range, 0x02);
    }

    /// Declares a field of `bits` bits whose value selects one of the preceding usages, counted from the lower end of
    /// `range`.
    pub fn choice(&mut self, main: Main, bits: i64, range: (i64, i64)) {
        self.fields(main, bits, 1, range, 0x00);
    }

    fn fields(&mut self, main: Main, bits: i64, count: i64, range: (i64, i64), flags: i64) {
        self.item(0x14, range.0);
        self.item(0x24, range.1);
        self.item(0x74, bits);
        self.item(0x94, count);
        self.item(main as u8, flags);
    }

    /// Declares `bits` bits of padding.
    pub fn padding(&mut self, main: Main, bits: i64) {
        self.item(0x74, bits);
        self.item(0x94, 1);
        self.item(main as u8, 0x03);
    }
}
