//! The device contract of the haptic loop, and devices without I/O.
//!
//! Read [`contract`] first: it is the whole interface between the tick and any hardware. [`kind`] defines the device
//! kinds, and [`config`] holds the checked contents of a device file. [`mapping`] converts between the device frame and
//! the world frame, [`pantograph`] contains the kinematics of five-bar linkages, and [`velocity`] estimates velocities
//! from quantised positions. [`simulated`] is a device model with a simulated hand, [`prescribed`] is a device that
//! follows a given motion, [`paced`] wraps a device that cannot be served in every tick, [`reversed`] corrects reversed
//! motors and encoders, and [`faulty`] injects faults into a device. Devices with I/O are in `haptic-backends`.
//!
//! ```
//! use haptic_device::{Device, DeviceModel, Effort, HandModel, Health, MonotonicNs, SimulatedDevice};
//!
//! let mut device = SimulatedDevice::new(2, &DeviceModel::default(), Some(&HandModel::default()))?;
//! for tick in 1..=100 {
//!     let now = MonotonicNs(tick * 1_000_000);
//!     let reading = device.read(now);
//!     assert_eq!(reading.health, Health::Ready);
//!     // A spring towards the origin.
//!     device.write(Effort { force_n: reading.position_m * -100.0 }, now);
//! }
//! device.close();
//! # Ok::<(), haptic_device::simulated::ModelError>(())
//! ```
#![forbid(unsafe_code)]

pub mod codes;
pub mod config;
pub mod contract;
pub mod faulty;
pub mod kind;
pub mod mapping;
pub mod paced;
pub mod pantograph;
pub mod path;
pub mod prescribed;
pub mod reversed;
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
pub use pantograph::Pantograph;
pub use path::Path;
pub use prescribed::PrescribedDevice;
pub use reversed::ReversedDevice;
pub use simulated::{DeviceModel, HandModel, SimulatedDevice};
