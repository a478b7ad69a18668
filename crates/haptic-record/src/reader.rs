//! Reads complete or truncated recordings, up to the last complete chunk.

use crate::cdr::{CdrReader, NotCdr};
use crate::header::{BadHeader, END_NAME, Header, METADATA_NAME};
use crate::strings::Strings;
use crate::tap::{CheckpointRecord, CommandRecord};
use crate::tick_message::TickMessage;
use crate::{checkpoint_message, command_message, schemas, tick_message};
use mcap::McapError;
use mcap::records::Record;
use mcap::sans_io::linear_reader::{LinearReadEvent, LinearReader, LinearReaderOptions};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Maximum size of a record or of an uncompressed chunk, bytes. A longer one means that the file is damaged; reading it
/// would only waste memory.
const MAX_RECORD_BYTES: u64 = 192 << 20;
/// Size up to which an uncompressed chunk is accepted whatever the size of the file, bytes.
const MIN_RECORD_BYTES: u64 = 4 << 20;
/// Largest ratio by which a chunk of a recording is compressed. Chunks of a world at rest reach a tenth of it.
const MAX_COMPRESSION: u64 = 256;

/// An item of a recording. Items are returned in file order.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// A metadata record: its name, and its keys and values.
    Metadata(String, BTreeMap<String, String>),
    /// A text attachment: its name and its text.
    Attachment(String, String),
    /// A tick.
    Tick(Box<TickMessage>),
    /// A command applied to the loop.
    Command(CommandRecord),
    /// Hashes of the dynamic bodies after a tick.
    Bodies(BodyHashes),
    /// An event from the log.
    Event(Event),
    /// The complete loop state after a tick.
    Checkpoint(CheckpointRecord),
}

/// Hashes of the dynamic bodies after a tick, in the order of the scene file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BodyHashes {
    /// Number of the tick.
    pub tick: u64,
    /// One hash for each dynamic body.
    pub hashes: Vec<u32>,
}

/// A line of the recording's log.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Event {
    /// Number of the tick in which the event occurred.
    pub tick: u64,
    /// Level: 2 is information, 3 a warning.
    pub level: u8,
    /// Text of the event.
    pub message: String,
}

/// Point up to which a file could be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadEnd {
    /// The end of a finished recording.
    Finished,
    /// The last complete chunk; the rest was never written.
    CutShort,
    /// The first invalid bytes, with a description of the error.
    Damaged(String),
}

/// Reads a recording file.
pub struct RecordingReader {
    path: PathBuf,
    file: File,
    /// Bytes of the file that have not been read.
    left: u64,
    reader: LinearReader,
    /// Topics by channel number.
    topics: BTreeMap<u16, Topic>,
    /// Whether the end record of a finished file was read.
    has_end: bool,
    end: Option<ReadEnd>,
}

#[derive(Clone, Copy)]
enum Topic {
    Tick,
    Command,
    Bodies,
    Event,
    Checkpoint,
    Other,
}

/// Error for a file that cannot be opened or is not a recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Path of the file.
    pub path: PathBuf,
    /// Description of the problem, with a remedy if there is one.
    pub problem: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for ReadError {}

impl RecordingReader {
    /// Opens a recording file.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(path: &Path) -> Result<Self, ReadError> {
        let refuse = |error| ReadError {
            path: path.to_owned(),
            problem: format!("cannot be opened: {error}; name a recording that `--record` has written"),
        };
        let file = File::open(path).map_err(refuse)?;
        let left = file.metadata().map_err(refuse)?.len();
        let options = LinearReaderOptions::default()
            .with_validate_chunk_crcs(true)
            .with_prevalidate_chunk_crcs(true)
            .with_record_length_limit(longest_record(left));
        let reader = LinearReader::new_with_options(options);
        Ok(Self { path: path.to_owned(), file, left, reader, topics: BTreeMap::new(), has_end: false, end: None })
    }

    /// Returns how far the file could be read; `None` until the last item has been returned.
    pub fn end(&self) -> Option<&ReadEnd> {
        self.end.as_ref()
    }

    /// Returns the next item; `None` at the end (see [`Self::end`]). Skips messages that only viewers use.
    pub fn next_item(&mut self) -> Option<Item> {
        while self.end.is_none() {
            match self.step() {
                Ok(Some(item)) => return Some(item),
                Ok(None) => {}
                Err(end) => self.end = Some(end),
            }
        }
        None
    }

    fn step(&mut self) -> Result<Option<Item>, ReadEnd> {
        let Some(event) = self.reader.next_event() else {
            return Err(if self.has_end { ReadEnd::Finished } else { ReadEnd::CutShort });
        };
        match event.map_err(|error| end_of(&error))? {
            // No item follows a record that is longer than the rest of the file, so no memory is needed for it.
            LinearReadEvent::ReadRequest(bytes) if bytes as u64 > self.left => Err(ReadEnd::CutShort),
            LinearReadEvent::ReadRequest(bytes) => {
                let read = self.file.read(self.reader.insert(bytes)).map_err(|error| damage(&error))?;
                self.left = self.left.saturating_sub(read as u64);
                self.reader.notify_read(read);
                Ok(None)
            }
            LinearReadEvent::Record { opcode, data } => {
                let Some(strings) = Strings::of(opcode) else { return Ok(None) };
                strings.check(data).map_err(|error| damage(&error))?;
                let record = mcap::parse_record(opcode, data).map_err(|error| damage(&error))?;
                take(record, &mut self.topics, &mut self.has_end)
            }
        }
    }

    /// Reads the header, which precedes all messages. Must be called before [`Self::next_item`]; discards the first
    /// item after the header.
    ///
    /// # Errors
    /// If the file is not a hapticd recording or its header is invalid.
    pub fn header(&mut self) -> Result<Header, ReadError> {
        let (mut metadata, mut attachments) = (None, BTreeMap::new());
        while let Some(item) = self.next_item() {
            match item {
                Item::Metadata(name, pairs) if name == METADATA_NAME => metadata = Some(pairs),
                Item::Attachment(name, text) => drop(attachments.insert(name, text)),
                _ => break,
            }
        }
        let error_of = |problem| ReadError { path: self.path.clone(), problem };
        if let (None, Some(ReadEnd::Damaged(problem))) = (&metadata, &self.end) {
            return Err(error_of(format!("is not an MCAP recording: {problem}; name a file written by `--record`")));
        }
        let metadata = metadata.ok_or_else(|| error_of("is not a hapticd recording".to_owned()))?;
        Header::from_file(&metadata, &attachments).map_err(|BadHeader(problem)| error_of(problem))
    }
}

