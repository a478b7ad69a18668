//! Devices with input and output.
//!
//! [`serial`] drives boards on a serial line, [`hid`] USB joysticks and boards, [`evdev`] devices with a kernel driver;
//! [`threaded`] is the device that reads from a thread, for both of the last two. [`pantograph`] is the kinematics of
//! linkages whose motors turn while the hand moves straight.
#![forbid(unsafe_code)]

pub mod discovery;
pub mod evdev;
pub mod handshake;
pub mod hid;
pub mod kinds;
pub mod link_monitor;
pub mod native;
pub mod open_error;
pub mod pantograph;
pub mod protocol;
pub mod reconnect;
pub mod scale;
pub mod serial;
pub mod threaded;

pub use kinds::{BACKENDS, Backend, KINDS};
pub use open_error::OpenError;
pub use pantograph::Pantograph;
