//! The thread that serves: one, of low priority, away from the loop's core where there is another.
//!
//! - `gate`: where a request may come from, and what it must bring.
//! - `routes`: what can be asked for; `assets`: the page; `metrics`: figures for Prometheus.
//! - `stream`: the WebSocket.
//! - `limits`: everything that bounds what a client can cost.

mod assets;
mod connection;
mod gate;
mod limits;
mod metrics;
mod policy;
mod rejections;
mod response;
mod routes;
mod shared;
mod stream;

use crate::controller::Controller;
use crate::listen::Listener;
use crate::telemetry::Telemetry;
use rustix::process::setpriority_process;
use rustix::thread::{sched_getaffinity, sched_setaffinity};
use shared::Shared;
use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::watch;

/// Whoever has something to do goes first.
const NICENESS: i32 = 10;

/// The running viewer; dropping it ends it.
#[derive(Debug)]
pub struct Viewer {
    stop: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Viewer {
    /// Serves what the feed holds, and hands what is asked for to the host; `loop_cpu` is left to the loop.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn serve(
        listener: Listener,
        telemetry: Telemetry,
        controller: Arc<dyn Controller>,
        loop_cpu: Option<usize>,
    ) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().max_blocking_threads(limits::LONG_TASKS).build()?;
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
            // A panic there was told by the hook and ended the viewer only.
            drop(thread.join());
        }
    }
}

fn serve(runtime: Runtime, listener: Listener, shared: Arc<Shared>) {
    let outcome = runtime.block_on(connection::accept_all(listener.socket, shared.clone()));
    if let Err(error) = outcome {
        tracing::warn!("the viewer has ended, the loop goes on: {error}");
    }
    runtime.shutdown_timeout(limits::SHUTDOWN_TIMEOUT);
    shared.rejections.conclude();
}

/// A low priority, and any core but the loop's. What the system refuses is not worth a word: the loop has the right of
/// way in any case.
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
        tracing::debug!("the viewer stays on any core: {error}");
    }
}
