//! A second process that ends the force of a device without a watchdog when this one dies or stands still.
//!
//! A program that is killed says no last words, and a board that holds its last torque for ever would hold it. So a process of its
//! own shares the port and waits at a pipe: signs of life come through it as long as the tick commands the device. When they
//! stay away it says the words that end all force; when the pipe breaks it says them and ends.

use super::port::Port;
use crate::protocol::TxBytes;
use haptic_device::MonotonicNs;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::Duration;

/// Signs of life come this often, ns.
const BEAT_EVERY_NS: u64 = 20_000_000;
/// What is sent: the tick is alive; all is well and over.
const ALIVE: u8 = b'.';
const OVER: u8 = b'q';
/// The last words are said so often, this far apart: the first ones may end half a message that was cut short.
const TIMES: u32 = 3;
const APART: Duration = Duration::from_millis(5);

/// The program that stands guard. It is started with its arguments, the words in hexadecimal digits and the patience in ms;
/// it calls [`run_dead_man`] with its standard input and output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardianProgram {
    /// Where it is.
    pub program: PathBuf,
    /// What comes before the words.
    pub arguments: Vec<String>,
    /// Silence of the tick that ends the force.
    pub patience: Duration,
}

/// This process's end.
#[derive(Debug)]
pub struct DeadMan {
    process: Child,
    signs: Option<ChildStdin>,
    /// Commands that had gone out at the last sign, and when that was.
    commands: u64,
    given_at: MonotonicNs,
}

impl DeadMan {
    /// Starts the process for a device on an open port. It hears none of the signals that a terminal sends to this one.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(program: &GuardianProgram, port: &Port, words: &TxBytes) -> io::Result<Self> {
        let digits: String = words.bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut command = Command::new(&program.program);
        command.args(&program.arguments).arg(digits).arg(program.patience.as_millis().to_string());
        command.stdin(Stdio::piped()).stdout(port.shared()?).stderr(Stdio::null()).process_group(0);
        let mut process = command.spawn()?;
        let signs = process.stdin.take();
        if let Some(signs) = &signs {
            rustix::fs::fcntl_setfl(signs, OFlags::NONBLOCK)?;
        }
        Ok(Self { process, signs, commands: 0, given_at: MonotonicNs(0) })
    }

    /// Gives a sign of life if the tick has commanded the device since the last. Not for the tick.
    pub fn heartbeat(&mut self, commands: u64, now: MonotonicNs) {
        if commands != self.commands && now.since(self.given_at) >= BEAT_EVERY_NS {
            (self.commands, self.given_at) = (commands, now);
            self.give(ALIVE);
        }
    }

    fn give(&mut self, sign: u8) {
        if let Some(signs) = &mut self.signs {
            // A guardian that is gone cannot be told anything; one that does not listen will not be told more.
            let _ = signs.write(&[sign]);
        }
    }
}

impl Drop for DeadMan {
    fn drop(&mut self) {
        self.give(OVER);
        self.signs = None;
        // It ends by itself; this only takes its remains away.
        let _ = self.process.wait();
    }
}

/// The guardian's own work: waits for signs of life and says the words when they stay away, and again as long as they do. Before the
/// first sign no force was asked for, and only the end of the other process counts.
///
/// # Errors
/// When the port is gone; then there is nobody to say anything to.
pub fn run_dead_man(
    mut signs: impl Read + AsFd,
    mut port: impl Write,
    words: &[u8],
    patience: Duration,
) -> io::Result<()> {
    let mut is_awake = false;
    loop {
        if !comes_within(&signs, patience)? {
            if is_awake {
                say(&mut port, words)?;
            }
            continue;
        }
        let mut heard = [0; 64];
        match signs.read(&mut heard) {
            Ok(0) => return (0..TIMES).try_for_each(|_| say(&mut port, words)),
            Ok(count) if heard[..count].contains(&OVER) => return Ok(()),
            Ok(_) => is_awake = true,
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {}
            Err(_) => return say(&mut port, words),
        }
    }
}

fn comes_within(signs: &impl AsFd, patience: Duration) -> io::Result<bool> {
    let timeout = Timespec { tv_sec: patience.as_secs() as i64, tv_nsec: i64::from(patience.subsec_nanos()) };
    match poll(&mut [PollFd::new(signs, PollFlags::IN)], Some(&timeout)) {
        Ok(count) => Ok(count > 0),
        Err(rustix::io::Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// The port does not block: what finds no room is tried again soon, from where it was cut.
fn say(port: &mut impl Write, words: &[u8]) -> io::Result<()> {
    let mut left = words;
    for _ in 0..100 {
        match port.write(left) {
            Ok(count) => left = &left[count..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if left.is_empty() {
            port.flush()?;
            std::thread::sleep(APART);
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Err(io::ErrorKind::TimedOut.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::{Receiver, channel};

    /// A port that keeps what is written to it.
    struct Kept(std::sync::mpsc::Sender<Vec<u8>>);

    impl Write for Kept {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(bytes.to_vec()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn guard(patience: Duration) -> (UnixStream, Receiver<Vec<u8>>, std::thread::JoinHandle<io::Result<()>>) {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (port, said) = channel();
        (ours, said, std::thread::spawn(move || run_dead_man(theirs, Kept(port), b"zero", patience)))
    }

    /// A port that takes three bytes at a time, every other time.
    #[derive(Default)]
    struct Narrow {
        taken: Vec<u8>,
        tries: u32,
    }

    impl Write for Narrow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.tries += 1;
            if self.tries % 2 == 1 {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let count = bytes.len().min(3);
            self.taken.extend(&bytes[..count]);
            Ok(count)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn words_that_find_room_for_a_part_only_are_said_to_their_end() {
        let mut port = Narrow::default();
        say(&mut port, b"no more torque").unwrap();
        assert_eq!(port.taken, b"no more torque");
    }

    const LONG: Duration = Duration::from_secs(3600);

    #[test]
    fn when_the_other_process_dies_the_last_words_are_said() {
        let (signs, said, thread) = guard(LONG);
        drop(signs);
        thread.join().unwrap().unwrap();
        assert_eq!(said.iter().collect::<Vec<_>>(), [b"zero", b"zero", b"zero"]);
    }

    #[test]
    fn when_all_is_over_nothing_is_said() {
        let (mut signs, said, thread) = guard(LONG);
        signs.write_all(&[ALIVE, ALIVE, OVER]).unwrap();
        thread.join().unwrap().unwrap();
        assert_eq!(said.iter().count(), 0);
    }

    #[test]
    fn when_signs_of_life_stay_away_the_words_are_said_until_they_come_again() {
        let (mut signs, said, thread) = guard(Duration::from_millis(10));
        signs.write_all(&[ALIVE]).unwrap();
        assert_eq!((said.recv().unwrap(), said.recv().unwrap()), (b"zero".to_vec(), b"zero".to_vec()));
        signs.write_all(&[OVER]).unwrap();
        thread.join().unwrap().unwrap();
    }
}
