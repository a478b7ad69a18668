//! The viewer: a web page, a JSON API over HTTP, a WebSocket stream and Prometheus metrics of a running loop.
//!
//! The server runs on one ordinary thread of low priority. It shares no lock with the loop: the daemon publishes
//! [`Telemetry`], and implements [`Controller`] for what clients request. A request can be rejected and a client can be
//! dropped; the loop is not affected.
//!
//! - [`message`]: the JSON messages.
//! - [`telemetry`]: the newest message of each kind.
//! - [`controller`]: the interface through which the server controls the daemon.
//! - [`listen`]: binds the address, or the next free port, and creates the token that remote clients need.
//! - [`server`]: the thread, the middleware of every request, the routes and the stream.
//!
//! ```
//! use haptic_view::message::timing::TimingMessage;
//! use haptic_view::{Controller, Listener, Telemetry, Viewer};
//! use std::sync::Arc;
//!
//! /// Serves a daemon on a free port and publishes one message.
//! fn serve(daemon: Arc<dyn Controller>) -> std::io::Result<Viewer> {
//!     let listener = Listener::bind(([127, 0, 0, 1], 0).into())?;
//!     println!("Viewer: {}", listener.url());
//!     let telemetry = Telemetry::default();
//!     let viewer = Viewer::serve(listener, telemetry.clone(), daemon, None)?;
//!     telemetry.publish_timing(TimingMessage { ticks: 1000, ..TimingMessage::default() });
//!     Ok(viewer) // serves until it is dropped
//! }
//! ```
#![forbid(unsafe_code)]

pub mod controller;
pub mod listen;
pub mod message;
pub mod server;
pub mod telemetry;

pub use controller::Controller;
pub use listen::Listener;
pub use server::Viewer;
pub use telemetry::Telemetry;
