//! Parses HID report descriptors into a flat list of fields.
//!
//! A descriptor is a program for a small state machine: items set globals (ranges, sizes) and locals (usages), and main
//! items create fields from them. The position of a field in its report depends only on the order of the items, so the
//! parser needs no knowledge of devices. For any input, the work is bounded by [`MAX_DESCRIPTOR_BYTES`] and the other
//! caps in this module, and the result is a list of fields or an error with the offset of the faulty item.

use super::field::{Field, MAX_FIELD_BITS, ReportKind, Usage};
use core::fmt;

/// Maximum length of a descriptor, bytes; Linux rejects longer ones.
pub const MAX_DESCRIPTOR_BYTES: usize = 4096;
/// Maximum offset of the end of a field in its report, bits, without its id. Fields beyond it are left out: devices
/// have long reports for other purposes, which need not be understood. A full-speed USB packet has 512 bits.
pub const MAX_REPORT_BITS: u32 = 2048;
/// Maximum number of fields of a descriptor; further ones are left out. A game pad with many buttons has about a
/// hundred.
pub const MAX_FIELDS: usize = 16_384;
/// Maximum number of usages in one main item.
const MAX_USAGES: usize = 1024;
/// Maximum nesting depth of collections and of pushed globals.
const MAX_DEPTH: usize = 32;

/// An error in a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DescriptorError {
    /// Offset of the faulty item, bytes.
    pub at: usize,
    /// Problem with the item.
    pub problem: Problem,
}

/// A problem in a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "Display describes them")]
pub enum Problem {
    TooLong { bytes: usize },
    CutShort,
    TooDeep,
    NothingToPop,
    NothingToEnd,
    NeverEnded { collections: usize },
    ReportIdZero,
}

impl fmt::Display for DescriptorError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "report descriptor, byte {}: {}", self.at, self.problem)
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { bytes } => write!(out, "{bytes} bytes, more than {MAX_DESCRIPTOR_BYTES}"),
            Self::CutShort => write!(out, "ends in the middle of an item"),
            Self::TooDeep => write!(out, "nested deeper than {MAX_DEPTH}"),
            Self::NothingToPop => write!(out, "a pop without a push"),
            Self::NothingToEnd => write!(out, "the end of a collection that was not started"),
            Self::NeverEnded { collections } => write!(out, "{collections} collections never end"),
            Self::ReportIdZero => write!(out, "report id 0, which is reserved for devices without ids"),
        }
    }
}

impl std::error::Error for DescriptorError {}

/// A parsed descriptor.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Descriptor {
    fields: Vec<Field>,
    /// Usage of each collection and index of its parent, in the order in which the collections start.
    collections: Vec<(Usage, Option<usize>)>,
    /// Kind, id and length of every report; the length is in bits, without the id.
    lengths: Vec<(ReportKind, u8, u64)>,
    has_more_fields: bool,
}

impl Descriptor {
    /// Parses a descriptor.
    ///
    /// # Errors
    /// If the descriptor is truncated or longer than [`MAX_DESCRIPTOR_BYTES`], its items are not properly nested, or a
    /// report id is zero.
    pub fn parse(bytes: &[u8]) -> Result<Self, DescriptorError> {
        let fail = |at, problem| DescriptorError { at, problem };
        if bytes.len() > MAX_DESCRIPTOR_BYTES {
            return Err(fail(0, Problem::TooLong { bytes: bytes.len() }));
        }
        let mut machine = Machine::default();
        let mut at = 0;
        while at < bytes.len() {
            let (item, length) = Item::at(&bytes[at..]).ok_or(fail(at, Problem::CutShort))?;
            machine.take(&item).map_err(|problem| fail(at, problem))?;
            at += length;
        }
        match machine.open.len() {
            0 => Ok(machine.descriptor),
            collections => Err(fail(at, Problem::NeverEnded { collections })),
        }
    }

