//! Reads the sections of a TOML file key by key, and collects all problems with their locations.
//!
//! A [`Section`] reads only keys of its [`SectionSpec`], which defines types, limits and defaults. Getters never fail:
//! they report a problem to the document and return the default, so that one pass finds every mistake.

use crate::error::{FileErrors, Problem};
use crate::keys::scene::TIME;
use crate::keys::{Default, Key, Limits, SectionSpec, Value, toml_number};
use crate::remedy;
use crate::source::{LineStarts, Source};
use crate::toml_value::{describe, number_of, quoted, text_of, whole_of};
use haptic_coupling::key::Key as Setting;
use nalgebra::Vector2;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed file with the problems and warnings found so far.
pub struct Document<'s> {
    source: &'s Source,
    lines: LineStarts,
    spec: &'static SectionSpec,
    root: Spanned<DeTable<'s>>,
    problems: RefCell<Vec<(usize, Problem)>>,
    warnings: RefCell<Vec<(usize, Problem)>>,
}

impl<'s> Document<'s> {
    /// Parses a file with the given top-level keys.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn parse(source: &'s Source, spec: &'static SectionSpec) -> Result<Self, FileErrors> {
        let root = DeTable::parse(&source.text).map_err(|error| not_toml(source, &error))?;
        let lines = LineStarts::new(source.text.as_bytes());
        Ok(Self { source, lines, spec, root, problems: RefCell::default(), warnings: RefCell::default() })
    }

    /// Returns the top level as a section.
    pub fn root(&self) -> Section<'_> {
        Section::new(self, self.spec, String::new(), 0..0, Some(self.root.get_ref()))
    }

    /// Returns the names of the top-level keys in the file.
    pub fn top_level(&self) -> impl Iterator<Item = &str> {
        self.root.get_ref().keys().map(|key| key.get_ref().as_ref())
    }

    /// Returns the value if there are no problems. The value may be `None` only if a problem was reported.
    ///
    /// # Errors
    /// If problems were reported; they are in file order.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, FileErrors> {
        match value {
            Some(value) if self.is_clean() => Ok(value),
            _ => Err(FileErrors(in_file_order(self.problems.into_inner()))),
        }
    }

    /// Returns the warnings found so far, in file order.
    pub fn warnings(&self) -> Vec<Problem> {
        in_file_order(self.warnings.borrow().clone())
    }

    /// Whether no problem has been reported so far.
    pub fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    fn report(&self, offset: usize, key: String, problem: String, remedy: String) {
        self.problems.borrow_mut().push((offset, self.problem(offset, key, problem, remedy)));
    }

    fn warn(&self, offset: usize, key: String, problem: String, remedy: String) {
        self.warnings.borrow_mut().push((offset, self.problem(offset, key, problem, remedy)));
    }

    fn problem(&self, offset: usize, key: String, problem: String, remedy: String) -> Problem {
        Problem { key, ..Problem::located(self.source.locate_by(&self.lines, offset), problem, remedy) }
    }
}

fn in_file_order(mut problems: Vec<(usize, Problem)>) -> Vec<Problem> {
    problems.sort_by_key(|(offset, _)| *offset);
    problems.into_iter().map(|(_, problem)| problem).collect()
}

fn not_toml(source: &Source, error: &toml::de::Error) -> FileErrors {
    let location = source.locate(error.span().map_or(0, |span| span.start));
    let problem = format!("is not TOML: {}", error.message().trim().replace('\n', ", "));
    Problem::located(location, problem, "write KEY = VALUE lines under [section] headings").into()
}

type TomlValue<'d> = &'d Spanned<DeValue<'d>>;

/// A table of a file. If the file lacks the table, every key has its default.
pub struct Section<'d> {
    document: &'d Document<'d>,
    spec: &'static SectionSpec,
    path: String,
    span: Range<usize>,
    table: Option<&'d DeTable<'d>>,
    /// Keys that were read, to find those that the table defines but no parser reads.
    read: RefCell<Vec<&'static str>>,
}

impl<'d> Section<'d> {
    fn new(
        document: &'d Document<'_>,
        spec: &'static SectionSpec,
        path: String,
        span: Range<usize>,
        table: Option<&'d DeTable<'_>>,
    ) -> Self {
        Self { document, spec, path, span, table, read: RefCell::default() }
    }

