//! Drawings of planar scenes and plots, as SVG and PNG.
//!
//! [`view::SceneView`] is the appearance of a scene: one [`outline`] and [`colour`] per body. [`placement::Placement`]
//! is the pose of a body, and [`touch`] finds the bodies that the tool touches. [`follower`] moves the bodies to their
//! poses in the newest snapshot and describes the hand's activity. [`compose`] lays out a scene on a page with names
//! ([`labels`]) and a scale bar. The result is a [`drawing::Drawing`], which [`svg`] and [`png`] write.
//! [`log_plot`] draws curves on logarithmic axes. The font is compiled in ([`letters`]), so that pictures are the same
//! on every machine.
//!
//! ```
//! use haptic_draw::compose::{Annotations, Content, compose};
//! use haptic_draw::svg;
//! use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
//! use haptic_planar::scene::Scene;
//!
//! let ball = BodyDescription::new("ball", ShapeDescription::Disc { radius_m: 0.01 });
//! let scene = Scene::build(&SceneDescription { bodies: vec![ball], ..SceneDescription::default() })?;
//! let picture = svg::write(&compose(&Content::at_start(&scene), Annotations::All));
//! assert!(picture.starts_with("<svg ") && picture.contains(">ball</text>"));
//! # Ok::<(), haptic_planar::scene::SceneError>(())
//! ```
#![forbid(unsafe_code)]

pub mod bounds;
pub mod colour;
pub mod compose;
pub mod drawing;
pub mod follower;
pub mod labels;
pub mod letters;
pub mod log_plot;
pub mod outline;
pub mod placement;
pub mod png;
pub mod quantity;
pub mod svg;
pub mod touch;
pub mod view;
