//! Server thread, with a low priority and off the loop's core if there is another core.
//!
//! - `policy`: the access rules; `middleware`: applies them to every request.
//! - `routes`: the HTTP API; `assets`: the page; `metrics`: figures for Prometheus.
//! - `stream`: the WebSocket; `hand`: control of the simulated hand by one stream.
//! - `limits`: bounds on the resources that clients can use.

mod assets;
mod connection;
mod hand;
mod limits;
mod metrics;
mod middleware;
mod policy;
mod rate_limiter;
mod rejection_log;
mod response;
mod routes;
mod shared;
mod stream;

use crate::controller::Controller;
use crate::listener::Listener;
use crate::telemetry::Telemetry;
use rustix::process::setpriority_process;
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use shared::Shared;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Niceness of the server thread, so that other processes run first.
const NICENESS: i32 = 10;

/// Handle for the running viewer. Dropping it stops the viewer.
#[derive(Debug)]
pub struct Viewer {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Viewer {
    /// Serves the telemetry and passes requests to the controller. The server thread does not run on `loop_cpu` if
    /// there is another core.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn serve(
        listener: Listener,
        telemetry: Telemetry,
        controller: Arc<dyn Controller>,
        loop_cpu: Option<usize>,
    ) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(limits::MAX_BLOCKING_TASKS).build()?;
        let (stop, stopped) = watch::channel(false);
        let shared = Arc::new(Shared::new(&listener, telemetry, controller, stopped));
        let body = move || {
            lower_priority(loop_cpu);
            serve(runtime, listener, shared);
        };
        let thread = std::thread::Builder::new().name("haptic-view".to_owned()).spawn(body)?;
        Ok(Self { stop, thread: Some(thread) })
    }
}

impl Drop for Viewer {
    fn drop(&mut self) {
        self.stop.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the thread ended only the viewer and was reported by the panic hook.
            drop(thread.join());
        }
    }
}

fn serve(runtime: Runtime, listener: Listener, shared: Arc<Shared>) {
    let outcome = runtime.block_on(connection::accept_all(listener.socket, shared.clone()));
    if let Err(error) = outcome {
        tracing::warn!("the viewer stopped, the loop keeps running: {error}");
    }
    runtime.shutdown_timeout(limits::SHUTDOWN_TIMEOUT);
    shared.rejections.flush();
}

/// Lowers the priority of the current thread and keeps it off the loop's core. A failure is not worth a warning,
/// because the loop has the higher priority anyway.
fn lower_priority(loop_cpu: Option<usize>) {
    if let Err(error) = setpriority_process(None, NICENESS) {
        tracing::debug!("the viewer keeps its priority: {error}");
    }
    let Some(cpu) = loop_cpu else { return };
    let Ok(mut cores) = sched_getaffinity(None) else { return };
    cores.unset(cpu);
    if cores.count() > 0
        && let Err(error) = sched_setaffinity(None, &cores)
    {
        tracing::debug!("the viewer may run on any core: {error}");
    }
}

/// Locks a mutex even if it is poisoned, because no panic can leave the values in this module partly written.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
