//! Keeps the other threads of the process off the core that the loop runs on.
//!
//! A thread of the normal policy gives way at once, but not while the kernel does something for it that cannot be interrupted:
//! sending a frame through the network stack takes tens of microseconds, and the loop would wake late by them. On a core of
//! their own they cannot be met.

use std::io;

use rustix::thread::{Pid, sched_getaffinity, sched_setaffinity};

/// Takes `cpu` from every thread of the process but `owner`. Those that are started later have what their starter has. A thread
/// that may run nowhere else stays: on a machine with one core there is nothing to do.
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
        // It has ended meanwhile.
        Err(rustix::io::Errno::SRCH) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}
