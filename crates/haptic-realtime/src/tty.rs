//! Two operations on serial ports that have no safe wrapper elsewhere.

use crate::system_calls;
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};

/// Takes ownership of an open port from a type that exposes only its descriptor.
pub fn own(port: impl IntoRawFd) -> OwnedFd {
    system_calls::own_descriptor(port)
}

/// Sets the low-latency flag of a serial port, which makes the driver forward bytes as they arrive; an FTDI chip
/// otherwise collects them for up to 16 ms. Returns whether the flag reads back as set.
///
/// # Errors
/// If the driver rejects or does not support the flag. Pseudo-terminals and USB CDC devices do not support it, because
/// they do not collect bytes.
pub fn set_low_latency(port: &impl AsFd) -> io::Result<bool> {
    system_calls::set_low_latency(port.as_fd())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::Read;

    #[test]
    fn what_is_no_serial_port_has_no_low_latency_flag() {
        assert!(set_low_latency(&File::open("/dev/null").unwrap()).is_err());
    }

    #[test]
    fn an_owned_file_reads_on_where_it_was() {
        let file = File::open("/dev/zero").unwrap();
        let mut again = File::from(own(file));
        let mut bytes = [1; 4];
        again.read_exact(&mut bytes).unwrap();
        assert_eq!(bytes, [0; 4]);
    }
}
