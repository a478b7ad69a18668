//! Writes tables of numbers as Parquet: columns of doubles and integers, no null values, plain encoding.
//!
//! This is a dedicated writer, because a trace needs nothing more and the general-purpose library would add a dozen
//! crates to the build. The format's metadata uses Thrift's compact protocol; `Thrift` implements the necessary part.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

const MAGIC: &[u8; 4] = b"PAR1";
/// Rows in a row group: one minute of ticks. Each group is buffered in memory until it is complete.
const ROWS_PER_GROUP: usize = 60_000;

// Constants of the file format.
const DATA_PAGE: i64 = 0;
const REQUIRED: i64 = 0;
const PLAIN: i64 = 0;
const RUN_LENGTH: i64 = 3;
const UNCOMPRESSED: i64 = 0;

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 64-bit floating-point numbers.
    Double,
    /// 64-bit integers, supplied as doubles.
    Whole,
}

impl Kind {
    const fn number(self) -> i64 {
        match self {
            Self::Whole => 2,
            Self::Double => 5,
        }
    }

    fn bytes(self, value: f64) -> [u8; 8] {
        match self {
            Self::Double => value.to_bits().to_le_bytes(),
            Self::Whole => (value as i64).to_le_bytes(),
        }
    }
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column.
    pub name: String,
    /// Type of the column.
    pub kind: Kind,
}

/// A Parquet file written row by row.
#[derive(Debug)]
pub struct ParquetWriter {
    out: BufWriter<File>,
    position: u64,
    columns: Vec<Column>,
    /// Bytes of the current row group, one vector per column.
    gathered: Vec<Vec<u8>>,
    groups: Vec<Group>,
}

/// A row group that has been written: its number of rows and the position of each column's page.
#[derive(Debug)]
struct Group {
    rows: usize,
    pages: Vec<Page>,
}

#[derive(Clone, Copy, Debug)]
struct Page {
    offset: u64,
    length: u64,
}

impl ParquetWriter {
    /// Creates the file, overwriting any existing one.
    ///
    /// # Errors
    /// If the file cannot be created or written.
    pub fn create(path: &Path, columns: Vec<Column>) -> io::Result<Self> {
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(MAGIC)?;
        let gathered = columns.iter().map(|_| Vec::with_capacity(ROWS_PER_GROUP * 8)).collect();
        Ok(Self { out, position: MAGIC.len() as u64, columns, gathered, groups: Vec::new() })
    }

    /// Adds a row with one value per column; missing values are written as zero.
    ///
    /// # Errors
    /// If writing to the file fails.
    pub fn row(&mut self, values: &[f64]) -> io::Result<()> {
        for (index, (column, bytes)) in self.columns.iter().zip(&mut self.gathered).enumerate() {
            bytes.extend_from_slice(&column.kind.bytes(values.get(index).copied().unwrap_or(0.0)));
        }
        if self.rows_gathered() >= ROWS_PER_GROUP { self.write_group() } else { Ok(()) }
    }

    /// Writes the remaining rows and the footer.
    ///
    /// # Errors
    /// If writing to the file fails.
    pub fn finish(mut self) -> io::Result<()> {
        if self.rows_gathered() > 0 {
            self.write_group()?;
        }
        let footer = self.footer();
        self.out.write_all(&footer)?;
        self.out.write_all(&(footer.len() as u32).to_le_bytes())?;
        self.out.write_all(MAGIC)?;
        self.out.flush()
    }

    fn rows_gathered(&self) -> usize {
        self.gathered.first().map_or(0, |bytes| bytes.len() / 8)
    }

    fn write_group(&mut self) -> io::Result<()> {
        let rows = self.rows_gathered();
        let mut pages = Vec::with_capacity(self.columns.len());
        for bytes in &mut self.gathered {
            let header = page_header(rows, bytes.len());
            self.out.write_all(&header)?;
            self.out.write_all(bytes)?;
            let length = (header.len() + bytes.len()) as u64;
            pages.push(Page { offset: self.position, length });
            self.position += length;
            bytes.clear();
        }
        self.groups.push(Group { rows, pages });
        Ok(())
    }

    fn footer(&self) -> Vec<u8> {
        let rows: usize = self.groups.iter().map(|group| group.rows).sum();
        let mut thrift = Thrift::default();
        thrift.whole(1, 1);
        thrift.list(2, self.columns.len() + 1);
        thrift.element(|root| {
            root.text(4, "trace");
            root.whole(5, self.columns.len() as i64);
        });
        for column in &self.columns {
            thrift.element(|element| {
                element.whole(1, column.kind.number());
                element.whole(3, REQUIRED);
                element.text(4, &column.name);
            });
        }
        thrift.long(3, rows as i64);
        thrift.list(4, self.groups.len());
        for group in &self.groups {
            thrift.element(|element| self.describe(group, element));
        }
        thrift.text(6, concat!("hapticd ", env!("CARGO_PKG_VERSION")));
        thrift.end()
    }

