//! Errors that occur while opening a device.

use crate::protocol::HandshakeError;
use crate::udev;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Reason a device cannot be opened. The message includes the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// The serial port cannot be opened.
    Port(PortError),
    /// No connected device matches the device file.
    NotFound {
        /// Description of the device required by the backend.
        wanted: &'static str,
        /// List of the connected devices; empty if there are none.
        present: String,
    },
    /// Several connected devices match the device file.
    Ambiguous {
        /// Device-file keys that can select one of the devices.
        keys: &'static str,
        /// List of the matching devices.
        present: String,
    },
    /// The device node cannot be opened.
    Node {
        /// Path of the node.
        path: PathBuf,
        /// Error message of the operating system.
        reason: String,
        /// False if the user lacks permission to open the node.
        is_permitted: bool,
    },
    /// The device lacks a feature required by the backend, as described by the text.
    Unsupported(String),
    /// The device rejected a request.
    Rejected {
        /// The request that was rejected.
        request: String,
        /// Error message of the operating system.
        reason: String,
    },
    /// The handshake failed.
    Handshake(HandshakeError),
    /// The link was lost during the handshake, or a thread could not be started, as described by the text.
    System(String),
    /// An error with the name of the device or port.
    Of {
        /// Name of the device or port.
        device: String,
        /// The underlying error.
        cause: Box<OpenError>,
    },
}

impl OpenError {
    /// Adds the name of the device or port to the error.
    pub fn of(self, device: &str) -> Self {
        Self::Of { device: device.to_owned(), cause: Box::new(self) }
    }

    /// Creates the error for a node that cannot be opened.
    pub fn node(path: &Path, error: &io::Error) -> Self {
        let is_permitted = error.kind() != io::ErrorKind::PermissionDenied;
        Self::Node { path: path.to_owned(), reason: error.to_string(), is_permitted }
    }

    /// Creates the error for a request that the device rejected.
    pub fn rejected(request: impl Into<String>, error: &io::Error) -> Self {
        Self::Rejected { request: request.into(), reason: error.to_string() }
    }
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(error) => error.fmt(f),
            Self::NotFound { wanted, present } if present.is_empty() => {
                write!(f, "no such {wanted} is connected; there are none")
            }
            Self::NotFound { wanted, present } => write!(f, "no such {wanted} is connected; there are: {present}"),
            Self::Ambiguous { keys, present } => write!(f, "several devices match; write {keys}: {present}"),
            Self::Node { path, reason, is_permitted: true } => write!(f, "cannot open {}: {reason}", path.display()),
            Self::Node { path, reason, is_permitted: false } => {
                write!(f, "cannot open {}: {reason}; {}", path.display(), udev::REMEDY)
            }
            Self::Unsupported(text) => f.write_str(text),
            Self::Rejected { request, reason } => write!(f, "it rejected {request}: {reason}"),
            Self::Handshake(error) => error.fmt(f),
            Self::System(reason) => write!(f, "{reason}; plug the device in again"),
            Self::Of { device, cause } => write!(f, "{device}: {cause}"),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<PortError> for OpenError {
    fn from(error: PortError) -> Self {
        Self::Port(error)
    }
}

impl From<HandshakeError> for OpenError {
    fn from(error: HandshakeError) -> Self {
        Self::Handshake(error)
    }
}

/// Reason a serial port cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PortError {
    /// No port has this name.
    Missing {
        /// Name of the port.
        port: String,
    },
    /// No port belongs to a device with this serial number.
    NoSuchSerialNumber {
        /// The serial number.
        serial_number: String,
    },
    /// Another process has the port open.
    Busy {
        /// Name of the port.
        port: String,
        /// Id of the process that has the port open, if it can be determined.
        process: Option<u32>,
    },
    /// The user lacks permission to open the port.
    NotPermitted {
        /// Name of the port.
        port: String,
    },
    /// The device node cannot be used as a serial port.
    Unusable {
        /// Name of the port.
        port: String,
        /// Error message of the operating system.
        reason: String,
    },
}

impl fmt::Display for PortError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing { port } => {
                write!(f, "{port} does not exist; plug the device in; `hapticd devices` lists connected devices")
            }
            Self::NoSuchSerialNumber { serial_number } => {
                write!(f, "no serial port has serial_number {serial_number}; `hapticd devices` lists connected devices")
            }
            Self::Busy { port, process: Some(process) } => {
                write!(f, "{port} is in use by process {process}; end that process")
            }
            Self::Busy { port, process: None } => write!(f, "{port} is in use by another process; end that process"),
            Self::NotPermitted { port } => write!(
                f,
                "permission denied on {port}; {}, or join the group that owns it (usually dialout)",
                udev::REMEDY
            ),
            Self::Unusable { port, reason } => write!(f, "{port} cannot be used as a serial port: {reason}"),
        }
    }
}

impl std::error::Error for PortError {}
