//! Accepts a bounded number of connections, each with timeouts.

use super::limits::{
    HEADER_TIMEOUT, MAX_CONNECTIONS, MAX_HEADER_BYTES, MAX_HEADERS, SHUTDOWN_TIMEOUT, STOP_CONNECTIONS,
    STOP_HEADER_TIMEOUT, UNACKNOWLEDGED_TIMEOUT,
};
use super::middleware::Gate;
use super::routes::routes;
use super::shared::Shared;
use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Pause after a failed accept, for example when file descriptors have run out.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// Response to connections above `MAX_CONNECTIONS` and `STOP_CONNECTIONS`.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/json\r\nContent-Length: 58\r\n\r\n\
    {\"error\":\"too many connections; close some and try again\"}";

/// Accepts connections until the viewer stops.
///
/// # Errors
/// If the socket cannot be registered with the runtime.
pub async fn accept_all(socket: std::net::TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = TcpListener::from_std(socket)?;
    let connections = Connections::new(&shared);
    let releases = shared.clone();
    tokio::spawn(async move { releases.hand.retry_releases().await });
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => connections.start(stream, peer.ip().to_canonical().is_loopback(), &shared),
                Err(error) => {
                    shared.rejections.record(&format!("a connection: {error}"));
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            () = shared.until_stopped() => break,
        }
    }
    // Give the streams time to send their close frames.
    tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    Ok(())
}

/// Slots for connections, and the routers that serve them.
struct Connections {
    slots: Arc<Semaphore>,
    /// Slots for connections above `MAX_CONNECTIONS`, on which only an emergency stop is served.
    stop_slots: Arc<Semaphore>,
    /// Routers by whether the client is on this machine, and by whether only an emergency stop is served.
    routers: [[Router; 2]; 2],
}

impl Connections {
    fn new(shared: &Arc<Shared>) -> Self {
        let router = |is_local, stops_only| routes(Gate { shared: shared.clone(), is_local, stops_only });
        Self {
            slots: Arc::new(Semaphore::new(MAX_CONNECTIONS)),
            stop_slots: Arc::new(Semaphore::new(STOP_CONNECTIONS)),
            routers: [false, true].map(|is_local| [false, true].map(|stops_only| router(is_local, stops_only))),
        }
    }

    fn start(&self, stream: TcpStream, is_local: bool, shared: &Shared) {
        let slot = self.slots.clone().try_acquire_owned();
        let stops_only = slot.is_err();
        if stops_only {
            shared.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
            shared.rejections.record("a connection: all slots are in use");
        }
        let Ok(slot) = slot.or_else(|_| self.stop_slots.clone().try_acquire_owned()) else {
            // Write only what fits into the socket's buffer, so that nothing waits for this client.
            let _ = stream.try_write(TOO_MANY_CONNECTIONS);
            return;
        };
        let router = self.routers[usize::from(is_local)][usize::from(stops_only)].clone();
        tokio::spawn(async move {
            serve(stream, router, stops_only).await;
            drop(slot);
        });
    }
}

async fn serve(stream: TcpStream, router: Router, stops_only: bool) {
    // Send a frame at once, without waiting for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    // Without this timeout, a client that sends requests and reads no response would keep its slot for ever: no code of
    // the server runs while the socket is not writable.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_TIMEOUT.as_millis() as u32);
    let mut builder = http1::Builder::new();
    let header_timeout = if stops_only { STOP_HEADER_TIMEOUT } else { HEADER_TIMEOUT };
    builder.timer(TokioTimer::new()).header_read_timeout(header_timeout).keep_alive(!stops_only);
    builder.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!("a connection ended: {error}");
    }
}
