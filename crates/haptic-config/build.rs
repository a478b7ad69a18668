//! Lists the files below `config/` that are compiled in, so that a new file there needs no other change.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let config = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config");
    let mut code = String::new();
    for (table, folder, default) in [
        ("SCENE_FILES", "scenes", "table"),
        ("PROFILE_FILES", "profiles", "default"),
        ("DEVICE_FILES", "devices", "simulated-2dof"),
    ] {
        let folder = config.join(folder);
        println!("cargo::rerun-if-changed={}", folder.display());
        write_table(&mut code, table, &files(&folder, default));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    fs::write(out.join("builtin_files.rs"), code).expect("OUT_DIR is writable");
}

/// Returns the names and paths of the TOML files in a folder, the default one first and the others sorted by name.
fn files(folder: &Path, default: &str) -> Vec<(String, PathBuf)> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let paths = entries.map(|entry| entry.expect("the folder can be listed").path());
    let toml = paths.filter(|path| path.extension().is_some_and(|extension| extension == "toml"));
    let mut files: Vec<_> = toml.map(|path| (name_of(&path), path)).collect();
    files.sort_by_key(|(name, _)| (name != default, name.clone()));
    files
}

fn name_of(path: &Path) -> String {
    path.file_stem().map_or(String::new(), |stem| stem.to_string_lossy().into_owned())
}

fn write_table(code: &mut String, table: &str, files: &[(String, PathBuf)]) {
    writeln!(code, "static {table}: &[(&str, &str)] = &[").expect("a string grows");
    for (name, path) in files {
        writeln!(code, "    ({name:?}, include_str!({path:?})),").expect("a string grows");
    }
    writeln!(code, "];").expect("a string grows");
}
