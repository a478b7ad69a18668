//! Taking connections: a bounded number, each with a bounded patience.

use super::limits::{ACK_TIMEOUT, HEADER_TIMEOUT, MAX_CONNECTIONS, MAX_HEADER_BYTES, MAX_HEADERS, SHUTDOWN_TIMEOUT};
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

/// After a failed accept, such as for want of file handles.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(100);

/// What those get who come when all places are taken.
const TOO_MANY_CONNECTIONS: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\
    Content-Type: application/json\r\nContent-Length: 58\r\n\r\n{\"error\":\"too many connections; close some and try again\"}";

/// Takes connections until the viewer is told to stop.
///
/// # Errors
/// When the system cannot watch the socket.
pub async fn accept_all(socket: std::net::TcpListener, shared: Arc<Shared>) -> io::Result<()> {
    let listener = TcpListener::from_std(socket)?;
    let (places, router) = (Arc::new(Semaphore::new(MAX_CONNECTIONS)), routes(shared.clone()));
    let releases = shared.clone();
    tokio::spawn(async move { releases.retry_releases().await });
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => take(stream, &places, &router, &shared),
                Err(error) => {
                    shared.rejections.log(&format!("a connection: {error}"));
                    tokio::time::sleep(ACCEPT_RETRY_DELAY).await;
                }
            },
            () = shared.until_stopped() => break,
        }
    }
    // Streams say farewell meanwhile.
    tokio::time::sleep(SHUTDOWN_TIMEOUT).await;
    Ok(())
}

fn take(stream: TcpStream, places: &Arc<Semaphore>, router: &Router, shared: &Shared) {
    let Ok(place) = places.clone().try_acquire_owned() else {
        // Whatever fits into the socket's buffer; nobody is waited for.
        let _ = stream.try_write(TOO_MANY_CONNECTIONS);
        shared.counters.connections_refused.fetch_add(1, Ordering::Relaxed);
        shared.rejections.log("a connection: all places are taken");
        return;
    };
    let router = router.clone();
    tokio::spawn(async move {
        serve(stream, router).await;
        drop(place);
    });
}

async fn serve(stream: TcpStream, router: Router) {
    // A frame shall not wait for the answer to the one before.
    let _ = stream.set_nodelay(true);
    // Who asks and asks and reads no answer would keep a place for ever: nothing of ours runs while there is no room to write.
    let _ = rustix::net::sockopt::set_tcp_user_timeout(&stream, ACK_TIMEOUT.as_millis() as u32);
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
    builder.max_buf_size(MAX_HEADER_BYTES).max_headers(MAX_HEADERS);
    let connection = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    if let Err(error) = connection.with_upgrades().await {
        tracing::debug!("a connection ended: {error}");
    }
}
