//! Checks real-time scheduling: kernel, privileges and limits.

use std::io;

use rustix::process::{Resource, getrlimit};
use rustix::thread::CapabilitySet;

use super::{Check, Finding, Machine};
use crate::memory::holds_capability;
use crate::thread::{Granted, Policy, ThreadRequest};

const PREEMPTION: Check =
    Check { id: "kernel-preemption", what: "a PREEMPT_RT kernel bounds how long the kernel itself holds the core" };
const FIFO: Check = Check { id: "fifo-trial", what: "the loop needs SCHED_FIFO to run before ordinary threads" };
const NICE: Check = Check { id: "cap-sys-nice", what: "CAP_SYS_NICE or RLIMIT_RTPRIO permits SCHED_FIFO" };
const RTTIME: Check = Check { id: "rttime-limit", what: "RLIMIT_RTTIME kills a real-time thread that never sleeps" };
const THROTTLING: Check =
    Check { id: "rt-throttling", what: "sched_rt_runtime_us caps the fraction of a core for real-time threads" };
const GROUP_BUDGET: Check =
    Check { id: "cgroup-rt-budget", what: "a control group without a real-time budget refuses SCHED_FIFO" };

/// Shortest RLIMIT_RTTIME accepted without a warning, µs; a late tick stays below it.
const SHORTEST_RTTIME_US: u64 = 50_000;

pub(super) fn inspect(machine: &Machine, trial: &io::Result<Granted>) -> Vec<Finding> {
    let kernel = rustix::system::uname();
    let number = |path: &str| machine.text(path).and_then(|text| text.parse().ok());
    vec![
        judge_preemption(&kernel.version().to_string_lossy()),
        judge_fifo(trial),
        judge_permission(holds_capability(CapabilitySet::SYS_NICE), getrlimit(Resource::Rtprio).current),
        judge_rttime(getrlimit(Resource::Rttime).current),
        judge_throttling(number("proc/sys/kernel/sched_rt_runtime_us"), number("proc/sys/kernel/sched_rt_period_us")),
        judge_group_budget(group_budget_us(machine)),
    ]
}

/// Evaluates the version line of `uname`, because `/sys/kernel/realtime` existed only while PREEMPT_RT was a separate
/// patch.
fn judge_preemption(version: &str) -> Finding {
    if version.contains("PREEMPT_RT") || version.contains("PREEMPT RT") {
        return PREEMPTION.ok("PREEMPT_RT");
    }
    let model = version.split_whitespace().find(|word| word.starts_with("PREEMPT"));
    let remedy = "install a real-time kernel (Debian: linux-image-rt-amd64; Ubuntu: pro enable realtime-kernel)";
    PREEMPTION.warn(model.unwrap_or("no preemption"), remedy)
}

fn judge_fifo(trial: &io::Result<Granted>) -> Finding {
    match trial {
        Ok(granted) if granted.policy == Policy::Fifo && granted.priority == ThreadRequest::default().priority => {
            FIFO.ok(format!("granted at priority {}", granted.priority))
        }
        Ok(granted) if granted.policy == Policy::Fifo => {
            FIFO.warn(format!("granted only at priority {}", granted.priority), granted.reasons.join("; "))
        }
        Ok(granted) => FIFO.fail("refused", granted.reasons.join("; ")),
        Err(cause) => {
            FIFO.fail(format!("no thread could be started: {cause}"), "raise the limits on threads and memory")
        }
    }
}

fn judge_permission(holds_sys_nice: bool, rtprio: Option<u64>) -> Finding {
    let wanted = u64::from(ThreadRequest::default().priority);
    let limit = rtprio.map_or("unlimited".to_owned(), |limit| limit.to_string());
    if holds_sys_nice {
        return NICE.ok(format!("CAP_SYS_NICE is held (RLIMIT_RTPRIO {limit})"));
    }
    if rtprio.is_none_or(|limit| limit >= wanted) {
        return NICE.ok(format!("RLIMIT_RTPRIO is {limit}"));
    }
    NICE.warn(
        format!("CAP_SYS_NICE is not held and RLIMIT_RTPRIO is {limit}"),
        "setcap cap_sys_nice,cap_ipc_lock+ep on the binary; or AmbientCapabilities=CAP_SYS_NICE CAP_IPC_LOCK in the \
         systemd unit; or '@realtime - rtprio 90' in /etc/security/limits.d",
    )
}

fn judge_rttime(limit_us: Option<u64>) -> Finding {
    match limit_us {
        None => RTTIME.ok("unlimited; the loop sets its own"),
        Some(limit) if limit >= SHORTEST_RTTIME_US => RTTIME.ok(format!("{} ms", limit / 1000)),
        Some(limit) => {
            RTTIME.warn(format!("{limit} µs"), "set LimitRTTIME=500000 in the systemd unit: one stall would kill")
        }
    }
}

