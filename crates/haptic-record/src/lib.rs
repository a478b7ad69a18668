//! What was felt, kept: recordings in MCAP, read back, run again bit for bit, drawn and exported.
//!
//! On the way of one tick into a file:
//!
//! - [`tap`]: the real-time end; every tick leaves one plain record in a ring, and whatever the loop was told.
//! - [`recorder`]: takes the records out of the rings, on an ordinary thread, and puts messages into a file.
//! - [`mod@file`]: the file itself: whole chunks of at most a second, sealed even when the disk is full.
//! - [`tick_message`], [`command_message`], [`checkpoint_message`], [`foxglove`], [`schemas`]: what the messages hold.
//! - [`history`]: the last seconds of any run, kept in memory for a black box.
//! - [`header`]: everything that is needed to build the same world again.
//!
//! And out of it again: [`reader`] reads files, whole or cut short; [`replay_device`] hands the recorded readings to the
//! loop; [`parquet`] writes tables; [`spectrum`] finds dominant frequencies; [`page`] draws.
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
