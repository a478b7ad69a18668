//! The schemas accept every shipped file and reject every wrong one.

use crate::generated::{assert_current, repository};
use haptic_backends::KINDS;
use haptic_config::keys::FILES;
use haptic_config::source::Source;
use haptic_config::{device, profile, scene, schema};
use jsonschema::Validator;
use std::path::{Path, PathBuf};

fn validator(file: &str) -> Validator {
    let (_, root) = FILES.into_iter().find(|(name, _)| *name == file).unwrap();
    jsonschema::draft202012::new(&schema::schema(file, root, KINDS)).unwrap()
}

fn toml_files(folder: &Path) -> Vec<PathBuf> {
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<_> =
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml")).collect();
    paths.sort();
    assert!(!paths.is_empty(), "{}", folder.display());
    paths
}

fn violations(file: &str, text: &str) -> Vec<String> {
    let instance = schema::to_json(text).unwrap();
    validator(file).iter_errors(&instance).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

fn is_accepted_by_the_parser(file: &str, text: &str) -> bool {
    let source = Source::in_memory("wrong.toml", text);
    match file {
        "scene" => scene::load(&source).is_ok(),
        "profile" => profile::load(&source).is_ok(),
        _ => device::load(&source, KINDS).is_ok(),
    }
}

#[test]
fn every_shipped_file_names_its_schema_and_is_valid() {
    for (file, _) in FILES {
        for path in toml_files(&repository().join("config").join(format!("{file}s"))) {
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with(&format!("#:schema ../schemas/{file}.schema.json\n")), "{}", path.display());
            assert_eq!(violations(file, &text), [""; 0], "{}", path.display());
        }
    }
}

#[test]
fn every_wrong_file_is_rejected_by_the_schema_and_by_the_parser() {
    for path in toml_files(&repository().join("crates/haptic-config/tests/wrong")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let (file, _) = name.split_once('-').unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!violations(file, &text).is_empty(), "{name}: the schema accepts it");
        assert!(!is_accepted_by_the_parser(file, &text), "{name}: the parser accepts it");
    }
}

#[test]
fn the_schemas_in_the_repository_are_current() {
    for (file, root) in FILES {
        let text = format!("{:#}\n", schema::schema(file, root, KINDS));
        assert_current(&format!("config/schemas/{file}.schema.json"), &text);
    }
}

#[test]
fn a_built_in_file_does_not_name_a_schema() {
    for library in
        [&haptic_config::builtin::SCENES, &haptic_config::builtin::PROFILES, &haptic_config::builtin::DEVICES]
    {
        for (name, text) in library.entries {
            let source = library.built_in(name).unwrap();
            assert!(text.starts_with("#:schema ") && text.ends_with(&source.text), "{name}");
            assert!(!source.text.starts_with(['\n']) && !source.text.contains("#:schema"), "{name}");
        }
    }
}
