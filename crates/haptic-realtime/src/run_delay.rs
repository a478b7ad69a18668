//! How long a thread was ready and had to wait for its core.
//!
//! A wake-up can be late for two reasons: the kernel let somebody else go first, or the machine itself was late, as when a firmware or
//! the host of a virtual machine holds a core. Only the first is anything that this process, its viewers or the system's other
//! programs can do, and the kernel keeps an account of it.

use std::fs;

/// Time that the calling thread was ready while another had its core, since it started, ns; none if this kernel keeps no such
/// account. Reads a file: not for the tick, but for before and after it.
pub fn thread_run_delay_ns() -> Option<u64> {
    waited_ns(&fs::read_to_string("/proc/thread-self/schedstat").ok()?)
}

/// What was waited between two readings, if there were both.
pub fn run_delay_between_ns(before_ns: Option<u64>, after_ns: Option<u64>) -> Option<u64> {
    Some(after_ns?.saturating_sub(before_ns?))
}

/// The second of three numbers: time that it ran, time that it waited, how often it ran.
fn waited_ns(account: &str) -> Option<u64> {
    account.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_number_is_the_time_waited() {
        assert_eq!(waited_ns("115200000 250000 5312\n"), Some(250_000));
        assert_eq!(waited_ns(""), None);
        assert_eq!(waited_ns("115200000"), None);
        assert_eq!(waited_ns("a b c"), None);
    }

    #[test]
    fn a_wait_is_told_only_from_two_readings() {
        assert_eq!(run_delay_between_ns(Some(10), Some(25)), Some(15));
        assert_eq!(run_delay_between_ns(None, Some(25)), None);
        assert_eq!(run_delay_between_ns(Some(10), None), None);
    }

    #[test]
    fn where_the_kernel_keeps_an_account_a_thread_finds_its_own() {
        let kept = std::path::Path::new("/proc/thread-self/schedstat").exists();
        assert_eq!(thread_run_delay_ns().is_some(), kept);
    }
}
