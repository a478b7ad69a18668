//! Text of a file and its origin, with lookup of line and column by byte offset.

use crate::error::{FileErrors, Location, Position, Problem};
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

/// Maximum accepted file size, bytes. A scene of 10,000 bodies takes 4 MB, and an hour of hand positions at 1 kHz takes
/// 100 MB. Anything larger is a mistake, such as an endless device node.
const MAX_BYTES: u64 = 256 << 20;

/// The text of one file, followed by the texts of the files that it includes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path of the file; for a built-in file, a description such as `built-in scene 'table'`.
    pub name: String,
    /// Contents of the file, then of the files that it includes: one TOML document.
    pub text: String,
    /// Folder for relative paths in the file; `None` for built-ins and texts in memory.
    pub folder: Option<PathBuf>,
    /// Included files, in the order of their texts.
    pub(crate) parts: Vec<Part>,
}

/// The text of an included file as a part of a [`Source`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Part {
    /// Byte offset at which the part starts in the text; it ends where the next one starts.
    pub start: usize,
    /// Path of the file.
    pub name: String,
    /// Location at which another file includes it.
    pub named_in: String,
}

impl Source {
    /// Reads a file.
    ///
    /// # Errors
    /// If the path does not exist, is not a file or cannot be read, or if the text is too large or not UTF-8.
    pub fn read(path: &Path) -> Result<Self, FileErrors> {
        let name = path.display().to_string();
        let bytes = read_bytes(path).map_err(|error| unreadable(&name, &error))?;
        if bytes.len() as u64 > MAX_BYTES {
            let problem = format!("is larger than {} MiB", MAX_BYTES >> 20);
            return Err(Problem::in_file(&name, problem, "give a scene, profile, device or hand file").into());
        }
        let text = String::from_utf8(bytes).map_err(|error| not_text(&name, &error))?;
        let folder = Some(path.parent().unwrap_or(Path::new("")).to_owned());
        Ok(Self { folder, ..Self::in_memory(&name, &text) })
    }

    /// Returns the path of the file; `None` for built-ins and texts in memory.
    pub fn file(&self) -> Option<&Path> {
        self.folder.as_ref().map(|_| Path::new(&self.name))
    }

    /// Creates a source from a text that is not a file on disk.
    pub fn in_memory(name: &str, text: &str) -> Self {
        Self { name: name.to_owned(), text: text.to_owned(), folder: None, parts: Vec::new() }
    }

    /// Returns the names of the included files.
    pub fn included(&self) -> impl Iterator<Item = &Path> {
        self.parts.iter().map(|part| Path::new(&part.name))
    }

    /// Returns the file that a byte offset belongs to, and the line and column there.
    pub fn locate(&self, offset: usize) -> Location {
        self.locate_by(&LineStarts::new(self.text.as_bytes()), offset)
    }

    /// Does what [`Self::locate`] does, with the lines of the text. Each part starts with a line.
    pub fn locate_by(&self, lines: &LineStarts, offset: usize) -> Location {
        let text = self.text.as_bytes();
        let Position { line, column } = lines.position(text, offset);
        match self.parts.iter().rev().find(|part| part.start <= offset) {
            None => Location { file: self.name.clone(), position: Position { line, column }, named_in: None },
            Some(part) => {
                let position = Position { line: line - lines.position(text, part.start).line + 1, column };
                Location { file: part.name.clone(), position, named_in: Some(part.named_in.clone()) }
            }
        }
    }
}

fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn unreadable(name: &str, error: &std::io::Error) -> FileErrors {
    let (problem, remedy) = match error.kind() {
        ErrorKind::NotFound => {
            ("no such file".to_owned(), "check the spelling and the folder; `hapticd new scene NAME` writes a scene")
        }
        ErrorKind::IsADirectory => ("is a folder, not a file".to_owned(), "name a file in it"),
        ErrorKind::PermissionDenied => ("permission denied".to_owned(), "check the file's permissions"),
        _ => (format!("cannot be read: {error}"), "give a readable file"),
    };
    Problem::in_file(name, problem, remedy).into()
}

fn not_text(name: &str, error: &std::string::FromUtf8Error) -> FileErrors {
    let position = position_in(error.as_bytes(), error.utf8_error().valid_up_to());
    Problem::at(name, position, "is not valid UTF-8 from here on", "save the file as UTF-8").into()
}

/// Byte offsets at which the lines of a text start. They make the search for a line logarithmic: a file can have a
/// problem in every line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineStarts(Vec<usize>);

impl LineStarts {
    /// Finds the lines of a text.
    pub fn new(bytes: &[u8]) -> Self {
        let ends = bytes.iter().enumerate().filter(|&(_, &byte)| byte == b'\n');
        Self([0].into_iter().chain(ends.map(|(at, _)| at + 1)).collect())
    }

    /// Returns the line and column of a byte offset in this text. Columns count characters: UTF-8 continuation bytes are
    /// skipped.
    pub fn position(&self, bytes: &[u8], offset: usize) -> Position {
        let offset = offset.min(bytes.len());
        let line = self.0.partition_point(|&start| start <= offset);
        let start = self.0[line - 1];
        Position { line, column: bytes[start..offset].iter().filter(|&&byte| byte & 0xC0 != 0x80).count() + 1 }
    }
}

fn position_in(bytes: &[u8], offset: usize) -> Position {
    LineStarts::new(bytes).position(bytes, offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_count_characters_and_lines_start_at_one() {
        let source = Source::in_memory("x", "a\nµß = 3\n");
        let position = |offset| source.locate(offset).position;
        assert_eq!(position(0), Position { line: 1, column: 1 });
        assert_eq!(position(source.text.find('=').unwrap()), Position { line: 2, column: 4 });
        assert_eq!(position(10_000), Position { line: 3, column: 1 });
    }
}
