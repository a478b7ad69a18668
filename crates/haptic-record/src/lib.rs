//! Recordings in MCAP: written while the loop runs, read back, replayed bit for bit, plotted and exported.
//!
//! A tick enters a file through these modules:
//!
//! - [`tap`]: the real-time end; every tick puts one plain record into a ring, and so does every command.
//! - [`recorder`]: takes the records from the rings, on an ordinary thread, and writes messages into a file.
//! - [`mod@file`]: the file: complete chunks of at most a second, closed properly even when the disk is full.
//! - [`tick_message`], [`command_message`], [`checkpoint_message`], [`foxglove`], [`schemas`]: contents of the messages.
//! - [`history`]: the last seconds of any run, held in memory for a black box.
//! - [`header`]: everything that is needed to build the same world again.
//!
//! [`reader`] reads files, complete or cut short; [`replay_device`] supplies the recorded readings to the loop; [`parquet`]
//! writes tables; [`spectrum`] finds dominant frequencies; [`page`] writes the report page.
//!
//! ```no_run
//! use haptic_record::reader::{Item, RecordingReader};
//!
//! let mut reader = RecordingReader::open("touch.mcap".as_ref())?;
//! while let Some(item) = reader.next_item() {
//!     if let Item::Tick(tick) = item {
//!         println!("{} {:?}", tick.tick, tick.reading.position_m);
//!     }
//! }
//! # Ok::<(), haptic_record::reader::ReadError>(())
//! ```
#![forbid(unsafe_code)]

pub mod cdr;
pub mod checkpoint_message;
pub mod command_message;
pub mod file;
pub mod foxglove;
pub mod header;
pub mod history;
pub mod page;
pub mod parquet;
pub mod reader;
pub mod recorder;
pub mod recorder_thread;
pub mod replay_device;
pub mod schemas;
pub mod spectrum;
pub mod tap;
pub mod tick_message;
pub mod worlds;
