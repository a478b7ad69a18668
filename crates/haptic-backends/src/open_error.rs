//! Why a device cannot be opened.

use crate::serial;
use std::fmt;

/// Why a device cannot be opened, with the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OpenError {
    /// A device on a serial line.
    Serial(serial::OpenError),
    /// A device behind a node.
    Node(String),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Serial(error) => error.fmt(f),
            Self::Node(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for OpenError {}

impl From<serial::OpenError> for OpenError {
    fn from(error: serial::OpenError) -> Self {
        Self::Serial(error)
    }
}

impl From<String> for OpenError {
    fn from(error: String) -> Self {
        Self::Node(error)
    }
}
