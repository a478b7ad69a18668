//! What is wrong in a file: where, what, and what would be right.

use std::fmt;

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// The file as the user named it.
    pub file: String,
    /// Line and column, from 1; `None` when the file as a whole is meant.
    pub position: Option<Position>,
    /// The key, such as `body[2].friction`; empty when no key is meant.
    pub key: String,
    /// What is wrong.
    pub problem: String,
    /// What would be right.
    pub remedy: String,
}

/// A place in a text, counted in characters from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1.
    pub column: usize,
}

impl Problem {
    /// A problem with the file as a whole.
    pub fn of_file(file: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (problem, remedy) = (problem.into(), remedy.into());
        Self { file: file.to_owned(), position: None, key: String::new(), problem, remedy }
    }

    /// A problem at a place in the file where no key is meant.
    pub fn at(file: &str, position: Position, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { position: Some(position), ..Self::of_file(file, problem, remedy) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(Position { line, column }) = self.position {
            write!(f, ":{line}:{column}")?;
        }
        if !self.key.is_empty() {
            write!(f, ": {}", self.key)?;
        }
        write!(f, ": {}", self.problem)?;
        if self.remedy.is_empty() { Ok(()) } else { write!(f, "; {}", self.remedy) }
    }
}

/// Everything that is wrong in a file, in the order of the file; at least one problem.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileErrors(pub Vec<Problem>);

impl From<Problem> for FileErrors {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl fmt::Display for FileErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            let line_break = if index == 0 { "" } else { "\n" };
            write!(f, "{line_break}{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for FileErrors {}