fn judge_throttling(runtime_us: Option<i64>, period_us: Option<i64>) -> Finding {
    const REMEDY: &str = "sysctl kernel.sched_rt_runtime_us=950000";
    match (runtime_us, period_us) {
        (Some(-1), _) => THROTTLING.ok("off"),
        (Some(runtime), Some(period)) if period > 0 => {
            let measured = format!("{runtime} of {period} µs");
            match runtime * 100 / period {
                0 => THROTTLING.fail(measured, REMEDY),
                1..50 => THROTTLING.warn(measured, REMEDY),
                _ => THROTTLING.ok(measured),
            }
        }
        _ => THROTTLING.ok("not reported by this kernel"),
    }
}

/// Real-time budget of this process's control group, µs; `None` if the group has none. Only version 1 control groups
/// have one.
fn group_budget_us(machine: &Machine) -> Option<i64> {
    let groups = machine.text("proc/self/cgroup")?;
    let group = cpu_group(&groups)?;
    machine.text(&format!("sys/fs/cgroup/cpu{group}/cpu.rt_runtime_us"))?.parse().ok()
}

/// Path of the control group for the `cpu` controller, from `/proc/self/cgroup`.
fn cpu_group(groups: &str) -> Option<&str> {
    groups.lines().find_map(|line| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        controllers.split(',').any(|controller| controller == "cpu").then_some(path)
    })
}

fn judge_group_budget(budget_us: Option<i64>) -> Finding {
    match budget_us {
        None => GROUP_BUDGET.ok("the group has no budget of its own"),
        Some(0) => {
            GROUP_BUDGET.fail("0 µs", "write a budget to cpu.rt_runtime_us of the group, or start outside of it")
        }
        Some(budget) => GROUP_BUDGET.ok(format!("{budget} µs")),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict;
    use super::*;
    use crate::memory::LockedMemory;

    fn granted(policy: Policy, priority: u8) -> io::Result<Granted> {
        let reasons = vec!["grant CAP_SYS_NICE".to_owned()];
        let locked_memory = LockedMemory::Nothing;
        Ok(Granted { policy, priority, cpu: None, locked_memory, resets_on_fork: true, reasons })
    }

    #[test]
    fn real_time_kernels_are_known_by_their_version_line() {
        let verdict = |version| judge_preemption(version).verdict;
        assert_eq!(verdict("#1 SMP PREEMPT_RT Debian 6.1.140-1 (2025-05-22)"), Verdict::Ok);
        assert_eq!(verdict("#1 SMP PREEMPT RT Debian 4.19.98-1 (2020-01-26)"), Verdict::Ok);
        assert_eq!(verdict("#1 SMP PREEMPT_DYNAMIC Debian 6.1.140-1"), Verdict::Warn);
        assert_eq!(judge_preemption("#1 SMP PREEMPT_DYNAMIC x").measured, "PREEMPT_DYNAMIC");
    }

    #[test]
    fn a_refused_priority_fails_and_a_lowered_one_warns() {
        assert_eq!(judge_fifo(&granted(Policy::Fifo, 80)).verdict, Verdict::Ok);
        assert_eq!(judge_fifo(&granted(Policy::Fifo, 40)).verdict, Verdict::Warn);
        assert_eq!(judge_fifo(&granted(Policy::Normal, 0)).verdict, Verdict::Fail);
        assert_eq!(judge_fifo(&Err(io::ErrorKind::OutOfMemory.into())).verdict, Verdict::Fail);
    }

    #[test]
    fn either_the_capability_or_the_limit_permits() {
        assert_eq!(judge_permission(true, Some(0)).verdict, Verdict::Ok);
        assert_eq!(judge_permission(false, Some(95)).verdict, Verdict::Ok);
        assert_eq!(judge_permission(false, None).verdict, Verdict::Ok);
        assert_eq!(judge_permission(false, Some(10)).verdict, Verdict::Warn);
    }

    #[test]
    fn throttling_to_nothing_fails_and_to_little_warns() {
        assert_eq!(judge_throttling(Some(-1), Some(1_000_000)).verdict, Verdict::Ok);
        assert_eq!(judge_throttling(Some(950_000), Some(1_000_000)).verdict, Verdict::Ok);
        assert_eq!(judge_throttling(Some(100_000), Some(1_000_000)).verdict, Verdict::Warn);
        assert_eq!(judge_throttling(Some(0), Some(1_000_000)).verdict, Verdict::Fail);
        assert_eq!(judge_throttling(None, None).verdict, Verdict::Ok);
    }

    #[test]
    fn a_stall_must_not_meet_the_rttime_limit() {
        assert_eq!(judge_rttime(Some(10_000)).verdict, Verdict::Warn);
        assert_eq!(judge_rttime(Some(200_000)).verdict, Verdict::Ok);
    }

    #[test]
    fn the_cpu_group_is_found_among_joined_controllers() {
        assert_eq!(cpu_group("5:cpuset:/a\n4:cpu,cpuacct:/user.slice\n0::/x"), Some("/user.slice"));
        assert_eq!(cpu_group("0::/user.slice/session-1.scope"), None);
        assert_eq!(judge_group_budget(Some(0)).verdict, Verdict::Fail);
    }
}
