//! Reads the tables of a TOML file key by key, and collects all problems with their locations.
//!
//! A [`Section`] records which keys are read, so no separate list of valid keys is needed. Getters never fail: they
//! report a problem to the document and return the default, so that one pass finds every mistake.

use crate::error::{FileErrors, Problem};
use crate::rule::Rule;
use crate::source::Source;
use haptic_coupling::key::Key;
use nalgebra::Vector2;
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A parsed file and the problems found so far.
pub struct Document<'s> {
    source: &'s Source,
    root: Spanned<DeTable<'s>>,
    problems: RefCell<Vec<(usize, Problem)>>,
}

impl<'s> Document<'s> {
    /// Parses a file.
    ///
    /// # Errors
    /// If the text is not TOML.
    pub fn parse(source: &'s Source) -> Result<Self, FileErrors> {
        let root = DeTable::parse(&source.text).map_err(|error| not_toml(source, &error))?;
        Ok(Self { source, root, problems: RefCell::default() })
    }

    /// Returns the root table as a section.
    pub fn root(&self) -> Section<'_> {
        Section::new(self, String::new(), 0..0, Some(self.root.get_ref()))
    }

    /// Returns the root table as parsed.
    pub fn table(&self) -> &DeTable<'s> {
        self.root.get_ref()
    }

    /// Returns the value if there are no problems. The value may be `None` only if a problem was reported.
    ///
    /// # Errors
    /// If problems were reported; they are in file order.
    pub fn finish<T>(self, value: Option<T>) -> Result<T, FileErrors> {
        let mut problems = self.problems.into_inner();
        match value {
            Some(value) if problems.is_empty() => Ok(value),
            _ => {
                problems.sort_by_key(|(offset, _)| *offset);
                Err(FileErrors(problems.into_iter().map(|(_, problem)| problem).collect()))
            }
        }
    }

    /// Whether no problem has been reported so far.
    pub fn is_clean(&self) -> bool {
        self.problems.borrow().is_empty()
    }

    fn report(&self, offset: usize, key: String, problem: String, remedy: String) {
        let position = Some(self.source.position(offset));
        let problem = Problem { file: self.source.name.clone(), position, key, problem, remedy };
        self.problems.borrow_mut().push((offset, problem));
    }
}

fn not_toml(source: &Source, error: &toml::de::Error) -> FileErrors {
    let offset = error.span().map_or(0, |span| span.start);
    let problem = format!("is not TOML: {}", error.message().trim().replace('\n', ", "));
    Problem::at(&source.name, source.position(offset), problem, "write `key = value` lines under `[section]` headings")
        .into()
}

type Value<'d> = &'d Spanned<DeValue<'d>>;

/// A table of a file. If the file lacks the table, every key has its default.
pub struct Section<'d> {
    document: &'d Document<'d>,
    path: String,
    span: Range<usize>,
    table: Option<&'d DeTable<'d>>,
    asked: RefCell<Vec<&'static str>>,
}

impl<'d> Section<'d> {
    fn new(document: &'d Document<'_>, path: String, span: Range<usize>, table: Option<&'d DeTable<'_>>) -> Self {
        Self { document, path, span, table, asked: RefCell::default() }
    }

    /// Whether the file contains this section.
    pub fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// Whether the section has this key.
    pub fn has(&self, key: &'static str) -> bool {
        self.get(key).is_some()
    }

    /// Returns a number, or the default if the key is missing or its value is invalid.
    pub fn number(&self, key: &'static str, default: f64, rule: Rule) -> f64 {
        self.optional_number(key, default, rule).unwrap_or(default)
    }

    /// Returns settings read from the given keys. A missing key or an invalid value gives the default.
    pub fn settings<T: Copy + Default>(&self, keys: &[Key<T>]) -> T {
        let mut settings = T::default();
        for key in keys {
            let field = (key.field)(&mut settings);
            *field = self.number(key.name, *field, key.rule);
        }
        settings
    }

