//! Reference of scene, profile and device files in Markdown: an introduction for each kind of file, followed by what the
//! definitions of the keys say. `scripts/update-reference` writes the pages.

mod pictures;

use crate::keys::{FILES, Key, Limits, Range, SectionSpec, Value};
use crate::schema;
use haptic_coupling::key::Decimal;
use haptic_device::kind::{HARDWARE_KEYS, KindSpec, Kinds, SIMULATED};
use std::fmt::Write;

pub use pictures::NAMES as PICTURES;

/// Files of the pages, in the order of [`FILES`], with their introductions.
const PAGES: [(&str, &str); 3] = [
    ("scenes.md", include_str!("scenes.md")),
    ("profiles.md", include_str!("profiles.md")),
    ("device-files.md", include_str!("device-files.md")),
];

/// Returns the file name and the text of every page.
pub fn pages(kinds: Kinds) -> Vec<(&'static str, String)> {
    let text = |(root, introduction): (&'static SectionSpec, &str)| page(introduction, root, kinds);
    PAGES.iter().zip(FILES).map(|((name, introduction), (_, root))| (*name, text((root, introduction)))).collect()
}

/// Returns a page: an introduction, in which `{{example}}`, `{{kinds}}` and `{{keys}}` stand for generated parts.
pub fn page(introduction: &str, root: &'static SectionSpec, kinds: Kinds) -> String {
    introduction
        .replace("{{about}}", root.about)
        .replace("{{example}}", code(root.example).trim_end())
        .replace("{{kinds}}", kind_table(kinds).trim_end())
        .replace("{{keys}}", sections(root, kinds).trim_end())
}

/// Describes all sections of a file, each once.
fn sections(root: &'static SectionSpec, kinds: Kinds) -> String {
    let mut described: Vec<&SectionSpec> = Vec::new();
    let mut text = String::new();
    for spec in root.all() {
        if !spec.keys.is_empty() && !described.iter().any(|other| std::ptr::eq(*other, spec)) {
            described.push(spec);
            text += &section(spec, kinds);
        }
    }
    text
}

/// Describes a section: its sentence, a picture if there is one, its keys and an example.
pub fn section(spec: &SectionSpec, kinds: Kinds) -> String {
    let is_root = spec.header.is_empty();
    let mut text = match is_root {
        true => "### Top level\n\n".to_owned(),
        false => format!("### {}\n\n{}\n\n", heading(spec), spec.about),
    };
    if spec.alternatives().next().is_some() {
        let names: Vec<String> = spec.alternatives().map(|key| format!("`{}`", key.name)).collect();
        text += &format!("Exactly one of {} must be given.\n\n", names.join(", "));
    }
    text += &pictures::of(spec);
    text += "| key | value | default | accepted | meaning |\n|---|---|---|---|---|\n";
    text.extend(spec.keys.iter().map(|key| row(key, kinds)));
    text += "\n";
    if !is_root && !spec.example.is_empty() {
        text += &code(spec.example);
    }
    text
}

/// Returns the heading of a section, such as `` `[world]` `` or `` `shape` ``.
fn heading(spec: &SectionSpec) -> String {
    format!("`{}`", spec.header.split(" = ").next().unwrap_or_default())
}

/// Returns a link to a section on the same page.
fn link(text: &str, spec: &SectionSpec) -> String {
    let anchor: String = heading(spec).chars().filter(|letter| letter.is_alphanumeric() || *letter == '_').collect();
    format!("[{text}](#{anchor})")
}

fn row(key: &Key, kinds: Kinds) -> String {
    let (value, meaning) = (value(key, kinds), key.about.replace('|', "\\|"));
    format!("| `{}` | {value} | {} | {} | {meaning} |\n", key.name, default(key), accepted(key))
}

/// Describes the type of a value, with its unit.
fn value(key: &Key, kinds: Kinds) -> String {
    let kind = match key.value {
        Value::Number(_) => "number",
        Value::PerAxis(_) => "number, or a list with one for each axis",
        Value::Vector(_) => "list of two numbers",
        Value::Points(_) => "list of points `[x, y]`",
        Value::Corners(_) => "two points `[x, y]`",
        Value::Rows(_) => "list of rows `[t_s, x_m, y_m]`",
        Value::Whole(..) => "whole number",
        Value::Cpu => "whole number or `\"auto\"`",
        Value::Flag => "`true` or `false`",
        Value::Text | Value::Colour => "text",
        Value::TwoTexts => "list of two texts",
        Value::Texts => "list of texts",
        Value::Choice(_) | Value::DeviceKind | Value::Variant => return choices(key, kinds),
        Value::TwoChoices(names) => return format!("list of two of {}", codes(names)),
        Value::Section(spec) | Value::Sections(spec) if spec.keys.is_empty() => "reserved",
        Value::Section(spec) => return link("table", spec),
        Value::Sections(spec) => return link("list of tables", spec),
    };
    match key.unit().symbol {
        "" => kind.to_owned(),
        unit => format!("{kind}, {unit}"),
    }
}

fn choices(key: &Key, kinds: Kinds) -> String {
    codes(&schema::names(key, kinds))
}

fn codes(names: &[&str]) -> String {
    names.iter().map(|name| format!("`\"{name}\"`")).collect::<Vec<_>>().join(", ")
}

fn default(key: &Key) -> String {
    let example = if key.example.is_empty() { String::new() } else { format!("; e.g. `{}`", key.example) };
    match key.default_text() {
        Some(text) => format!("`{text}`"),
        None if key.is_required() => format!("required{example}"),
        None if key.section().is_some() => "optional".to_owned(),
        None => format!("none{example}"),
    }
}

/// Describes the accepted and the usual numbers.
fn accepted(key: &Key) -> String {
    let points = if matches!(key.value, Value::Rows(_)) { "points: " } else { "" };
    match (key.limits(), key.value) {
        (Some(Limits { accepted, recommended }), _) if accepted == recommended => points.to_owned() + &range(accepted),
        (Some(Limits { accepted, recommended }), _) => {
            format!("{points}{}; usually {}", range(accepted), range(recommended))
        }
        (None, Value::Whole(min, max)) => format!("{min} to {max}"),
        (None, _) => String::new(),
    }
}

fn range(Range { min, max }: Range) -> String {
    format!("{} to {}", Decimal(min), Decimal(max))
}

fn code(toml: &str) -> String {
    format!("```toml\n{toml}```\n\n")
}

/// Returns the table of device kinds with the keys and variants of each.
fn kind_table(kinds: Kinds) -> String {
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let mut text = "| `kind` | drives | keys | variants |\n|---|---|---|---|\n".to_owned();
    for KindSpec { name, about, keys, variants, .. } in kinds {
        // Links are relative to the folder above the pages.
        let about = about.replace("](", "](../");
        _ = writeln!(text, "| `{name}` | {about} | {} | {} |", list(keys), list(variants));
    }
    _ = writeln!(text, "\nAll kinds except `{}` have the keys {} too.", SIMULATED.name, list(HARDWARE_KEYS));
    text
}
