//! Force-feedback devices made of software, so that backends can be tested against what a device really does with a report.
//!
//! - [`style`], [`writer`]: what joysticks and boards of different makers say of themselves; descriptors written from facts.
//! - [`force_feedback`]: the firmware of such a device: effects, their time, the force at the motor.
//! - [`native`]: the firmware of a board with the native protocol.
//! - [`handle`]: the handle between the motors and a hand that follows a path.
//! - [`gadget`]: one of those devices as bytes in and reports out, however they are carried.
//! - [`transport`]: how they get into a kernel: `uhid`, FunctionFS, a serial line.
//! - [`serial`]: boards on a pseudo-terminal.
//! - [`audit`]: what came of it; [`compare`]: whether it is what the host says.
//!
//! Nothing here knows how a host reads descriptors: places of fields are counted in bytes, as firmware does.
#![forbid(unsafe_code)]

pub mod audit;
pub mod compare;
pub mod emulators;
pub mod force_feedback;
pub mod gadget;
pub mod handle;
pub mod native;
pub mod serial;
pub mod style;
pub mod transport;
pub mod writer;