    /// Returns a number; `None` if it is missing or invalid. The error message shows `example`.
    pub fn optional_number(&self, key: &'static str, example: f64, rule: Rule) -> Option<f64> {
        let value = self.get(key)?;
        self.check_number(key, value, rule, || format!("write e.g. {key} = {example:?}"))
    }

    /// Returns a vector of two numbers, or the default if it is missing or invalid.
    pub fn vector(&self, key: &'static str, default: Vector2<f64>, rule: Rule) -> Vector2<f64> {
        let Some(value) = self.get(key) else { return default };
        self.numbers(key, value, rule, default.as_slice()).unwrap_or(default)
    }

    /// Returns a list of points, each of two numbers; `None` if it is missing or invalid.
    pub fn points(&self, key: &'static str) -> Option<Vec<Vector2<f64>>> {
        let example = [0.01, 0.02];
        self.rows(key, |section, row| section.numbers(key, row, crate::rule::ANY, &example))
    }

    /// Returns a list of rows of three numbers each; `None` if it is missing or invalid.
    pub fn triples(&self, key: &'static str) -> Option<Vec<[f64; 3]>> {
        let example = [0.0, 0.01, 0.02];
        let rows = self.rows(key, |section, row| section.list(key, row, crate::rule::ANY, &example))?;
        Some(rows.into_iter().map(|row| [row[0], row[1], row[2]]).collect())
    }

    /// Reads either one number for all axes or a list with one number per axis, and returns the values per axis.
    pub fn per_axis(&self, key: &'static str, axes: usize, default: f64, rule: Rule) -> [f64; 2] {
        match self.get(key) {
            Some(value) if value.get_ref().is_array() => {
                let given = self.list(key, value, rule, &[default; 2][..axes]).unwrap_or_default();
                [0, 1].map(|axis| given.get(axis).copied().unwrap_or(default))
            }
            _ => [self.number(key, default, rule); 2],
        }
    }