/// Returns the largest size of a record or of an uncompressed chunk in a file of `file_bytes` bytes.
fn longest_record(file_bytes: u64) -> usize {
    file_bytes.saturating_mul(MAX_COMPRESSION).clamp(MIN_RECORD_BYTES, MAX_RECORD_BYTES) as usize
}

fn take(record: Record<'_>, topics: &mut BTreeMap<u16, Topic>, has_end: &mut bool) -> Result<Option<Item>, ReadEnd> {
    match record {
        Record::Channel(channel) => {
            topics.insert(channel.id, topic_of(&channel.topic));
            Ok(None)
        }
        Record::Message { header, data } => {
            let topic = topics.get(&header.channel_id).copied().unwrap_or(Topic::Other);
            message(topic, &data)
        }
        Record::Metadata(metadata) => {
            *has_end |= metadata.name == END_NAME;
            Ok(Some(Item::Metadata(metadata.name, metadata.metadata)))
        }
        Record::Attachment { header, data, .. } => {
            let text = String::from_utf8(data.into_owned()).map_err(|error| damage(&error))?;
            Ok(Some(Item::Attachment(header.name, text)))
        }
        _ => Ok(None),
    }
}

fn topic_of(topic: &str) -> Topic {
    match topic {
        tick_message::TOPIC => Topic::Tick,
        command_message::TOPIC => Topic::Command,
        schemas::BODIES_TOPIC => Topic::Bodies,
        schemas::LOG_TOPIC => Topic::Event,
        checkpoint_message::TOPIC => Topic::Checkpoint,
        _ => Topic::Other,
    }
}

fn message(topic: Topic, data: &[u8]) -> Result<Option<Item>, ReadEnd> {
    Ok(match topic {
        Topic::Tick => Some(Item::Tick(Box::new(TickMessage::read(data).map_err(|error| damage(&error))?))),
        Topic::Command => Some(Item::Command(command_message::read(data).map_err(|error| damage(&error))?)),
        Topic::Bodies => Some(Item::Bodies(body_hashes(data).map_err(|error| damage(&error))?)),
        Topic::Event => Some(Item::Event(serde_json::from_slice(data).map_err(|error| damage(&error))?)),
        Topic::Checkpoint => Some(Item::Checkpoint(checkpoint_message::read(data).map_err(|error| damage(&error))?)),
        Topic::Other => None,
    })
}

fn body_hashes(data: &[u8]) -> Result<BodyHashes, NotCdr> {
    let mut cdr = CdrReader::of(data)?;
    let (tick, count) = (cdr.u64()?, cdr.u32()?);
    let hashes = (0..count).map(|_| cdr.u32()).collect::<Result<Vec<u32>, NotCdr>>()?;
    Ok(BodyHashes { tick, hashes })
}

/// Classifies a library error: a file that ends early was cut short; any other error means damage.
fn end_of(error: &McapError) -> ReadEnd {
    match error {
        McapError::UnexpectedEof | McapError::BadFooter => ReadEnd::CutShort,
        error => damage(error),
    }
}

fn damage(error: &dyn fmt::Display) -> ReadEnd {
    ReadEnd::Damaged(error.to_string())
}
