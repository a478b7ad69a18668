//! Files to start from: the example of each kind of file with all other keys as comments, derived from the definitions
//! of the keys.

use crate::keys::{Key, SectionSpec, Value};
use crate::schema;
use haptic_device::kind::Kinds;
use toml::de::DeTable;

/// Width to which lines are filled before their sentences.
const COLUMN: usize = 43;
/// Maximum width of a line of explanation.
const WIDTH: usize = 118;

/// Returns a file to start from, with the given top level. `about` says what to do with it.
///
/// Lines of explanation start with `# `; keys that are not given start with `#` alone.
pub fn starter(about: &str, root: &SectionSpec, kinds: Kinds) -> String {
    let blocks = blocks(root.example);
    let mut text = about.lines().map(|line| format!("# {line}\n")).collect::<String>();
    text += "#\n";
    text += &comment(
        "A key after a `#` has no effect: remove the `#` to set it. It shows the default, or an example if there is none.",
    );
    text += &format!("\n{}", comment(root.about));
    text += &section(root, blocks.iter().find(|block| block.header.is_empty()), kinds);
    for key in root.keys {
        text += &subsection(key, &blocks, kinds);
    }
    text
}

/// Part of an example: a header and the lines below it.
struct Block<'e> {
    header: &'e str,
    lines: Vec<&'e str>,
}

fn blocks(example: &str) -> Vec<Block<'_>> {
    let mut blocks = vec![Block { header: "", lines: Vec::new() }];
    for line in example.lines().filter(|line| !line.is_empty()) {
        match blocks.last_mut() {
            Some(block) if !line.starts_with('[') => block.lines.push(line),
            _ => blocks.push(Block { header: line, lines: Vec::new() }),
        }
    }
    blocks
}

/// Returns a section of the top level; empty if the key is none.
fn subsection(key: &Key, blocks: &[Block<'_>], kinds: Kinds) -> String {
    let (header, spec) = match key.value {
        Value::Section(spec) => (format!("[{}]", key.name), spec),
        Value::Sections(spec) => (format!("[[{}]]", key.name), spec),
        _ => return String::new(),
    };
    if spec.keys.is_empty() {
        return String::new();
    }
    let mut own = blocks.iter().filter(|block| block.header == header);
    let first = own.next();
    let sign = if first.is_some() { "" } else { "#" };
    let mut text = format!("\n{}{sign}{header}\n{}", comment(spec.about), section(spec, first, kinds));
    for block in own {
        text += &format!("\n{header}\n{}\n", block.lines.join("\n"));
    }
    text
}

/// Returns the keys of a section: those of the example, then the others as comments.
fn section(spec: &SectionSpec, block: Option<&Block<'_>>, kinds: Kinds) -> String {
    let lines = block.map_or(&[][..], |block| &block.lines);
    let name_of = |line: &&str| line.split(" = ").next().unwrap_or_default().to_owned();
    let given: Vec<String> = lines.iter().map(name_of).collect();
    let mut text = String::new();
    for line in lines {
        let key = spec.key(&name_of(line));
        text += &key.map_or(format!("{line}\n"), |key| explained(line, key, kinds));
        text += &key.map_or(String::new(), |key| inner_keys(key, 1, kinds));
    }
    let is_given = |key: &&Key| given.iter().any(|name| name == key.name);
    let chosen = spec.alternatives().find(is_given).or(spec.alternatives().next());
    for key in spec.keys.iter().filter(|key| is_line(key) && !is_given(key)) {
        // Removing the sign must not give a section two of its alternatives.
        let is_other = key.is_alternative && chosen.is_none_or(|chosen| chosen.name != key.name);
        let sign = if is_other { "#     " } else { "#" };
        text += &explained(&format!("{sign}{}", key.example_line()), key, kinds);
        text += &inner_keys(key, 1, kinds);
    }
    text
}

/// Whether a key is written on one line, unlike a section with a header.
fn is_line(key: &Key) -> bool {
    match key.value {
        Value::Section(spec) | Value::Sections(spec) => !spec.header.starts_with('['),
        _ => true,
    }
}

/// Describes the keys of a table in braces, indented by its depth.
fn inner_keys(key: &Key, depth: usize, kinds: Kinds) -> String {
    let Some(spec) = key.section() else { return String::new() };
    let describe = |inner: &&Key| {
        let line = format!("#{:width$}{}", "", inner.example_line(), width = 4 * depth + 1);
        explained(&line, inner, kinds) + &inner_keys(inner, depth + 1, kinds)
    };
    spec.keys.iter().map(describe).collect()
}

/// Appends the sentence of a key to a line, if the line is complete.
fn explained(line: &str, key: &Key, kinds: Kinds) -> String {
    if DeTable::parse(line).is_err() {
        return format!("{line}\n");
    }
    format!("{line:COLUMN$} # {}{}\n", key.about, choices(key, kinds))
}

fn choices(key: &Key, kinds: Kinds) -> String {
    let names = schema::names(key, kinds);
    let are_described = names.iter().all(|name| key.about.contains(name));
    if are_described { String::new() } else { format!(": {}", names.join(", ")) }
}

/// Formats text as lines of explanation.
fn comment(text: &str) -> String {
    let mut lines = String::from("#");
    let mut width = 1;
    for word in text.split_whitespace() {
        let length = word.chars().count() + 1;
        if width + length > WIDTH {
            lines += "\n#";
            width = 1;
        }
        lines += &format!(" {word}");
        width += length;
    }
    lines + "\n"
}
