//! One field of a report: the position of its bits and the meaning of its values.

/// Maximum width of a supported field, bits.
pub const MAX_FIELD_BITS: u32 = 32;

/// Units as the specification encodes them: the low nibble is the system of units, and the next one is the exponent of
/// the length or angle.
pub const CENTIMETRE: u32 = 0x11;
/// Unit of an angle in SI.
pub const RADIAN: u32 = 0x12;
/// Unit of a length in the English system.
pub const INCH: u32 = 0x13;
/// Unit of an angle in the English system.
pub const DEGREE: u32 = 0x14;

/// Kind of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReportKind {
    /// Sent by the device without a request.
    Input,
    /// Sent to the device.
    Output,
    /// Read or written on request of the host.
    Feature,
}

/// A usage: its page in the upper 16 bits and its id in the lower 16 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Usage(pub u32);

impl Usage {
    /// Creates a usage from its page and its id.
    pub const fn new(page: u16, id: u16) -> Self {
        Self((page as u32) << 16 | id as u32)
    }

    /// Page of the usage.
    pub const fn page(self) -> u16 {
        (self.0 >> 16) as u16
    }

    /// Id of the usage within its page.
    pub const fn id(self) -> u16 {
        self.0 as u16
    }
}

/// One field of a report.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Kind of the report that contains the field.
    pub kind: ReportKind,
    /// Id of the report that contains the field; 0 if the device does not use ids.
    pub report_id: u8,
    /// Offset of the field's first bit, bits, counted from the byte after the report id.
    pub bit_offset: u32,
    /// Width of the field, bits, 1 to [`MAX_FIELD_BITS`].
    pub bits: u32,
    /// Usage of the field; `Usage::default()` for a field with choices.
    pub usage: Usage,
    /// Usages selected by the values of the field, starting with the smallest logical value; empty if the value is a
    /// number.
    pub choices: Vec<Usage>,
    /// Smallest and largest logical value.
    pub logical: (i64, i64),
    /// Physical values corresponding to the smallest and largest logical values. If the two are equal, physical values
    /// are the same as logical values.
    pub physical: (i64, i64),
    /// Unit of the physical values, encoded as in the specification.
    pub unit: u32,
    /// Power of ten by which the unit is scaled.
    pub exponent: i32,
    /// First usage in the descriptor to which this unit applies. A descriptor may leave the unit of one field standing
    /// for the following ones.
    pub unit_of: Option<Usage>,
    /// First usage in the descriptor to which this physical maximum applies.
    pub physical_of: Option<Usage>,
    /// Whether the value is a change since the last report, as of a mouse.
    pub is_relative: bool,
    /// Index of the innermost collection that contains the field.
    pub(super) collection: Option<usize>,
}

impl Field {
    /// Reads the value of the field from a report without its id. Bits beyond the end of the report are read as zero.
    ///
    /// Real-time: at most [`MAX_FIELD_BITS`] steps.
    pub fn get(&self, report: &[u8]) -> i64 {
        let bit_at = |bit: u32| report.get((bit / 8) as usize).is_some_and(|byte| byte >> (bit % 8) & 1 == 1);
        let raw = (0..self.bits).fold(0u64, |raw, bit| raw | u64::from(bit_at(self.bit_offset + bit)) << bit);
        let is_negative = self.logical.0 < 0 && raw >> (self.bits - 1) & 1 == 1;
        if is_negative { raw as i64 - (1i64 << self.bits) } else { raw as i64 }
    }

    /// Writes a value into the field in a report without its id. Bits beyond the end of the report are dropped, and the
    /// value is not checked.
    ///
    /// Real-time: at most [`MAX_FIELD_BITS`] steps.
    pub fn put(&self, report: &mut [u8], value: i64) {
        for bit in 0..self.bits {
            let place = self.bit_offset + bit;
            let Some(byte) = report.get_mut((place / 8) as usize) else { return };
            let mask = 1 << (place % 8);
            *byte = if value >> bit & 1 == 1 { *byte | mask } else { *byte & !mask };
        }
    }

    /// Whether the logical range is non-empty and fits into the width of the field.
    pub fn is_consistent(&self) -> bool {
        let (minimum, maximum) = self.logical;
        let (lowest, highest) = if minimum < 0 {
            (-(1i64 << (self.bits - 1)), (1i64 << (self.bits - 1)) - 1)
        } else {
            (0, (1i64 << self.bits) - 1)
        };
        minimum < maximum && minimum >= lowest && maximum <= highest
    }

