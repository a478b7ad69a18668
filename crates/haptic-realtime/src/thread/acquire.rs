//! Requests each privilege in turn, records refusals, and reads back what was granted.

use std::io;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CpuSet, sched_getaffinity};
use thread_priority::{
    RealtimeThreadSchedulePolicy, ThreadPriority, ThreadPriorityValue, ThreadSchedulePolicy,
    set_thread_priority_and_policy, thread_native_id,
};

use super::cpu_choice::{CpuChoice, candidates, parse_cpu_list};
use super::{Granted, HIGHEST_PRIORITY, Policy, ThreadRequest};
use crate::memory::{LockedMemory, MemoryLock};
use crate::system_calls::{self, KernelSchedule};

/// Requests of the calling thread to the system. This is a trait so that tests can inject refusals.
pub(super) trait Authority {
    fn set_fifo(&mut self, priority: u8) -> io::Result<()>;
    fn reset_on_fork(&mut self) -> io::Result<()>;
    fn limit_runaway(&mut self, limit: Duration) -> io::Result<()>;
    fn pin(&mut self, cpu: usize) -> bool;
    /// Returns RLIMIT_RTPRIO, the highest priority permitted without privileges.
    fn priority_limit(&mut self) -> u8;
    fn isolated_cpus(&mut self) -> Vec<usize>;
    fn affinity(&mut self) -> io::Result<Vec<usize>>;
    fn schedule(&mut self) -> io::Result<KernelSchedule>;
}

/// Requests the properties of `request` from `authority` and returns what was granted.
pub(super) fn acquire(
    request: &ThreadRequest,
    memory_lock: Option<MemoryLock>,
    authority: &mut impl Authority,
) -> Granted {
    let mut reasons = Vec::new();
    let locked_memory = note_memory_lock(memory_lock, &mut reasons);
    pin(request.cpu, authority, &mut reasons);
    if prioritise(request.priority, authority, &mut reasons) {
        spread_nets(request.runaway_limit, authority, &mut reasons);
    }
    read_back(locked_memory, authority, reasons)
}

fn note_memory_lock(memory_lock: Option<MemoryLock>, reasons: &mut Vec<String>) -> LockedMemory {
    let Some(MemoryLock { locked, reason }) = memory_lock else { return LockedMemory::Nothing };
    reasons.extend(reason);
    locked
}

fn pin(choice: CpuChoice, authority: &mut impl Authority, reasons: &mut Vec<String>) {
    let wanted = match choice {
        CpuChoice::Any => return,
        CpuChoice::Number(cpu) => vec![cpu],
        CpuChoice::Auto => candidates(&authority.affinity().unwrap_or_default(), &authority.isolated_cpus()),
    };
    if !wanted.iter().any(|cpu| authority.pin(*cpu)) {
        let allowed = authority.affinity().unwrap_or_default();
        reasons.push(format!(
            "the thread is not pinned: none of the cores {wanted:?} was allowed; choose among {allowed:?}, or \
             widen the cpuset of the service"
        ));
    }
}

/// Requests SCHED_FIFO, at a lower priority if RLIMIT_RTPRIO requires it. Returns whether it was granted.
fn prioritise(wanted: u8, authority: &mut impl Authority, reasons: &mut Vec<String>) -> bool {
    let priority = wanted.clamp(1, HIGHEST_PRIORITY);
    if priority != wanted {
        reasons.push(format!("priority {wanted} is outside 1 to {HIGHEST_PRIORITY}: {priority} was requested"));
    }
    let Err(cause) = authority.set_fifo(priority) else { return true };
    let limit = authority.priority_limit().min(priority);
    let lowered = limit > 0 && authority.set_fifo(limit).is_ok();
    let instead = if lowered { format!("running at {limit}") } else { "running under the normal policy".to_owned() };
    reasons.push(format!(
        "SCHED_FIFO priority {priority} was refused: {cause}; {instead}. Grant CAP_SYS_NICE (setcap cap_sys_nice,\
         cap_ipc_lock+ep on the binary, or AmbientCapabilities in the systemd unit), or an rtprio limit in \
         /etc/security/limits.d"
    ));
    lowered
}

