//! What the haptic loop asks of a device, and the devices that answer.
//!
//! Read [`contract`] first: it is the whole seam between the tick and any hardware. Then, as they are met on the way:
//! [`mapping`] between device and world, [`velocity`] from stepped positions, [`simulated`] for a device that needs no
//! hardware.
#![forbid(unsafe_code)]

pub mod contract;
pub mod mapping;
pub mod path;
pub mod simulated;
pub mod velocity;
pub mod xorshift;

pub use contract::{
    Device, Effort, FaultCode, Health, Identity, Kind, Limits, MAX_AXES, MonotonicNs, Reading, Sent, WriteError,
};
pub use mapping::Mapping;
pub use simulated::{DeviceModel, HandModel, SimulatedDevice};
