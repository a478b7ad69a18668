//! USB HID devices.
//!
//! - [`descriptor`] parses a report descriptor into a list of fields, and [`field`] reads and writes the bits of a
//!   field.
//! - [`layout`] finds the axes and the force feedback among the fields by the usages in [`usages`].
//! - [`summary`] states what would be driven, from a descriptor alone.
//! - [`force`] encodes a force as reports, and [`report`] contains their bytes.
//! - [`link`] defines the transport of reports, and [`hidraw`] implements it for Linux.
//! - [`joystick`] is the `hid-pid` backend.
//! - [`native`] is the `hid-native` backend, which uses the native protocol in vendor-defined reports.

pub mod descriptor;
pub mod field;
pub mod force;
pub mod hidraw;
pub mod joystick;
pub mod layout;
pub mod link;
pub mod native;
pub mod report;
pub mod summary;
pub mod usages;
