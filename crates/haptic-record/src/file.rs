//! A recording file: a sequence of complete chunks, with a valid end even when the disk is full.
//!
//! Each chunk is built in memory and written in one go, so an interruption (a kill, a full disk) leaves complete chunks
//! and at most one incomplete one. If the process survives, it removes the incomplete chunk and appends an empty
//! summary after the last complete one. The 50 bytes of the summary fit into the space of the removed chunk.

use mcap::records::{MessageHeader, Metadata};
use mcap::{Attachment, Compression, McapError, WriteOptions, Writer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Bytes that close a file after its last complete chunk: data-end record, footer without a summary, and magic bytes.
const EMPTY_END: [u8; 50] = {
    let mut end = [0; 50];
    (end[0], end[1]) = (0x0F, 4);
    (end[13], end[14]) = (0x02, 20);
    let magic = *b"\x89MCAP0\r\n";
    let mut index = 0;
    while index < magic.len() {
        end[42 + index] = magic[index];
        index += 1;
    }
    end
};

/// Number of buffered bytes at which the buffer is written to the file.
const BUFFER_BYTES: usize = 1 << 16;

/// Error that prevents a recording from starting or continuing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordError {
    /// Path of the file.
    pub path: PathBuf,
    /// Whether the file could not be opened, so that nothing was written.
    pub is_unopened: bool,
    /// Description of the problem, with a remedy if there is one.
    pub problem: String,
}

impl RecordError {
    /// Creates the error for a recording that cannot continue.
    pub fn ended(path: &Path, problem: String) -> Self {
        Self { path: path.to_owned(), is_unopened: false, problem }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for RecordError {}

/// State shared by a `RecordingFile` and its `Sink`.
#[derive(Debug, Default)]
struct Shared {
    position: AtomicU64,
    /// Whether the file was sealed; every later write fails.
    is_sealed: AtomicBool,
}

/// Sequential writer that tracks its position and cannot seek backwards.
#[derive(Debug)]
struct Sink {
    file: File,
    buffer: Vec<u8>,
    shared: Arc<Shared>,
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.shared.position.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.buffer.len() >= BUFFER_BYTES {
            self.flush()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        if self.shared.is_sealed.load(Ordering::Relaxed) {
            return Err(ErrorKind::BrokenPipe.into());
        }
        self.file.write_all(&buffer)?;
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }
}

impl Seek for Sink {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.shared.position.load(Ordering::Relaxed);
        match to {
            SeekFrom::Current(0) => Ok(position),
            SeekFrom::Start(start) if start == position => Ok(position),
            _ => Err(ErrorKind::Unsupported.into()),
        }
    }
}

/// A recording file being written.
pub struct RecordingFile {
    path: PathBuf,
    writer: Writer<Sink>,
    file: File,
    shared: Arc<Shared>,
    /// Length of the file up to the end of the last complete chunk, bytes.
    whole: u64,
}

/// Identifier of a channel in a file.
#[derive(Clone, Copy, Debug)]
pub struct ChannelId(u16);

impl RecordingFile {
    /// Creates a file, overwriting any existing one. `version`, the version of hapticd, is stored in the file.
    ///
    /// # Errors
    /// If the file cannot be created.
    pub fn create(path: &Path, version: &str) -> Result<Self, RecordError> {
        let refuse = |error: &dyn fmt::Display| RecordError {
            path: path.to_owned(),
            is_unopened: true,
            problem: format!("cannot be created: {error}; name a file in a folder that exists and may be written to"),
        };
        let open = || OpenOptions::new().write(true).create(true).truncate(true).open(path);
        let file = open().map_err(|error| refuse(&error))?;
        let shared = Arc::<Shared>::default();
        let clone = file.try_clone().map_err(|error| refuse(&error))?;
        let sink = Sink { file: clone, buffer: Vec::with_capacity(2 * BUFFER_BYTES), shared: Arc::clone(&shared) };
        let options = WriteOptions::new()
            .library(format!("hapticd/{version}"))
            .compression(Some(Compression::Zstd))
            .compression_threads(0)
            .chunk_size(None)
            .disable_seeking(true);
        let writer = options.create(sink).map_err(|error| refuse(&cause(&error)))?;
        Ok(Self { path: path.to_owned(), writer, file, shared, whole: 0 })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of bytes written or buffered so far.
    pub fn length(&self) -> u64 {
        self.shared.position.load(Ordering::Relaxed)
    }

    /// Returns true if the file was removed.
    pub fn is_removed(&self) -> bool {
        self.file.metadata().is_ok_and(|metadata| metadata.nlink() == 0)
    }

    /// Adds a channel with its schema and returns the channel identifier.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn add_channel(&mut self, topic: &str, schema: &Schema<'_>) -> Result<ChannelId, RecordError> {
        let added = self.writer.add_schema(schema.name, schema.encoding, schema.text.as_bytes());
        let schema_id = added.map_err(|error| self.fail(&error))?;
        let added = self.writer.add_channel(schema_id, topic, schema.message_encoding, &BTreeMap::new());
        added.map(ChannelId).map_err(|error| self.fail(&error))
    }

