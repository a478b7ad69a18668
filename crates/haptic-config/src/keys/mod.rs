//! The keys of scene, profile and device files.
//!
//! Each key is defined once, in a static of [`scene`], [`profile`] or [`device`]. The parsers, the warnings, the error
//! messages, the schemas ([`crate::schema`]) and the reference ([`crate::reference`]) use this definition.

pub mod device;
pub mod profile;
pub mod scene;
#[cfg(test)]
mod tests;
mod unit;

pub use haptic_coupling::key::{Decimal, Range};
pub use unit::Unit;

use haptic_coupling::key::Number;
use nalgebra::Vector2;

/// The kinds of TOML files, with their top levels.
pub static FILES: [(&str, &SectionSpec); 3] =
    [("scene", &scene::SCENE), ("profile", &profile::PROFILE), ("device", &device::DEVICE)];

/// Definition of one key.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Name, which ends with the unit.
    pub name: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Type and permitted values.
    pub value: Value,
    /// Value of a key that is not in the file.
    pub default: Default,
    /// Example of a value, as TOML; empty if the default is one.
    pub example: &'static str,
    /// Other words for the same thing, which users may write instead.
    pub words: &'static [&'static str],
    /// Whether the section must have exactly one of its keys with this mark.
    pub is_alternative: bool,
}

/// Type and permitted values of a key.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A number.
    Number(Limits),
    /// A number for all axes, or a list with a number for each axis.
    PerAxis(Limits),
    /// A vector of two numbers.
    Vector(Limits),
    /// A list of points of two numbers each.
    Points(Limits),
    /// Two opposite corners of a rectangle along the axes, as two points.
    Corners(Limits),
    /// A list of rows of a time and a point, with the limits of the points; times have the limits [`scene::TIME`].
    Rows(Limits),
    /// An integer in a range.
    Whole(i64, i64),
    /// A core, as an integer, or `"auto"`.
    Cpu,
    /// True or false.
    Flag,
    /// A text that is not empty.
    Text,
    /// A list of two texts.
    TwoTexts,
    /// A list of texts.
    Texts,
    /// A colour: `#rrggbb` or a CSS name.
    Colour,
    /// One of several texts.
    Choice(&'static [&'static str]),
    /// A list of two of several texts.
    TwoChoices(&'static [&'static str]),
    /// The name of a device kind.
    DeviceKind,
    /// The name of a variant of a device kind.
    Variant,
    /// A section, such as `[world]`.
    Section(&'static SectionSpec),
    /// A list of sections, such as `[[body]]`.
    Sections(&'static SectionSpec),
}

/// Value of a key that is not in the file.
#[derive(Clone, Copy, Debug)]
pub enum Default {
    /// The key has no default; without it, the sentence that describes it applies.
    None,
    /// The key must be given.
    Required,
    /// A number.
    Number(fn() -> f64),
    /// A vector of two numbers.
    Vector(fn() -> Vector2<f64>),
    /// An integer.
    Whole(i64),
    /// True or false.
    Flag(bool),
    /// A text.
    Text(&'static str),
}

/// Limits of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limits {
    /// Numbers that are accepted.
    pub accepted: Range,
    /// Numbers that cause no warning.
    pub recommended: Range,
}

/// Definition of a section.
#[derive(Clone, Copy, Debug)]
pub struct SectionSpec {
    /// How the section is written, such as `[world]` or `shape = { … }`; empty for the top level of a file.
    pub header: &'static str,
    /// Description in one sentence.
    pub about: &'static str,
    /// Keys, in the order of the reference.
    pub keys: &'static [&'static Key],
    /// A working example, as TOML: the whole section, with its header.
    pub example: &'static str,
}

impl Limits {
    /// Creates limits.
    pub const fn new(accepted: Range, recommended: Range) -> Self {
        Self { accepted, recommended }
    }
}

impl Key {
    const fn new(name: &'static str, about: &'static str, value: Value) -> Self {
        Self { name, about, value, default: Default::None, example: "", words: &[], is_alternative: false }
    }