fn spread_nets(runaway_limit: Option<Duration>, authority: &mut impl Authority, reasons: &mut Vec<String>) {
    if let Err(cause) = authority.reset_on_fork() {
        reasons
            .push(format!("children would inherit the real-time priority: SCHED_RESET_ON_FORK was refused: {cause}"));
    }
    if let Some(limit) = runaway_limit
        && let Err(cause) = authority.limit_runaway(limit)
    {
        reasons.push(format!("a runaway loop would not be stopped: RLIMIT_RTTIME was refused: {cause}"));
    }
}

fn read_back(locked_memory: LockedMemory, authority: &mut impl Authority, mut reasons: Vec<String>) -> Granted {
    let unknown = KernelSchedule { policy: -1, priority: 0, resets_on_fork: false };
    let schedule = authority.schedule().unwrap_or_else(|cause| {
        reasons.push(format!("the scheduling policy could not be read back: {cause}"));
        unknown
    });
    let cpu = match authority.affinity().as_deref() {
        Ok([only]) => Some(*only),
        _ => None,
    };
    Granted {
        policy: policy_of(schedule.policy),
        priority: u8::try_from(schedule.priority).unwrap_or(0),
        cpu,
        locked_memory,
        resets_on_fork: schedule.resets_on_fork,
        reasons,
    }
}

fn policy_of(number: i32) -> Policy {
    match number {
        libc::SCHED_FIFO => Policy::Fifo,
        libc::SCHED_OTHER => Policy::Normal,
        other => Policy::Other(other),
    }
}

/// The authority of the running Linux system.
pub(super) struct LinuxAuthority;

impl Authority for LinuxAuthority {
    fn set_fifo(&mut self, priority: u8) -> io::Result<()> {
        let value = ThreadPriorityValue::try_from(priority).map_err(io::Error::other)?;
        let policy = ThreadSchedulePolicy::Realtime(RealtimeThreadSchedulePolicy::Fifo);
        let outcome = set_thread_priority_and_policy(thread_native_id(), ThreadPriority::Crossplatform(value), policy);
        outcome.map_err(|error| match error {
            thread_priority::Error::OS(number) => io::Error::from_raw_os_error(number),
            other => io::Error::other(other),
        })
    }

    fn reset_on_fork(&mut self) -> io::Result<()> {
        system_calls::reset_on_fork()
    }

    fn limit_runaway(&mut self, limit: Duration) -> io::Result<()> {
        let limit_us = u64::try_from(limit.as_micros()).unwrap_or(u64::MAX);
        let before = getrlimit(Resource::Rttime);
        if before.current.is_some_and(|current_us| current_us <= limit_us) {
            return Ok(());
        }
        let limited = Rlimit { current: Some(limit_us), maximum: before.maximum };
        setrlimit(Resource::Rttime, limited).map_err(io::Error::from)
    }

    fn pin(&mut self, cpu: usize) -> bool {
        // `set_for_current` indexes a mask of fixed size, so it must not be called with a number beyond it.
        cpu < CpuSet::MAX_CPU && core_affinity::set_for_current(core_affinity::CoreId { id: cpu })
    }

    fn priority_limit(&mut self) -> u8 {
        getrlimit(Resource::Rtprio).current.map_or(HIGHEST_PRIORITY, |limit| limit.min(99) as u8)
    }

    fn isolated_cpus(&mut self) -> Vec<usize> {
        let list = std::fs::read_to_string("/sys/devices/system/cpu/isolated").unwrap_or_default();
        parse_cpu_list(&list)
    }

    fn affinity(&mut self) -> io::Result<Vec<usize>> {
        let mask = sched_getaffinity(None)?;
        Ok((0..CpuSet::MAX_CPU).filter(|cpu| mask.is_set(*cpu)).collect())
    }

    fn schedule(&mut self) -> io::Result<KernelSchedule> {
        system_calls::kernel_schedule()
    }
}

#[cfg(test)]
#[path = "acquire_tests.rs"]
mod tests;
