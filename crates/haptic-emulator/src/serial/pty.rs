//! The device end of a pseudo-terminal, with an optional symbolic link to the host end.

use haptic_realtime::poll::input_events;
use rustix::event::PollFlags;
use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A pseudo-terminal used in place of a serial port.
#[derive(Debug)]
pub struct Pty {
    far: fs::File,
    name: PathBuf,
    link: Option<PathBuf>,
    host_is_there: bool,
}

impl Pty {
    /// Creates a pseudo-terminal. `link`, if any, is the path of a symbolic link to its port. The new link replaces an
    /// existing link, but never a file.
    ///
    /// # Errors
    /// If the system cannot create the pseudo-terminal, or `link` exists and is not a symbolic link.
    pub fn open(link: Option<&Path>) -> io::Result<Self> {
        let far = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY)?;
        grantpt(&far)?;
        unlockpt(&far)?;
        let name = PathBuf::from(ptsname(&far, Vec::new())?.into_string().map_err(io::Error::other)?);
        make_raw(&name)?;
        rustix::fs::fcntl_setfl(&far, OFlags::NONBLOCK)?;
        if let Some(link) = link {
            replace_link(&name, link)?;
        }
        Ok(Self { far: far.into(), name, link: link.map(Path::to_owned), host_is_there: false })
    }

    /// Path of the port that the host opens.
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// Whether a host had the port open at the last wait or read.
    pub fn host_is_there(&self) -> bool {
        self.host_is_there
    }

    /// Waits for bytes from the host, for at most `within`.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn wait(&mut self, within: Duration) -> io::Result<()> {
        self.host_is_there = !input_events(&self.far, within)?.contains(PollFlags::HUP);
        if !self.host_is_there {
            // Without a host, poll returns immediately, so sleep instead.
            std::thread::sleep(within);
        }
        Ok(())
    }

    /// Reads bytes sent by the host and returns their number; zero if there are none. Does not wait.
    pub fn read(&mut self, buffer: &mut [u8]) -> usize {
        let count = self.far.read(buffer).unwrap_or(0);
        // Bytes prove that a host is connected.
        self.host_is_there |= count > 0;
        count
    }

    /// Sends bytes to the host. Bytes that the host does not read are lost, as on a real line.
    pub fn write(&mut self, bytes: &[u8]) {
        if self.host_is_there {
            let _ = self.far.write(bytes);
        }
    }
}

impl Drop for Pty {
    fn drop(&mut self) {
        if let Some(link) = self.link.as_ref().filter(|link| fs::read_link(link).is_ok_and(|name| name == self.name)) {
            let _ = fs::remove_file(link);
        }
    }
}

/// Sets the port to raw mode. The settings persist after the port is closed, as long as the device end is open.
fn make_raw(name: &Path) -> io::Result<()> {
    let near = rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty())?;
    let mut settings = tcgetattr(&near)?;
    settings.make_raw();
    Ok(tcsetattr(&near, OptionalActions::Now, &settings)?)
}

fn replace_link(name: &Path, link: &Path) -> io::Result<()> {
    match fs::symlink_metadata(link) {
        Ok(there) if there.is_symlink() => fs::remove_file(link)?,
        Ok(_) => {
            let problem = format!("{} exists and is not a link; choose another path", link.display());
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, problem));
        }
        Err(_) => {}
    }
    std::os::unix::fs::symlink(name, link)
}