    const fn number(name: &'static str, about: &'static str, limits: Limits) -> Self {
        Self::new(name, about, Value::Number(limits))
    }

    /// Creates the key of a setting that is defined where it is used.
    const fn setting<T>(key: &haptic_coupling::key::Key<T>, default: fn() -> f64) -> Self {
        let Number { name, about, accepted, recommended } = key.number;
        Self::number(name, about, Limits::new(accepted, recommended)).or(Default::Number(default))
    }

    const fn or(self, default: Default) -> Self {
        Self { default, ..self }
    }

    const fn such_as(self, example: &'static str) -> Self {
        Self { example, ..self }
    }

    const fn also(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    const fn alternative(self) -> Self {
        Self { is_alternative: true, ..self }
    }

    /// Returns the unit of the value, which is part of the name.
    pub fn unit(&self) -> Unit {
        Unit::of(self.name)
    }

    /// Returns the default as TOML; `None` if there is none.
    pub fn default_text(&self) -> Option<String> {
        match self.default {
            Default::None | Default::Required | Default::Text("") => None,
            Default::Number(number) => Some(toml_number(number())),
            Default::Vector(vector) => Some(toml_vector(vector().as_slice())),
            Default::Whole(whole) => Some(whole.to_string()),
            Default::Flag(flag) => Some(flag.to_string()),
            Default::Text(text) => Some(format!("\"{text}\"")),
        }
    }

    /// Returns a valid value as TOML.
    pub fn example_text(&self) -> String {
        match self.example {
            "" => self.default_text().unwrap_or_default(),
            example => example.to_owned(),
        }
    }

    /// Returns the line that sets the key to a valid value.
    pub fn example_line(&self) -> String {
        format!("{} = {}", self.name, self.example_text())
    }

    /// Returns the limits of the numbers of the value, if it consists of numbers.
    pub fn limits(&self) -> Option<Limits> {
        match self.value {
            Value::Number(limits)
            | Value::PerAxis(limits)
            | Value::Vector(limits)
            | Value::Points(limits)
            | Value::Corners(limits)
            | Value::Rows(limits) => Some(limits),
            _ => None,
        }
    }

    /// Returns the section or the list of sections that the key introduces, if any.
    pub fn section(&self) -> Option<&'static SectionSpec> {
        match self.value {
            Value::Section(section) | Value::Sections(section) => Some(section),
            _ => None,
        }
    }

    /// Whether the key must be given.
    pub fn is_required(&self) -> bool {
        matches!(self.default, Default::Required)
    }
}

impl SectionSpec {
    /// Returns the key with the given name.
    pub fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().copied().find(|key| key.name == name)
    }

    /// Returns the names of the keys.
    pub fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    /// Returns the keys of which the section must have exactly one.
    pub fn alternatives(&self) -> impl Iterator<Item = &'static Key> {
        self.keys.iter().copied().filter(|key| key.is_alternative)
    }

    /// Returns this section and all sections in it, each once, after the first one that contains it.
    pub fn all(&'static self) -> Vec<&'static SectionSpec> {
        let inner = self.keys.iter().filter_map(|key| key.section());
        let mut all: Vec<&'static SectionSpec> = vec![self];
        for section in inner.flat_map(SectionSpec::all) {
            if !all.iter().any(|known| std::ptr::eq(*known, section)) {
                all.push(section);
            }
        }
        all
    }
}

/// Formats a number as TOML, with a decimal point or an exponent.
pub fn toml_number(number: f64) -> String {
    let text = Decimal(number).to_string();
    if text.contains(['.', 'e']) { text } else { format!("{text}.0") }
}

/// Formats a list of numbers as TOML.
pub fn toml_vector(numbers: &[f64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(|&number| toml_number(number)).collect();
    format!("[{}]", numbers.join(", "))
}

/// Returns the names in a list of choices.
pub(crate) const fn names<T: Copy, const N: usize>(choices: &[(&'static str, T); N]) -> [&'static str; N] {
    let mut names = [""; N];
    let mut index = 0;
    while index < N {
        names[index] = choices[index].0;
        index += 1;
    }
    names
}
