//! Scene files that include other files.
//!
//! The text of an included file is appended to that of the scene, so that the whole is one TOML document, and the line
//! with `include` is blanked. The result needs no other file: it is what a recording stores. This is possible because
//! an included file consists of `[[…]]` sections only.

use crate::builtin::SCENES;
use crate::error::{FileErrors, Problem};
use crate::keys::Key;
use crate::keys::scene as keys;
use crate::remedy::nearest;
use crate::section::{Document, Section};
use crate::source::{Part, Source};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Maximum number of files between a file and the scene that includes it, itself included.
const MAX_DEPTH: usize = 8;

/// Maximum number of included files.
const MAX_FILES: usize = 64;

/// Maximum size of a scene with all files that it includes, bytes.
const MAX_BYTES: usize = 32 << 20;

/// Maximum number of files of a folder that are compared with a name that does not exist.
const MAX_COMPARED: usize = 1000;

/// Lists of sections that an included file can have.
static LISTS: [&Key; 4] = [&keys::BODY, &keys::TEMPLATE, &keys::REPEAT, &keys::PAIR];

/// Opens a built-in scene or a scene file, with the files that it includes; see `Library::open`.
///
/// # Errors
/// If there is neither a built-in nor a readable file with that name, or if a file cannot be included.
pub fn open_scene(name: &str, folder: Option<&Path>) -> Result<Source, FileErrors> {
    SCENES.open(name, folder).and_then(expanded)
}

/// Returns a scene file with the files that it includes. A file that is included more than once counts once. A text
/// that is no file, or is not TOML, is returned as it is: the scene parser reports it.
///
/// # Errors
/// If a file cannot be included; the error lists all problems.
pub fn expanded(source: Source) -> Result<Source, FileErrors> {
    if source.folder.is_none() || Document::parse(&source, &keys::SCENE).is_err() {
        return Ok(source);
    }
    let mut expansion = Expansion { whole: Source { text: String::new(), ..source.clone() }, ..Expansion::default() };
    expansion.open.extend(Path::new(&source.name).canonicalize().ok());
    expansion.add(&source, None);
    if expansion.problems.is_empty() { Ok(expansion.whole) } else { Err(FileErrors(expansion.problems)) }
}

/// A scene while its included files are appended.
struct Expansion {
    whole: Source,
    /// The file that is being added, and those that include it, outermost first.
    open: Vec<PathBuf>,
    /// All files included so far.
    known: Vec<PathBuf>,
    problems: Vec<Problem>,
}

impl Default for Expansion {
    fn default() -> Self {
        Self { whole: Source::in_memory("", ""), open: Vec::new(), known: Vec::new(), problems: Vec::new() }
    }
}

impl Expansion {
    /// Appends a file and the files that it includes. `named_in` is the location at which another file includes it.
    fn add(&mut self, source: &Source, named_in: Option<&str>) {
        let document = match Document::parse(source, &keys::SCENE) {
            Ok(document) => document,
            Err(errors) => return self.report(errors, named_in),
        };
        let root = document.root();
        let files = root.texts(&keys::INCLUDE).unwrap_or_default();
        if named_in.is_some() || !files.is_empty() {
            check_lists(&root);
        }
        if named_in.is_some() {
            reject_other_keys(&root);
        }
        self.whole.text.push_str(&blanked(source, &root));
        if !self.whole.text.ends_with('\n') {
            self.whole.text.push('\n');
        }
        for (index, name) in files.iter().enumerate() {
            self.include(source, &root, index, name);
        }
        drop(root);
        if let Err(errors) = document.finish(Some(())) {
            self.report(errors, named_in);
        }
    }

