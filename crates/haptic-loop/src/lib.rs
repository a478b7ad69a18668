//! One tick of haptics, from the reading of the device to the force on the hand. Read [`tick`] first.
//!
//! - [`tick`]: one tick, and the loop that owns everything it needs.
//! - [`reading_monitor`]: checks whether a reading is good, stale or a fault.
//! - [`world`]: the scene and its state, and the energy that they could deliver to the hand.
//! - [`scene_hand`]: the simulated hand of a scene and its path.
//! - [`sign_check`]: checks the signs of motors and encoders before the first force.
//! - [`guard`]: the only gate before the device, with its [`engagement`]; every [`fault`] leads to zero force there.
//!   [`motor_set`] names motors in faults and warnings.
//! - [`report`], [`columns`], [`snapshot`], [`black_box`]: the data of a tick for traces, viewers and diagnosis.
//! - [`settings`], [`command`], [`control`]: the initial settings, the commands applied between ticks, and the reasons
//!   for rejecting a request.
//!
//! ```
//! use haptic_coupling::model::WorstAxisModel;
//! use haptic_device::{DeviceModel, MonotonicNs, SimulatedDevice};
//! use haptic_loop::{settings::Settings, tick::HapticLoop, world::World};
//! use haptic_planar::scene::{Scene, description::SceneDescription};
//!
//! let scene = Scene::build(&SceneDescription::default())?;
//! let device = SimulatedDevice::new(2, &DeviceModel::default(), None)?;
//! let model = WorstAxisModel::default();
//! let mut rendering = HapticLoop::new(Box::new(device), &model, World::new(scene), &Settings::default())?;
//! let report = rendering.tick(MonotonicNs(1_000_000), 0);
//! assert_eq!((report.tick, report.fault), (1, None));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

pub mod black_box;
pub mod columns;
pub mod command;
pub mod control;
pub mod engagement;
pub mod fault;
pub mod guard;
pub mod motor_set;
pub mod reading_monitor;
pub mod report;
pub mod scene_hand;
pub mod settings;
pub mod sign_check;
pub mod snapshot;
pub mod tick;
pub mod world;
