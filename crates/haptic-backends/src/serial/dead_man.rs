//! Dead-man process: ends the force of a device without a watchdog when the daemon dies or hangs.
//!
//! A killed daemon cannot send a stop frame, and a board without a watchdog would hold its last torque indefinitely. A
//! second process therefore shares the port and reads heartbeats from a pipe. Heartbeats are sent as long as the tick
//! tries to send commands; on a line that accepts none, both processes would otherwise write as soon as it does, and their
//! bytes would mix. If heartbeats stop, the second process sends the stop frame; if the pipe is closed, it sends the stop
//! frame and ends.
//!
//! A [`DeadManSupervisor`] restarts a process that ends. Without it, the device gets no force.

use super::port::{Port, WRITE_WITHIN, timed_out, write_all_within};
use crate::handshake::now;
use crate::protocol::TxBytes;
use haptic_device::MonotonicNs;
use haptic_realtime::poll::readable;
use rustix::fs::OFlags;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Minimum interval between heartbeats, ns.
const HEARTBEAT_EVERY_NS: u64 = 20_000_000;
/// Heartbeat byte sent through the pipe.
const HEARTBEAT: u8 = b'.';
/// Byte sent through the pipe to end the dead-man process without a stop frame.
const END: u8 = b'q';
/// Number of stop frames sent when the pipe is closed. The first one may merely complete a partial message.
const STOP_FRAMES: u32 = 3;
/// Minimum interval between two starts of the process, ns.
const RESTART_EVERY_NS: u64 = 1_000_000_000;
/// Pause after each stop frame.
const STOP_GAP: Duration = Duration::from_millis(5);

/// Program of the dead-man process. Its last two arguments are the stop frame as hexadecimal digits and the timeout in
/// ms. It must call [`run_dead_man`] with its standard input as the pipe and its standard output as the port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeadManProgram {
    /// Path of the program.
    pub program: PathBuf,
    /// Arguments before the stop frame.
    pub arguments: Vec<String>,
    /// Time without heartbeats after which the force ends.
    pub timeout: Duration,
}

/// A running dead-man process. Dropping it ends the process without a stop frame.
#[derive(Debug)]
pub struct DeadMan {
    process: Child,
    heartbeats: Option<ChildStdin>,
    /// Number of attempts of the tick to send a command up to the last heartbeat.
    attempts: u64,
    /// Time of the last heartbeat.
    sent_at: MonotonicNs,
}

impl DeadMan {
    /// Starts the process for a device on an open port.
    ///
    /// # Errors
    /// If the process cannot be started.
    pub fn start(program: &DeadManProgram, port: &Port, stop_frame: &TxBytes) -> io::Result<Self> {
        let digits: String = stop_frame.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut command = Command::new(&program.program);
        command.args(&program.arguments).arg(digits).arg(program.timeout.as_millis().to_string());
        command.stdin(Stdio::piped()).stdout(port.shared()?).stderr(Stdio::null());
        let mut process = command.spawn()?;
        let heartbeats = process.stdin.take();
        if let Some(heartbeats) = &heartbeats {
            rustix::fs::fcntl_setfl(heartbeats, OFlags::NONBLOCK)?;
        }
        Ok(Self { process, heartbeats, attempts: 0, sent_at: MonotonicNs(0) })
    }

    /// Sends a heartbeat if the tick has tried to send a command since the last heartbeat and the minimum interval has
    /// passed. `attempts` is the number of attempts so far. Not real-time: makes a system call.
    pub fn heartbeat(&mut self, attempts: u64, now: MonotonicNs) {
        if attempts != self.attempts && now.since(self.sent_at) >= HEARTBEAT_EVERY_NS {
            (self.attempts, self.sent_at) = (attempts, now);
            self.send(HEARTBEAT);
        }
    }

    /// Whether the process still runs. Not real-time: makes a system call.
    pub fn is_running(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    fn send(&mut self, byte: u8) {
        if let Some(heartbeats) = &mut self.heartbeats {
            // Nothing can be done about a process that is gone or does not read.
            let _ = heartbeats.write(&[byte]);
        }
    }
}

impl Drop for DeadMan {
    fn drop(&mut self) {
        self.send(END);
        self.heartbeats = None;
        // The process ends by itself; waiting for it removes its entry from the process table.
        let _ = self.process.wait();
    }
}

/// Keeps the dead-man process of one session running.
#[derive(Debug)]
pub struct DeadManSupervisor {
    program: DeadManProgram,
    stop_frame: TxBytes,
    process: Option<DeadMan>,
    /// Time of the last start.
    started_at: MonotonicNs,
}

impl DeadManSupervisor {
    /// Starts the process for a device on an open port. A process that cannot be started is started again later.
    pub fn start(program: DeadManProgram, port: &Port, stop_frame: TxBytes) -> Self {
        let mut supervisor = Self { program, stop_frame, process: None, started_at: MonotonicNs(0) };
        supervisor.start_process(port, now());
        supervisor
    }

