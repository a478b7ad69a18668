//! The libc calls that have no safe wrapper elsewhere. Apart from [`crate::ioctl`], this is the only unsafe code in the
//! crate.

#![allow(unsafe_code)]

use rustix::mm::{Advice, madvise};
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd};

/// Takes ownership of an open file from a type that exposes only its descriptor.
pub fn own_descriptor(file: impl IntoRawFd) -> OwnedFd {
    // SAFETY: `into_raw_fd` releases an open descriptor that its former owner no longer uses or closes; this is its
    // only owner.
    unsafe { OwnedFd::from_raw_fd(file.into_raw_fd()) }
}

/// `struct serial_struct` of <linux/serial.h>.
#[repr(C)]
struct SerialStruct {
    kind: libc::c_int,
    line: libc::c_int,
    port: libc::c_uint,
    irq: libc::c_int,
    flags: libc::c_int,
    xmit_fifo_size: libc::c_int,
    custom_divisor: libc::c_int,
    baud_base: libc::c_int,
    close_delay: libc::c_ushort,
    io_type: libc::c_char,
    reserved_char: [libc::c_char; 1],
    hub6: libc::c_int,
    closing_wait: libc::c_ushort,
    closing_wait2: libc::c_ushort,
    iomem_base: *mut libc::c_uchar,
    iomem_reg_shift: libc::c_ushort,
    port_high: libc::c_uint,
    iomap_base: libc::c_ulong,
}

const GET_SERIAL: libc::c_ulong = 0x541E;
const SET_SERIAL: libc::c_ulong = 0x541F;
/// Flag that makes the driver forward bytes immediately instead of collecting them.
const ASYNC_LOW_LATENCY: libc::c_int = 1 << 13;

/// Sets the low-latency flag of a serial port and returns whether it reads back as set.
pub fn set_low_latency(port: BorrowedFd<'_>) -> io::Result<bool> {
    let mut settings = serial_settings(port)?;
    settings.flags |= ASYNC_LOW_LATENCY;
    // SAFETY: the pointer is to a live `serial_struct` that the kernel only reads, during the call only.
    check(unsafe { libc::ioctl(port.as_raw_fd(), SET_SERIAL as _, &raw const settings) })?;
    Ok(serial_settings(port)?.flags & ASYNC_LOW_LATENCY != 0)
}

fn serial_settings(port: BorrowedFd<'_>) -> io::Result<SerialStruct> {
    // SAFETY: numbers and a pointer that is never dereferenced, for which all zero bytes are a valid value.
    let mut settings: SerialStruct = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, properly aligned `serial_struct` that the kernel fills during the call only.
    check(unsafe { libc::ioctl(port.as_raw_fd(), GET_SERIAL as _, &raw mut settings) })?;
    Ok(settings)
}

/// Scheduling policy and priority of the calling thread, as reported by the kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KernelSchedule {
    /// `SCHED_…` number of the policy, without flags.
    pub policy: i32,
    /// `sched_priority`; 0 for normal policies.
    pub priority: i32,
    /// Whether threads and processes started by the thread have the normal policy.
    pub resets_on_fork: bool,
}

/// Reads the policy and priority of the calling thread from the kernel.
///
/// `pthread_getschedparam` (and `thread-priority`, which calls it) was rejected: glibc returns cached values from the
/// last request instead of reading them back.
pub fn kernel_schedule() -> io::Result<KernelSchedule> {
    // SAFETY: takes a thread id by value (0 is the calling thread) and touches no memory of ours.
    let flagged = check(unsafe { libc::sched_getscheduler(0) })?;
    let mut parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: the pointer is to a live, properly aligned `sched_param` that the kernel fills during the call only.
    check(unsafe { libc::sched_getparam(0, &mut parameters) })?;
    Ok(KernelSchedule {
        policy: flagged & !libc::SCHED_RESET_ON_FORK,
        priority: parameters.sched_priority,
        resets_on_fork: flagged & libc::SCHED_RESET_ON_FORK != 0,
    })
}

