//! Wrong inputs and the messages that answer them. Each remedy is applied, and the file must then be better.
//!
//! `tests/data/wrong_inputs.txt` holds the inputs, the messages and what follows from the remedy.
//! `HAPTICD_UPDATE_WRONG_INPUTS=1 cargo test -p haptic-config --test it wrong_inputs` rewrites it.

use haptic_backends::KINDS;
use haptic_config::error::{FileErrors, Problem};
use haptic_config::keys::{FILES, Key, SectionSpec, Value};
use haptic_config::source::Source;
use haptic_config::{device, hand, profile, scene};
use std::fmt::Write;

const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/wrong_inputs.txt");

/// Lines of each section of a small valid file; a line of a case replaces the one with the same key.
const SCENE: [(&str, &str); 8] = [
    ("", ""),
    ("[world]", ""),
    ("[[body]]", "name = \"floor\"\nfixed = true\nshape = { box_m = [0.2, 0.02] }"),
    ("[[body]] ", "name = \"probe\"\nposition_m = [0.0, 0.05]\nshape = { disc_radius_m = 0.01 }"),
    ("[[pair]]", "bodies = [\"floor\", \"probe\"]"),
    ("[tool]", "body = \"probe\""),
    ("[hand]", "start_m = [0.0, 0.05]"),
    ("[[joint]]", ""),
];
const PROFILE: [(&str, &str); 6] = [
    ("", "scene = \"table\""),
    ("[coupling]", ""),
    ("[mapping]", ""),
    ("[safety]", ""),
    ("[realtime]", ""),
    ("[view]", ""),
];
const DEVICE: [(&str, &str); 3] = [("", "kind = \"simulated\""), ("[model]", ""), ("[hand]", "mass_kg = 0.2")];

/// Returns a file in which a section has the given lines besides its own: `shapes` replaces `shape`.
fn file_with(sections: &[(&str, &str)], header: &str, lines: &str) -> String {
    let mut text = String::new();
    for (section, own) in sections {
        let is_given = *section == header;
        if *section == "[[joint]]" && !is_given {
            continue;
        }
        let lines = if is_given { lines } else { "" };
        let replaces = |line: &str, own: &str| line == own || (line, own) == ("shapes", "shape");
        let kept = own.lines().filter(|own| !lines.lines().any(|line| replaces(key_of(line), key_of(own))));
        text.push_str(section.trim());
        text.push('\n');
        kept.chain(lines.lines()).for_each(|line| text.push_str(&format!("{line}\n")));
    }
    text
}

/// Reads a text as a file of the given kind and returns its errors. `text` stands for the whole text of a scene.
fn errors_of(kind: &str, text: &str) -> Option<FileErrors> {
    let source = |name| Source::in_memory(name, text);
    match kind {
        "scene" | "text" => scene::load(&source("x.toml")).err(),
        "profile" => profile::load(&source("p.toml")).err(),
        "device" => device::load(&source("d.toml"), KINDS).err(),
        _ => hand::load(&source("hand.csv")).err(),
    }
}

fn sections_of(kind: &str) -> &'static [(&'static str, &'static str)] {
    match kind {
        "scene" => &SCENE,
        "profile" => &PROFILE,
        _ => &DEVICE,
    }
}

/// Returns the `KEY = VALUE` that a remedy says to write.
fn line_to_write(remedy: &str) -> Option<String> {
    let (_, line) = remedy.rsplit_once("write ")?;
    let end = [", or ", " or ", " so that ", "; ", ", as "].iter().filter_map(|word| line.find(word)).min();
    let line = &line[..end.unwrap_or(line.len())];
    (line.contains(" = ") && !line.contains('…')).then(|| line.to_owned())
}

/// Returns the section in which the remedy says that a key belongs, if it does.
fn home(remedy: &str) -> Option<&str> {
    let (_, rest) = remedy.split_once("belongs in ")?;
    rest.split_once(':').map(|(header, _)| header)
}

fn key_of(line: &str) -> &str {
    line.split('=').next().unwrap_or_default().trim()
}

/// Applies the remedy of the first error of a case, and returns what is then wrong; `None` for a valid file.
fn after_remedy(case: &Case, errors: &FileErrors) -> Option<String> {
    let Problem { key, remedy, .. } = &errors.0[0];
    let line = line_to_write(remedy).unwrap_or_default();
    let line = if key.contains(".shape.") { format!("shape = {{ {line} }}") } else { line };
    let header = home(remedy).map_or(case.header.as_str(), |home| if home == "[[body]]" { "[[body]] " } else { home });
    let wrong = key.rsplit('.').next().unwrap_or_default().split('[').next().unwrap_or_default();
    let others = case.lines.lines().filter(|own| ![wrong, key_of(&line)].contains(&key_of(own)));
    let lines: Vec<&str> = others.filter(|_| home(remedy).is_none()).chain([line.as_str()]).collect();
    let text = file_with(sections_of(&case.kind), header, &lines.join("\n"));
    errors_of(&case.kind, &text).map(|errors| errors.to_string())
}

/// Whether the remedy of a case can be followed by replacing a line.
fn can_be_followed(case: &Case, errors: &FileErrors) -> bool {
    let is_deep = ["capsule_m.", ".shapes["].iter().any(|part| errors.0[0].key.contains(part));
    !["hand", "text"].contains(&case.kind.as_str()) && !is_deep && line_to_write(&errors.0[0].remedy).is_some()
}

/// A line, or several, in a section of a small file.
struct Case {
    kind: String,
    header: String,
    lines: String,
}