    /// Returns every field that carries data, in descriptor order.
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// Returns the length of a report without its id, bytes; `None` if the descriptor has no such report.
    pub fn report_bytes(&self, kind: ReportKind, id: u8) -> Option<usize> {
        let found = self.lengths.iter().find(|length| (length.0, length.1) == (kind, id))?;
        Some(found.2.div_ceil(8) as usize)
    }

    /// Whether fields beyond [`MAX_FIELDS`] are left out.
    pub fn has_more_fields(&self) -> bool {
        self.has_more_fields
    }

    /// Whether a field is in a collection with this usage, at any depth.
    pub fn is_within(&self, field: &Field, usage: Usage) -> bool {
        self.ancestors(field).any(|ancestor| ancestor == usage)
    }

    /// Returns the usages of the collections that contain a field, innermost first.
    pub fn ancestors(&self, field: &Field) -> impl Iterator<Item = Usage> + '_ {
        let mut next = field.collection;
        std::iter::from_fn(move || {
            let (usage, parent) = self.collections.get(next?)?;
            next = *parent;
            Some(*usage)
        })
    }

    /// Index of the outermost collection that contains a field.
    pub fn application_of(&self, field: &Field) -> Option<usize> {
        let mut outermost = field.collection?;
        while let Some(parent) = self.collections[outermost].1 {
            outermost = parent;
        }
        Some(outermost)
    }

    /// Returns the usages of the outermost collections, which identify the device type, such as a joystick.
    pub fn applications(&self) -> impl Iterator<Item = Usage> + '_ {
        self.collections.iter().filter(|(_, parent)| parent.is_none()).map(|(usage, _)| *usage)
    }
}

/// One item of a descriptor.
struct Item {
    /// Tag and type: the first byte without the size bits.
    tag: u8,
    data: u32,
    /// Length of the data, bytes: 0, 1, 2 or 4.
    size: usize,
}

impl Item {
    /// Returns the item at the start of `bytes` and its total length, or `None` if the item is truncated. Long items
    /// have no effect; no known device uses them.
    fn at(bytes: &[u8]) -> Option<(Self, usize)> {
        const LONG_ITEM: u8 = 0xFE;
        let prefix = *bytes.first()?;
        if prefix == LONG_ITEM {
            let length = 3 + usize::from(*bytes.get(1)?);
            return (length <= bytes.len()).then_some((Self { tag: LONG_ITEM, data: 0, size: 0 }, length));
        }
        let size = [0, 1, 2, 4][usize::from(prefix & 3)];
        let data = bytes.get(1..=size)?.iter().rev().fold(0, |data, byte| data << 8 | u32::from(*byte));
        Some((Self { tag: prefix & !3, data, size }, 1 + size))
    }

    fn signed(&self) -> i32 {
        match self.size {
            1 => i32::from(self.data as u8 as i8),
            2 => i32::from(self.data as u16 as i16),
            _ => self.data as i32,
        }
    }

    /// Returns the unit exponent, a four-bit number in the specification but a whole byte in many descriptors.
    fn exponent(&self) -> i32 {
        match self.data {
            low @ 0..=7 => low as i32,
            low @ 8..=15 => low as i32 - 16,
            _ => self.signed().clamp(-16, 16),
        }
    }

    /// Returns the usage. Items with four bytes of data include the page; shorter items use the current `page`.
    fn usage(&self, page: u16) -> Usage {
        if self.size == 4 { Usage(self.data) } else { Usage::new(page, self.data as u16) }
    }
}

/// A bound of a range, as written in the descriptor. Whether the maximum is signed depends on the minimum.
#[derive(Clone, Copy, Default)]
struct Bound {
    signed: i32,
    unsigned: u32,
}

impl Bound {
    fn of(item: &Item) -> Self {
        Self { signed: item.signed(), unsigned: item.data }
    }

    /// Returns the minimum and the maximum of a range. The maximum is signed only if the minimum is negative: many
    /// descriptors write a maximum of 255 in one byte, which would be -1 if read as signed.
    fn range(minimum: Self, maximum: Self) -> (i64, i64) {
        let minimum = i64::from(minimum.signed);
        let maximum = if minimum < 0 { i64::from(maximum.signed) } else { i64::from(maximum.unsigned) };
        (minimum, maximum)
    }
}

