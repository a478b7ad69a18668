//! What carries reports, so that the backend can be tried without a kernel.

use super::report::Report;
use std::io;
use std::time::Duration;

/// One way to a HID device. Several can be open at once.
pub trait HidLink: Send {
    /// Writes an output report, id first. May block for as long as the device takes.
    ///
    /// # Errors
    /// When the device is gone or refuses.
    fn write(&mut self, report: &Report) -> io::Result<()>;

    /// Waits for an input report at most so long; its length, 0 if none came. With an id first if the device has ids.
    ///
    /// # Errors
    /// When the device is gone.
    fn read(&mut self, into: &mut [u8], wait: Duration) -> io::Result<usize>;

    /// Writes a feature report, id first.
    ///
    /// # Errors
    /// When the device is gone or refuses.
    fn set_feature(&mut self, report: &Report) -> io::Result<()>;

    /// Fills a feature report whose id is set.
    ///
    /// # Errors
    /// When the device is gone or refuses.
    fn get_feature(&mut self, report: &mut Report) -> io::Result<()>;
}

/// An open device: both ways to it, and what it says of itself.
pub struct Opened {
    /// For input reports.
    pub reading: Box<dyn HidLink>,
    /// For output and feature reports.
    pub writing: Box<dyn HidLink>,
    /// Its report descriptor.
    pub descriptor: Vec<u8>,
    /// Name for people.
    pub name: String,
    /// Serial number; empty if it has none.
    pub serial_number: String,
    /// Time between two reports that its endpoint takes, ns.
    pub interval_ns: u64,
}

/// A place where a device may be plugged in.
pub trait HidPort: Send {
    /// Opens the device that is there now.
    ///
    /// # Errors
    /// In words for a person: nothing there, several, or not permitted.
    fn open(&mut self) -> Result<Opened, String>;
}
