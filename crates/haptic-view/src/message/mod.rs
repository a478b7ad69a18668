//! JSON messages of the API. Numbers are in SI units, with the unit in the key.

pub mod scene;
pub mod settings;
pub mod state;
pub mod timing;

use serde::Serialize;
use std::sync::Arc;

/// Text of a message, shared by all clients.
pub type Text = Arc<str>;

/// Converts a message to JSON text.
pub fn json(message: &impl Serialize) -> String {
    // This cannot fail: all keys are strings, and no serialiser here returns an error.
    serde_json::to_string(message).unwrap_or_default()
}

/// Inserts the key `type`, which identifies the messages of the stream, before the other keys of an object.
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
