//! Wait-free exchanges between the loop and the rest of the process.
//!
//! - [`latest`]: the newest value only (snapshots); older ones are overwritten.
//! - [`ring`]: every value in order (telemetry, records); when full, the new one is dropped and counted.
//! - [`commands`]: requests towards the loop, which polls them, a bounded number per tick.

mod commands;
mod latest;
mod ring;

pub use commands::{CommandReceiver, CommandSender, TrySendError, commands};
pub use latest::{LatestReader, LatestWriter, latest};
pub use ring::{RingReader, RingWriter, ring};
