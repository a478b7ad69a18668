//! Tests of the CPU checks, with samples from other machines.

use super::super::Verdict;
use super::*;
use haptic_testing::TestFolder;

#[test]
fn a_single_core_warns() {
    assert_eq!(judge_count(Some("0")).verdict, Verdict::Warn);
    assert_eq!(judge_count(Some("0-7")).measured, "8 cores");
}

#[test]
fn only_the_loops_own_core_counts_as_isolated() {
    assert_eq!(judge_isolated(Some("2-3"), Some(3)).verdict, Verdict::Ok);
    let other = judge_isolated(Some("2-3"), Some(1));
    assert_eq!(other.verdict, Verdict::Warn);
    assert!(other.remedy.unwrap().contains("isolcpus=1"));
}

#[test]
fn a_tickless_core_is_recognised() {
    assert_eq!(judge_nohz(Some("1-3"), Some(2)).verdict, Verdict::Ok);
    assert_eq!(judge_nohz(None, Some(2)).verdict, Verdict::Warn);
}

#[test]
fn a_shared_core_warns() {
    assert_eq!(judge_sibling(Some("3")).verdict, Verdict::Ok);
    assert_eq!(judge_sibling(Some("3,7")).verdict, Verdict::Warn);
}

#[test]
fn every_governor_but_performance_warns() {
    assert_eq!(judge_governor(Some("performance")).verdict, Verdict::Ok);
    assert_eq!(judge_governor(Some("schedutil")).verdict, Verdict::Warn);
    assert_eq!(judge_governor(None).verdict, Verdict::Ok);
}

#[test]
fn a_deep_idle_state_warns_unless_it_can_be_kept_off() {
    let deep = || Some(("C6".to_owned(), 133));
    assert_eq!(judge_idle(deep(), false).verdict, Verdict::Warn);
    assert_eq!(judge_idle(deep(), true).verdict, Verdict::Ok);
    assert_eq!(judge_idle(Some(("C1".to_owned(), 2)), false).verdict, Verdict::Ok);
}

#[test]
fn the_slowest_idle_state_in_use_is_found_and_disabled_ones_are_not() {
    let root = TestFolder::new();
    for (state, name, latency, disable) in
        [("state0", "POLL", "0", "0"), ("state1", "C1", "2", "0"), ("state2", "C6", "133", "1")]
    {
        for (file, text) in [("name", name), ("latency", latency), ("disable", disable)] {
            root.write(&format!("sys/devices/system/cpu/cpu1/cpuidle/{state}/{file}"), format!("{text}\n"));
        }
    }
    let slowest = slowest_exit(&Machine::at(root.path()), Some(1));
    assert_eq!(slowest, Some(("C1".to_owned(), 2)));
}

#[test]
fn clock_sources_that_need_a_system_call_warn() {
    assert_eq!(judge_clock_source(Some("tsc")).verdict, Verdict::Ok);
    assert_eq!(judge_clock_source(Some("kvm-clock")).verdict, Verdict::Ok);
    assert_eq!(judge_clock_source(Some("hpet")).verdict, Verdict::Warn);
    assert_eq!(judge_clock_source(Some("acpi_pm")).verdict, Verdict::Warn);
}

#[test]
fn a_guest_is_recognised_by_its_processor_flags() {
    assert!(runs_under_hypervisor("processor\t: 0\nflags\t\t: fpu sse2 hypervisor lahf_lm\n"));
    assert!(!runs_under_hypervisor("processor\t: 0\nmodel name\t: hypervisor\nflags\t\t: fpu sse2\n"));
}

#[test]
fn stolen_time_is_the_eighth_number_and_guest_time_is_not_counted_twice() {
    assert_eq!(stolen_per_mille("cpu  100 0 50 800 0 0 0 50 70 0\ncpu0 1 2 3"), Some(50));
    assert_eq!(stolen_per_mille("cpu  0 0 0 0 0 0 0 0 0 0"), None);
    assert_eq!(stolen_per_mille("intr 5"), None);
    assert_eq!(judge_steal(Some(50)).measured, "5.0 %");
    assert_eq!(judge_steal(Some(0)).verdict, Verdict::Ok);
}
