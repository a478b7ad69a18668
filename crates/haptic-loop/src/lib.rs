//! One tick of haptics, from the device's reading to its force. Read [`tick`] first.
//!
//! - [`tick`]: the way of one tick, and the loop that owns everything on it.
//! - [`reading_monitor`]: what to make of a reading: good, stale, or a fault.
//! - [`world`]: scene and state together, and the energy they could give the hand.
//! - [`guard`]: the one gate before the device, with its [`engagement`]; every [`fault`] ends there at zero force.
//! - [`report`], [`snapshot`], [`black_box`]: what a tick leaves behind, for the trace, the viewer and the inquest.
//! - [`settings`], [`command`]: what the loop is told, before it starts and between ticks.
#![forbid(unsafe_code)]

pub mod black_box;
pub mod columns;
pub mod command;
pub mod control;
pub mod engagement;
pub mod fault;
pub mod guard;
pub mod reading_monitor;
pub mod report;
pub mod settings;
pub mod snapshot;
pub mod tick;
pub mod world;
