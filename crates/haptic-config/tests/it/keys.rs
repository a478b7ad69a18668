//! The definitions of the keys are complete and correct.

use haptic_backends::KINDS;
use haptic_config::keys::{FILES, Key, SectionSpec, Value};
use haptic_config::source::Source;
use haptic_config::{device, profile, scene, schema};

fn problems(file: &str, text: &str) -> String {
    let source = Source::in_memory("key.toml", text);
    let result = match file {
        "scene" => scene::describe(&source).map(drop),
        "profile" => profile::load(&source).map(drop),
        _ => device::load(&source, KINDS).map(drop),
    };
    result.err().map_or(String::new(), |errors| errors.to_string())
}

/// Returns the example of a section with one of its keys set to a value: in the first section with its header, or as the
/// only key of a table in braces.
fn with_value(section: &SectionSpec, key: &Key, value: &str) -> String {
    let line = format!("{} = {value}", key.name);
    if section.header.contains('…') {
        return format!("[[body]]\nname = \"body\"\n{}\n", section.header.replace('…', &line));
    }
    let first = if section.header.is_empty() { Some(0) } else { None };
    let lines: Vec<&str> = section.example.lines().collect();
    let start = first.or_else(|| lines.iter().position(|line| *line == section.header).map(|at| at + 1)).unwrap();
    let end = lines[start..].iter().position(|line| line.starts_with('[')).map_or(lines.len(), |at| start + at);
    let is_other = |other: &&&str| !other.starts_with(&format!("{} = ", key.name));
    let body: Vec<&str> = lines[start..end].iter().filter(is_other).copied().collect();
    format!("{}\n{line}\n{}\n{}\n", lines[..start].join("\n"), body.join("\n"), lines[end..].join("\n"))
}

/// Returns a file with a key that another one in the same table in braces needs, as the message about it says.
fn completed(file: &str, text: &str) -> String {
    match problems(file, text).split_once("is missing; write ") {
        Some((_, line)) => text.replace(" }", &format!(", {line} }}")),
        None => text.to_owned(),
    }
}

#[test]
fn every_example_and_default_is_accepted_in_its_section() {
    for (file, root) in FILES {
        for section in root.all() {
            let alternatives = section.alternatives().count();
            // A list of texts names files, which a text in memory cannot have beside it.
            let is_value = |key: &&&Key| key.section().is_none() && !matches!(key.value, Value::Texts);
            for key in section.keys.iter().filter(is_value) {
                // A table in braces is tested with one key only.
                if section.header.contains('…') && (alternatives == 0 || !key.is_alternative) {
                    continue;
                }
                for value in [Some(key.example_text()), key.default_text()].into_iter().flatten() {
                    let text = with_value(section, key, &value);
                    assert_eq!(problems(file, &completed(file, &text)), "", "{text}");
                }
            }
        }
    }
}

#[test]
fn every_example_and_default_satisfies_its_own_schema() {
    for (file, root) in FILES {
        let schema = schema::schema(file, root, KINDS);
        for (name, property) in schema["properties"].as_object().unwrap() {
            assert_satisfied(&format!("{file}: {name}"), property);
        }
    }
}

fn assert_satisfied(place: &str, property: &serde_json::Value) {
    let validator = jsonschema::draft202012::new(property).unwrap();
    let examples = property["examples"].as_array().into_iter().flatten();
    for value in examples.chain(property.get("default")) {
        assert!(validator.is_valid(value), "{place}: {value}");
    }
    let inner = property.get("properties").or_else(|| property["items"].get("properties"));
    for (name, inner) in inner.and_then(|inner| inner.as_object()).into_iter().flatten() {
        assert_satisfied(&format!("{place}.{name}"), inner);
    }
}

#[test]
fn no_section_has_a_key_twice_and_every_key_has_a_sentence_and_a_value() {
    for (_, root) in FILES {
        for section in root.all() {
            let names = section.names();
            for (index, key) in section.keys.iter().enumerate() {
                let place = format!("{}: {}", section.header, key.name);
                assert!(!names[..index].contains(&key.name), "{place} is there twice");
                assert!(key.about.len() > 10 && !key.about.ends_with('.'), "{place}: {:?}", key.about);
                assert!(key.section().is_some() || !key.example_text().is_empty(), "{place} has no example");
            }
        }
    }
}

#[test]
fn times_and_points_of_a_path_have_their_own_limits() {
    let scene = |row: &str| {
        let body = "[[body]]\nname = \"a\"\nshape = { disc_radius_m = 0.01 }\n";
        let text = format!("{body}[hand]\nloop = false\npath = [[0.0, 0.0, 0.0], {row}]\n");
        scene::load_file(&Source::in_memory("path.toml", &text)).map(|file| file.warnings.len())
    };
    assert_eq!(scene("[1000.0, 0.1, 0.1]"), Ok(0));
    assert_eq!(scene("[10000.0, 0.1, 0.1]"), Ok(1));
    assert_eq!(scene("[1000.0, 20.0, 0.1]"), Ok(1));
    assert!(scene("[1.0, 2000.0, 0.1]").is_err());
}
