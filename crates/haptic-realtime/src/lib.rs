//! What a 1 kHz loop needs from Linux, and nothing about what the loop does.
//!
//! The way of one tick: [`runner`] asks the [`clock`] to sleep until the deadline that [`schedule`] computed, calls the
//! body, and records in [`histogram`]s how late it woke and how long it took. [`thread`] starts the pinned, prioritised
//! thread all this happens on, with [`memory`] locked; [`dma_latency`] keeps the processor awake meanwhile.
//! [`exchange`] carries values between that thread and the rest of the process without either waiting.
//! [`run_delay`] tells what others on its core cost it. [`tty`] does for serial ports what no safe wrapper does.
//! [`latency`] runs the bare loop to measure a machine and [`fitness`] says what stands in the way of a better one.
//!
//! Nothing here needs privileges to run: what the system refuses is reported with the way to get it.
//!
//! Unsafe code is confined to the modules `system_calls`, which wraps the libc calls that have no safe wrapper, and [`ioctl`].

#![deny(unsafe_code)]

pub mod clock;
pub mod dma_latency;
pub mod exchange;
pub mod fitness;
pub mod histogram;
pub mod ioctl;
pub mod latency;
pub mod memory;
pub mod poll;
pub mod run_delay;
pub mod runner;
pub mod schedule;
mod system_calls;
pub mod thread;
pub mod tty;
