//! Avoids page faults in the loop: locks memory, keeps freed memory in the allocator, touches memory before use.
//!
//! Call [`disable_heap_trim`] and [`lock_memory`] once at the start of the process, before other threads exist. Locking
//! backs the whole stack of every thread with physical memory, so threads should have small stacks.

use std::hint::black_box;
use std::io;

use rustix::mm::{MlockAllFlags, mlockall};
use rustix::process::{Resource, getrlimit};
use rustix::thread::{CapabilitySet, capabilities};
use serde::Serialize;

use crate::system_calls;

/// Number of bytes touched per step of [`prefault_stack`]; small enough to end close to the requested depth.
const STACK_STEP_BYTES: usize = 16 << 10;

/// Extent of the memory lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum LockedMemory {
    /// Current and future memory.
    CurrentAndFuture,
    /// Memory mapped at the time of the call; memory mapped later may cause page faults.
    CurrentOnly,
    /// No memory.
    Nothing,
}

/// Result of [`lock_memory`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryLock {
    /// Extent of the lock.
    pub locked: LockedMemory,
    /// Reason why some memory is not locked, with the remedy; `None` if all memory is locked.
    pub reason: Option<String>,
}

/// Page-fault counts of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct PageFaults {
    /// Page faults served from memory; about a microsecond each.
    pub minor: u64,
    /// Page faults served from disk; milliseconds each.
    pub major: u64,
}

impl PageFaults {
    /// Returns the page faults of the calling thread since it started. This is a system call: use it before and after
    /// the loop, not in a tick.
    pub fn of_this_thread() -> io::Result<Self> {
        system_calls::page_faults_of_thread().map(|(minor, major)| Self { minor, major })
    }

    /// Returns the page faults since an `earlier` count.
    pub fn since(self, earlier: Self) -> Self {
        Self { minor: self.minor.saturating_sub(earlier.minor), major: self.major.saturating_sub(earlier.major) }
    }
}

/// Locks all memory of the process, as far as permitted.
///
/// Future memory is locked only with CAP_IPC_LOCK or an unlimited RLIMIT_MEMLOCK: under a limit, the lock would make a
/// later allocation or the start of a thread fail.
pub fn lock_memory() -> MemoryLock {
    let limit = getrlimit(Resource::Memlock).current;
    if may_lock_future(holds_capability(CapabilitySet::IPC_LOCK), limit) {
        lock_with(MlockAllFlags::CURRENT | MlockAllFlags::FUTURE, LockedMemory::CurrentAndFuture, limit)
    } else {
        lock_with(MlockAllFlags::CURRENT, LockedMemory::CurrentOnly, limit)
    }
}

/// Makes the C allocator keep freed memory, so that allocating it again causes no page faults.
pub fn disable_heap_trim() -> io::Result<()> {
    system_calls::disable_heap_trim()
}

/// Touches `bytes` bytes of heap once and frees them; after [`disable_heap_trim`], the allocator keeps them.
///
/// Requests large pages, because a ring that wraps around in two seconds touches hundreds of small pages. Each of them
/// is touched so rarely that its address translation has been evicted from the caches of the processor and, in a
/// virtual machine, of the host; a lookup was measured to take 150 µs. If large pages are not available, small ones are
/// used.
pub fn prefault_heap(bytes: usize) {
    let mut heap: Vec<u8> = Vec::with_capacity(bytes);
    let room = heap.spare_capacity_mut();
    // Only kernels built without large pages reject this.
    let _ = system_calls::ask_for_large_pages(room);
    room.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| _ = byte.write(1));
    black_box(&heap);
}

/// Touches the next `bytes` bytes of the calling thread's stack, which must have at least that much space left.
#[inline(never)]
pub fn prefault_stack(bytes: usize) {
    let mut step = [0u8; STACK_STEP_BYTES];
    black_box(&mut step);
    if bytes > STACK_STEP_BYTES {
        prefault_stack(bytes - STACK_STEP_BYTES);
    }
    // Used after the call above: otherwise the compiler may give both steps the same frame.
    black_box(&mut step);
}

