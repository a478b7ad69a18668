//! A serial port, opened exclusively and non-blocking, in raw mode without echo.

use crate::open_error::PortError;
use crate::udev;
use haptic_realtime::poll::readable;
use haptic_realtime::tty;
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::time::Duration;

/// Maximum time for retrying a write while the port's buffer is full.
pub const WRITE_WITHIN: Duration = Duration::from_millis(100);

/// An open port.
#[derive(Debug)]
pub struct Port {
    file: File,
    name: String,
}

impl Port {
    /// Opens a port exclusively and discards any bytes received earlier.
    ///
    /// # Errors
    /// If the port cannot be opened. The error includes the remedy.
    pub fn open(name: &str, baud: u32) -> Result<Self, PortError> {
        let opened = serialport::new(name, baud).dtr_on_open(true).open_native();
        let file = File::from(tty::own(opened.map_err(|error| port_error(name, &error))?));
        let port = Self { file, name: name.to_owned() };
        let unusable = |error: Errno| PortError::Unusable { port: name.to_owned(), reason: error.to_string() };
        // serialport opens the port in blocking mode, but the tick must never wait for a full buffer.
        rustix::fs::fcntl_setfl(&port.file, OFlags::NONBLOCK).map_err(unusable)?;
        // If this fails, the earlier bytes are later counted as damaged.
        let _ = rustix::termios::tcflush(&port.file, rustix::termios::QueueSelector::IFlush);
        port.set_low_latency();
        Ok(port)
    }

    /// Name used to open the port.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Duplicates the open port for another process.
    ///
    /// # Errors
    /// If no file descriptor is free.
    pub fn shared(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    /// Sets the low-latency flag. Without it, FTDI chips collect bytes for 16 ms; other chips neither have nor need the
    /// flag.
    fn set_low_latency(&self) {
        let set = tty::set_low_latency(&self.file);
        if driver_of(&self.name).as_deref() == Some("ftdi_sio") && !matches!(set, Ok(true)) {
            tracing::warn!(
                "{}: the FTDI chip collects bytes for 16 ms and rejects the low-latency flag; {}",
                self.name,
                udev::REMEDY
            );
        }
    }

    /// Writes as many bytes as fit into the buffer and returns their number.
    ///
    /// # Errors
    /// `WouldBlock` if the buffer is full; another error if the port is gone.
    ///
    /// Real-time: one non-blocking system call.
    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        (&self.file).write(bytes)
    }

    /// Writes all bytes, waiting while the buffer is full. Not real-time.
    ///
    /// # Errors
    /// If the port is gone, or not all bytes could be written within [`WRITE_WITHIN`].
    pub fn write_all(&self, bytes: &[u8]) -> io::Result<()> {
        let written = write_all_within(WRITE_WITHIN, bytes, |bytes| self.write(bytes))?;
        if written == bytes.len() { Ok(()) } else { Err(timed_out()) }
    }

    /// Waits at most `within` for bytes, reads them into `buffer` and returns the number read; zero if none arrived.
    /// Not real-time.
    ///
    /// # Errors
    /// If the port is gone.
    pub fn read_within(&self, buffer: &mut [u8], within: Duration) -> io::Result<usize> {
        if !readable(&self.file, within)? {
            return Ok(0);
        }
        match (&self.file).read(buffer) {
            // A read of zero bytes means that the terminal was hung up.
            Ok(0) => Err(io::ErrorKind::BrokenPipe.into()),
            Ok(count) => Ok(count),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(0),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Port {
    fn drop(&mut self) {
        // Ends exclusive mode. A terminal that outlives this process, such as a pseudo-terminal, would otherwise stay
        // locked.
        let _ = rustix::termios::ioctl_tiocnxcl(&self.file);
    }
}

/// Writes to a non-blocking port and retries every millisecond while its buffer is full, for at most `within`. Returns
/// the number of bytes written, which is less than the length of `bytes` after a timeout.
///
/// # Errors
/// Any error of `write` except `WouldBlock`.
pub fn write_all_within(
    within: Duration,
    bytes: &[u8],
    mut write: impl FnMut(&[u8]) -> io::Result<usize>,
) -> io::Result<usize> {
    let mut written = 0;
    for _ in 0..within.as_millis() {
        if written == bytes.len() {
            break;
        }
        match write(&bytes[written..]) {
            Ok(count) => written += count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
        if written < bytes.len() {
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(written)
}

/// Returns the error for a port whose buffer stays full.
pub fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the port accepts no data")
}

fn port_error(name: &str, error: &serialport::Error) -> PortError {
    let port = name.to_owned();
    match error.kind() {
        serialport::ErrorKind::NoDevice => PortError::Busy { process: holder_of(name), port },
        serialport::ErrorKind::Io(io::ErrorKind::NotFound) => PortError::Missing { port },
        serialport::ErrorKind::Io(io::ErrorKind::PermissionDenied) => PortError::NotPermitted { port },
        _ => PortError::Unusable { port, reason: error.to_string() },
    }
}

/// Returns the name of a port's kernel driver, if it has one.
fn driver_of(name: &str) -> Option<String> {
    let port = fs::canonicalize(name).ok()?;
    let driver = fs::read_link(Path::new("/sys/class/tty").join(port.file_name()?).join("device/driver")).ok()?;
    Some(driver.file_name()?.to_str()?.to_owned())
}

/// Returns the id of a process that has the port open, if this user is permitted to see it.
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
    fn a_port_that_does_not_exist_is_missing() {
        let error = Port::open("/dev/no-such-port", 115_200).unwrap_err();
        assert!(error.to_string().contains("hapticd devices"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_a_terminal_is_unusable() {
        assert!(matches!(Port::open("/dev/null", 115_200), Err(PortError::Unusable { .. })));
    }

    #[test]
    fn a_denied_permission_is_reported_with_the_remedy() {
        let refused = serialport::Error::new(serialport::ErrorKind::Io(io::ErrorKind::PermissionDenied), "no");
        assert!(port_error("/dev/ttyACM0", &refused).to_string().contains(udev::REMEDY));
    }
}