#[derive(Clone, Copy, Default)]
struct Globals {
    page: u16,
    logical_minimum: Bound,
    logical_maximum: Bound,
    physical_minimum: Bound,
    physical_maximum: Bound,
    exponent: i32,
    unit: u32,
    /// First usage with the present unit, and with the present physical maximum.
    unit_of: Option<Usage>,
    physical_of: Option<Usage>,
    size_bits: u32,
    count: u32,
    report_id: u8,
}

#[derive(Default)]
struct Locals {
    usages: Vec<Usage>,
    range_start: Option<Usage>,
}

impl Locals {
    fn add(&mut self, usage: Usage) {
        if self.usages.len() < MAX_USAGES {
            self.usages.push(usage);
        }
    }

    fn add_range(&mut self, last: Usage) {
        let Some(first) = self.range_start.take() else { return };
        let room = MAX_USAGES - self.usages.len();
        self.usages.extend((first.0..=last.0).take(room).map(Usage));
    }
}

#[derive(Default)]
struct Machine {
    descriptor: Descriptor,
    globals: Globals,
    pushed: Vec<Globals>,
    locals: Locals,
    /// Indices of the open collections, outermost first.
    open: Vec<usize>,
}

impl Machine {
    fn take(&mut self, item: &Item) -> Result<(), Problem> {
        match item.tag {
            0xA0 => return self.begin_collection(),
            0xC0 => return self.end_collection(),
            0xA4 => return self.push(),
            0xB4 => return self.pop(),
            0x84 => return self.set_report_id(item.data),
            0x80 => self.main(ReportKind::Input, item.data),
            0x90 => self.main(ReportKind::Output, item.data),
            0xB0 => self.main(ReportKind::Feature, item.data),
            _ => self.set(item),
        }
        Ok(())
    }

    fn set(&mut self, item: &Item) {
        let usage = item.usage(self.globals.page);
        match item.tag {
            0x08 => self.locals.add(usage),
            0x18 => self.locals.range_start = Some(usage),
            0x28 => self.locals.add_range(usage),
            tag => self.globals.set(tag, item),
        }
    }

    fn begin_collection(&mut self) -> Result<(), Problem> {
        if self.open.len() >= MAX_DEPTH {
            return Err(Problem::TooDeep);
        }
        let usage = self.locals.usages.first().copied().unwrap_or_default();
        self.open.push(self.descriptor.collections.len());
        let parent = self.open.len().checked_sub(2).map(|above| self.open[above]);
        self.descriptor.collections.push((usage, parent));
        self.locals = Locals::default();
        Ok(())
    }

    fn end_collection(&mut self) -> Result<(), Problem> {
        self.locals = Locals::default();
        self.open.pop().map(drop).ok_or(Problem::NothingToEnd)
    }

    fn push(&mut self) -> Result<(), Problem> {
        if self.pushed.len() >= MAX_DEPTH {
            return Err(Problem::TooDeep);
        }
        self.pushed.push(self.globals);
        Ok(())
    }

    fn pop(&mut self) -> Result<(), Problem> {
        self.globals = self.pushed.pop().ok_or(Problem::NothingToPop)?;
        Ok(())
    }

    fn set_report_id(&mut self, id: u32) -> Result<(), Problem> {
        self.globals.report_id = id as u8;
        if self.globals.report_id == 0 { Err(Problem::ReportIdZero) } else { Ok(()) }
    }

