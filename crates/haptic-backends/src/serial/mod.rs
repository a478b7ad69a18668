//! Devices on a serial line.
//!
//! A protocol is a handshake, a transmit half and a receive half ([`crate::protocol`]). [`crate::native`] is the
//! protocol of `firmware-protocol/PROTOCOL.md`, [`haply`] and [`odrive`] are those of devices people own. Around them
//! is thin input and output: [`port`] opens a line for us alone, [`reader_thread`] is the thread that listens and
//! reconnects, [`device`] is what the tick reads and writes, with `queue` and `unsent` for lines that stall,
//! [`crate::link_monitor`] counts, and [`dead_man`] is the process that ends the force of a device without a watchdog.
//!
//! The tick writes to the port itself, one call that does not wait, and reads a slot that the listening thread fills;
//! the page on serial lines in `docs/decisions` has the measurements behind that.

pub mod dead_man;
pub mod device;
pub mod haply;
mod in_flight_limit;
pub mod odrive;
pub mod ordered;
mod partial_frame;
pub mod port;
pub mod reader_thread;

pub use crate::link_monitor::LinkMonitor;
pub use crate::native::NativeSettings;
pub use device::{SerialDevice, SerialSettings};
pub use haply::{HaplyProtocol, HaplyVariant};
pub use odrive::{OdriveProtocol, OdriveSettings};
pub use port::{Port, PortError};
pub use reader_thread::{FindPort, OpenError};

/// The native protocol on a byte stream.
pub type NativeProtocol = crate::native::NativeProtocol<crate::native::framing::Cobs>;
