//! Emulated boards and USB devices, to test backends against the real behaviour of a device.
//!
//! - [`emulators`]: the table of boards on a pseudo-terminal; [`serial`]: those boards and their server.
//! - [`native`]: the firmware of a board with the native protocol.
//! - [`force_feedback`]: the firmware of a USB force-feedback device: effects, their time, the force at the motor.
//! - [`style`], [`writer`]: report descriptors of joysticks and boards of several makers.
//! - [`handle`]: the handle between the motors and a simulated hand.
//! - [`gadget`]: a USB device as reports in and reports out; [`transport`]: its connection to a kernel.
//! - [`audit`]: what the device observed of its host; [`compare`]: whether that agrees with the host's recording.
//!
//! Nothing here shares code with the host's reader of descriptors: offsets of fields are counted in bytes, as in
//! firmware.
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
