//! Reasons why a running loop rejects a request.

use std::fmt;

/// Reason why a request was rejected. Each variant carries a message for the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ControlError {
    /// The request itself is wrong: an unknown key, a value outside its limits, a malformed scene.
    Invalid(String),
    /// The request conflicts with the current state of the loop; repeating it does not help until that state changes.
    NotNow(String),
    /// The loop is still processing earlier requests; the same request may succeed later.
    Busy(String),
}

impl fmt::Display for ControlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Invalid(text) | Self::NotNow(text) | Self::Busy(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for ControlError {}
