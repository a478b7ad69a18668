//! Reading what people write: scenes, profiles, devices and hands. Input is checked here, once, with its place in the
//! file; what comes out is plain data that the rest can rely on.
#![forbid(unsafe_code)]

pub mod builtin;
pub mod calibration;
pub mod device;
pub mod error;
pub mod hand;
pub mod kind;
pub mod overlap;
pub mod profile;
pub mod proposals;
pub mod rule;
pub mod scene;
pub mod section;
pub mod setup;
pub mod source;
pub mod stability;
