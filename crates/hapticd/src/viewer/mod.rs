//! The daemon's side of the viewer: what it tells, and what it does when asked.
//!
//! - [`listen`]: takes the address and says where to look.
//! - [`session`]: what is shared between the lower side and the viewer: the scene, the gains, the way to the loop.
//! - [`host`]: does what the viewer asks for.
//! - [`observer`]: makes what is told of snapshots, on the lower side.
//! - [`settings`], [`tuning`], [`library`]: limits and margins; new gains by the rules of a profile; scenes with their pictures.

pub mod host;
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

/// Takes the viewer's address and says where to look; `None` if nobody wants it, or no address can be had.
pub fn listen(arguments: &RunArguments, in_profile: SocketAddr) -> Option<Listener> {
    if arguments.no_view {
        return None;
    }
    let wanted = arguments.view.unwrap_or(in_profile);
    match Listener::bind(wanted) {
        Ok(listener) => {
            tell(&listener, wanted);
            Some(listener)
        }
        Err(error) => {
            let advice = "give another address with --view, or --no-view";
            tracing::warn!("no viewer: {wanted} cannot be listened at: {error}; {advice}");
            None
        }
    }
}

fn tell(listener: &Listener, wanted: SocketAddr) {
    let url = listener.url();
    if listener.was_moved() {
        tracing::info!(target: USER_TARGET, "see it at {url} (port {} is taken by somebody else)", wanted.port());
    } else {
        tracing::info!(target: USER_TARGET, "see it at {url}");
    }
    if listener.token().is_some() {
        tracing::warn!("the viewer can be reached from other machines; the token in its address lets them in");
    }
}