/// Adds `SCHED_RESET_ON_FORK` to the calling thread's policy, which `pthread_setschedparam` cannot do.
pub fn reset_on_fork() -> io::Result<()> {
    let KernelSchedule { policy, priority, .. } = kernel_schedule()?;
    set_kernel_schedule(policy | libc::SCHED_RESET_ON_FORK, priority)
}

/// Sets the policy (with flags) and the priority of the calling thread.
pub fn set_kernel_schedule(policy: i32, priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: the pointer is to a live `sched_param` that the kernel only reads, during the call only.
    check(unsafe { libc::sched_setscheduler(0, policy, &parameters) }).map(drop)
}

/// Returns the numbers of minor and major page faults of the calling thread since it started.
pub fn page_faults_of_thread() -> io::Result<(u64, u64)> {
    // SAFETY: `rusage` is plain numbers, for which all zero bytes are a valid value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live, properly aligned `rusage` that the kernel fills during the call only.
    check(unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) })?;
    Ok((usage.ru_minflt as u64, usage.ru_majflt as u64))
}

/// Makes the allocator keep its memory: it never trims the heap, never serves a request with a separate mapping, and
/// uses one heap for all threads, so that memory touched in advance is available to every thread.
#[cfg(target_env = "gnu")]
pub fn disable_heap_trim() -> io::Result<()> {
    for (parameter, value) in [(libc::M_TRIM_THRESHOLD, -1), (libc::M_MMAP_MAX, 0), (libc::M_ARENA_MAX, 1)] {
        // SAFETY: takes two integers; glibc serialises the change with concurrent allocations by its own lock.
        if unsafe { libc::mallopt(parameter, value) } == 0 {
            return Err(io::Error::other(format!("mallopt({parameter}, {value}) was rejected")));
        }
    }
    Ok(())
}

/// Always fails: C libraries other than glibc have no such option.
#[cfg(not(target_env = "gnu"))]
pub fn disable_heap_trim() -> io::Result<()> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "this C library has no mallopt"))
}

/// Asks the kernel to use large pages for the whole pages within `memory`, which should not have been touched yet.
pub fn ask_for_large_pages(memory: &mut [MaybeUninit<u8>]) -> io::Result<()> {
    let page_bytes = rustix::param::page_size();
    let before_first_page = memory.as_ptr().align_offset(page_bytes).min(memory.len());
    let pages = &mut memory[before_first_page..];
    let whole_pages_bytes = pages.len() - pages.len() % page_bytes;
    // SAFETY: the range lies within memory that is borrowed exclusively, and this advice changes no content.
    unsafe { madvise(pages.as_mut_ptr().cast(), whole_pages_bytes, Advice::LinuxHugepage) }.map_err(io::Error::from)
}

fn check(returned: i32) -> io::Result<i32> {
    if returned < 0 { Err(io::Error::last_os_error()) } else { Ok(returned) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_real_time_policies_have_a_priority() {
        let schedule = std::thread::spawn(kernel_schedule).join().unwrap().unwrap();
        let is_realtime = [libc::SCHED_FIFO, libc::SCHED_RR].contains(&schedule.policy);
        assert_eq!(schedule.priority > 0, is_realtime, "{schedule:?}");
    }

    #[test]
    fn reset_on_fork_needs_no_privilege_and_reads_back() {
        let set_and_read = || reset_on_fork().and_then(|()| kernel_schedule());
        assert!(std::thread::spawn(set_and_read).join().unwrap().unwrap().resets_on_fork);
    }

    #[test]
    fn touching_fresh_memory_raises_the_fault_count_of_this_thread() {
        let before = page_faults_of_thread().unwrap();
        // More memory than any other test of this process prefaults and keeps.
        let mut fresh = vec![0u8; 64 << 20];
        fresh.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
        std::hint::black_box(&fresh);
        assert!(page_faults_of_thread().unwrap().0 > before.0);
    }
}
