//! Checks of the loop's core: isolation, idle states, clock frequency and virtualisation.

use super::machine::command_line_value;
use super::{Check, Finding, Machine};
use crate::dma_latency::CPU_DMA_LATENCY_PATH;
use crate::thread::parse_cpu_list;

const COUNT: Check = Check { id: "cpu-count", what: "with one core the loop shares it with everything else" };
const ISOLATED: Check = Check { id: "cpu-isolation", what: "an isolated core runs nothing but the loop" };
const NOHZ: Check = Check { id: "nohz-full", what: "a core without a timer tick is interrupted less" };
const SIBLING: Check =
    Check { id: "smt-sibling", what: "a hyperthread shares its core's caches and units with a sibling" };
const GOVERNOR: Check =
    Check { id: "cpu-governor", what: "a core with a varying clock frequency has varying compute times" };
const IDLE: Check = Check { id: "idle-states", what: "leaving a deep idle state delays every wake-up" };
const DMA_LATENCY: Check =
    Check { id: "cpu-dma-latency", what: "holding /dev/cpu_dma_latency disables deep idle states" };
const CLOCK_SOURCE: Check =
    Check { id: "clocksource", what: "the clock is read twice per tick and must not need a system call" };
const HYPERVISOR: Check =
    Check { id: "hypervisor", what: "a host can preempt a core of a virtual machine at any time" };
const STEAL: Check = Check { id: "steal", what: "time that the host gave to other machines since boot" };

/// Longest exit latency of an idle state accepted without a warning, µs.
const SLOW_EXIT_US: u64 = 20;