/// Whether the calling thread has a capability.
pub(crate) fn holds_capability(capability: CapabilitySet) -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(capability))
}

fn may_lock_future(holds_ipc_lock: bool, limit_bytes: Option<u64>) -> bool {
    holds_ipc_lock || limit_bytes.is_none()
}

fn lock_with(flags: MlockAllFlags, on_success: LockedMemory, limit_bytes: Option<u64>) -> MemoryLock {
    let outcome = mlockall(flags).map_err(io::Error::from);
    report(outcome, on_success, limit_bytes)
}

fn report(outcome: io::Result<()>, on_success: LockedMemory, limit_bytes: Option<u64>) -> MemoryLock {
    const REMEDY: &str = "grant CAP_IPC_LOCK, or LimitMEMLOCK=infinity in the systemd unit";
    let limit = limit_bytes.map_or("unlimited".to_owned(), |bytes| format!("{} KiB", bytes >> 10));
    match (outcome, on_success) {
        (Ok(()), LockedMemory::CurrentAndFuture) => MemoryLock { locked: on_success, reason: None },
        (Ok(()), _) => MemoryLock {
            locked: on_success,
            reason: Some(format!("only memory mapped so far is locked (RLIMIT_MEMLOCK is {limit}); {REMEDY}")),
        },
        (Err(cause), _) => MemoryLock {
            locked: LockedMemory::Nothing,
            reason: Some(format!("memory is not locked: {cause} (RLIMIT_MEMLOCK is {limit}); {REMEDY}")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn future_memory_is_locked_only_where_later_allocations_cannot_fail_for_it() {
        assert!(may_lock_future(true, Some(8 << 20)));
        assert!(may_lock_future(false, None));
        assert!(!may_lock_future(false, Some(8 << 20)));
    }

    #[test]
    fn a_refusal_names_the_limit_and_the_remedy() {
        let refused = report(Err(io::ErrorKind::OutOfMemory.into()), LockedMemory::CurrentOnly, Some(8 << 20));
        let reason = refused.reason.unwrap();
        assert_eq!(refused.locked, LockedMemory::Nothing);
        assert!(reason.contains("8192 KiB") && reason.contains("CAP_IPC_LOCK"), "{reason}");
    }

    #[test]
    fn a_partial_lock_says_that_it_is_partial() {
        let partial = report(Ok(()), LockedMemory::CurrentOnly, Some(8 << 20));
        assert_eq!(partial.locked, LockedMemory::CurrentOnly);
        assert!(partial.reason.unwrap().contains("so far"));
    }

    #[test]
    fn a_prefaulted_heap_does_not_fault_again() {
        disable_heap_trim().unwrap();
        let allocate_and_touch = || {
            let mut kept = vec![0_u8; 3 << 20];
            kept.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| *byte = 1);
            black_box(&kept);
        };
        prefault_heap(16 << 20);
        let before = PageFaults::of_this_thread().unwrap();
        allocate_and_touch();
        assert_eq!(PageFaults::of_this_thread().unwrap().since(before), PageFaults::default());
    }

    #[test]
    fn a_prefaulted_stack_does_not_fault_again() {
        let faults_of_second_touch = || {
            prefault_stack(256 << 10);
            let before = PageFaults::of_this_thread().unwrap();
            prefault_stack(192 << 10);
            PageFaults::of_this_thread().unwrap().since(before)
        };
        let thread = std::thread::Builder::new().stack_size(512 << 10).spawn(faults_of_second_touch).unwrap();
        assert_eq!(thread.join().unwrap(), PageFaults::default());
    }

    #[test]
    fn a_capability_the_kernel_does_not_know_is_not_held() {
        assert!(!holds_capability(CapabilitySet::from_bits_retain(1 << 63)));
    }
}