    fn describe(&self, group: &Group, thrift: &mut Thrift) {
        thrift.list(1, group.pages.len());
        for (column, page) in self.columns.iter().zip(&group.pages) {
            thrift.element(|chunk| {
                chunk.long(2, page.offset as i64);
                chunk.inner(3, |metadata| describe_column(metadata, column, *page, group.rows));
            });
        }
        thrift.long(2, group.pages.iter().map(|page| page.length as i64).sum());
        thrift.long(3, group.rows as i64);
    }
}

fn describe_column(thrift: &mut Thrift, column: &Column, page: Page, rows: usize) {
    thrift.whole(1, column.kind.number());
    thrift.whole_list(2, &[PLAIN]);
    thrift.text_list(3, &[&column.name]);
    thrift.whole(4, UNCOMPRESSED);
    thrift.long(5, rows as i64);
    thrift.long(6, page.length as i64);
    thrift.long(7, page.length as i64);
    thrift.long(9, page.offset as i64);
}

fn page_header(rows: usize, bytes: usize) -> Vec<u8> {
    let mut thrift = Thrift::default();
    thrift.whole(1, DATA_PAGE);
    thrift.whole(2, bytes as i64);
    thrift.whole(3, bytes as i64);
    thrift.inner(5, |page| {
        page.whole(1, rows as i64);
        page.whole(2, PLAIN);
        page.whole(3, RUN_LENGTH);
        page.whole(4, RUN_LENGTH);
    });
    thrift.end()
}

// Type codes of Thrift's compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// Encoder for a structure in Thrift's compact protocol. Fields must be added in ascending order of their numbers.
#[derive(Debug, Default)]
struct Thrift {
    bytes: Vec<u8>,
    last_field: u8,
}

impl Thrift {
    fn field(&mut self, number: u8, kind: u8) {
        self.bytes.push((number - self.last_field) << 4 | kind);
        self.last_field = number;
    }

    fn variable(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn zigzag(&mut self, value: i64) {
        self.variable((value << 1 ^ value >> 63) as u64);
    }

    fn whole(&mut self, number: u8, value: i64) {
        self.field(number, I32);
        self.zigzag(value);
    }

    fn long(&mut self, number: u8, value: i64) {
        self.field(number, I64);
        self.zigzag(value);
    }

    fn text(&mut self, number: u8, text: &str) {
        self.field(number, BINARY);
        self.bare_text(text);
    }

    fn bare_text(&mut self, text: &str) {
        self.variable(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn list_of(&mut self, number: u8, length: usize, kind: u8) {
        self.field(number, LIST);
        if length < 15 {
            self.bytes.push((length as u8) << 4 | kind);
        } else {
            self.bytes.push(0xF0 | kind);
            self.variable(length as u64);
        }
    }

    /// Starts a list of structures, which are added with [`Self::element`].
    fn list(&mut self, number: u8, length: usize) {
        self.list_of(number, length, STRUCT);
    }

    fn whole_list(&mut self, number: u8, values: &[i64]) {
        self.list_of(number, values.len(), I32);
        values.iter().for_each(|value| self.zigzag(*value));
    }

    fn text_list(&mut self, number: u8, texts: &[&str]) {
        self.list_of(number, texts.len(), BINARY);
        texts.iter().for_each(|text| self.bare_text(text));
    }

    fn element(&mut self, fill: impl FnOnce(&mut Self)) {
        let outer = std::mem::take(&mut self.last_field);
        fill(self);
        self.bytes.push(0);
        self.last_field = outer;
    }

    fn inner(&mut self, number: u8, fill: impl FnOnce(&mut Self)) {
        self.field(number, STRUCT);
        self.element(fill);
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_testing::TestFolder;

    #[test]
    fn numbers_take_few_bytes_and_keep_their_sign() {
        let mut thrift = Thrift::default();
        thrift.whole(1, -1);
        thrift.long(3, 300);
        assert_eq!(thrift.end(), [0x15, 0x01, 0x26, 0xD8, 0x04, 0x00]);
    }

    #[test]
    fn a_page_lies_where_the_footer_says_and_holds_the_column() {
        let folder = TestFolder::new();
        let path = folder.join("a.parquet");
        let columns = vec![
            Column { name: "x_m".to_owned(), kind: Kind::Double },
            Column { name: "contacts".to_owned(), kind: Kind::Whole },
        ];
        let mut table = ParquetWriter::create(&path, columns).unwrap();
        table.row(&[0.25, 3.0]).unwrap();
        table.row(&[-0.5, 4.0]).unwrap();
        table.finish().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        assert!(bytes.starts_with(MAGIC) && bytes.ends_with(MAGIC));
        let holds = |wanted: &[u8]| bytes.windows(wanted.len()).any(|window| window == wanted);
        assert!(holds(&[0.25_f64.to_le_bytes(), (-0.5_f64).to_le_bytes()].concat()));
        assert!(holds(&[3_i64.to_le_bytes(), 4_i64.to_le_bytes()].concat()));
        assert!(holds(b"contacts") && holds(b"x_m"));
    }
}
