//! A key that is added to a section appears wherever keys appear.

use super::*;
use crate::remedy::for_unknown_key;
use crate::{reference, schema, starter};
use haptic_device::kind::{Kinds, SIMULATED};

static KINDS: Kinds = &[&SIMULATED];

static ADDED: Key =
    Key::number("stickiness_n_per_m", "How much it sticks", Limits::new(Range::up_to(5.0), Range::up_to(1.0)))
        .or(Default::Number(|| 0.25));

fn leaked<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

/// Returns a copy of a section, and of all sections in it, in which one has another key.
fn with_added_key(section: &'static SectionSpec, extended: &SectionSpec) -> &'static SectionSpec {
    let copy = |key: &&'static Key| -> &'static Key {
        let inner = |section| with_added_key(section, extended);
        let value = match key.value {
            Value::Section(section) => Value::Section(inner(section)),
            Value::Sections(section) => Value::Sections(inner(section)),
            other => other,
        };
        leaked(Key { value, ..**key })
    };
    let added = std::ptr::eq(section, extended).then_some(&ADDED);
    let keys: Vec<&'static Key> = section.keys.iter().map(copy).chain(added).collect();
    leaked(SectionSpec { keys: leaked(keys), ..*section })
}

#[test]
fn a_key_added_to_any_section_appears_in_schema_reference_starter_and_remedies() {
    for (file, root) in FILES {
        for section in root.all().into_iter().filter(|section| !section.keys.is_empty()) {
            let place = format!("{file} {}", section.header);
            let root = with_added_key(root, section);
            let home = root.all().into_iter().find(|section| section.key(ADDED.name).is_some()).unwrap();
            let schema = schema::schema(file, root, KINDS).to_string();
            assert!(schema.contains("\"stickiness_n_per_m\":{\"default\":0.25,"), "{place}");
            let page = reference::page("{{keys}}", root, KINDS);
            let row = "| `stickiness_n_per_m` | number, N/m | `0.25` | 0 to 5; usually 0 to 1 | How much it sticks |";
            assert!(page.contains(row), "{place}");
            let starter = starter::starter("", root, KINDS);
            let line = starter.lines().find(|line| line.contains("stickiness_n_per_m = 0.25"));
            assert!(line.is_some_and(|line| line.ends_with("# How much it sticks")), "{place}: {starter}");
            let remedy = for_unknown_key("stickiness", "0.5", home, root);
            assert_eq!(remedy, "did you mean stickiness_n_per_m? write stickiness_n_per_m = 0.5", "{place}");
            assert!(for_unknown_key("qqqq", "1", home, root).contains("stickiness_n_per_m"), "{place}");
        }
    }
}
