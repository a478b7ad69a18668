//! What people see of a running loop: a web page, JSON over HTTP, a WebSocket stream and metrics.
//!
//! It lives on one ordinary thread with a low priority and never touches the loop: the daemon puts what there is to see
//! into a [`telemetry`], and does what is asked for as a [`host`]. A request can be refused, a client can be dropped; the loop
//! notices neither.
//!
//! - [`message`]: everything that is told, as it stands in the JSON.
//! - [`telemetry`]: where the daemon puts it, the newest of each kind.
//! - [`host`]: what can be asked of the daemon, and how it refuses.
//! - [`listen`]: the address, the next free one, and the token that is needed beyond this machine.
//! - [`server`]: the thread, the gate that checks where a request comes from, the routes and the stream.
#![forbid(unsafe_code)]

pub mod controller;
pub mod listener;
pub mod message;
pub mod server;
pub mod telemetry;

pub use controller::{ControlError, Controller};
pub use listener::{Listen, Listener};
pub use server::Viewer;
pub use telemetry::Telemetry;
