//! What the haptic loop asks of a device, and the devices that answer.
//!
//! Read [`contract`] first: it is the whole seam between the tick and any hardware.
#![forbid(unsafe_code)]

pub mod contract;

pub use contract::{
    Device, Effort, FaultCode, Health, Identity, Kind, Limits, MAX_AXES, MonotonicNs, Reading, Sent, WriteError,
};
