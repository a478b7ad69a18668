//! JSON Schemas (draft 2020-12) of scene, profile and device files, derived from the definitions of their keys.
//!
//! They use only keywords that mean the same in all drafts, because not every editor supports this one.

use crate::keys::scene::TIME;
use crate::keys::{Key, Limits, Range, SectionSpec, Value};
use crate::section::MAX_CPU;
use haptic_device::kind::Kinds;
use serde_json::{Map, Value as Json, json};
use toml::de::{DeTable, DeValue};

/// Pattern of colours: `#rrggbb` or a name.
const COLOUR: &str = "^(#[0-9a-fA-F]{6}|[a-zA-Z]+)$";

/// Returns the schema of a file with the given top level. `file` is the kind of the file, such as `scene`; `kinds` are
/// the device kinds that a device file can name.
pub fn schema(file: &str, root: &SectionSpec, kinds: Kinds) -> Json {
    let mut schema = Map::new();
    schema.insert("$schema".into(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".into(), format!("hapticd {file} file").into());
    schema.extend(section(root, kinds));
    Json::Object(schema)
}

fn section(spec: &SectionSpec, kinds: Kinds) -> Map<String, Json> {
    let properties: Map<String, Json> =
        spec.keys.iter().map(|key| (key.name.to_owned(), property(key, kinds))).collect();
    let required: Vec<&str> = spec.keys.iter().filter(|key| key.is_required()).map(|key| key.name).collect();
    let alternatives: Vec<Json> = spec.alternatives().map(|key| json!({ "required": [key.name] })).collect();
    let mut schema = object(json!({
        "type": "object",
        "description": spec.about,
        "properties": properties,
        "additionalProperties": false,
    }));
    // Draft 4 forbids empty lists.
    for (keyword, entries) in [("required", json!(required)), ("oneOf", json!(alternatives))] {
        if entries.as_array().is_some_and(|entries| !entries.is_empty()) {
            schema.insert(keyword.to_owned(), entries);
        }
    }
    schema
}

fn property(key: &Key, kinds: Kinds) -> Json {
    let mut schema = object(value(key, kinds));
    schema.insert("description".to_owned(), description(key).into());
    if let Some(default) = key.default_text().and_then(|text| json_of(&text)) {
        schema.insert("default".to_owned(), default);
    }
    if let Some(example) = json_of(&key.example_text()) {
        schema.insert("examples".to_owned(), json!([example]));
    }
    Json::Object(schema)
}

/// Returns the description of a key, with what the keywords of a schema cannot express.
fn description(key: &Key) -> String {
    let unit = match key.unit().symbol {
        "" => String::new(),
        symbol => format!(" Unit: {symbol}."),
    };
    let usual = key.limits().filter(|limits| limits.accepted != limits.recommended);
    let usual = usual.map_or(String::new(), |limits| format!(" Usual: {}.", limits.recommended));
    format!("{}.{unit}{usual}", key.about)
}

/// Returns the part of the schema that a value must satisfy.
fn value(key: &Key, kinds: Kinds) -> Json {
    match key.value {
        Value::Number(Limits { accepted, .. }) => number(accepted),
        Value::PerAxis(Limits { accepted: Range { min, max }, .. }) => json!({
            "type": ["number", "array"], "minimum": min, "maximum": max,
            "items": number(Range::new(min, max)), "minItems": 1, "maxItems": 2,
        }),
        Value::Vector(limits) => tuple(number(limits.accepted), 2),
        Value::Points(limits) => list(tuple(number(limits.accepted), 2)),
        Value::Corners(limits) => tuple(tuple(number(limits.accepted), 2), 2),
        Value::Rows(limits) => list(tuple(number(time_or(limits.accepted)), 3)),
        Value::Whole(min, max) => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Value::Cpu => {
            json!({ "anyOf": [{ "enum": ["auto"] }, { "type": "integer", "minimum": 0, "maximum": MAX_CPU }] })
        }
        Value::Flag => json!({ "type": "boolean" }),
        Value::Text => text(),
        Value::TwoTexts => tuple(text(), 2),
        Value::Texts => list(text()),
        Value::Colour => json!({ "type": "string", "pattern": COLOUR }),
        Value::Choice(_) | Value::DeviceKind | Value::Variant => json!({ "type": "string", "enum": names(key, kinds) }),
        Value::TwoChoices(names) => tuple(json!({ "type": "string", "enum": names }), 2),
        Value::Section(spec) => Json::Object(section(spec, kinds)),
        Value::Sections(spec) => list(Json::Object(section(spec, kinds))),
    }
}

/// Returns the texts that a key accepts, if it is a choice.
pub(crate) fn names(key: &Key, kinds: Kinds) -> Vec<&'static str> {
    match key.value {
        Value::Choice(names) => names.to_vec(),
        Value::DeviceKind => kinds.iter().map(|kind| kind.name).collect(),
        Value::Variant => kinds.iter().flat_map(|kind| kind.variants).copied().collect(),
        _ => Vec::new(),
    }
}

fn number(Range { min, max }: Range) -> Json {
    json!({ "type": "number", "minimum": min, "maximum": max })
}

/// Returns the range of times and points together, because a schema for all drafts cannot have a range for each column.
fn time_or(point: Range) -> Range {
    Range::new(point.min.min(TIME.accepted.min), point.max.max(TIME.accepted.max))
}

fn text() -> Json {
    json!({ "type": "string", "minLength": 1 })
}

fn list(entry: Json) -> Json {
    json!({ "type": "array", "items": entry })
}

fn tuple(entry: Json, length: usize) -> Json {
    json!({ "type": "array", "items": entry, "minItems": length, "maxItems": length })
}

fn object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(object) => object,
        _ => Map::new(),
    }
}

/// Converts a TOML file to JSON, as validators see it.
///
/// # Errors
/// If the text is not TOML.
pub fn to_json(text: &str) -> Result<Json, toml::de::Error> {
    DeTable::parse(text).map(|table| converted_table(table.get_ref()))
}

/// Converts a TOML value to JSON; `None` if it is not one.
fn json_of(text: &str) -> Option<Json> {
    let mut table = object(to_json(&format!("value = {text}")).ok()?);
    table.remove("value")
}

fn converted(value: &DeValue<'_>) -> Json {
    match value {
        DeValue::String(text) => json!(text),
        DeValue::Integer(integer) => json!(i64::from_str_radix(integer.as_str(), integer.radix()).ok()),
        DeValue::Float(float) => json!(float.as_str().parse::<f64>().ok()),
        DeValue::Boolean(flag) => json!(flag),
        DeValue::Datetime(date) => json!(date.to_string()),
        DeValue::Array(entries) => entries.iter().map(|entry| converted(entry.get_ref())).collect(),
        DeValue::Table(table) => converted_table(table),
    }
}

fn converted_table(table: &DeTable<'_>) -> Json {
    table.iter().map(|(key, value)| (key.get_ref().to_string(), converted(value.get_ref()))).collect()
}
