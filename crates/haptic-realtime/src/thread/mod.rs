//! Starts the pinned thread with real-time priority, and reports what was granted.
//!
//! The new thread requests everything and then reads it back from the kernel: [`Granted`] describes what the thread
//! has, not what was requested. Without privileges the thread runs under the normal policy, and the reasons state what
//! was refused and how to obtain it. The caller decides whether that is sufficient.
//!
//! There are two safeguards:
//! - `SCHED_RESET_ON_FORK`: threads and processes started by the thread do not inherit the real-time priority.
//! - `RLIMIT_RTTIME`: if a real-time thread computes for [`ThreadRequest::runaway_limit`] without sleeping, the kernel
//!   kills the process with SIGXCPU. Without the limit, a body that never sleeps would occupy its core long after
//!   every device has lost contact with it. The end of the process closes the device and lets a service manager
//!   restart the process. The limit applies to the process, counts only time on a core, and defaults to 500 periods of
//!   1 ms, so that a host that stalls a virtual machine does not trigger it.

mod acquire;
mod cpu_choice;
mod reserved_core;

use std::io;
use std::sync::mpsc;
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

use rustix::thread::{Pid, gettid};
use serde::Serialize;

pub use cpu_choice::{CpuChoice, CpuChoiceError, parse_cpu_list};

use crate::memory::{LockedMemory, MemoryLock, lock_memory};
use crate::runner::panic_text;
use acquire::{LinuxAuthority, acquire};

/// Highest real-time priority that can be requested. At 99, a loop would compete with the kernel's watchdog and
/// migration threads.
pub const HIGHEST_PRIORITY: u8 = 98;

/// Part of the stack that prefaulting does not touch, bytes: the part already in use and the part needed by the C
/// library.
const STACK_RESERVE_BYTES: usize = 64 << 10;

/// Smallest stack of a thread, bytes.
const SMALLEST_STACK_BYTES: usize = 2 * STACK_RESERVE_BYTES;

/// Properties of the requested thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadRequest {
    /// Name shown by `ps` and `top`; Linux truncates it to 15 bytes.
    pub name: String,
    /// SCHED_FIFO priority, 1 to [`HIGHEST_PRIORITY`]; usually 80. Device interrupts on PREEMPT_RT run at 50.
    pub priority: u8,
    /// Core on which the thread runs.
    pub cpu: CpuChoice,
    /// Stack size, bytes. All of it except a reserve is touched before the body starts.
    pub stack_bytes: usize,
    /// Whether to lock the memory of the process.
    pub lock_memory: bool,
    /// Maximum time that a real-time thread may compute without sleeping before the kernel kills the process. `None`
    /// sets no limit.
    pub runaway_limit: Option<Duration>,
}

impl Default for ThreadRequest {
    fn default() -> Self {
        Self {
            name: "realtime".to_owned(),
            priority: 80,
            cpu: CpuChoice::Auto,
            stack_bytes: 512 << 10,
            lock_memory: true,
            runaway_limit: Some(Duration::from_millis(500)),
        }
    }
}

/// A scheduling policy, as read back from the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Policy {
    /// SCHED_FIFO: the thread runs until it sleeps or a thread of higher priority is ready.
    Fifo,
    /// SCHED_OTHER: the thread shares the core fairly with others.
    Normal,
    /// Another policy inherited by the process, by its `SCHED_…` number.
    Other(i32),
}

/// Properties granted to a thread, read back from the kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Granted {
    /// Scheduling policy.
    pub policy: Policy,
    /// Real-time priority; 0 for a normal policy.
    pub priority: u8,
    /// Core to which the thread is pinned, if any.
    pub cpu: Option<usize>,
    /// Extent of the memory lock of the process.
    pub locked_memory: LockedMemory,
    /// Whether threads and processes started by the thread do not inherit the real-time policy.
    pub resets_on_fork: bool,
    /// Reason and remedy for every refused request; empty if everything was granted.
    pub reasons: Vec<String>,
}

impl Granted {
    /// Whether the thread has real-time scheduling, which is the minimum requirement for hardware.
    pub fn is_realtime(&self) -> bool {
        self.policy == Policy::Fifo
    }
}

/// Error for a panic in the body of a thread, with the panic message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadPanic(pub String);

