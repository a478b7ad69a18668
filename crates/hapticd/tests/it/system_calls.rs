//! The only system call of the real-time thread is its sleep, verified with strace in a real run.
#![cfg(target_os = "linux")]

use crate::common::{Folder, Process, stderr};
use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};

/// One system call, as printed by strace.
struct Call<'t> {
    thread: &'t str,
    name: &'t str,
    text: &'t str,
}

/// Returns every call in a trace, in order. Skips lines with the second half of an interrupted call ("<... resumed>").
fn calls(trace: &str) -> Vec<Call<'_>> {
    let parse = |line| {
        let (thread, text) = str::split_once(line, char::is_whitespace)?;
        let (name, _) = text.trim_start().split_once('(')?;
        let is_call = name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        is_call.then_some(Call { thread, name, text })
    };
    trace.lines().filter_map(parse).collect()
}

/// Traces a one-second run. Returns the reason if strace cannot be used.
fn trace_of_a_run(arguments: &[&str]) -> Result<String, String> {
    let folder = Folder::new();
    let mut strace = Command::new("strace");
    strace.args(["-f", "-o", "trace", env!("CARGO_BIN_EXE_hapticd"), "run", "--seconds", "1"]);
    folder.run_here(strace.args(arguments));
    let output = strace.output().map_err(|error| error.to_string())?;
    let messages = stderr(&output);
    if messages.contains("ptrace") {
        return Err(messages);
    }
    assert!(output.status.success(), "{messages}");
    Ok(folder.read("trace"))
}

fn is_sleep(call: &Call<'_>) -> bool {
    call.name == "clock_nanosleep" && call.text.contains("TIMER_ABSTIME")
}

/// Returns the real-time thread's calls between its first and last sleep, with their counts.
fn calls_of_the_loop(trace: &str) -> BTreeMap<String, usize> {
    let calls = calls(trace);
    let sleeper = calls.iter().find(|call| is_sleep(call)).expect("no thread sleeps until a deadline").thread;
    let of_sleeper: Vec<&Call<'_>> = calls.iter().filter(|call| call.thread == sleeper).collect();
    let first = of_sleeper.iter().position(|call| is_sleep(call)).unwrap();
    let last = of_sleeper.iter().rposition(|call| is_sleep(call)).unwrap();
    let mut counts = BTreeMap::new();
    of_sleeper[first..=last].iter().for_each(|call| *counts.entry(call.name.to_owned()).or_insert(0) += 1);
    counts
}

#[test]
fn the_real_time_thread_only_sleeps() {
    let trace = match trace_of_a_run(&[]) {
        Ok(trace) => trace,
        Err(reason) => return println!("SKIPPED: strace is missing or not permitted: {reason}"),
    };
    let counts = calls_of_the_loop(&trace);
    assert!(counts["clock_nanosleep"] > 100, "{counts:?}");
    assert_eq!(counts.len(), 1, "{counts:?}");
}

/// An emulated device and the file that describes it.
struct Emulator {
    folder: Folder,
    _process: Process,
}

impl Emulator {
    fn new() -> Self {
        let folder = Folder::new();
        let port = folder.join("port");
        folder.write(
            "d.toml",
            format!(
                "kind = \"serial\"
port = \"{}\"
watchdog_s = 0.1
",
                port.display()
            ),
        );
        let mut command = folder.command(&["emulate", "native-2dof", "--link", "port"]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        // The emulator prints its port once the port exists.
        process.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
        Self { folder, _process: Process(process) }
    }
}

#[test]
fn with_a_serial_device_the_real_time_thread_only_sleeps_and_writes_its_command() {
    let emulator = Emulator::new();
    let device = emulator.folder.join("d.toml");
    let arguments = ["--scene", "wall", "--device", device.to_str().unwrap(), "--allow-no-rt", "--no-view"];
    let trace = match trace_of_a_run(&arguments) {
        Ok(trace) => trace,
        Err(reason) => return println!("SKIPPED: strace is missing or not permitted: {reason}"),
    };
    let counts = calls_of_the_loop(&trace);
    let [sleeps, writes] = ["clock_nanosleep", "write"].map(|name| counts.get(name).copied().unwrap_or(0));
    assert!(sleeps > 20 && writes > 20 && writes <= 2 * sleeps, "{counts:?}");
    assert_eq!(counts.len(), 2, "{counts:?}");
}
