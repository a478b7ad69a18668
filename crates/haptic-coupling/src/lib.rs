//! Hand and tool: the spring-damper between them, the energy it may give back, and how much stiffness a device bears.
//!
//! - [`coupling`]: turns where the hand is into the [`haptic_planar::input::CouplingInput`] of one tick; new gains arrive as a ramp.
//! - [`tank`]: the last word on every force: never more than the energy on account can pay for, whatever the hand does.
//! - [`model`]: what is known of a device and a hand; the same numbers as in a device file.
//! - [`passivity`]: how much damping a device needs, by closed form and by frequency sweep.
//! - [`sampled`]: the linear loop of device, hand and coupling, one period at a time, and its eigenvalues.
//! - [`margins`]: all of that for one device and one pair of gains, in numbers and in words.
//!
//! Notation of the comments: K, B stiffness and damping of the coupling; b, m, f_c, Δ damping, mass, Coulomb friction
//! and encoder step of the device; T the period, t_d the delay beyond it; S the energy on account.
#![forbid(unsafe_code)]

pub mod coupling;
pub mod key;
pub mod margins;
pub mod model;
pub mod passivity;
pub mod sampled;
pub mod tank;
