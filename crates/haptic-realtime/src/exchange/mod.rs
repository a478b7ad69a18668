//! Wait-free exchanges between the loop and the rest of the process.
//!
//! - [`latest`]: exchange of the newest value only (snapshots); older values are overwritten.
//! - [`ring`]: exchange of every value in order (telemetry, records); when the ring is full, the new value is dropped
//!   and counted.
//! - [`commands`]: requests to the loop, which polls a bounded number of them per tick.

mod commands;
mod latest;
mod ring;

pub use commands::{CommandReceiver, CommandSender, TrySendError, commands};
pub use latest::{LatestReader, LatestWriter, latest};
pub use ring::{RingReader, RingWriter, ring};
