//! Coupling between hand and tool: the spring-damper itself, the energy that it may return, and the stiffness that a
//! device permits.
//!
//! - [`coupling`]: computes the [`haptic_planar::input::CouplingInput`] of a tick from the hand position, and ramps new
//!   gains.
//! - [`tank`]: the energy tank, which limits every force so that no hand can extract more than the stored energy.
//! - [`key`]: settings by key, with the rules that files, API and constructors share.
//! - [`model`]: models of a device and a hand, with the default values of device files.
//! - [`passivity`]: the damping that a device needs, in closed form and by frequency sweep.
//! - [`sampled`]: the linear loop of device, hand and coupling over one period, and its eigenvalues.
//! - [`margins`]: the results of these analyses for one device and one pair of gains, as numbers and as text.
//!
//! Notation in the comments: K and B are stiffness and damping of the coupling; b, m, f_c and Δ are damping, mass,
//! Coulomb friction and encoder step of the device; T is the period, t_d the delay beyond it, and S the tank level.
//!
//! ```
//! use haptic_coupling::coupling::{Coupling, Gains};
//! use nalgebra::Vector2;
//!
//! let gains = Gains { stiffness_n_per_m: 600.0, ..Gains::default() }.checked()?;
//! let mut coupling = Coupling::new(gains, 4.0, None);
//! let input = coupling.input(Vector2::new(0.01, 0.0));
//! assert_eq!(input.hand_m, input.hand_before_m);
//! # Ok::<(), haptic_coupling::key::KeyError>(())
//! ```
#![forbid(unsafe_code)]

pub mod coupling;
pub mod key;
pub mod margins;
pub mod model;
pub mod passivity;
pub mod sampled;
pub mod tank;
