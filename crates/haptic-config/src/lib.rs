//! Parsers for scene, profile, device and hand files: from text to checked types.
//!
//! [`keys`] defines every key once. A [`source::Source`] is the text of a file or of a built-in. [`scene::load`], [`profile::load`], [`device::load`]
//! and [`hand::load`] parse it and check every value once. They return plain data that the rest of the program can rely
//! on, or [`error::FileErrors`]: all problems with file, line, column, key and remedy. [`setup::Setup`] opens a profile
//! together with its scene and device, and a hand file if one is given; [`stability`] and [`proposals`] assess the
//! result.
//!
//! The crate does not link any server, terminal or device I/O.
//!
//! ```
//! use haptic_config::scene;
//! use haptic_config::source::Source;
//!
//! let text = r#"
//! [[body]]
//! name = "probe"
//! shape = { disc_radius_m = 0.01 }
//! mass_kg = 0.1
//! "#;
//! let scene = scene::load(&Source::in_memory("probe.toml", text))?;
//! assert_eq!(scene.bodies[0].mass_kg, 0.1);
//!
//! let wrong = text.replace("mass_kg = 0.1", "mass_kg = -1");
//! let errors = scene::load(&Source::in_memory("probe.toml", &wrong)).unwrap_err();
//! let expected = "probe.toml:5:11: body[0].mass_kg: must be from 1e-6 to 10000, got -1; write mass_kg = 0.1";
//! assert_eq!(errors.to_string(), expected);
//! # Ok::<(), haptic_config::error::FileErrors>(())
//! ```
#![forbid(unsafe_code)]

pub mod builtin;
pub mod colour;
pub mod device;
pub mod error;
pub mod hand;
mod hand_path;
pub mod include;
pub mod keys;
pub mod kind;
pub mod overlap;
pub mod profile;
pub mod proposals;
pub mod reference;
pub mod remedy;
pub mod scene;
pub mod schema;
pub mod section;
pub mod setup;
pub mod source;
pub mod stability;
pub mod starter;
mod toml_value;
