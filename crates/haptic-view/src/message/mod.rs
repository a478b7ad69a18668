//! The JSON messages of the API. Numbers are in SI units, with the unit in the key.

pub mod scene;
pub mod settings;
pub mod state;
pub mod timing;

use serde::Serialize;
use std::sync::Arc;

/// A message as text, shared by all clients.
pub type Text = Arc<str>;

/// A message as JSON text.
pub fn json(message: &impl Serialize) -> String {
    // Cannot fail: all keys are strings, and no serialiser here returns an error.
    serde_json::to_string(message).unwrap_or_default()
}

/// Puts the key `type`, which distinguishes the messages of the stream, in front of an object's keys.
pub fn with_type(kind: &str, object: &str) -> String {
    let rest = object.strip_prefix('{').unwrap_or("}");
    let comma = if rest.starts_with('}') { "" } else { "," };
    format!("{{\"type\":\"{kind}\"{comma}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_type_comes_first_and_the_rest_stays() {
        assert_eq!(with_type("state", r#"{"tick":1}"#), r#"{"type":"state","tick":1}"#);
        assert_eq!(with_type("state", "{}"), r#"{"type":"state"}"#);
    }
}
