//! What the haptic loop asks of a device, and the devices that answer.
//!
//! Read [`contract`] first: it is the whole seam between the tick and any hardware. Then, as they are met on the way:
//! [`mapping`] between device and world, [`velocity`] from stepped positions, [`simulated`] for a device that needs no
//! hardware, [`prescribed`] for motions known beforehand, [`paced`] for devices slower than the tick, [`serial`] for boards
//! on a line, [`hid`] for USB joysticks and boards, [`evdev`] for what the kernel drives ([`threaded`] waits for both), [`emulated`] for boards made of software, [`faulty`] to see what the loop does when a device fails, and
//! [`pantograph`] for linkages whose motors turn while the hand moves straight.
#![forbid(unsafe_code)]

pub mod codes;
pub mod contract;
pub mod emulated;
pub mod evdev;
pub mod faulty;
pub mod hid;
pub mod mapping;
pub mod paced;
pub mod pantograph;
pub mod path;
pub mod prescribed;
pub mod serial;
pub mod simulated;
pub mod threaded;
pub mod velocity;
pub mod xorshift;

pub use contract::{
    Device, DeviceKind, Effort, FaultCode, Health, Identity, Limits, LinkStatistics, MAX_AXES, MonotonicNs, Reading,
    RoundTrip, WriteError, WriteOutcome,
};
pub use faulty::{FaultPlan, FaultyDevice, InjectedFault};
pub use mapping::Mapping;
pub use paced::PacedDevice;
pub use pantograph::Pantograph;
pub use path::Path;
pub use prescribed::PrescribedDevice;
pub use simulated::{DeviceModel, HandModel, SimulatedDevice};
