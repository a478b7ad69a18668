//! Accepts a bounded number of connections, each with timeouts.

use super::limits::{
    HEADER_TIMEOUT, MAX_CONNECTIONS, MAX_HEADER_BYTES, MAX_HEADERS, SHUTDOWN_TIMEOUT, UNACKNOWLEDGED_TIMEOUT,
};
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

/// Response to connections above `MAX_CONNECTIONS`.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/json\r\nContent-Length: 58\r\n\r\n\
    {\"error\":\"too many connections; close some and try again\"}";

/// Accepts connections until the viewer stops.
///
/// # Errors
/// If the socket cannot be registered with the runtime.
pub async fn accept_all(socket: std::net::TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = TcpListener::from_std(socket)?;
    let (slots, router) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), routes(shared.clone()));
    let releases = shared.clone();
    tokio::spawn(async move { releases.hand.retry_releases().await });
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => start(stream, &slots, &router, &shared),
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

fn start(stream: TcpStream, slots: &Arc<Semaphore>, router: &Router, shared: &Shared) {
    let Ok(slot) = slots.clone().try_acquire_owned() else {
        // Write only what fits into the socket's buffer, so that nothing waits for this client.
        let _ = stream.try_write(TOO_MANY_CONNECTIONS);
        shared.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
        shared.rejections.record("a connection: all slots are in use");
        return;
    };
    let router = router.clone();
    tokio::spawn(async move {
        serve(stream, router).await;
        drop(slot);
    });
}

async fn serve(stream: TcpStream, router: Router) {
    // Send a frame at once, without waiting for the acknowledgement of the previous one.
    let _ = stream.set_nodelay(true);
    // Without this timeout, a client that sends requests and reads no response would keep its slot for ever: no code of
    // the server runs while the socket is not writable.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, UNACKNOWLEDGED_TIMEOUT.as_millis() as u32);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!("a connection ended: {error}");
    }
}
