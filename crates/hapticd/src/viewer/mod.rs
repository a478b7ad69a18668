//! The daemon's side of the viewer: telemetry and requests.
//!
//! - [`listen`]: binds the address and logs it.
//! - [`session`]: state shared by supervisor and viewer, such as the scene, the settings and the request queue.
//! - [`controller`]: implements the viewer's requests.
//! - [`observer`]: turns snapshots into observations, on the supervisor's thread.
//! - [`settings`]: limits and margins of a setup.
//! - [`tuning`]: validates new gains against the profile rules and the viewer's limits.
//! - [`library`]: built-in scenes.
//! - [`timing`]: the loop's timing as a message.

pub mod controller;
pub mod library;
pub mod observer;
pub mod session;
pub mod settings;
pub mod timing;
pub mod tuning;

pub use session::ViewerSession;

use crate::cli::RunArguments;
use crate::log::USER_TARGET;
use haptic_view::Listener;
use std::net::SocketAddr;

/// Binds the viewer's address and logs it. Returns `None` with `--no-view` or if the address cannot be bound.
pub fn listen(arguments: &RunArguments, in_profile: SocketAddr) -> Option<Listener> {
    if arguments.no_view {
        return None;
    }
    let wanted = arguments.view.unwrap_or(in_profile);
    match Listener::bind(wanted) {
        Ok(listener) => {
            announce(&listener, wanted);
            Some(listener)
        }
        Err(error) => {
            let advice = "choose another address with --view, or --no-view";
            tracing::warn!("viewer disabled: cannot listen on {wanted}: {error}; {advice}");
            None
        }
    }
}

fn announce(listener: &Listener, wanted: SocketAddr) {
    let url = listener.url();
    if listener.was_moved() {
        tracing::info!(target: USER_TARGET, "Viewer: {url} (port {} is in use)", wanted.port());
    } else {
        tracing::info!(target: USER_TARGET, "Viewer: {url}");
    }
    if listener.token().is_some() {
        tracing::warn!("the viewer is reachable from other machines; the token in its address gives access");
    }
}