    /// Returns the value of the field that selects `usage`, if the field has this choice.
    pub fn choice(&self, usage: Usage) -> Option<i64> {
        let index = self.choices.iter().position(|choice| *choice == usage)? as i64;
        let value = self.logical.0 + index;
        (value <= self.logical.1).then_some(value)
    }

    /// Whether the physical values are angles: radians or degrees.
    pub fn is_angle(&self) -> bool {
        [RADIAN, DEGREE].contains(&self.unit)
    }

    /// Returns the physical range, which the specification defaults to the logical range.
    pub fn physical_range(&self) -> (i64, i64) {
        if self.physical.0 == self.physical.1 { self.logical } else { self.physical }
    }

    /// Returns the logical value nearest to a physical value, clamped to the logical range.
    pub fn logical_of(&self, physical: f64) -> i64 {
        let (from, to) = self.physical_range();
        let share = (physical - from as f64) / (to as f64 - from as f64);
        self.at_share(share)
    }

    /// Returns the logical value at a fraction of the logical range: `share` is 0 at the minimum and 1 at the maximum,
    /// and the result is clamped.
    pub fn at_share(&self, share: f64) -> i64 {
        let (minimum, maximum) = self.logical;
        let value = minimum as f64 + share * (maximum - minimum) as f64;
        (libm::round(value) as i64).clamp(minimum, maximum.max(minimum))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use haptic_device::xorshift::Xorshift;

    pub(crate) fn field(bit_offset: u32, bits: u32, logical: (i64, i64)) -> Field {
        Field {
            kind: ReportKind::Output,
            report_id: 1,
            bit_offset,
            bits,
            usage: Usage::default(),
            choices: Vec::new(),
            logical,
            physical: (0, 0),
            unit: 0,
            exponent: 0,
            unit_of: None,
            physical_of: None,
            is_relative: false,
            collection: None,
        }
    }

    #[test]
    fn a_written_value_is_read_back_at_any_width_and_offset_and_no_other_bit_changes() {
        let mut random = Xorshift::new(7);
        for _ in 0..20_000 {
            let bits = 1 + (random.between(0.0, 32.0) as u32).min(31);
            let signed = random.between(0.0, 1.0) < 0.5 && bits > 1;
            let lowest = if signed { -(1i64 << (bits - 1)) } else { 0 };
            let highest = lowest + (1i64 << bits) - 1;
            let field = field(random.between(0.0, 60.0) as u32, bits, (lowest, highest));
            let value = (random.between(lowest as f64, highest as f64 + 1.0).floor() as i64).clamp(lowest, highest);
            let mut report = [0xA5u8; 16];
            field.put(&mut report, value);
            assert_eq!(field.get(&report), value);
            field.put(&mut report, field.get(&[0xA5; 16]));
            assert_eq!(report, [0xA5; 16], "a neighbour's bits were changed");
        }
    }

    #[test]
    fn a_report_that_is_too_short_is_read_as_zero() {
        let field = field(12, 16, (-32768, 32767));
        let mut short = [0xFF; 2];
        field.put(&mut short, 0);
        assert_eq!(short, [0xFF, 0x0F]);
        assert_eq!(field.get(&[]), 0);
    }

    #[test]
    fn a_physical_range_scales_and_a_missing_one_equals_the_logical_range() {
        let angle = Field { physical: (0, 36000), ..field(0, 8, (0, 255)) };
        assert_eq!([angle.logical_of(9000.0), angle.logical_of(36000.0), angle.logical_of(1e9)], [64, 255, 255]);
        assert_eq!(field(0, 16, (0, 32767)).logical_of(200.0), 200);
    }

    #[test]
    fn ranges_that_contradict_their_bits_are_detected() {
        assert!(field(0, 8, (-128, 127)).is_consistent());
        assert!(!field(0, 8, (0, 256)).is_consistent());
        assert!(!field(0, 8, (5, 5)).is_consistent());
        assert!(!field(0, 8, (-200, 100)).is_consistent());
    }

    #[test]
    fn choices_are_numbered_from_the_smallest_value_to_the_largest() {
        let field = Field { choices: vec![Usage(1), Usage(2), Usage(3)], ..field(0, 8, (1, 2)) };
        assert_eq!([field.choice(Usage(1)), field.choice(Usage(2)), field.choice(Usage(3))], [Some(1), Some(2), None]);
    }
}
