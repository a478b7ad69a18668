//! The safety case in docs/safety.md names tests that exist.

use std::path::Path;

/// Number of underscores from which a word in code font is the name of a test; names of keys have fewer.
const UNDERSCORES: usize = 5;

/// Returns the text of every Rust file below a folder.
fn sources(folder: &Path) -> String {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .map(|path| match path.extension() {
            _ if path.is_dir() => sources(&path),
            Some(extension) if extension == "rs" => std::fs::read_to_string(&path).unwrap(),
            _ => String::new(),
        })
        .collect()
}

#[test]
fn every_test_that_the_safety_case_names_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/safety.md")).unwrap();
    let (_, case) = text.split_once("\n## Safety case\n").unwrap();
    let is_test = |word: &&str| word.matches('_').count() >= UNDERSCORES && !word.contains(' ');
    let named: Vec<&str> = case.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 15, "{named:?}");
    let sources = sources(&root.join("crates"));
    let missing: Vec<_> = named.iter().filter(|name| !sources.contains(&format!("fn {name}("))).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