    /// Returns a boolean, or the default if it is missing or invalid.
    pub fn flag(&self, key: &'static str, default: bool) -> bool {
        let Some(value) = self.get(key) else { return default };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.type_error(key, value, "must be true or false", format!("write e.g. {key} = {default}"));
            default
        })
    }

    /// Returns a string; `None` if it is missing or invalid. The error message shows `example`.
    pub fn text(&self, key: &'static str, example: &str) -> Option<&'d str> {
        let value = self.get(key)?;
        let text = value.get_ref().as_str().filter(|text| !text.is_empty());
        if text.is_none() {
            self.type_error(key, value, "must be a text", format!("write e.g. {key} = \"{example}\""));
        }
        text
    }

    /// Whether the value of `key` is exactly `text`.
    pub fn text_is(&self, key: &'static str, text: &str) -> bool {
        self.get(key).is_some_and(|value| value.get_ref().as_str() == Some(text))
    }

    /// Returns a list of two strings; `None` if it is missing or invalid.
    pub fn two_texts(&self, key: &'static str, example: &str) -> Option<[String; 2]> {
        let value = self.get(key)?;
        let texts: Option<Vec<&str>> =
            value.get_ref().as_array().and_then(|a| a.iter().map(|v| v.get_ref().as_str()).collect());
        match texts.as_deref() {
            Some([first, second]) => Some([(*first).to_owned(), (*second).to_owned()]),
            _ => {
                self.type_error(key, value, "must be a list of two names", format!("write e.g. {key} = {example}"));
                None
            }
        }
    }

    /// Returns an integer within a range, or the default if it is missing or invalid.
    pub fn whole(&self, key: &'static str, default: i64, range: RangeInclusive<i64>) -> i64 {
        self.optional_whole(key, default, range).unwrap_or(default)
    }

    /// Returns an integer within a range; `None` if it is missing or invalid.
    pub fn optional_whole(&self, key: &'static str, example: i64, range: RangeInclusive<i64>) -> Option<i64> {
        let value = self.get(key)?;
        let number = value.get_ref().as_integer().and_then(|i| i64::from_str_radix(i.as_str(), i.radix()).ok());
        let number = number.filter(|number| range.contains(number));
        if number.is_none() {
            let problem = format!("must be a whole number from {} to {}", range.start(), range.end());
            self.type_error(key, value, &problem, format!("write e.g. {key} = {example}"));
        }
        number
    }

    /// Returns the choice named by the value of `key`, or the default if the value is missing or invalid.
    pub fn choice<T: Copy>(&self, key: &'static str, choices: &[(&'static str, T)], default: T) -> T {
        let Some(value) = self.get(key) else { return default };
        let word = value.get_ref().as_str().unwrap_or_default();
        choices.iter().find(|(name, _)| *name == word).map(|(_, choice)| *choice).unwrap_or_else(|| {
            let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
            let nearest = nearest(word, &names).unwrap_or_default();
            let problem = format!("must be one of {}", quoted(&names));
            self.type_error(key, value, &problem, format!("write e.g. {key} = \"{nearest}\""));
            default
        })
    }

    /// Returns a subsection. If the file lacks it, [`Self::is_present`] is false for the result.
    pub fn section(&self, key: &'static str) -> Section<'d> {
        let path = self.path_of(key);
        let Some(value) = self.get(key) else { return Section::new(self.document, path, self.span.clone(), None) };
        let table = value.get_ref().as_table();
        if table.is_none() {
            self.type_error(key, value, "must be a table", format!("write [{path}] on a line of its own"));
        }
        Section::new(self.document, path, value.span(), table)
    }

    /// Returns the sections of a list such as `[[body]]`.
    pub fn sections(&self, key: &'static str) -> Vec<Section<'d>> {
        let Some(value) = self.get(key) else { return Vec::new() };
        let Some(entries) = value.get_ref().as_array() else {
            self.type_error(key, value, "must be a list of tables", format!("write [[{key}]] on a line of its own"));
            return Vec::new();
        };
        entries.iter().enumerate().map(|(index, entry)| self.entry(key, index, entry)).collect()
    }

    fn entry(&self, key: &'static str, index: usize, entry: Value<'d>) -> Section<'d> {
        let path = format!("{}[{index}]", self.path_of(key));
        let table = entry.get_ref().as_table();
        if table.is_none() {
            let problem = format!("must be a table, got {}", describe(entry.get_ref()));
            self.document.report(entry.span().start, path.clone(), problem, format!("write [[{key}]]"));
        }
        Section::new(self.document, path, entry.span(), table)
    }

    /// Reports a problem with a key, at its value if the file has one, otherwise at the section.
    pub fn error(&self, key: &str, problem: impl Display, remedy: impl Display) {
        let span = self.find(key).map_or(self.span.clone(), Spanned::span);
        self.document.report(span.start, self.path_of(key), problem.to_string(), remedy.to_string());
    }

    /// Reports a problem with one row of a list.
    pub fn row_error(&self, key: &str, row: usize, problem: impl Display, remedy: impl Display) {
        let rows = self.find(key).and_then(|value| value.get_ref().as_array());
        let span = rows.and_then(|rows| rows.get(row)).map_or(self.span.clone(), Spanned::span);
        let path = format!("{}[{row}]", self.path_of(key));
        self.document.report(span.start, path, problem.to_string(), remedy.to_string());
    }

    /// Returns the keys read so far, in the order in which they were read.
    #[cfg(test)]
    pub fn asked_keys(&self) -> Vec<&'static str> {
        self.asked.borrow().clone()
    }

    /// Reports every key that was never read, with the closest valid key, and returns whether there were any. Must be
    /// called after the last getter.
    pub fn reject_unknown_keys(&self) -> bool {
        let asked = self.asked.borrow();
        let mut has_unknown = false;
        for key in self.table.iter().flat_map(|table| table.keys()) {
            if !asked.contains(&key.get_ref().as_ref()) {
                has_unknown = true;
                let nearest = nearest(key.get_ref(), &asked).unwrap_or_default();
                let remedy = format!("did you mean {nearest}? The keys here are {}", asked.join(", "));
                self.document.report(key.span().start, self.path_of(key.get_ref()), "unknown key".to_owned(), remedy);
            }
        }
        has_unknown
    }

    /// Returns the location of a key's value, or of the section if the key is missing, as a problem without a
    /// description.
    pub fn location(&self, key: &str) -> Problem {
        let span = self.find(key).map_or(self.span.clone(), Spanned::span);
        let source = self.document.source;
        let blank = Problem::at(&source.name, source.position(span.start), "", "");
        Problem { key: self.path_of(key), ..blank }
    }

    fn get(&self, key: &'static str) -> Option<Value<'d>> {
        let mut asked = self.asked.borrow_mut();
        if !asked.contains(&key) {
            asked.push(key);
        }
        self.find(key)
    }

    fn find(&self, key: &str) -> Option<Value<'d>> {
        self.table?.get(key)
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    fn type_error(&self, key: &str, value: Value<'_>, problem: &str, remedy: String) {
        let problem = format!("{problem}, got {}", describe(value.get_ref()));
        self.document.report(value.span().start, self.path_of(key), problem, remedy);
    }

    fn check_number(&self, key: &str, value: Value<'_>, rule: Rule, remedy: impl Fn() -> String) -> Option<f64> {
        let Some(number) = number_of(value.get_ref()) else {
            self.type_error(key, value, "must be a number", remedy());
            return None;
        };
        let violation = rule.violation(number);
        if let Some(problem) = &violation {
            self.document.report(value.span().start, self.path_of(key), problem.clone(), remedy());
        }
        violation.is_none().then_some(number)
    }

    fn numbers(&self, key: &str, value: Value<'_>, rule: Rule, example: &[f64]) -> Option<Vector2<f64>> {
        self.list(key, value, rule, example).map(|list| Vector2::new(list[0], list[1]))
    }

    /// Reads a list of numbers with the same length as the example.
    fn list(&self, key: &str, value: Value<'_>, rule: Rule, example: &[f64]) -> Option<Vec<f64>> {
        let remedy = || format!("write e.g. {example:?}");
        match value.get_ref().as_array() {
            Some(entries) if entries.len() == example.len() => {
                let numbers: Vec<_> = entries.iter().map(|entry| self.check_number(key, entry, rule, remedy)).collect();
                numbers.into_iter().collect()
            }
            _ => {
                self.type_error(key, value, &format!("must be a list of {} numbers", example.len()), remedy());
                None
            }
        }
    }

    fn rows<T>(&self, key: &'static str, read: impl Fn(&Self, Value<'_>) -> Option<T>) -> Option<Vec<T>> {
        let value = self.get(key)?;
        let Some(entries) = value.get_ref().as_array() else {
            self.type_error(
                key,
                value,
                "must be a list of rows",
                format!("write e.g. {key} = [[0.0, 0.0], [0.01, 0.0]]"),
            );
            return None;
        };
        let rows: Vec<_> = entries.iter().map(|row| read(self, row)).collect();
        rows.into_iter().collect()
    }
}

fn number_of(value: &DeValue<'_>) -> Option<f64> {
    match value {
        DeValue::Float(float) => float.as_str().parse().ok(),
        DeValue::Integer(integer) if integer.radix() == 10 => integer.as_str().parse().ok(),
        DeValue::Integer(integer) => i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|i| i as f64),
        _ => None,
    }
}

fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the text {text:?}"),
        DeValue::Integer(integer) => integer.to_string(),
        DeValue::Float(float) => float.to_string(),
        DeValue::Boolean(flag) => flag.to_string(),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(entries) => format!("a list of {}", entries.len()),
        DeValue::Table(_) => "a table".to_owned(),
    }
}

fn quoted(names: &[&str]) -> String {
    names.iter().map(|name| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
}

/// Returns the name with the smallest edit distance to `word`; `None` if there are no names.
pub fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().min_by_key(|name| strsim::damerau_levenshtein(word, name))
}