    /// Adds a message to a channel; viewers show it at `time_ns`.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn message(&mut self, channel: ChannelId, sequence: u32, time_ns: u64, data: &[u8]) -> Result<(), RecordError> {
        let header = MessageHeader { channel_id: channel.0, sequence, log_time: time_ns, publish_time: time_ns };
        self.writer.write_to_known_channel(&header, data).map_err(|error| self.fail(&error))
    }

    /// Adds an attachment, which ends the current chunk.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn attach(&mut self, name: &str, text: &str, time_ns: u64) -> Result<(), RecordError> {
        let media_type = if name.ends_with(".csv") { "text/csv" } else { "application/toml" };
        let attachment = Attachment {
            log_time: time_ns,
            create_time: time_ns,
            name: name.to_owned(),
            media_type: media_type.to_owned(),
            data: Cow::Borrowed(text.as_bytes()),
        };
        self.writer.attach(&attachment).map_err(|error| self.fail(&error))
    }

    /// Adds a metadata record, which ends the current chunk.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn metadata(&mut self, name: &str, metadata: BTreeMap<String, String>) -> Result<(), RecordError> {
        let record = Metadata { name: name.to_owned(), metadata };
        self.writer.write_metadata(&record).map_err(|error| self.fail(&error))
    }

    /// Ends the current chunk and passes all data to the operating system, so that they survive the end of this
    /// process.
    ///
    /// # Errors
    /// If the disk is full or a write fails.
    pub fn end_chunk(&mut self) -> Result<(), RecordError> {
        self.writer.flush().map_err(|error| self.fail(&error))?;
        self.whole = self.length();
        Ok(())
    }

    /// Writes the summary and closes the file.
    ///
    /// # Errors
    /// If the disk is full or a write fails. The file then ends after the last complete chunk and can still be read.
    pub fn finish(&mut self) -> Result<(), RecordError> {
        let finished = self.writer.finish().map(drop);
        finished.map_err(|error| self.fail(&error))
    }

    /// Removes the incomplete chunk, closes the file with an empty summary and returns the error to report. All later
    /// writes fail.
    fn fail(&mut self, error: &McapError) -> RecordError {
        let is_first = !self.shared.is_sealed.swap(true, Ordering::Relaxed);
        let sealed = if is_first { self.seal() } else { Ok(()) };
        let state = match sealed {
            _ if self.whole == 0 => "nothing of it is kept",
            Ok(()) => "what was written before opens as usual",
            Err(_) => "what was written before opens up to the last whole second",
        };
        let error = cause(error);
        RecordError::ended(&self.path, format!("the recording has ended: {error}; {state}"))
    }

    fn seal(&self) -> io::Result<()> {
        self.file.set_len(self.whole)?;
        self.file.write_all_at(&EMPTY_END, self.whole)
    }
}

/// Describes the cause of an error. For an I/O error this is the system's message, because the library's text gives no
/// cause.
fn cause(error: &McapError) -> String {
    match error {
        McapError::Io(error) => error.to_string(),
        error => error.to_string(),
    }
}

/// Message layout of a channel.
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    /// Name of the schema.
    pub name: &'a str,
    /// Encoding of the schema: `ros2msg` or `jsonschema`.
    pub encoding: &'a str,
    /// Encoding of the messages: `cdr` or `json`.
    pub message_encoding: &'a str,
    /// Text of the schema.
    pub text: &'a str,
}

impl<'a> Schema<'a> {
    /// Creates the schema of a channel with CDR messages.
    pub const fn cdr(name: &'a str, text: &'a str) -> Self {
        Self { name, encoding: "ros2msg", message_encoding: "cdr", text }
    }

    /// Creates the schema of a channel with JSON messages.
    pub const fn json(name: &'a str, text: &'a str) -> Self {
        Self { name, encoding: "jsonschema", message_encoding: "json", text }
    }
}
