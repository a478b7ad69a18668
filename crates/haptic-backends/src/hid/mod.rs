//! Devices that speak USB HID.
//!
//! - [`descriptor`], [`field`]: any report descriptor to a list of fields; bits in and out of reports.
//! - [`layout`], [`usages`]: which of those fields are axes and force feedback.
//! - [`force`], [`report`]: a force to the reports that make it.
//! - [`link`], [`hidraw`]: what carries reports, and how Linux does.
//! - [`joystick`]: the `hid-pid` backend.
//! - [`native`]: the `hid-native` backend, our own protocol in vendor-defined reports.

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
