//! Emulated boards and USB devices, for testing backends against realistic device behaviour.
//!
//! - [`emulators`]: the table of boards on a pseudo-terminal; [`serial`]: those boards and their server.
//! - [`native`]: firmware of a board with the native protocol; [`emergency_stop`]: the button of that board.
//! - [`planned_fault`]: faults and when they occur; [`encoder_fault`]: those of encoders; [`interval`]: a part of an
//!   emulation, planned in advance.
//! - [`force_feedback`]: firmware of a USB force-feedback device, from reports to motor force.
//! - [`style`]: force-feedback devices of several makers, with their report descriptors; [`writer`]: writes
//!   descriptors.
//! - [`handle`]: the handle between the motors and a simulated hand.
//! - [`gadget`]: a USB device that receives and sends reports; [`transport`]: its connection to a kernel.
//! - [`campaign`]: the fault campaign; [`direction`]: how it controls a USB device from inside.
//! - [`audit`]: the device's audit of its host; [`compare`]: compares the device's log with the host's trace.
//!
//! No code is shared with the host's report descriptor parser: the emulated firmware counts field offsets in bytes, as
//! real firmware does.
//!
//! ```
//! use haptic_device::DeviceModel;
//! use haptic_emulator::handle::EmulatedHandle;
//! use haptic_emulator::native::NativeTraits;
//! use haptic_emulator::serial::{Board, NativeBoard};
//! use haptic_wire::{Hello, Message, VERSION, WIRE_MAX, encode};
//!
//! let handle = EmulatedHandle::new(2, &DeviceModel::default(), None)?;
//! let mut board = NativeBoard::new(NativeTraits::default(), handle);
//! let mut wire = [0; WIRE_MAX];
//! let hello = Message::Hello(Hello { version: VERSION, nonce: 7 });
//! let length = encode(&hello, 0, &mut wire).expect("the buffer holds any message");
//! let mut answers = Vec::new();
//! board.receive(&wire[..length], &mut answers);
//! assert_eq!(answers.len(), 1);
//! # Ok::<(), haptic_device::simulated::ModelError>(())
//! ```
#![forbid(unsafe_code)]

pub mod audit;
pub mod campaign;
pub mod compare;
pub mod direction;
pub mod emergency_stop;
pub mod emulators;
pub mod encoder_fault;
pub mod force_feedback;
pub mod gadget;
pub mod handle;
pub mod interval;
pub mod native;
pub mod planned_fault;
pub mod serial;
pub mod style;
pub mod transport;
pub mod writer;