/// Clock sources that the vDSO reads without entering the kernel.
const QUICK_CLOCK_SOURCES: [&str; 5] =
    ["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "riscv_clocksource"];

/// Smallest fraction of stolen time that causes a warning, per mille.
const STEAL_WARN_PER_MILLE: u64 = 1;

pub(super) fn inspect(machine: &Machine, cpu: Option<usize>) -> Vec<Finding> {
    let text = |path: &str| machine.text(path);
    let of_cpu = |name: &str| cpu.and_then(|cpu| machine.text(&format!("sys/devices/system/cpu/cpu{cpu}/{name}")));
    let command_line = text("proc/cmdline").unwrap_or_default();
    let may_hold = rustix::fs::access(machine.path(&CPU_DMA_LATENCY_PATH[1..]), rustix::fs::Access::WRITE_OK).is_ok();
    vec![
        judge_count(text("sys/devices/system/cpu/online").as_deref()),
        judge_isolated(text("sys/devices/system/cpu/isolated").as_deref(), cpu),
        judge_nohz(command_line_value(&command_line, "nohz_full"), cpu),
        judge_sibling(of_cpu("topology/thread_siblings_list").as_deref()),
        judge_governor(of_cpu("cpufreq/scaling_governor").as_deref()),
        judge_idle(slowest_exit(machine, cpu), may_hold),
        judge_dma_latency(may_hold),
        judge_clock_source(text("sys/devices/system/clocksource/clocksource0/current_clocksource").as_deref()),
        judge_hypervisor(text("proc/cpuinfo").as_deref().is_some_and(runs_under_hypervisor)),
        judge_steal(text("proc/stat").as_deref().and_then(stolen_per_mille)),
    ]
}

fn judge_count(online: Option<&str>) -> Finding {
    match online.map(parse_cpu_list).map_or(0, |cpus| cpus.len()) {
        0 => COUNT.ok("not reported by this kernel"),
        1 => COUNT.warn("1 core", "use a machine with at least two cores"),
        count => COUNT.ok(format!("{count} cores")),
    }
}

fn judge_isolated(isolated: Option<&str>, cpu: Option<usize>) -> Finding {
    let isolated = parse_cpu_list(isolated.unwrap_or_default());
    if cpu.is_some_and(|cpu| isolated.contains(&cpu)) {
        return ISOLATED.ok(format!("the loop's core is among the isolated {isolated:?}"));
    }
    let core = cpu.map_or("N".to_owned(), |cpu| cpu.to_string());
    ISOLATED.warn("the loop's core is not isolated", format!("add isolcpus={core} to the kernel's command line"))
}

fn judge_nohz(nohz_full: Option<&str>, cpu: Option<usize>) -> Finding {
    let quiet = parse_cpu_list(nohz_full.unwrap_or_default());
    if cpu.is_some_and(|cpu| quiet.contains(&cpu)) {
        return NOHZ.ok(format!("on for cores {quiet:?}"));
    }
    let core = cpu.map_or("N".to_owned(), |cpu| cpu.to_string());
    NOHZ.warn("off for the loop's core", format!("add nohz_full={core} rcu_nocbs={core} to the kernel's command line"))
}

fn judge_sibling(siblings: Option<&str>) -> Finding {
    let siblings = parse_cpu_list(siblings.unwrap_or_default());
    if siblings.len() < 2 {
        return SIBLING.ok("the loop's core has no sibling");
    }
    let remedy = "switch hyperthreads off (echo off > /sys/devices/system/cpu/smt/control), or keep the sibling idle";
    SIBLING.warn(format!("hyperthreads {siblings:?} share one core"), remedy)
}

fn judge_governor(governor: Option<&str>) -> Finding {
    match governor {
        None => GOVERNOR.ok("the kernel does not change the frequency"),
        Some("performance") => GOVERNOR.ok("performance"),
        Some(other) => GOVERNOR.warn(other, "cpupower frequency-set -g performance"),
    }
}

/// Name and exit latency, µs, of the enabled idle state with the longest exit latency.
fn slowest_exit(machine: &Machine, cpu: Option<usize>) -> Option<(String, u64)> {
    let folder = format!("sys/devices/system/cpu/cpu{}/cpuidle", cpu?);
    let states = machine.names(&folder).into_iter().filter_map(|state| {
        let of_state = |name: &str| machine.text(&format!("{folder}/{state}/{name}"));
        let in_use = of_state("disable").is_none_or(|disabled| disabled == "0");
        let latency_us = of_state("latency")?.parse().ok()?;
        in_use.then(|| (of_state("name").unwrap_or(state.clone()), latency_us))
    });
    states.max_by_key(|(_, latency_us)| *latency_us)
}

fn judge_idle(slowest: Option<(String, u64)>, may_hold_dma_latency: bool) -> Finding {
    match slowest {
        None => IDLE.ok("none reported by this kernel"),
        Some((name, exit_us)) if exit_us <= SLOW_EXIT_US => {
            IDLE.ok(format!("slowest is {name}, {exit_us} µs to leave"))
        }
        Some((name, exit_us)) if may_hold_dma_latency => {
            IDLE.ok(format!("{name} takes {exit_us} µs to leave, but the loop can disable it"))
        }
        Some((name, exit_us)) => IDLE.warn(
            format!("{name} takes {exit_us} µs to leave"),
            "permit /dev/cpu_dma_latency (see cpu-dma-latency), or cpupower idle-set -D 20",
        ),
    }
}

fn judge_dma_latency(may_hold: bool) -> Finding {
    if may_hold {
        return DMA_LATENCY.ok("can be held");
    }
    let remedy = "a udev rule such as KERNEL==\"cpu_dma_latency\", GROUP=\"realtime\", MODE=\"0660\"";
    DMA_LATENCY.warn("cannot be opened for writing", remedy)
}

fn judge_clock_source(source: Option<&str>) -> Finding {
    match source {
        None => CLOCK_SOURCE.ok("not reported by this kernel"),
        Some(quick) if QUICK_CLOCK_SOURCES.contains(&quick) => CLOCK_SOURCE.ok(quick),
        Some(slow) => {
            CLOCK_SOURCE.warn(slow, "boot with tsc=reliable if the processor's time stamp counter is invariant")
        }
    }
}

/// Whether `/proc/cpuinfo` has the flag that x86 hypervisors set for their guests.
fn runs_under_hypervisor(cpu_info: &str) -> bool {
    let flags = cpu_info.lines().find(|line| line.starts_with("flags"));
    flags.is_some_and(|line| line.split_whitespace().any(|flag| flag == "hypervisor"))
}

fn judge_hypervisor(is_guest: bool) -> Finding {
    if is_guest {
        HYPERVISOR.warn("this is a virtual machine", "drive hardware from a physical machine; simulate here")
    } else {
        HYPERVISOR.ok("none detected")
    }
}

/// Fraction of the time since boot that the host gave to other virtual machines, per mille, from `/proc/stat`.
fn stolen_per_mille(stat: &str) -> Option<u64> {
    let total_line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    // user nice system idle iowait irq softirq steal; guest times are already in user and nice.
    let times: Vec<u64> = total_line.split_whitespace().take(8).map_while(|time| time.parse().ok()).collect();
    let (stolen, total) = (times.get(7)?, times.iter().sum::<u64>());
    (stolen * 1000).checked_div(total)
}

fn judge_steal(per_mille: Option<u64>) -> Finding {
    match per_mille {
        None => STEAL.ok("not reported by this kernel"),
        Some(share) if share < STEAL_WARN_PER_MILLE => STEAL.ok("under 0.1 %"),
        Some(share) => {
            STEAL.warn(format!("{}.{} %", share / 10, share % 10), "give the virtual machine dedicated cores")
        }
    }
}

#[cfg(test)]
#[path = "cpu_tests.rs"]
mod tests;