    /// Whether the file contains this section.
    pub fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// Returns the byte offset at which the section starts in the text.
    pub fn start(&self) -> usize {
        self.span.start
    }

    /// Whether the section has this key.
    pub fn has(&self, key: &'static Key) -> bool {
        self.get(key).is_some()
    }

    /// Returns a number, or the default if the key is missing or its value is invalid.
    pub fn number(&self, key: &'static Key) -> f64 {
        self.optional_number(key).unwrap_or_else(|| default_number(key))
    }

    /// Returns settings read from keys that are defined with them. A missing key or an invalid value gives the default.
    pub fn settings<T: Copy + std::default::Default>(&self, settings: &[Setting<T>]) -> T {
        let mut values = T::default();
        for setting in settings {
            let key = self.spec.key(setting.name()).expect("the section lists its settings");
            if let Some(number) = self.optional_number(key) {
                *(setting.field)(&mut values) = number;
            }
        }
        values
    }

    /// Returns a number; `None` if it is missing or invalid.
    pub fn optional_number(&self, key: &'static Key) -> Option<f64> {
        let value = self.get(key)?;
        let remedy = |number: Option<f64>| remedy::for_number(key, number);
        self.check_number(key, limits_of(key), value, &remedy)
    }

    /// Returns a vector of two numbers, or the default if it is missing or invalid.
    pub fn vector(&self, key: &'static Key) -> Vector2<f64> {
        self.optional_vector(key).unwrap_or_else(|| match key.default {
            Default::Vector(vector) => vector(),
            _ => Vector2::zeros(),
        })
    }

    /// Returns a vector of two numbers; `None` if it is missing or invalid.
    pub fn optional_vector(&self, key: &'static Key) -> Option<Vector2<f64>> {
        let value = self.get(key)?;
        self.list(key, value, 2).map(|list| Vector2::new(list[0], list[1]))
    }

    /// Returns a list of points, each of two numbers; `None` if it is missing or invalid.
    pub fn points(&self, key: &'static Key) -> Option<Vec<Vector2<f64>>> {
        let rows = self.rows(key, 2)?;
        Some(rows.into_iter().map(|row| Vector2::new(row[0], row[1])).collect())
    }

    /// Returns a list of rows of three numbers each; `None` if it is missing or invalid.
    pub fn triples(&self, key: &'static Key) -> Option<Vec<[f64; 3]>> {
        let rows = self.rows(key, 3)?;
        Some(rows.into_iter().map(|row| [row[0], row[1], row[2]]).collect())
    }

    /// Reads either one number for all axes or a list with one number per axis, and returns the values per axis; `None`
    /// if the key is missing or invalid.
    pub fn per_axis(&self, key: &'static Key, axes: usize) -> Option<[f64; 2]> {
        let value = self.get(key)?;
        if value.get_ref().is_array() {
            let given = self.list(key, value, axes)?;
            return Some([given[0], given[axes - 1]]);
        }
        self.optional_number(key).map(|number| [number; 2])
    }