    /// Appends the file that an entry of `include` names.
    fn include(&mut self, source: &Source, root: &Section<'_>, index: usize, name: &str) {
        let path = source.folder.as_deref().unwrap_or(Path::new("")).join(name);
        let error = |problem: String, remedy: &str| root.row_error(&keys::INCLUDE, index, problem, remedy);
        let file = match path.canonicalize() {
            Ok(file) if self.open.contains(&file) => {
                let problem = format!("'{}' includes itself{}", path.display(), self.way_to(&file));
                return error(problem, &without(root, index));
            }
            Ok(file) if self.known.contains(&file) => return,
            Ok(file) => file,
            Err(_) => path.clone(),
        };
        if self.open.len() > MAX_DEPTH || self.known.len() == MAX_FILES {
            let problem = format!("'{name}': a scene includes at most {MAX_FILES} files, at most {MAX_DEPTH} deep");
            return error(problem, &without(root, index));
        }
        let included = match Source::read(&path) {
            Ok(included) => included,
            Err(FileErrors(problems)) => {
                let problem = problems.first().map_or(String::new(), |problem| problem.problem.clone());
                return error(format!("'{}': {problem}", path.display()), &other_name(root, index, &path));
            }
        };
        if self.whole.text.len() + included.text.len() > MAX_BYTES {
            let problem = format!("with '{name}', the scene is larger than {} MiB", MAX_BYTES >> 20);
            return error(problem, &without(root, index));
        }
        let Problem { file: outer, position, .. } = root.row_location(&keys::INCLUDE, index);
        let named_in = position.map_or(outer.clone(), |at| format!("{outer}:{}:{}", at.line, at.column));
        let part = Part { start: self.whole.text.len(), name: included.name.clone(), named_in: named_in.clone() };
        self.whole.parts.push(part);
        self.known.push(file.clone());
        self.open.push(file);
        self.add(&included, Some(&named_in));
        self.open.pop();
    }

    /// Returns the files through which an open file includes itself, as a text.
    fn way_to(&self, file: &Path) -> String {
        let between = self.open.iter().skip_while(|open| *open != file).skip(1);
        let names: Vec<String> =
            between.filter_map(|open| open.file_name()).map(|name| format!("'{}'", text(name))).collect();
        if names.is_empty() { String::new() } else { format!(", through {}", names.join(", ")) }
    }

    fn report(&mut self, FileErrors(problems): FileErrors, named_in: Option<&str>) {
        let named = |problem: Problem| Problem { named_in: named_in.map(str::to_owned), ..problem };
        self.problems.extend(problems.into_iter().map(named));
    }
}

/// Reports lists of sections that are written as values, to which nothing can be appended.
fn check_lists(root: &Section<'_>) {
    for key in LISTS.into_iter().filter(|key| root.has(key) && root.is_assigned(key)) {
        let problem = "cannot be a value in a file that includes others or is included";
        root.error(key, problem, format!("write [[{}]] on a line of its own", key.name));
    }
}

/// Reports the keys of an included file that belong in the scene itself, and unknown ones.
fn reject_other_keys(root: &Section<'_>) {
    for key in keys::SCENE.keys.iter().filter(|key| root.has(key)) {
        if !LISTS.iter().any(|list| std::ptr::eq(*list, *key)) && !std::ptr::eq(*key, &keys::INCLUDE) {
            let header = key.section().map_or_else(|| key.example_line(), |section| section.header.to_owned());
            let remedy = format!("write {header} in the file that includes this one");
            root.error(
                key,
                "an included file has only [[body]], [[template]], [[repeat]], [[pair]] and include",
                remedy,
            );
        }
    }
    root.reject_unknown_keys();
}

/// Returns the text of a file with spaces in place of `include`, so that everything else keeps its line and column.
fn blanked(source: &Source, root: &Section<'_>) -> String {
    let Some(range) = root.assignment(&keys::INCLUDE) else { return source.text.clone() };
    let blank: String =
        source.text[range.clone()].chars().map(|character| if character == '\n' { '\n' } else { ' ' }).collect();
    format!("{}{blank}{}", &source.text[..range.start], &source.text[range.end..])
}

/// Returns the remedy that leaves out one entry of `include`.
fn without(root: &Section<'_>, index: usize) -> String {
    let mut names = root.texts(&keys::INCLUDE).unwrap_or_default();
    names.remove(index);
    format!("write include = {names:?}")
}

/// Returns the remedy for a file that does not exist: a file of a similar name, or none.
fn other_name(root: &Section<'_>, index: usize, path: &Path) -> String {
    let mut names = root.texts(&keys::INCLUDE).unwrap_or_default();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten().take(MAX_COMPARED);
    let files: Vec<String> = entries
        .map(|entry| entry.file_name())
        .filter(|name| text(name).ends_with(".toml"))
        .map(|name| text(&name))
        .collect();
    let wanted = path.file_name().map(text).unwrap_or_default();
    let this = root.location(&keys::INCLUDE).file;
    let candidates: Vec<&str> =
        files.iter().map(String::as_str).filter(|name| *name != wanted && !this.ends_with(name)).collect();
    let near = nearest(&wanted, &candidates).filter(|near| strsim::damerau_levenshtein(&wanted, near) <= 3);
    let Some(near) = near else { return format!("write the file, or {}", without(root, index)) };
    names[index] = Path::new(&names[index]).with_file_name(near).display().to_string();
    format!("write include = {names:?}")
}

fn text(name: &OsStr) -> String {
    name.to_string_lossy().into_owned()
}
