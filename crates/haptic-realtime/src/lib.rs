//! A 1 kHz loop on Linux: pinned real-time thread, schedule, locked memory, exchanges with other threads, and
//! histograms. This crate is independent of haptics.
//!
//! In each period, [`runner`] sleeps on the [`clock`] until the deadline computed by [`schedule`], calls the body, and
//! records wake-up latency and compute time in [`histogram`]s. [`thread`] starts the pinned thread with real-time
//! priority and locked [`memory`]; [`dma_latency`] keeps the processor out of deep idle states. [`exchange`] passes
//! values between the real-time thread and the rest of the process without waiting. [`run_delay`] measures how long the
//! thread waits for its core. [`tty`], [`poll`] and [`ioctl`] wrap system calls for devices. [`latency`] runs the bare
//! loop to measure a machine, and [`fitness`] checks the machine and suggests remedies.
//!
//! Nothing in this crate requires privileges: whatever the system refuses is reported with a remedy.
//!
//! ```
//! use haptic_realtime::clock::MonotonicClock;
//! use haptic_realtime::runner::{LoopExit, Runner};
//! use haptic_realtime::thread::{ThreadRequest, spawn};
//! use std::num::NonZeroU64;
//! use std::ops::ControlFlow;
//! use std::sync::atomic::AtomicBool;
//!
//! let request = ThreadRequest { lock_memory: false, ..ThreadRequest::default() };
//! let thread = spawn(request, |_granted| {
//!     let mut runner = Runner::new(MonotonicClock, NonZeroU64::new(1_000_000).unwrap());
//!     let mut ticks = 0;
//!     let exit = runner.run(&AtomicBool::new(false), |_wake| {
//!         ticks += 1;
//!         if ticks < 10 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
//!     });
//!     (exit, runner.timing().ticks)
//! })?;
//! println!("granted: {:?}", thread.granted());
//! assert_eq!(thread.join(), Ok((LoopExit::Finished, 10)));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Unsafe code is confined to the module `system_calls`, which wraps libc calls that have no safe wrapper elsewhere,
//! and [`ioctl`].

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