    /// Creates the fields of one main item and extends its report.
    fn main(&mut self, kind: ReportKind, flags: u32) {
        const CONSTANT: u32 = 1 << 0;
        const VARIABLE: u32 = 1 << 1;
        const RELATIVE: u32 = 1 << 2;
        let locals = std::mem::take(&mut self.locals);
        let Globals { size_bits, count, .. } = self.globals;
        let bits = u64::from(size_bits) * u64::from(count);
        let bit_offset = self.reserve(kind, bits);
        if flags & CONSTANT != 0 || bits == 0 || size_bits > MAX_FIELD_BITS {
            return;
        }
        let (Some(bit_offset), Some(first)) = (bit_offset, locals.usages.first()) else { return };
        self.globals.unit_of.get_or_insert(*first);
        self.globals.physical_of.get_or_insert(*first);
        let field = Field { is_relative: flags & RELATIVE != 0, ..self.field(kind, bit_offset) };
        if flags & VARIABLE != 0 {
            self.add_variables(&field, &locals.usages);
        } else {
            // Only the first element of an array becomes a field, because arrays with several elements list buttons or
            // keys. The elements contain usage numbers.
            self.add(Field { choices: locals.usages, ..field });
        }
    }

    /// Extends a report by `bits` and returns its previous length, bits; `None` if the report is now too long.
    fn reserve(&mut self, kind: ReportKind, bits: u64) -> Option<u32> {
        let id = self.globals.report_id;
        let known = self.descriptor.lengths.iter().position(|length| (length.0, length.1) == (kind, id));
        let index = known.unwrap_or_else(|| {
            self.descriptor.lengths.push((kind, id, 0));
            self.descriptor.lengths.len() - 1
        });
        let end = &mut self.descriptor.lengths[index].2;
        let start = *end;
        *end = start.saturating_add(bits);
        (*end <= u64::from(MAX_REPORT_BITS)).then_some(start as u32)
    }

    /// Adds one field per element of a main item. Each element has its own usage; if there are too few usages, the last
    /// one applies to the remaining elements.
    fn add_variables(&mut self, first: &Field, usages: &[Usage]) {
        for element in 0..self.globals.count {
            let usage = usages[(element as usize).min(usages.len() - 1)];
            self.add(Field { usage, bit_offset: first.bit_offset + element * first.bits, ..first.clone() });
        }
    }

    fn add(&mut self, field: Field) {
        if self.descriptor.fields.len() < MAX_FIELDS {
            self.descriptor.fields.push(field);
        } else {
            self.descriptor.has_more_fields = true;
        }
    }

    fn field(&self, kind: ReportKind, bit_offset: u32) -> Field {
        let globals = &self.globals;
        Field {
            kind,
            report_id: globals.report_id,
            bit_offset,
            bits: globals.size_bits,
            usage: Usage::default(),
            choices: Vec::new(),
            logical: Bound::range(globals.logical_minimum, globals.logical_maximum),
            physical: Bound::range(globals.physical_minimum, globals.physical_maximum),
            unit: globals.unit,
            exponent: globals.exponent,
            unit_of: globals.unit_of,
            physical_of: globals.physical_of,
            is_relative: false,
            collection: self.open.last().copied(),
        }
    }
}

