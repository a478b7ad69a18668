//! Problems in a file: location, problem and remedy.

use std::fmt;

/// A problem in a file.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Problem {
    /// Name of the file, as given by the user.
    pub file: String,
    /// Location of the problem; `None` if it concerns the whole file.
    pub position: Option<Position>,
    /// Key with the problem, such as `body[2].friction`; empty if the problem concerns no key.
    pub key: String,
    /// Description of the problem.
    pub problem: String,
    /// Remedy; empty if there is none.
    pub remedy: String,
    /// Location at which another file names this one; `None` if the user named it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub named_in: Option<String>,
}

/// A position in a text: line and column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Position {
    /// Line number, counted from 1.
    pub line: usize,
    /// Character number within the line, counted from 1.
    pub column: usize,
}

/// A position in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Name of the file.
    pub file: String,
    /// Line and column in that file.
    pub position: Position,
    /// Location at which another file includes this one, if it is an included one.
    pub named_in: Option<String>,
}

impl Problem {
    /// Creates a problem that concerns the whole file.
    pub fn in_file(file: &str, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (problem, remedy) = (problem.into(), remedy.into());
        Self { file: file.to_owned(), position: None, key: String::new(), problem, remedy, named_in: None }
    }

    /// Creates a problem at a position, without a key.
    pub fn at(file: &str, position: Position, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { position: Some(position), ..Self::in_file(file, problem, remedy) }
    }

    /// Creates a problem at a location, without a key.
    pub fn located(location: Location, problem: impl Into<String>, remedy: impl Into<String>) -> Self {
        let Location { file, position, named_in } = location;
        Self { named_in, ..Self::at(&file, position, problem, remedy) }
    }
}

impl Problem {
    /// Returns the problem as text with its line and key but without the file, for a list of warnings about one file.
    pub fn at_its_line(&self) -> String {
        let line = self.position.map_or(String::new(), |position| format!("line {}: ", position.line));
        format!("{line}{}: {}; {}", self.key, self.problem, self.remedy)
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
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        self.named_in.as_ref().map_or(Ok(()), |place| write!(f, " ({} is named in {place})", self.file))
    }
}

/// All problems in a file, in file order; at least one.
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
