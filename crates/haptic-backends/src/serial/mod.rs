//! Devices on a serial line.
//!
//! Protocols are pure ([`crate::protocol`]): [`crate::native`] implements `firmware-protocol/PROTOCOL.md`, while
//! [`haply`] and [`odrive`] implement the protocols of two products. The other modules perform I/O. [`port`] opens a
//! line exclusively. [`device`] is read and written by the tick; for lines that stall, it limits the commands in flight
//! and completes partial frames. [`ordered`] matches answers without numbers to commands. [`reader_thread`] receives
//! and reconnects. [`dead_man`] is the process that ends the
//! force of a device without a watchdog.
//!
//! The tick writes to the port itself, without waiting, and reads a slot filled by the reader thread.
//! `docs/decisions/0011-serial-lines.md` gives the measurements behind this choice.

pub mod dead_man;
pub mod device;
pub mod haply;
pub mod in_flight_limit;
pub mod odrive;
pub mod ordered;
mod partial_frame;
pub mod port;
pub mod reader_thread;
pub mod usb_port;

pub use crate::link_monitor::LinkMonitor;
pub use crate::native::NativeSettings;
pub use device::{SerialDevice, SerialSettings};
pub use haply::{HaplyProtocol, HaplyVariant};
pub use odrive::{OdriveProtocol, OdriveSettings};
pub use port::Port;
pub use reader_thread::FindPort;

/// The native protocol on a byte stream.
pub type NativeProtocol = crate::native::NativeProtocol<crate::native::framing::Cobs>;