    /// Whether the process runs. Not real-time: makes a system call.
    pub fn is_running(&mut self) -> bool {
        self.process.as_mut().is_some_and(DeadMan::is_running)
    }

    /// Sends a heartbeat, like [`DeadMan::heartbeat`].
    pub fn heartbeat(&mut self, attempts: u64, now: MonotonicNs) {
        if let Some(process) = &mut self.process {
            process.heartbeat(attempts, now);
        }
    }

    /// Starts the process again, at most once per second: at once if it ran for that long. Call it only while the
    /// process does not run.
    pub fn restart_if_due(&mut self, port: &Port, now: MonotonicNs) {
        if now.since(self.started_at) >= RESTART_EVERY_NS {
            tracing::warn!("{}: the dead-man process ended; starting it again", port.name());
            self.start_process(port, now);
        }
    }

    fn start_process(&mut self, port: &Port, now: MonotonicNs) {
        let warn = |error: &io::Error| {
            tracing::warn!("{}: no dead-man process ({error}): the device gets no force", port.name());
        };
        self.process = DeadMan::start(&self.program, port, &self.stop_frame).inspect_err(warn).ok();
        self.started_at = now;
    }
}

/// Body of the dead-man process. If no heartbeat arrives within `timeout`, it sends the stop frame repeatedly until
/// heartbeats resume. It does not do so before the first heartbeat, because no force has been requested yet. When the
/// pipe is closed, it sends the stop frame and returns.
///
/// # Errors
/// If the port is gone.
pub fn run_dead_man(
    mut heartbeats: impl Read + AsFd,
    mut port: impl Write,
    stop_frame: &[u8],
    timeout: Duration,
) -> io::Result<()> {
    let mut has_started = false;
    loop {
        if !readable(&heartbeats, timeout)? {
            if has_started {
                send_stop(&mut port, stop_frame)?;
            }
            continue;
        }
        let mut bytes = [0; 64];
        match heartbeats.read(&mut bytes) {
            Ok(0) => return (0..STOP_FRAMES).try_for_each(|_| send_stop(&mut port, stop_frame)),
            Ok(count) if bytes[..count].contains(&END) => return Ok(()),
            Ok(_) => has_started = true,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return send_stop(&mut port, stop_frame),
        }
    }
}

fn send_stop(port: &mut impl Write, stop_frame: &[u8]) -> io::Result<()> {
    if write_all_within(WRITE_WITHIN, stop_frame, |bytes| port.write(bytes))? < stop_frame.len() {
        return Err(timed_out());
    }
    port.flush()?;
    std::thread::sleep(STOP_GAP);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::{Receiver, channel};

    /// A port that forwards written bytes to a channel.
    struct Written(std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn start(timeout: Duration) -> (UnixStream, Receiver<Vec<u8>>, std::thread::JoinHandle<io::Result<()>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (port, written) = channel();
        (ours, written, std::thread::spawn(move || run_dead_man(theirs, Written(port), b"zero", timeout)))
    }

    /// A port that accepts three bytes at every other write.
    #[derive(Default)]
    struct Narrow {
        accepted: Vec<u8>,
        writes: u32,
    }

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.writes += 1;
            if self.writes % 2 == 1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(3);
            self.accepted.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_stop_frame_that_fits_only_in_parts_is_sent_completely() {
        let mut port = Narrow::default();
        send_stop(&mut port, b"no more torque").unwrap();
        assert_eq!(port.accepted, b"no more torque");
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn stop_frames_are_sent_when_the_other_process_dies() {
        let (heartbeats, written, thread) = start(LONG);
        drop(heartbeats);
        thread.join().unwrap().unwrap();
        assert_eq!(written.iter().collect::<Vec<_>>(), [b"zero", b"zero", b"zero"]);
    }

    #[test]
    fn nothing_is_sent_at_a_regular_end() {
        let (mut heartbeats, written, thread) = start(LONG);
        heartbeats.write_all(&[HEARTBEAT, HEARTBEAT, END]).unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(written.iter().count(), 0);
    }

    #[test]
    fn the_stop_frame_is_repeated_while_heartbeats_are_missing() {
        let (mut heartbeats, written, thread) = start(Duration::from_millis(10));
        heartbeats.write_all(&[HEARTBEAT]).unwrap();
        assert_eq!((written.recv().unwrap(), written.recv().unwrap()), (b"zero".to_vec(), b"zero".to_vec()));
        heartbeats.write_all(&[END]).unwrap();
        thread.join().unwrap().unwrap();
    }
}
