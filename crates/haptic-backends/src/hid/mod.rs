//! USB HID devices.
//!
//! - [`descriptor`], [`field`]: parse a report descriptor into a list of fields; read and write their bits.
//! - [`layout`], [`usages`]: find the axes and the force feedback among those fields.
//! - [`force`], [`report`]: encode a force as reports.
//! - [`link`], [`hidraw`]: transport of reports, and its implementation for Linux.
//! - [`joystick`]: the `hid-pid` backend.
//! - [`native`]: the `hid-native` backend, the native protocol in vendor-defined reports.

pub mod descriptor;
pub mod field;
pub mod force;
pub mod hidraw;
pub mod joystick;
pub mod layout;
pub mod link;
pub mod native;
pub mod report;
pub mod usages;
