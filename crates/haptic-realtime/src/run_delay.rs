//! Run delay: how long a thread was ready to run but waited for its core.
//!
//! A wake-up can be late for two reasons: the kernel ran another thread first, or the machine itself was late, for
//! example because firmware or the host of a virtual machine occupied the core. The kernel counts only the first as run
//! delay.

use std::fs;

/// Returns the run delay of the calling thread since it started, ns; `None` if this kernel does not count it. This
/// reads a file: call it before and after the loop, not in a tick.
pub fn thread_run_delay_ns() -> Option<u64> {
    parse_run_delay_ns(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// Returns the run delay between two results of [`thread_run_delay_ns`], ns; `None` if either is missing.
pub fn run_delay_between_ns(before_ns: Option<u64>, after_ns: Option<u64>) -> Option<u64> {
    Some(after_ns?.saturating_sub(before_ns?))
}

/// Parses the run delay, the second of three numbers in schedstat: run time, run delay, number of time slices.
fn parse_run_delay_ns(schedstat: &str) -> Option<u64> {
    schedstat.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_run_delay() {
        assert_eq!(parse_run_delay_ns("115200000 250000 5312\n"), Some(250_000));
        assert_eq!(parse_run_delay_ns(""), None);
        assert_eq!(parse_run_delay_ns("115200000"), None);
        assert_eq!(parse_run_delay_ns("a b c"), None);
    }

    #[test]
    fn a_difference_needs_two_readings() {
        assert_eq!(run_delay_between_ns(Some(10), Some(25)), Some(15));
        assert_eq!(run_delay_between_ns(None, Some(25)), None);
        assert_eq!(run_delay_between_ns(Some(10), None), None);
    }

    #[test]
    fn a_thread_reads_its_run_delay_where_the_kernel_counts_it() {
        let exists = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(thread_run_delay_ns().is_some(), exists);
    }
}
