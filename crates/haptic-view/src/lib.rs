//! Viewer for a running loop: a web page, JSON over HTTP, a WebSocket stream and metrics.
//!
//! The viewer runs on one ordinary low-priority thread and never accesses the loop directly. The daemon publishes
//! messages to a [`Telemetry`] and implements [`Controller`] for requests that change something. Rejected requests and
//! dropped clients do not affect the loop.
//!
//! - [`message`]: the JSON messages.
//! - [`telemetry`]: the newest message of each kind, as published by the daemon.
//! - [`controller`]: the interface to the daemon.
//! - [`listener`]: the address and port of the viewer, and the token required beyond loopback.
//! - [`server`]: the thread, the access policy, the routes and the stream.
//!
//! [`Viewer::serve`] starts the viewer; the daemon supplies the controller. A scene can be published at any time:
//!
//! ```
//! use haptic_planar::scene::description::{BodyDescription, SceneDescription, ShapeDescription};
//! use haptic_planar::scene::Scene;
//! use haptic_view::message::scene::SceneMessage;
//! use haptic_view::{Controller, Listener, Telemetry, Viewer};
//! use std::sync::Arc;
//!
//! fn start(controller: Arc<dyn Controller>, telemetry: &Telemetry) -> std::io::Result<Viewer> {
//!     let listener = Listener::bind(([127, 0, 0, 1], 8520).into())?;
//!     println!("Viewer: {}", listener.url());
//!     Viewer::serve(listener, telemetry.clone(), controller, None)
//! }
//!
//! let ball = BodyDescription::new("ball", ShapeDescription::Disc { radius_m: 0.01 });
//! let description = SceneDescription { bodies: vec![ball], ..SceneDescription::default() };
//! let scene = Scene::build(&description).unwrap();
//! let message = SceneMessage::new(1, "one ball", &description, &scene);
//! assert_eq!(message.bodies[0].name, "ball");
//! Telemetry::default().publish_scene(&message);
//! ```
#![forbid(unsafe_code)]

pub mod controller;
pub mod listener;
pub mod message;
pub mod server;
pub mod telemetry;

pub use controller::Controller;
pub use listener::Listener;
pub use server::Viewer;
pub use telemetry::Telemetry;
