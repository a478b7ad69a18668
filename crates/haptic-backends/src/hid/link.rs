//! Transport of HID reports, defined as traits so that backends can be tested without a kernel.

use super::report::Report;
use crate::open_error::OpenError;
use std::io;
use std::time::Duration;

/// An open handle to a HID device. Several handles to one device can be open at the same time.
pub trait HidLink: Send {
    /// Writes an output report, which starts with its id. May block until the device has accepted it.
    ///
    /// # Errors
    /// If the device is gone or rejects the request.
    fn write(&mut self, report: &Report) -> io::Result<()>;

    /// Waits at most `wait` for an input report, reads it into `into` and returns its length; 0 if none arrived. The
    /// report starts with its id if the device uses ids.
    ///
    /// # Errors
    /// If the device is gone.
    fn read(&mut self, into: &mut [u8], wait: Duration) -> io::Result<usize>;

    /// Writes a feature report, which starts with its id.
    ///
    /// # Errors
    /// If the device is gone or rejects the request.
    fn set_feature(&mut self, report: &Report) -> io::Result<()>;

    /// Reads a feature report into `report`, whose id must be set.
    ///
    /// # Errors
    /// If the device is gone or rejects the request.
    fn get_feature(&mut self, report: &mut Report) -> io::Result<()>;
}

/// An open HID device: handles for both directions, and a description of the device.
pub struct Opened {
    /// Handle for input reports.
    pub reading: Box<dyn HidLink>,
    /// Handle for output and feature reports.
    pub writing: Box<dyn HidLink>,
    /// Report descriptor.
    pub descriptor: Vec<u8>,
    /// Display name.
    pub name: String,
    /// Serial number; empty if the device has none.
    pub serial_number: String,
    /// Interval of the output endpoint, ns.
    pub interval_ns: u64,
}

/// Finds and opens a HID device.
pub trait HidPort: Send {
    /// Opens the matching device among the connected ones.
    ///
    /// # Errors
    /// If no device or several devices match, or permission is denied.
    fn open(&mut self) -> Result<Opened, OpenError>;
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A link on which every call fails.
    pub struct NoLink;

    impl HidLink for NoLink {
        fn write(&mut self, _: &Report) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn read(&mut self, _: &mut [u8], _: Duration) -> io::Result<usize> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn set_feature(&mut self, _: &Report) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }

        fn get_feature(&mut self, _: &mut Report) -> io::Result<()> {
            Err(io::ErrorKind::NotConnected.into())
        }
    }
}
