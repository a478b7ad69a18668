//! Keeps the other threads of the process off the loop's core.
//!
//! A thread with the normal policy is preempted immediately, except while the kernel executes a non-preemptible section
//! on its behalf. For example, sending a frame through the network stack takes tens of microseconds, which would delay
//! the loop. Threads on other cores do not delay the loop.

use std::io;

use rustix::thread::{Pid, sched_getaffinity, sched_setaffinity};

/// Removes `cpu` from the affinity of every thread of the process except `owner`. Threads started later inherit the
/// affinity. A thread with no other core keeps `cpu`, so on a single-core machine nothing changes.
pub(super) fn reserve_core(cpu: usize, owner: Pid) -> io::Result<()> {
    for task in std::fs::read_dir("/proc/self/task")? {
        let name = task?.file_name();
        let Some(thread) = name.to_str().and_then(|text| text.parse().ok()).and_then(Pid::from_raw) else { continue };
        if thread != owner {
            move_away(thread, cpu)?;
        }
    }
    Ok(())
}

fn move_away(thread: Pid, cpu: usize) -> io::Result<()> {
    let outcome = sched_getaffinity(Some(thread)).and_then(|mut mask| {
        mask.unset(cpu);
        if mask.count() == 0 { Ok(()) } else { sched_setaffinity(Some(thread), &mask) }
    });
    match outcome {
        // The thread has ended.
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}
