//! Recordings in MCAP: written while the loop runs, read back, replayed bit for bit, plotted and exported.
//!
//! These modules write a recording:
//!
//! - [`tap`]: the real-time end, which puts one plain record per tick and per command into a ring.
//! - [`recorder`]: reads the records from the rings, on an ordinary thread, and writes messages to a file.
//! - [`mod@file`]: the file, in complete chunks of about a second, with a valid end even when the disk is full.
//! - [`tick_message`], [`command_message`], [`checkpoint_message`], [`foxglove`], [`schemas`]: contents of the
//!   messages.
//! - [`history`]: the last seconds of any run, held in memory for a black box.
//! - [`header`]: everything needed to rebuild the same world.
//!
//! [`reader`] reads complete or truncated files; [`replay_device`] supplies the recorded readings to the loop;
//! [`parquet`] writes tables; [`spectrum`] finds dominant frequencies; [`page`] writes the report page.
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
mod strings;
pub mod tap;
pub mod tick_message;
pub mod worlds;
