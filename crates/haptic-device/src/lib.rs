//! The device contract of the haptic loop, and devices without input and output.
//!
//! Read [`contract`] first: it is the whole interface between the tick and any hardware. [`mapping`] converts between device and
//! world frame, [`velocity`] estimates velocities from quantised positions. [`simulated`] is a device model with a simulated hand,
//! [`prescribed`] follows a motion known beforehand, [`paced`] serves a device slower than the tick, and [`faulty`] injects faults.
#![forbid(unsafe_code)]

pub mod codes;
pub mod config;
pub mod contract;
pub mod faulty;
pub mod kind;
pub mod mapping;
pub mod paced;
pub mod path;
pub mod prescribed;
pub mod simulated;
pub mod velocity;
pub mod xorshift;

pub use config::DeviceConfig;
pub use contract::{
    Device, Effort, FaultCode, Health, Identity, Limits, LinkStatistics, MAX_AXES, MonotonicNs, Reading, RoundTrip,
    WriteError, WriteOutcome,
};
pub use faulty::{FaultPlan, FaultyDevice, InjectedFault};
pub use kind::KindSpec;
pub use mapping::Mapping;
pub use paced::PacedDevice;
pub use path::Path;
pub use prescribed::PrescribedDevice;
pub use simulated::{DeviceModel, HandModel, SimulatedDevice};
