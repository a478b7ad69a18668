//! All other threads, existing and future, leave the loop's core.
//!
//! This test runs in a separate process, because the call affects the whole process.

use std::fs::read_to_string;
use std::sync::mpsc;

use haptic_realtime::thread::{ThreadRequest, parse_cpu_list, spawn};

/// Cores on which the calling thread may run, as reported by `/proc`.
fn allowed() -> Vec<usize> {
    let status = read_to_string("/proc/thread-self/status").unwrap();
    parse_cpu_list(status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:")).unwrap())
}

/// A thread that returns its allowed cores on request.
fn bystander() -> (mpsc::Sender<()>, std::thread::JoinHandle<Vec<usize>>) {
    let (ask, asked) = mpsc::channel();
    let wait = move || {
        let _ = asked.recv();
        allowed()
    };
    (ask, std::thread::spawn(wait))
}

#[test]
fn no_other_thread_may_run_on_the_core_of_the_loop() {
    let everywhere = allowed();
    let (ask, earlier) = bystander();
    let (end, ended) = mpsc::channel();
    let wait = move |_: &_| {
        let _ = ended.recv();
        allowed()
    };
    let thread = spawn(ThreadRequest { lock_memory: false, ..ThreadRequest::default() }, wait).unwrap();
    let cpu = thread.granted().cpu.expect("one of the allowed cores can always be had");
    thread.reserve_core().unwrap();

    let elsewhere: Vec<usize> = everywhere.iter().copied().filter(|other| *other != cpu).collect();
    let rest = if elsewhere.is_empty() { everywhere } else { elsewhere };
    ask.send(()).unwrap();
    assert_eq!(earlier.join().unwrap(), rest, "a thread that ran before");
    assert_eq!(std::thread::spawn(allowed).join().unwrap(), rest, "a thread that came later");
    end.send(()).unwrap();
    assert_eq!(thread.join().unwrap(), [cpu], "the loop itself");
}
