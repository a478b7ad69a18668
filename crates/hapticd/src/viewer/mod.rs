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
use haptic_config::profile::DEFAULT_LISTEN;
use haptic_view::Listener;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

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

/// Returns the address at which this machine reaches a viewer that listens on `address`.
pub fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = if address.ip().is_unspecified() { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { address.ip() };
    SocketAddr::new(ip, address.port())
}

/// Returns the command that releases an emergency stop of the daemon whose viewer listens on `address`.
pub fn release_command(address: SocketAddr, needs_token: bool) -> String {
    let address = reachable(address);
    let view = if address == DEFAULT_LISTEN { String::new() } else { format!(" --view {address}") };
    let token = if needs_token { " --token TOKEN" } else { "" };
    format!("hapticd stop --release{view}{token}")
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
