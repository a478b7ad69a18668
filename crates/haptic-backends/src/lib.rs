//! Devices that perform I/O, and the table of their kinds.
//!
//! [`kinds`] is the table: each [`Backend`] recognises devices of one kind and opens them as a
//! [`haptic_device::Device`]. [`discovery`] lists the connected devices. [`serial`] drives boards on a serial line,
//! [`hid`] drives USB joysticks and boards, and [`evdev`] drives devices with a kernel driver. [`native`] is the native
//! protocol for serial lines and HID reports, [`threaded`] contains the device type for links that may block, and
//! [`udev`] the rules that open devices to users.
//!
//! ```
//! use haptic_backends::kinds::{OpenContext, backend_of};
//! use haptic_backends::native::SERIAL;
//! use haptic_device::DeviceConfig;
//! use haptic_device::config::Address;
//!
//! let address = Address { port: Some("/dev/no-such-port".to_owned()), ..Address::default() };
//! let config = DeviceConfig { kind: &SERIAL, address, ..DeviceConfig::default() };
//! let context = OpenContext { loop_priority: 80, max_speed_m_per_s: 3.0, dead_man: None };
//! let backend = backend_of(config.kind).expect("serial boards have a backend");
//! let error = backend.open(&config, &context).err().expect("there is no such port");
//! assert!(error.to_string().starts_with("/dev/no-such-port does not exist"));
//! ```
#![forbid(unsafe_code)]

pub mod discovery;
pub mod evdev;
pub mod handshake;
pub mod hid;
pub mod kinds;
pub mod link_monitor;
pub mod native;
pub mod open_error;
pub mod protocol;
pub mod reconnect;
pub mod scale;
pub mod serial;
pub mod threaded;
pub mod udev;

pub use kinds::{BACKENDS, Backend, KINDS};
pub use open_error::OpenError;
