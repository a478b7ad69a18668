//! Wait-free exchanges between the loop and the rest of the process.
//!
//! - [`latest`]: passes on only the newest value (snapshots); older values are overwritten.
//! - [`ring`]: passes on every value in order (telemetry, records); when the ring is full, new values are dropped and
//!   counted.
//! - [`commands`]: requests to the loop, which polls a bounded number of them per tick.

mod commands;
mod latest;
mod ring;

pub use commands::{CommandReceiver, CommandSender, TrySendError, commands};
pub use latest::{LatestReader, LatestWriter, latest};
pub use ring::{RingReader, RingWriter, ring};