impl std::fmt::Display for ThreadPanic {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for ThreadPanic {}

/// A running thread with its granted properties.
#[derive(Debug)]
pub struct RealtimeThread<R> {
    handle: JoinHandle<R>,
    id: Pid,
    granted: Granted,
}

impl<R> RealtimeThread<R> {
    /// Returns the properties granted to the thread, read back before its body started.
    pub fn granted(&self) -> &Granted {
        &self.granted
    }

    /// Moves all other threads of the process, and the threads they start later, off the core of this thread. Does
    /// nothing if the thread is not pinned or there is no other core.
    ///
    /// # Errors
    /// If the system rejects the change.
    pub fn reserve_core(&self) -> io::Result<()> {
        self.granted.cpu.map_or(Ok(()), |cpu| reserved_core::reserve_core(cpu, self.id))
    }

    /// Whether the body has returned or panicked.
    pub fn is_finished(&self) -> bool {
        self.handle.is_finished()
    }

    /// Waits until the body ends and returns its result.
    ///
    /// # Errors
    /// If the body panicked; the error contains the panic message.
    pub fn join(self) -> Result<R, ThreadPanic> {
        self.handle.join().map_err(|payload| ThreadPanic(panic_text(payload.as_ref())))
    }
}

/// Starts `body` on a new thread with as much of `request` as the system grants.
///
/// Returns once the granted properties have been read back; `body` receives the same [`Granted`]. Fails only if the
/// thread cannot be started.
pub fn spawn<R, F>(request: ThreadRequest, body: F) -> io::Result<RealtimeThread<R>>
where
    R: Send + 'static,
    F: FnOnce(&Granted) -> R + Send + 'static,
{
    let memory_lock = request.lock_memory.then(lock_memory);
    let stack_bytes = request.stack_bytes.max(SMALLEST_STACK_BYTES);
    let name = request.name.clone();
    let (report, settled) = mpsc::sync_channel(1);
    let run = move || {
        let granted = settle(&request, memory_lock, stack_bytes);
        // The spawner waits for this; if the spawner is gone, the thread still runs.
        let _ = report.send((gettid(), granted.clone()));
        body(&granted)
    };
    let handle = Builder::new().name(name).stack_size(stack_bytes).spawn(run)?;
    let (id, granted) =
        settled.recv().map_err(|_| io::Error::other("the real-time thread died before it could start"))?;
    Ok(RealtimeThread { handle, id, granted })
}

/// Prepares the calling thread, which is the new one, and returns its granted properties.
fn settle(request: &ThreadRequest, memory_lock: Option<MemoryLock>, stack_bytes: usize) -> Granted {
    crate::memory::prefault_stack(stack_bytes - STACK_RESERVE_BYTES);
    // The kernel maps the clock's page at the first read, and no lock covers that page: trigger the page fault now.
    crate::clock::monotonic_ns();
    // A lock on current memory does not cover this stack, which is newer: lock again.
    let relock = |lock: MemoryLock| if lock.locked == LockedMemory::CurrentOnly { lock_memory() } else { lock };
    let memory_lock = memory_lock.map(relock);
    acquire(request, memory_lock, &mut LinuxAuthority)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request() -> ThreadRequest {
        ThreadRequest { lock_memory: false, runaway_limit: None, ..ThreadRequest::default() }
    }

    #[test]
    fn the_body_gets_the_same_grant_as_the_spawner() {
        let thread = spawn(request(), |granted| granted.clone()).unwrap();
        let seen_by_spawner = thread.granted().clone();
        assert_eq!(thread.join().unwrap(), seen_by_spawner);
    }

    #[test]
    fn a_panic_in_the_body_reaches_the_joiner_with_its_message() {
        let thread = spawn(request(), |_| panic!("deliberate, in a test")).unwrap();
        assert_eq!(thread.join(), Err::<(), _>(ThreadPanic("deliberate, in a test".to_owned())));
    }

    #[test]
    fn a_tiny_stack_is_raised_to_one_that_works() {
        let tiny = ThreadRequest { stack_bytes: 1, ..request() };
        assert_eq!(spawn(tiny, |_| 5).unwrap().join(), Ok(5));
    }
}