    /// Returns a boolean, or the default if it is missing or invalid.
    pub fn flag(&self, key: &'static Key) -> bool {
        let default = matches!(key.default, Default::Flag(true));
        let Some(value) = self.get(key) else { return default };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.type_error(key, value, "must be true or false");
            default
        })
    }

    /// Returns a string; `None` if it is missing or invalid.
    pub fn text(&self, key: &'static Key) -> Option<&'d str> {
        let value = self.get(key)?;
        let may_be_empty = matches!(key.default, Default::Text(""));
        let text = value.get_ref().as_str().filter(|text| may_be_empty || !text.is_empty());
        if text.is_none() {
            self.type_error(key, value, "must be a text");
        }
        text
    }

    /// Whether the value of a key is exactly `text`.
    pub fn text_is(&self, key: &'static Key, text: &str) -> bool {
        self.get(key).is_some_and(|value| value.get_ref().as_str() == Some(text))
    }

    /// Returns a list of texts; `None` if it is missing or invalid.
    pub fn texts(&self, key: &'static Key) -> Option<Vec<String>> {
        let value = self.get(key)?;
        let texts = value.get_ref().as_array().and_then(|list| list.iter().map(text_of).collect());
        if texts.is_none() {
            self.type_error(key, value, "must be a list of texts");
        }
        texts
    }

    /// Returns a list of two strings; `None` if it is missing or invalid.
    pub fn two_texts(&self, key: &'static Key) -> Option<[String; 2]> {
        let value = self.get(key)?;
        let texts: Option<Vec<String>> = value.get_ref().as_array().and_then(|list| list.iter().map(text_of).collect());
        let texts = texts.and_then(|texts| <[String; 2]>::try_from(texts).ok());
        if texts.is_none() {
            self.type_error(key, value, "must be a list of two names");
        }
        texts
    }

    /// Returns an integer, or the default if it is missing or invalid.
    pub fn whole(&self, key: &'static Key) -> i64 {
        self.optional_whole(key).unwrap_or(match key.default {
            Default::Whole(whole) => whole,
            _ => 0,
        })
    }

    /// Returns an integer; `None` if it is missing or invalid.
    pub fn optional_whole(&self, key: &'static Key) -> Option<i64> {
        let value = self.get(key)?;
        let (min, max) = match key.value {
            Value::Whole(min, max) => (min, max),
            _ => (0, MAX_CPU),
        };
        let number = whole_of(value.get_ref()).filter(|number| (min..=max).contains(number));
        if number.is_none() {
            self.type_error(key, value, &format!("must be a whole number from {min} to {max}"));
        }
        number
    }

    /// Returns the choice named by the value of a key; `None` if the key is missing or its value is invalid.
    pub fn choice<T: Copy>(&self, key: &'static Key, choices: &[(&'static str, T)]) -> Option<T> {
        let value = self.get(key)?;
        let word = value.get_ref().as_str().unwrap_or_default();
        let found = choices.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice);
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let problem = format!("must be one of {}, got {}", quoted(&names), describe(value.get_ref()));
            self.report(key, value, problem, remedy::for_choice(key, word, &names));
        }
        found
    }

    /// Returns the two choices named by the value of a key; `None` if the key is missing or its value is invalid.
    pub fn two_choices<T: Copy>(&self, key: &'static Key, choices: &[(&'static str, T)]) -> Option<[T; 2]> {
        let value = self.get(key)?;
        let choice = |entry: &toml::Spanned<DeValue<'_>>| {
            choices.iter().find(|(name, _)| entry.get_ref().as_str() == Some(name)).map(|(_, choice)| *choice)
        };
        let found: Option<Vec<T>> = value.get_ref().as_array().and_then(|list| list.iter().map(choice).collect());
        let found = found.and_then(|found| <[T; 2]>::try_from(found).ok());
        if found.is_none() {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            self.type_error(key, value, &format!("must be a list of two of {}", quoted(&names)));
        }
        found
    }

    /// Returns a subsection. If the file lacks it, [`Self::is_present`] is false for the result.
    pub fn section(&self, key: &'static Key) -> Section<'d> {
        let spec = key.section().expect("the key of a section");
        let path = self.path_of(key.name);
        let Some(value) = self.get(key) else {
            return Section::new(self.document, spec, path, self.span.clone(), None);
        };
        let table = value.get_ref().as_table();
        if table.is_none() {
            let problem = format!("must be a table, got {}", describe(value.get_ref()));
            let line = if is_in_braces(key) { key.example_line() } else { spec.header.to_owned() };
            self.report(key, value, problem, format!("write {line}"));
        }
        Section::new(self.document, spec, path, value.span(), table)
    }

    /// Returns the sections of a list such as `[[body]]`.
    pub fn sections(&self, key: &'static Key) -> Vec<Section<'d>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(entries) = value.get_ref().as_array() else {
            let problem = format!("must be a list of tables, got {}", describe(value.get_ref()));
            let remedy = match is_in_braces(key) {
                true => format!("write {}", key.example_line()),
                false => format!("write [[{}]] on a line of its own", key.name),
            };
            self.report(key, value, problem, remedy);
            return Vec::new();
        };
        entries.iter().enumerate().map(|(index, entry)| self.entry(key, index, entry)).collect()
    }

    fn entry(&self, key: &'static Key, index: usize, entry: TomlValue<'d>) -> Section<'d> {
        let path = format!("{}[{index}]", self.path_of(key.name));
        let table = entry.get_ref().as_table();
        if table.is_none() {
            let problem = format!("must be a table, got {}", describe(entry.get_ref()));
            let line = if is_in_braces(key) { key.example_line() } else { format!("[[{}]]", key.name) };
            let remedy = format!("write {line}");
            self.document.report(entry.span().start, path.clone(), problem, remedy);
        }
        let spec = key.section().expect("the key of a list of sections");
        Section::new(self.document, spec, path, entry.span(), table)
    }

    /// Reports each required key that is missing, and returns whether there are any.
    pub fn is_incomplete(&self) -> bool {
        let missing = self.spec.keys.iter().filter(|key| key.is_required() && self.find(key.name).is_none());
        missing.inspect(|key| self.error(key, "is missing", format!("write {}", key.example_line()))).count() > 0
    }

    /// Reports a problem with a key, at its value if the file has one, otherwise at the section.
    pub fn error(&self, key: &Key, problem: impl Display, remedy: impl Display) {
        self.error_at(key.name, problem, remedy);
    }

    /// Reports a problem with the key of the given name.
    pub fn error_at(&self, key: &str, problem: impl Display, remedy: impl Display) {
        let span = self.find(key).map_or(self.span.clone(), Spanned::span);
        self.document.report(span.start, self.path_of(key), problem.to_string(), remedy.to_string());
    }

    /// Adds a warning about a key.
    pub fn warn(&self, key: &Key, problem: impl Display, remedy: impl Display) {
        let span = self.find(key.name).map_or(self.span.clone(), Spanned::span);
        self.document.warn(span.start, self.path_of(key.name), problem.to_string(), remedy.to_string());
    }

    /// Reports a problem with one row of a list.
    pub fn row_error(&self, key: &Key, row: usize, problem: impl Display, remedy: impl Display) {
        let (start, path) = self.row(key, row);
        self.document.report(start, path, problem.to_string(), remedy.to_string());
    }

    /// Returns the location of one row of a list, as [`Self::location`] does.
    pub fn row_location(&self, key: &Key, row: usize) -> Problem {
        let (start, path) = self.row(key, row);
        self.document.problem(start, path, String::new(), String::new())
    }

    fn row(&self, key: &Key, row: usize) -> (usize, String) {
        let rows = self.find(key.name).and_then(|value| value.get_ref().as_array());
        let span = rows.and_then(|rows| rows.get(row)).map_or(self.span.clone(), Spanned::span);
        (span.start, format!("{}[{row}]", self.path_of(key.name)))
    }

    /// Whether a list of sections is written as a value, `KEY = [{ … }]`, and not under `[[KEY]]` headings.
    pub fn is_assigned(&self, key: &Key) -> bool {
        let before = self.key_start(key).map(|start| self.document.source.text[..start].trim_end_matches([' ', '\t']));
        before.is_some_and(|before| !before.ends_with('['))
    }

    /// Returns the range of the text from a key to the end of its value.
    pub fn assignment(&self, key: &Key) -> Option<Range<usize>> {
        Some(self.key_start(key)?..self.find(key.name)?.span().end)
    }

    fn key_start(&self, key: &Key) -> Option<usize> {
        self.table?.get_key_value(key.name).map(|(written, _)| written.span().start)
    }

    /// Reports every key that the section does not define, with the nearest one that exists, and returns whether there
    /// were any. Must be called after the last getter.
    pub fn reject_unknown_keys(&self) -> bool {
        let mut has_unknown = false;
        for (key, value) in self.table.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if self.spec.key(name).is_some() {
                debug_assert!(self.read.borrow().contains(&name), "no parser reads {} of {:?}", name, self.spec.header);
                continue;
            }
            has_unknown = true;
            let written = self.document.source.text.get(value.span()).unwrap_or_default();
            let remedy = remedy::for_unknown_key(name, written, self.spec, self.document.spec);
            self.document.report(key.span().start, self.path_of(name), "unknown key".to_owned(), remedy);
        }
        has_unknown
    }

    /// Returns the location of a key's value, or of the section if the key is missing, as a problem without a
    /// description.
    pub fn location(&self, key: &Key) -> Problem {
        self.location_of(key.name)
    }

    /// Returns the location of the key of the given name, as [`Self::location`] does.
    pub fn location_of(&self, key: &str) -> Problem {
        let span = self.find(key).map_or(self.span.clone(), Spanned::span);
        self.document.problem(span.start, self.path_of(key), String::new(), String::new())
    }

    fn get(&self, key: &'static Key) -> Option<TomlValue<'d>> {
        debug_assert!(self.spec.key(key.name).is_some(), "{:?} does not define {}", self.spec.header, key.name);
        self.read.borrow_mut().push(key.name);
        self.find(key.name)
    }

    fn find(&self, key: &str) -> Option<TomlValue<'d>> {
        self.table?.get(key)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn report(&self, key: &Key, value: TomlValue<'_>, problem: String, remedy: String) {
        self.document.report(value.span().start, self.path_of(key.name), problem, remedy);
    }

    fn type_error(&self, key: &Key, value: TomlValue<'_>, problem: &str) {
        let problem = format!("{problem}, got {}", describe(value.get_ref()));
        self.report(key, value, problem, format!("write {}", key.example_line()));
    }

    /// Returns a number of a key if it is accepted, and warns if it is unusual. `remedy` returns the remedy for a number,
    /// or for something that is not a number.
    fn check_number(
        &self,
        key: &'static Key,
        Limits { accepted, recommended }: Limits,
        value: TomlValue<'_>,
        remedy: &dyn Fn(Option<f64>) -> String,
    ) -> Option<f64> {
        let Some(number) = number_of(value.get_ref()) else {
            let problem = format!("must be a number, got {}", describe(value.get_ref()));
            self.report(key, value, problem, remedy(None));
            return None;
        };
        let violation = accepted.violation(number);
        if let Some(problem) = violation {
            self.report(key, value, problem, remedy(Some(number)));
            return None;
        }
        if !recommended.contains(number) {
            let unit = key.unit().symbol;
            let space = if unit.is_empty() { "" } else { " " };
            let problem = format!("{}{space}{unit} is unusual; usual values are {recommended}", toml_number(number));
            self.document.warn(value.span().start, self.path_of(key.name), problem, remedy(Some(number)));
        }
        Some(number)
    }

    /// Reads a list of numbers of the given length.
    fn list(&self, key: &'static Key, value: TomlValue<'_>, length: usize) -> Option<Vec<f64>> {
        let entries = value.get_ref().as_array().filter(|entries| entries.len() == length);
        let Some(entries) = entries else {
            self.type_error(key, value, &format!("must be a list of {length} numbers"));
            return None;
        };
        let written: Option<Vec<f64>> = entries.iter().map(|entry| number_of(entry.get_ref())).collect();
        let remedy = |number: Option<f64>| remedy::for_list(key, written.as_deref(), number);
        let limits = limits_of(key);
        let numbers: Vec<_> = entries.iter().map(|entry| self.check_number(key, limits, entry, &remedy)).collect();
        numbers.into_iter().collect()
    }

    /// Reads a list of rows of the given length.
    fn rows(&self, key: &'static Key, length: usize) -> Option<Vec<Vec<f64>>> {
        let value = self.get(key)?;
        let Some(entries) = value.get_ref().as_array() else {
            self.type_error(key, value, "must be a list of rows");
            return None;
        };
        let rows: Vec<_> = entries.iter().map(|row| self.read_row(key, row, length)).collect();
        rows.into_iter().collect()
    }

    fn read_row(&self, key: &'static Key, row: TomlValue<'d>, length: usize) -> Option<Vec<f64>> {
        // A negative time is reported with the whole path.
        let times = Limits::new(
            crate::keys::Range::within(TIME.accepted.max),
            crate::keys::Range::within(TIME.recommended.max),
        );
        let is_time = |column: usize| column == 0 && matches!(key.value, Value::Rows(_));
        let check = |(column, entry): (usize, &'d Spanned<DeValue<'d>>)| {
            if is_time(column) {
                return self.check_number(key, times, entry, &|_| remedy::for_row(key, None));
            }
            self.check_number(key, limits_of(key), entry, &|number| remedy::for_row(key, number))
        };
        match row.get_ref().as_array() {
            Some(entries) if entries.len() == length => {
                let numbers: Vec<_> = entries.iter().enumerate().map(check).collect();
                numbers.into_iter().collect()
            }
            _ => {
                self.type_error(key, row, &format!("must be a list of {length} numbers"));
                None
            }
        }
    }
}

/// Largest number of a core.
pub(crate) const MAX_CPU: i64 = 1023;

/// Whether the tables of a key are written in braces, and not under headings.
fn is_in_braces(key: &Key) -> bool {
    key.section().is_some_and(|spec| spec.header.contains('…'))
}

fn limits_of(key: &Key) -> Limits {
    key.limits().expect("a key with numbers")
}

fn default_number(key: &Key) -> f64 {
    match key.default {
        Default::Number(number) => number(),
        _ => key.example.parse().unwrap_or_default(),
    }
}
