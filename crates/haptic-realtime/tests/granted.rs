//! [`Granted`] agrees with `/proc`, with and without privileges.
//!
//! These tests run in a separate process, because memory locks and limits affect the whole process.

use std::fs::read_to_string;

use haptic_realtime::memory::{LockedMemory, disable_heap_trim, prefault_heap};
use haptic_realtime::thread::{CpuChoice, Granted, Policy, ThreadRequest, parse_cpu_list, spawn};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

/// Policy number, real-time priority and affinity as reported by `/proc`, independent of the calls under test.
fn read_proc() -> (i32, u8, Vec<usize>) {
    let stat = read_to_string("/proc/thread-self/stat").unwrap();
    let after_name: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    // Fields 40 and 41 of the line; the name is the second.
    let (priority, policy) = (after_name[37].parse().unwrap(), after_name[38].parse().unwrap());
    let status = read_to_string("/proc/thread-self/status").unwrap();
    let affinity = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap();
    (policy, priority, parse_cpu_list(affinity))
}

fn assert_consistent(granted: &Granted, (policy, priority, affinity): (i32, u8, Vec<usize>)) {
    let kernel_policy = match policy {
        0 => Policy::Normal,
        1 => Policy::Fifo,
        other => Policy::Other(other),
    };
    assert_eq!((granted.policy, granted.priority), (kernel_policy, priority));
    assert_eq!(granted.cpu, if affinity.len() == 1 { Some(affinity[0]) } else { None });
}

#[test]
fn the_grant_is_what_the_kernel_reports_for_every_kind_of_request() {
    for (priority, cpu) in [(80, CpuChoice::Auto), (1, CpuChoice::Any), (55, CpuChoice::Number(0))] {
        let request = ThreadRequest { priority, cpu, lock_memory: false, ..ThreadRequest::default() };
        let thread = spawn(request, |_| read_proc()).unwrap();
        let granted = thread.granted().clone();
        assert_consistent(&granted, thread.join().unwrap());
        assert!(granted.is_realtime() || !granted.reasons.is_empty(), "a refusal without a reason");
    }
}

#[test]
fn locked_memory_shows_in_proc_or_its_absence_has_a_reason() {
    disable_heap_trim().unwrap();
    prefault_heap(1 << 20);
    let locked_kib = || {
        let status = read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmLck:")).unwrap().to_owned();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap()
    };
    let thread = spawn(ThreadRequest::default(), move |_| locked_kib()).unwrap();
    let granted = thread.granted().clone();
    let locked_kib = thread.join().unwrap();
    assert_eq!(granted.locked_memory != LockedMemory::Nothing, locked_kib > 0);
    assert!(granted.locked_memory == LockedMemory::CurrentAndFuture || !granted.reasons.is_empty());
}

/// Drops the capability needed for SCHED_FIFO, for the calling thread and the threads it starts.
fn give_up_real_time() {
    let mut held = capabilities(None).unwrap();
    held.effective.remove(CapabilitySet::SYS_NICE);
    held.permitted.remove(CapabilitySet::SYS_NICE);
    set_capabilities(None, held).unwrap();
}

#[test]
fn a_thread_without_the_capability_runs_normally_and_says_why() {
    let maximum = getrlimit(Resource::Rtprio).maximum;
    setrlimit(Resource::Rtprio, Rlimit { current: Some(0), maximum }).unwrap();
    let unprivileged = || {
        give_up_real_time();
        let request = ThreadRequest { lock_memory: false, ..ThreadRequest::default() };
        let thread = spawn(request, |_| read_proc()).unwrap();
        let granted = thread.granted().clone();
        assert_consistent(&granted, thread.join().unwrap());
        granted
    };
    let granted = std::thread::spawn(unprivileged).join().unwrap();
    assert_eq!((granted.policy, granted.priority), (Policy::Normal, 0));
    assert!(granted.reasons.iter().any(|reason| reason.contains("CAP_SYS_NICE")), "{:?}", granted.reasons);
}
