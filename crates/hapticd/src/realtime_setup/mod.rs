//! Starts and ends the real-time thread of `run`, `identify` and `zwidth`.
//!
//! [`RealtimeLoop::start`] spawns the thread, reserves its core, checks its [`rights`] and calls [`Periodic::tick`]
//! every millisecond. However the loop ends, [`Periodic::finish`] runs on that thread and switches the device off. The
//! handlers in [`signals`] set the flag that stops the loop.

mod quiet_panic;
pub mod rights;
pub mod signals;

use crate::failure::Failure;
use haptic_planar::tick::TICK_NS;
use haptic_realtime::clock::MonotonicClock;
use haptic_realtime::memory::PageFaults;
use haptic_realtime::run_delay::{run_delay_between_ns, thread_run_delay_ns};
use haptic_realtime::runner::{LoopExit, LoopTiming, Runner, Wake};
use haptic_realtime::thread::{Granted, RealtimeThread, ThreadRequest, spawn};
use rights::{RealtimeVerdict, Rights};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Work done by the real-time thread once per period.
pub trait Periodic: Send + 'static {
    /// Runs one period; `Break` ends the loop. Must not allocate, lock or wait.
    fn tick(&mut self, wake: Wake) -> ControlFlow<()>;

    /// Switches the device off after the last tick, even after a panic in [`Self::tick`].
    fn finish(&mut self, exit: &LoopExit);

    /// Closes the device if the thread lacks the rights to run; [`Self::finish`] is then not called.
    fn close(&mut self);
}

/// Result of a finished loop.
pub struct LoopResult<B> {
    /// The periodic work, in its final state.
    pub body: B,
    /// Reason why the loop ended.
    pub exit: LoopExit,
    /// Wake-up latencies and compute times.
    pub timing: Box<LoopTiming>,
    /// Page faults of the thread while the loop ran; zero if its memory was locked before.
    pub page_faults: PageFaults,
    /// Run delay, ns: time for which the thread was ready while another ran on its core; `None` if the kernel does not
    /// count it.
    pub waited_ns: Option<u64>,
}

/// Creates a runner with a period of one tick.
pub fn runner() -> Runner<MonotonicClock> {
    Runner::new(MonotonicClock, NonZeroU64::new(TICK_NS).unwrap_or(NonZeroU64::MIN))
}

/// A running real-time thread. Dropping it ends the loop and waits until the device is off.
pub struct RealtimeLoop<B> {
    thread: Option<RealtimeThread<Result<LoopResult<B>, Failure>>>,
    granted: Granted,
    stop: Arc<AtomicBool>,
}

impl<B: Periodic> RealtimeLoop<B> {
    /// Starts the thread. Without sufficient rights, no tick runs and [`Self::join`] returns the reason.
    ///
    /// # Errors
    /// If the thread cannot be started.
    pub fn start(
        body: B,
        request: ThreadRequest,
        rights: Rights,
        runner: Runner<MonotonicClock>,
        stop: Arc<AtomicBool>,
    ) -> Result<Self, Failure> {
        let stop_inside = stop.clone();
        let run = move |granted: &Granted| run(body, rights, granted, runner, &stop_inside);
        let thread = spawn(request, run)
            .map_err(|error| Failure::Runtime(format!("the real-time thread cannot be started: {error}")))?;
        if let Err(error) = thread.reserve_core() {
            tracing::warn!(%error, "the real-time thread shares its core with other threads");
        }
        let granted = thread.granted().clone();
        if let RealtimeVerdict::Warn(text) = rights.check(&granted) {
            tracing::warn!("{text}");
        }
        tracing::debug!("granted: {granted:?}");
        Ok(Self { thread: Some(thread), granted, stop })
    }

    /// Returns the scheduling, core and memory locking granted to the thread.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Whether the loop has ended.
    pub fn has_ended(&self) -> bool {
        self.thread.as_ref().is_none_or(RealtimeThread::is_finished)
    }

    /// Waits for the end of the loop and returns its result.
    ///
    /// # Errors
    /// If the thread lacked the rights to run, or panicked while switching the device off.
    pub fn join(mut self) -> Result<LoopResult<B>, Failure> {
        let panicked = |text: &str| Failure::Runtime(format!("the real-time thread panicked: {text}"));
        match self.thread.take().map(RealtimeThread::join) {
            Some(result) => result.map_err(|panic| panicked(&panic.0))?,
            None => Err(panicked("it was joined before")),
        }
    }
}

impl<B> Drop for RealtimeLoop<B> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // The device is now off. A panic that led here is reported separately.
            drop(thread.join());
        }
    }
}

fn run<B: Periodic>(
    mut body: B,
    rights: Rights,
    granted: &Granted,
    mut runner: Runner<MonotonicClock>,
    stop: &AtomicBool,
) -> Result<LoopResult<B>, Failure> {
    if let RealtimeVerdict::Refuse(text) = rights.check(granted) {
        body.close();
        return Err(Failure::NoRealtime(text));
    }
    let delay_before_ns = thread_run_delay_ns();
    let faults_before = PageFaults::of_this_thread().unwrap_or_default();
    quiet_panic::defer_messages();
    let mut exit = runner.run_guarded(stop, &mut body, B::tick, B::finish);
    if let LoopExit::Panicked(text) = &mut exit {
        *text = format!("{text}, at {}", quiet_panic::location());
    }
    let page_faults = PageFaults::of_this_thread().unwrap_or_default().since(faults_before);
    let waited_ns = run_delay_between_ns(delay_before_ns, thread_run_delay_ns());
    Ok(LoopResult { body, exit, timing: runner.into_timing(), page_faults, waited_ns })
}
