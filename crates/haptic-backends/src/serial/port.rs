//! A serial port, opened for us alone: raw, at its speed, without echo, and never blocking.

use haptic_realtime::tty;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;
use std::{fmt, fs};

/// Why a port cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortError {
    /// There is nothing of that name.
    Missing {
        /// The name.
        port: String,
    },
    /// No port belongs to a device with that serial number.
    NoSuchSerialNumber {
        /// The serial number.
        serial_number: String,
    },
    /// Somebody else has it open.
    Busy {
        /// The name.
        port: String,
        /// Who, if that can be seen.
        process: Option<u32>,
    },
    /// This user may not open it.
    NotPermitted {
        /// The name.
        port: String,
    },
    /// It cannot be used as a serial port.
    Unusable {
        /// The name.
        port: String,
        /// The system's reason.
        reason: String,
    },
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { port } => {
                write!(f, "{port} is not there; plug the device in, `hapticd devices` lists what is")
            }
            Self::NoSuchSerialNumber { serial_number } => {
                write!(
                    f,
                    "no serial port has serial_number {serial_number}; `hapticd devices` lists what is plugged in"
                )
            }
            Self::Busy { port, process: Some(process) } => {
                write!(f, "{port} is in use by process {process}; end that process")
            }
            Self::Busy { port, process: None } => write!(f, "{port} is in use by another process; end that process"),
            Self::NotPermitted { port } => write!(
                f,
                "{port} may not be opened by this user; run scripts/install-udev and plug the device in again, or join the \
                 group that owns it (usually dialout)"
            ),
            Self::Unusable { port, reason } => write!(f, "{port} cannot be used as a serial port: {reason}"),
        }
    }
}

impl std::error::Error for PortError {}

/// An open port.
#[derive(Debug)]
pub struct Port {
    file: File,
    name: String,
}

impl Port {
    /// Opens a port exclusively. What it received before is dropped.
    ///
    /// # Errors
    /// Why it cannot be opened, with the remedy.
    pub fn open(name: &str, baud: u32) -> Result<Self, PortError> {
        let opened = serialport::new(name, baud).dtr_on_open(true).open_native();
        let file = File::from(tty::own(opened.map_err(|error| told(name, &error))?));
        let port = Self { file, name: name.to_owned() };
        let unusable = |error: Errno| PortError::Unusable { port: name.to_owned(), reason: error.to_string() };
        // serialport makes it block again; the tick must never wait for a full buffer.
        rustix::fs::fcntl_setfl(&port.file, OFlags::NONBLOCK).map_err(unusable)?;
        // What cannot be dropped is understood as damage later.
        let _ = rustix::termios::tcflush(&port.file, rustix::termios::QueueSelector::IFlush);
        port.hand_on_at_once();
        Ok(port)
    }

    /// The name it was opened by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same open port for another process.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn shared(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// FTDI chips collect bytes for 16 ms unless told otherwise; others have no such flag and need none.
    fn hand_on_at_once(&self) {
        let set = tty::set_low_latency(&self.file);
        if driver_of(&self.name).as_deref() == Some("ftdi_sio") && !matches!(set, Ok(true)) {
            let remedy = "run scripts/install-udev and plug it in again";
            tracing::warn!("{}: the FTDI chip collects bytes for 16 ms and did not take the flag; {remedy}", self.name);
        }
    }

    /// Sends what there is room for and returns how many bytes that was.
    ///
    /// # Errors
    /// `WouldBlock` if there is no room, else what the system says of a port that is gone.
    ///
    /// Real-time: one system call that does not wait.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes)
    }

    /// Sends all, waiting a little where there is no room. Not for the tick.
    ///
    /// # Errors
    /// When the port is gone, or has no room for so long.
    pub fn write_patiently(&self, mut bytes: &[u8]) -> io::Result<()> {
        for _ in 0..100 {
            match self.write(bytes) {
                Ok(count) => bytes = &bytes[count..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
            if bytes.is_empty() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Err(io::Error::new(io::ErrorKind::TimedOut, "the port takes nothing"))
    }

    /// Waits for bytes and returns how many came: none if nothing came in time. Not for the tick.
    ///
    /// # Errors
    /// When the port is gone.
    pub fn read_within(&self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        let timeout = Timespec { tv_sec: within.as_secs() as i64, tv_nsec: i64::from(within.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(0),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        match (&self.file).read(buffer) {
            // The far end is gone: that is how a hung-up terminal reads.
            Ok(0) => Err(io::ErrorKind::BrokenPipe.into()),
            Ok(count) => Ok(count),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // The terminal may outlive us, as the far end of a pseudo-terminal does, and would stay closed to others.
        let _ = rustix::termios::ioctl_tiocnxcl(&self.file);
    }
}

fn told(name: &str, error: &serialport::Error) -> PortError {
    let port = name.to_owned();
    match error.kind() {
        serialport::ErrorKind::NoDevice => PortError::Busy { process: holder_of(name), port },
        serialport::ErrorKind::Io(io::ErrorKind::NotFound) => PortError::Missing { port },
        serialport::ErrorKind::Io(io::ErrorKind::PermissionDenied) => PortError::NotPermitted { port },
        _ => PortError::Unusable { port, reason: error.to_string() },
    }
}

/// The driver behind a port, if it says.
fn driver_of(name: &str) -> Option<String> {
    let port = fs::canonicalize(name).ok()?;
    let driver = fs::read_link(Path::new("/sys/class/tty").join(port.file_name()?).join("device/driver")).ok()?;
    Some(driver.file_name()?.to_str()?.to_owned())
}

/// The process that has a port open, as far as this user can see.
fn holder_of(name: &str) -> Option<u32> {
    let port = fs::canonicalize(name).ok()?;
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers.into_iter().find(|process| {
        let files = fs::read_dir(format!("/proc/{process}/fd")).into_iter().flatten().flatten();
        files.into_iter().any(|file| fs::read_link(file.path()).is_ok_and(|target| target == port))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_there_is_missing() {
        let error = Port::open("/dev/no-such-port", 115_200).unwrap_err();
        assert!(error.to_string().contains("hapticd devices"), "{error}");
    }

    #[test]
    fn what_is_no_terminal_is_unusable() {
        assert!(matches!(Port::open("/dev/null", 115_200), Err(PortError::Unusable { .. })));
    }

    #[test]
    fn a_refusal_of_the_system_names_the_remedy() {
        let refused = serialport::Error::new(serialport::ErrorKind::Io(io::ErrorKind::PermissionDenied), "no");
        assert!(told("/dev/ttyACM0", &refused).to_string().contains("scripts/install-udev"));
    }
}