impl Case {
    /// Parses the first line of a case: the kind of the file, the section, and the lines with `\n` between them.
    fn parse(line: &str) -> Self {
        let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (header, lines) =
            if rest.starts_with('[') { rest.split_once("] ").unwrap_or((rest, "")) } else { ("", rest) };
        let header = if header.is_empty() { String::new() } else { format!("{header}]") };
        let header = if header == "[[body]]" { "[[body]] ".to_owned() } else { header };
        Self { kind: kind.to_owned(), header, lines: lines.replace("\\n", "\n") }
    }

    fn text(&self) -> String {
        if self.kind == "hand" {
            self.lines.clone()
        } else {
            file_with(sections_of(&self.kind), &self.header, &self.lines)
        }
    }

    fn answer(&self) -> String {
        let Some(errors) = errors_of(&self.kind, &self.text()) else { return "    is accepted\n".to_owned() };
        let mut answer = String::new();
        errors.0.iter().for_each(|problem| writeln!(answer, "    {problem}").unwrap());
        if can_be_followed(self, &errors) {
            let after = after_remedy(self, &errors);
            writeln!(answer, "    then: {}", after.as_deref().unwrap_or("valid").replace('\n', "\n        ")).unwrap();
        }
        answer
    }
}

#[test]
fn every_wrong_input_has_its_answer() {
    let recorded = std::fs::read_to_string(CASES).unwrap();
    let comments: Vec<&str> = recorded.lines().take_while(|line| line.starts_with('#')).collect();
    let cases: Vec<&str> = recorded.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#'])).collect();
    assert!(cases.len() >= 120, "{} cases", cases.len());
    let mut answers = format!("{}\n", comments.join("\n"));
    cases.iter().for_each(|case| write!(answers, "\n{case}\n{}", Case::parse(case).answer()).unwrap());
    if std::env::var_os("HAPTICD_UPDATE_WRONG_INPUTS").is_some() {
        std::fs::write(CASES, answers).unwrap();
    } else {
        assert_eq!(answers, recorded, "if the new messages are better, rewrite {CASES} as described above");
    }
}

#[test]
fn every_answer_names_place_key_and_remedy_and_the_remedy_helps() {
    let recorded = std::fs::read_to_string(CASES).unwrap();
    for case in recorded.lines().filter(|line| !line.is_empty() && !line.starts_with([' ', '#'])) {
        let parsed = Case::parse(case);
        let errors = errors_of(&parsed.kind, &parsed.text()).unwrap_or_else(|| panic!("{case} is accepted"));
        let first = &errors.0[0];
        let remedy = &first.remedy;
        let has_step = ["write ", "give ", "remove ", "`hapticd "].iter().any(|step| remedy.contains(step));
        assert!(has_step, "{case}: {first}");
        assert!(first.position.is_some(), "{case}: {first}");
        if can_be_followed(&parsed, &errors) {
            let after = after_remedy(&parsed, &errors);
            let same = format!("{}: {}", first.key, first.problem);
            assert!(after.as_ref().is_none_or(|after| !after.contains(&same)), "{case}: {first}\nthen: {after:?}");
        }
    }
}

/// Wrong values for a key of each type.
fn wrong_values(key: &Key) -> Vec<String> {
    let Some(limits) = key.limits() else {
        return match key.value {
            Value::Whole(min, max) => vec![
                "1.5".to_owned(),
                "\"x\"".to_owned(),
                format!("{}", min.saturating_sub(1)),
                format!("{}", max.saturating_add(1)),
            ],
            Value::Flag => vec!["1".to_owned(), "\"true\"".to_owned()],
            Value::TwoTexts => vec!["[\"a\"]".to_owned(), "3".to_owned()],
            _ => vec!["3.5".to_owned(), "[]".to_owned()],
        };
    };
    let numbers = [limits.accepted.min - 1.0, limits.accepted.max * 2.0 + 1.0, f64::NAN];
    let shaped = |number: String| match key.value {
        Value::Vector(_) => format!("[{number}, 0.01]"),
        Value::Points(_) => format!("[[{number}, 0.0], [0.01, 0.0], [0.0, 0.01]]"),
        Value::Corners(_) => format!("[[{number}, 0.0], [0.01, 0.01]]"),
        Value::Rows(_) => format!("[[0.0, {number}, 0.0]]"),
        _ => number,
    };
    numbers
        .iter()
        .map(|number| shaped(format!("{number:?}").to_lowercase()))
        .chain([shaped("\"x\"".to_owned())])
        .collect()
}

#[test]
fn every_key_rejects_wrong_values_with_a_remedy_that_helps() {
    let mut count = 0;
    for (kind, root) in FILES {
        for section in sections_of(kind) {
            let header = section.0.trim();
            let spec = root.all().into_iter().find(|spec: &&SectionSpec| spec.header == header);
            let Some(spec) = spec.filter(|_| section.0 != "[[body]]" && section.0 != "[[joint]]") else { continue };
            for key in spec.keys.iter().filter(|key| key.section().is_none()) {
                for value in wrong_values(key) {
                    let lines = format!("{} = {value}", key.name);
                    let case = Case { kind: kind.to_owned(), header: section.0.to_owned(), lines };
                    let errors = errors_of(kind, &case.text());
                    let errors = errors.unwrap_or_else(|| panic!("{kind} {header} {} is accepted", case.lines));
                    let first = &errors.0[0];
                    assert!(first.key.contains(key.name), "{first}");
                    let has_step = line_to_write(&first.remedy).is_some() || first.remedy.contains("remove ");
                    assert!(has_step, "no line to write: {first}");
                    let after = after_remedy(&case, &errors);
                    let is_better = after.as_ref().is_none_or(|after| !after.contains(&first.problem));
                    assert!(is_better, "{first}\nthen: {after:?}");
                    count += 1;
                }
            }
        }
    }
    assert!(count >= 200, "{count} wrong values");
}
