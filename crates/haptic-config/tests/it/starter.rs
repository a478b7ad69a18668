//! Files to start from have every key, in its section, with its sentence.

use haptic_backends::KINDS;
use haptic_config::keys::FILES;
use haptic_config::{schema, starter};
use serde_json::Value;

/// Removes the `#` before keys and headers, but not before explanations.
fn with_all_keys(starter: &str) -> String {
    let is_key = |line: &str| line.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c != ' '));
    let lines = starter.lines().map(|line| if is_key(line) { &line[1..] } else { line });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn with_the_signs_removed_every_key_is_there_and_valid() {
    for (file, root) in FILES {
        let text = with_all_keys(&starter::starter("A file.", root, KINDS));
        let instance = schema::to_json(&text).unwrap_or_else(|error| panic!("{file}: {error}\n{text}"));
        let validator = jsonschema::draft202012::new(&schema::schema(file, root, KINDS)).unwrap();
        let problems: Vec<String> =
            validator.iter_errors(&instance).map(|error| format!("{}: {error}", error.instance_path())).collect();
        assert_eq!(problems, [""; 0], "{text}");
        for key in root.keys {
            let Some(section) = key.section() else {
                assert!(instance.get(key.name).is_some(), "{file}: {}", key.name);
                continue;
            };
            let value = &instance[key.name];
            let table = value.as_array().map_or(value, |entries| &entries[0]);
            let given = section.alternatives().filter(|inner| table.get(inner.name).is_some()).count();
            assert_eq!(given, section.alternatives().count().min(1), "{file}: {}", key.name);
            for inner in section.keys.iter().filter(|inner| !inner.is_alternative) {
                assert_ne!(table[inner.name], Value::Null, "{file}: {}.{}", key.name, inner.name);
            }
        }
    }
}

#[test]
fn every_line_of_a_key_ends_with_its_sentence() {
    for (file, root) in FILES {
        let text = starter::starter("A file.", root, KINDS);
        for key in root.all().into_iter().flat_map(|section| section.keys).filter(|key| key.section().is_none()) {
            let is_explained = |line: &str| line.contains(&format!("{} = ", key.name)) && line.contains(key.about);
            assert!(text.lines().any(is_explained), "{file}: {}\n{text}", key.name);
        }
    }
}
