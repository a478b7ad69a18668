//! Everything that is told, as it stands in the JSON. Numbers are SI, the unit is in the key.

pub mod scene;
pub mod settings;
pub mod state;
pub mod timing;

use serde::Serialize;
use std::sync::Arc;

/// A message as text, shared by all who want it.
pub type Text = Arc<str>;

/// A message as JSON text.
pub fn json(message: &impl Serialize) -> String {
    // Our own types have text keys only and no writer that fails, so there is nothing that could go wrong.
    serde_json::to_string(message).unwrap_or_default()
}

/// The same with the word that tells kinds apart in the stream put first.
pub fn with_type(kind: &str, object: &str) -> String {
    let rest = object.strip_prefix('{').unwrap_or("}");
    let comma = if rest.starts_with('}') { "" } else { "," };
    format!("{{\"type\":\"{kind}\"{comma}{rest}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_comes_first_and_the_rest_stays() {
        assert_eq!(with_type("state", r#"{"tick":1}"#), r#"{"type":"state","tick":1}"#);
        assert_eq!(with_type("state", "{}"), r#"{"type":"state"}"#);
    }
}
