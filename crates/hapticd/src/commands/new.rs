//! `hapticd new`: writes a commented file to start from.

use super::print_line;
use crate::cli::NewArguments;
use crate::failure::Failure;
use haptic_backends::KINDS;
use haptic_config::starter::starter;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Longest name of a file that is accepted, bytes; most file systems allow 255.
const MAX_NAME: usize = 200;
/// Number of free names that are tried for a remedy.
const MAX_TRIED: usize = 1000;

/// Runs the command: writes the file, and prints its path and what can be done with it.
///
/// # Errors
/// If the name is not that of a file, the file exists, or it cannot be written.
pub fn new(arguments: &NewArguments) -> Result<(), Failure> {
    let (kind, root) = arguments.kind;
    let path = path(kind, &arguments.name)?;
    let commands = commands(kind, &path);
    let about = format!("A {kind} for hapticd. Try it:\n  {}", commands.join("\n  "));
    write(kind, &path, &starter(&about, root, KINDS))?;
    print_line(&path.display().to_string())?;
    print_line("next:")?;
    commands.iter().try_for_each(|command| print_line(&format!("  {command}")))
}

/// Returns the path of the file with the given name.
fn path(kind: &str, name: &str) -> Result<PathBuf, Failure> {
    let stem = name.strip_suffix(".toml").unwrap_or(name);
    let last = stem.rsplit('/').next().unwrap_or_default();
    let problem = match last {
        "" | "." | ".." => "does not end with the name of a file",
        _ if last.starts_with('-') => "starts with -, as a flag does",
        _ if last.len() > MAX_NAME => "is too long",
        _ if name.chars().any(char::is_control) => "contains a control character",
        _ => return Ok(PathBuf::from(format!("{stem}.toml"))),
    };
    Err(Failure::BadInput(format!("NAME {name:?} {problem}; run `hapticd new {kind} my-{kind}`")))
}

fn write(kind: &str, path: &Path, text: &str) -> Result<(), Failure> {
    let created = OpenOptions::new().write(true).create_new(true).open(path);
    let error = match created.and_then(|mut file| file.write_all(text.as_bytes())) {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    let (file, folder) = (path.display(), path.parent().unwrap_or(Path::new("")));
    Err(match error.kind() {
        ErrorKind::AlreadyExists => {
            let free = quoted(&free_name(path));
            Failure::BadInput(format!("{file}: exists and is not overwritten; run `hapticd new {kind} {free}`"))
        }
        ErrorKind::NotFound => {
            Failure::BadInput(format!("{file}: the folder does not exist; run `mkdir -p {}`", quoted(folder)))
        }
        _ => Failure::unwritable(path, &error),
    })
}

/// Returns a name like that of an existing file for which there is no file yet, without its extension.
fn free_name(path: &Path) -> PathBuf {
    let stem = path.with_extension("");
    let numbered = |number| PathBuf::from(format!("{}-{number}", stem.display()));
    let is_free = |name: &PathBuf| !Path::new(&format!("{}.toml", name.display())).exists();
    (2..MAX_TRIED).map(numbered).find(is_free).unwrap_or_else(|| numbered(MAX_TRIED))
}

/// Returns the commands that use a file of a kind.
fn commands(kind: &str, path: &Path) -> Vec<String> {
    let file = quoted(path);
    let check = format!("hapticd check {file}");
    match kind {
        "scene" => {
            let picture = quoted(&path.with_extension("svg"));
            vec![
                check,
                format!("hapticd snapshot --scene {file} --out {picture}"),
                format!("hapticd run --scene {file}"),
            ]
        }
        "device" => {
            let measured = quoted(&path.with_extension("measured.toml"));
            vec![check, "hapticd devices".to_owned(), format!("hapticd identify --device {file} --out {measured}")]
        }
        _ => vec![check, format!("hapticd run --{kind} {file}")],
    }
}

/// Returns a path as an argument for a shell. A path that looks like a flag starts with `./`.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let text = if text.starts_with('-') { format!("./{text}") } else { text };
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./+,=@".contains(letter);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}
