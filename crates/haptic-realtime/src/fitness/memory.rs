//! Checks memory locking and swap.

use rustix::process::{Resource, getrlimit};
use rustix::thread::CapabilitySet;

use super::{Check, Finding, Machine};
use crate::memory::{LockedMemory, MemoryLock, holds_capability, lock_memory};

const LOCK: Check = Check { id: "memory-lock", what: "locked memory keeps page faults out of the loop" };
const LIMIT: Check = Check { id: "memlock-limit", what: "CAP_IPC_LOCK or RLIMIT_MEMLOCK permits locking" };
const SWAP: Check = Check { id: "swap", what: "reading swapped-out memory takes milliseconds" };

const LIMIT_REMEDY: &str = "grant CAP_IPC_LOCK, or LimitMEMLOCK=infinity in the systemd unit, or \
                            '@realtime - memlock unlimited' in /etc/security/limits.d";

pub(super) fn inspect(machine: &Machine) -> Vec<Finding> {
    let (lock, thread_starts) = try_lock();
    let swap = judge_swap(machine.text("proc/swaps").as_deref(), lock.locked);
    let limit_bytes = getrlimit(Resource::Memlock).current;
    vec![judge_lock(lock, thread_starts), judge_limit(holds_capability(CapabilitySet::IPC_LOCK), limit_bytes), swap]
}

/// Locks all memory, starts a thread, and unlocks the memory. Returns the result of the lock and whether the thread
/// started.
fn try_lock() -> (MemoryLock, bool) {
    let lock = lock_memory();
    let thread_starts = std::thread::Builder::new().spawn(|| ()).is_ok_and(|thread| thread.join().is_ok());
    // Without a lock there is nothing to undo, and a failed unlock does no harm: the process only stays larger.
    let _ = rustix::mm::munlockall();
    (lock, thread_starts)
}

fn judge_lock(lock: MemoryLock, thread_starts: bool) -> Finding {
    let reason = lock.reason.unwrap_or_default();
    match (lock.locked, thread_starts) {
        (_, false) => LOCK.fail("no thread can be started with memory locked", LIMIT_REMEDY),
        (LockedMemory::CurrentAndFuture, _) => LOCK.ok("all memory can be locked"),
        (LockedMemory::CurrentOnly, _) => LOCK.warn("only current memory can be locked", reason),
        (LockedMemory::Nothing, _) => LOCK.warn("refused", reason),
    }
}

fn judge_limit(holds_ipc_lock: bool, limit_bytes: Option<u64>) -> Finding {
    match limit_bytes {
        _ if holds_ipc_lock => LIMIT.ok("CAP_IPC_LOCK is held"),
        None => LIMIT.ok("RLIMIT_MEMLOCK is unlimited"),
        Some(bytes) => {
            LIMIT.warn(format!("CAP_IPC_LOCK is not held and RLIMIT_MEMLOCK is {} KiB", bytes >> 10), LIMIT_REMEDY)
        }
    }
}

fn judge_swap(swaps: Option<&str>, locked: LockedMemory) -> Finding {
    let areas: Vec<&str> =
        swaps.unwrap_or_default().lines().skip(1).filter_map(|line| line.split_whitespace().next()).collect();
    match (areas.is_empty(), locked) {
        (true, _) => SWAP.ok("none"),
        (false, LockedMemory::CurrentAndFuture) => SWAP.ok(format!("{} (locked memory is exempt)", areas.join(", "))),
        (false, _) => SWAP.warn(areas.join(", "), "permit locking memory (see memory-lock), or swapoff -a"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;

    const ONE_SWAP: &str = "Filename\tType\tSize\tUsed\tPriority\n/dev/sda2   partition\t999420\t0\t-2";

    #[test]
    fn swap_matters_only_without_locked_memory() {
        assert_eq!(judge_swap(Some("Filename Type Size Used Priority"), LockedMemory::Nothing).verdict, Verdict::Ok);
        assert_eq!(judge_swap(Some(ONE_SWAP), LockedMemory::CurrentAndFuture).verdict, Verdict::Ok);
        let bare = judge_swap(Some(ONE_SWAP), LockedMemory::CurrentOnly);
        assert_eq!((bare.verdict, bare.measured.as_str()), (Verdict::Warn, "/dev/sda2"));
    }

    #[test]
    fn a_lock_that_keeps_threads_from_starting_fails() {
        let lock = MemoryLock { locked: LockedMemory::CurrentAndFuture, reason: None };
        assert_eq!(judge_lock(lock.clone(), false).verdict, Verdict::Fail);
        assert_eq!(judge_lock(lock, true).verdict, Verdict::Ok);
    }

    #[test]
    fn a_refused_lock_warns_with_its_reason() {
        let lock = MemoryLock { locked: LockedMemory::Nothing, reason: Some("limited to 8 MiB".to_owned()) };
        assert_eq!(judge_lock(lock, true).remedy.as_deref(), Some("limited to 8 MiB"));
    }

    #[test]
    fn the_capability_outweighs_the_limit() {
        assert_eq!(judge_limit(true, Some(8 << 20)).verdict, Verdict::Ok);
        assert_eq!(judge_limit(false, None).verdict, Verdict::Ok);
        assert_eq!(judge_limit(false, Some(8 << 20)).verdict, Verdict::Warn);
    }
}
