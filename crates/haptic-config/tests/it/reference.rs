//! The reference is current, complete and correct.

use crate::generated::{assert_current, repository};
use haptic_backends::KINDS;
use haptic_config::keys::FILES;
use haptic_config::reference::{PICTURES, pages};
use haptic_config::setup::Setup;
use haptic_config::source::Source;
use haptic_config::{device, profile, scene};

/// Returns the TOML examples of a page.
fn examples(page: &str) -> Vec<&str> {
    page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

/// Returns the problems and warnings of a file of the given kind.
fn findings(file: &str, text: &str) -> String {
    let source = Source::in_memory("example.toml", text);
    let warnings = match file {
        "scene" => scene::load_file(&source).map(|scene| format!("{:?}", scene.warnings)),
        "profile" => profile::load(&source)
            .and_then(|profile| Setup::from_profile(profile, None, KINDS))
            .map(|setup| format!("{:?}", setup.warnings)),
        _ => device::load(&source, KINDS).map(|device| format!("{:?}", device.warnings)),
    };
    warnings.map_or_else(|errors| errors.to_string(), |warnings| warnings.replace("[]", ""))
}

#[test]
fn the_pages_in_the_repository_are_current() {
    for (name, text) in pages(KINDS) {
        assert_current(&format!("docs/{name}"), &text);
    }
}

#[test]
fn every_example_is_valid_without_warnings() {
    for ((file, _), (name, page)) in FILES.iter().zip(pages(KINDS)) {
        assert!(!examples(&page).is_empty(), "{name}");
        for example in examples(&page) {
            assert_eq!(findings(file, example), "", "{name}:\n{example}");
        }
    }
}

#[test]
fn every_section_with_keys_has_an_example_and_every_key_a_row() {
    for ((_, root), (name, page)) in FILES.iter().zip(pages(KINDS)) {
        for section in root.all() {
            assert!(section.keys.is_empty() || !section.example.is_empty(), "{name}: {}", section.header);
            for key in section.keys {
                assert!(page.contains(&format!("\n| `{}` | ", key.name)), "{name}: {}", key.name);
            }
        }
    }
}

#[test]
fn every_link_within_a_page_has_a_heading() {
    for (name, page) in pages(KINDS) {
        for link in page.split("](#").skip(1).map(|rest| rest.split(')').next().unwrap()) {
            let is_heading = |line: &str| line.trim_start_matches('#').trim().trim_matches(['`', '[', ']']) == link;
            assert!(page.lines().filter(|line| line.starts_with('#')).any(is_heading), "{name}: {link}");
        }
    }
}

/// Returns the words of a text that look like keys.
fn keys_in(text: &str) -> Vec<&str> {
    let words = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    words.filter(|word| word.contains('_') && !word.starts_with('_')).collect()
}

#[test]
fn every_picture_exists_is_shown_and_names_only_keys_that_exist() {
    let known: Vec<&str> = FILES.iter().flat_map(|(_, root)| root.all()).flat_map(|section| section.names()).collect();
    for picture in PICTURES {
        let path = repository().join("docs/images").join(picture);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(pages(KINDS).iter().any(|(_, page)| page.contains(&format!("(images/{picture})"))), "{picture}");
        for word in keys_in(&text) {
            assert!(known.contains(&word), "{picture}: {word} is not a key");
        }
    }
}