impl Globals {
    /// Applies a global item. Items that do not affect the fields are ignored.
    fn set(&mut self, tag: u8, item: &Item) {
        match tag {
            0x04 => self.page = item.data as u16,
            0x14 => self.logical_minimum = Bound::of(item),
            0x24 => self.logical_maximum = Bound::of(item),
            0x34 => self.physical_minimum = Bound::of(item),
            0x44 => (self.physical_maximum, self.physical_of) = (Bound::of(item), None),
            0x54 => self.exponent = item.exponent(),
            0x64 => (self.unit, self.unit_of) = (item.data, None),
            0x74 => self.size_bits = item.data,
            0x94 => self.count = item.data,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Descriptor of a game pad without report ids: three buttons, five bits of padding, and ten bits each for x and y.
    const PAD: &[u8] = &[
        0x05, 0x01, 0x09, 0x04, 0xA1, 0x01, 0x05, 0x09, 0x19, 0x01, 0x29, 0x03, 0x15, 0x00, 0x25, 0x01, 0x75, 0x01,
        0x95, 0x03, 0x81, 0x02, 0x95, 0x05, 0x81, 0x03, 0x05, 0x01, 0x09, 0x30, 0x09, 0x31, 0x26, 0xFF, 0x03, 0x75,
        0x0A, 0x95, 0x02, 0x81, 0x02, 0xC0,
    ];

    #[test]
    fn fields_start_where_the_preceding_items_end() {
        let pad = Descriptor::parse(PAD).unwrap();
        let places: Vec<(u32, u32)> = pad.fields().iter().map(|field| (field.bit_offset, field.bits)).collect();
        assert_eq!(places, [(0, 1), (1, 1), (2, 1), (8, 10), (18, 10)]);
        assert_eq!(pad.fields()[4].usage, Usage::new(1, 0x31));
        assert_eq!(pad.report_bytes(ReportKind::Input, 0), Some(4));
        assert_eq!(pad.report_bytes(ReportKind::Output, 0), None);
        assert_eq!(pad.applications().collect::<Vec<_>>(), [Usage::new(1, 4)]);
    }

    #[test]
    fn a_maximum_of_255_in_one_byte_is_not_minus_one() {
        let bytes = [0x05, 0x01, 0x15, 0x00, 0x25, 0xFF, 0x75, 0x08, 0x95, 0x01, 0x09, 0x30, 0x81, 0x02];
        assert_eq!(Descriptor::parse(&bytes).unwrap().fields()[0].logical, (0, 255));
    }

    #[test]
    fn four_billion_fields_are_left_out_and_do_not_reject_the_descriptor() {
        let mut bytes = PAD.to_vec();
        bytes.splice(18..20, [0x97, 0xFF, 0xFF, 0xFF, 0xFF]);
        let pad = Descriptor::parse(&bytes).unwrap();
        assert!(pad.fields().is_empty());
        let bits = u64::from(u32::MAX) + 5 + 20;
        assert_eq!(pad.report_bytes(ReportKind::Input, 0), Some(bits.div_ceil(8) as usize));
    }

    #[test]
    fn a_long_report_leaves_the_others_as_they_are() {
        // A feature report of 259 bytes with id 2 ahead of the buttons and axes with id 1.
        let long = [0x06, 0x00, 0xFF, 0x85, 2, 0x09, 1, 0x75, 8, 0x96, 0x03, 0x01, 0xB1, 0x02, 0x85, 1];
        let bytes = [&PAD[..6], &long, &PAD[6..]].concat();
        let pad = Descriptor::parse(&bytes).unwrap();
        assert_eq!(pad.fields().len(), 5);
        assert_eq!(pad.report_bytes(ReportKind::Input, 1), Some(4));
        assert_eq!(pad.report_bytes(ReportKind::Feature, 2), Some(259));
    }

    #[test]
    fn every_truncated_descriptor_is_rejected() {
        for length in 1..PAD.len() {
            // A prefix that ends before the collection starts is a complete, empty descriptor.
            if let Ok(descriptor) = Descriptor::parse(&PAD[..length]) {
                assert!(length <= 4 && descriptor.fields().is_empty(), "{length} bytes");
            }
        }
    }

    #[test]
    fn an_error_of_the_structure_names_the_byte() {
        let problem = |bytes: &[u8]| Descriptor::parse(bytes).unwrap_err();
        assert_eq!(problem(&[0xC0]), DescriptorError { at: 0, problem: Problem::NothingToEnd });
        assert_eq!(problem(&[0xB4]), DescriptorError { at: 0, problem: Problem::NothingToPop });
        assert_eq!(problem(&[0x85, 0x00]).problem, Problem::ReportIdZero);
        assert_eq!(problem(&[0xA1, 0x01]), DescriptorError { at: 2, problem: Problem::NeverEnded { collections: 1 } });
        assert_eq!(problem(&[0xA4; 40]).problem, Problem::TooDeep);
        assert_eq!(problem(&[0; 5000]).problem, Problem::TooLong { bytes: 5000 });
    }
}
