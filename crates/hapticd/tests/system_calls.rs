//! The real-time thread asks nothing of the system but to sleep. Counted from outside, in a real run.
#![cfg(target_os = "linux")]

use std::collections::BTreeMap;
use std::process::Command;

/// One call as strace writes it: which thread, and what it did.
struct Call<'t> {
    thread: &'t str,
    name: &'t str,
    text: &'t str,
}

/// Every call of a trace, in order. The second halves of interrupted lines ("<... resumed>") were counted before.
fn calls(trace: &str) -> Vec<Call<'_>> {
    let parse = |line| {
        let (thread, text) = str::split_once(line, char::is_whitespace)?;
        let (name, _) = text.trim_start().split_once('(')?;
        let is_call = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        is_call.then_some(Call { thread, name, text })
    };
    trace.lines().filter_map(parse).collect()
}

/// The trace of a run of one second, or why there is none.
fn trace_of_a_run() -> Result<String, String> {
    let file = std::env::temp_dir().join(format!("hapticd-strace-{}", std::process::id()));
    let mut strace = Command::new("strace");
    strace.arg("-f").arg("-o").arg(&file).arg(env!("CARGO_BIN_EXE_hapticd")).args(["run", "--seconds", "1"]);
    let output = strace.output().map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let trace = std::fs::read_to_string(&file).map_err(|error| error.to_string())?;
    std::fs::remove_file(&file).map_err(|error| error.to_string())?;
    Ok(trace)
}

#[test]
fn the_real_time_thread_only_sleeps() {
    let trace = match trace_of_a_run() {
        Ok(trace) => trace,
        Err(reason) => return println!("SKIPPED: strace is not installed, or may not trace here: {reason}"),
    };
    let calls = calls(&trace);
    let is_sleep = |call: &&Call<'_>| call.name == "clock_nanosleep" && call.text.contains("TIMER_ABSTIME");
    let sleeper = calls.iter().find(is_sleep).expect("nobody sleeps until a deadline").thread;
    let of_sleeper: Vec<&Call<'_>> = calls.iter().filter(|call| call.thread == sleeper).collect();
    let first = of_sleeper.iter().position(&is_sleep).unwrap();
    let last = of_sleeper.iter().rposition(is_sleep).unwrap();
    let mut counts = BTreeMap::new();
    of_sleeper[first..=last].iter().for_each(|call| *counts.entry(call.name).or_insert(0) += 1);
    assert!(counts["clock_nanosleep"] > 100, "{counts:?}");
    assert_eq!(counts.len(), 1, "{counts:?}");
}
