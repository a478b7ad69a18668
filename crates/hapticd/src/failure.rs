//! Failure of a command, with its exit code.

use haptic_config::error::FileErrors;
use std::fmt;
use std::path::Path;

/// Reason why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Failed while running: exit code 1.
    Runtime(String),
    /// Invalid input: exit code 2.
    BadInput(String),
    /// Hardware without real-time scheduling: exit code 3.
    NoRealtime(String),
    /// A comparison failed: exit code 4.
    Mismatch(String),
}

impl Failure {
    /// Creates the failure for a file that cannot be created or written.
    pub fn unwritable(path: &Path, error: &std::io::Error) -> Self {
        let remedy = "name a file in an existing, writable folder with free space";
        Self::BadInput(format!("{}: cannot be written: {error}; {remedy}", path.display()))
    }

    /// Returns the exit code of the process.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Runtime(_) => 1,
            Self::BadInput(_) => 2,
            Self::NoRealtime(_) => 3,
            Self::Mismatch(_) => 4,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Runtime(text) | Self::BadInput(text) | Self::NoRealtime(text) | Self::Mismatch(text) => {
                f.write_str(text)
            }
        }
    }
}

impl std::error::Error for Failure {}

impl From<FileErrors> for Failure {
    fn from(errors: FileErrors) -> Self {
        Self::BadInput(errors.to_string())
    }
}

/// Treats every I/O error as a failure to write to standard output.
impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Runtime(format!("cannot write the result: {error}"))
    }
}
