//! Remedies for wrong keys and values. Each contains a line to write or a command to run.

use crate::keys::{self, Key, Limits, SectionSpec, Unit, Value, profile::PASSIVITY, toml_number, toml_vector};
use crate::toml_value::{number_of, whole_of};
use toml::de::{DeTable, DeValue};

/// Endings of keys in a unit other than ours: the ending, the symbol of our unit, and the value in our unit.
const OTHER_UNITS: [(&str, &str, f64); 7] = [
    ("_g", "kg", 1e-3),
    ("_mm", "m", 1e-3),
    ("_cm", "m", 1e-2),
    ("_deg", "rad", std::f64::consts::PI / 180.0),
    ("_degrees", "rad", std::f64::consts::PI / 180.0),
    ("_ms", "s", 1e-3),
    ("_us", "s", 1e-6),
];

/// Returns the remedy for a number that is not accepted or unusual; `None` stands for something that is not a number.
pub fn for_number(key: &Key, number: Option<f64>) -> String {
    match number.and_then(|number| without_slip(key, number)) {
        Some((unit, corrected)) => format!("if these are {unit}, write {} = {}", key.name, toml_number(corrected)),
        None => format!("write {} = {}", key.name, suggestion(key, number)),
    }
}

/// Returns the remedy for a number in a list, which has been written as `written`.
pub fn for_list(key: &Key, written: Option<&[f64]>, number: Option<f64>) -> String {
    let slip = number.and_then(|number| without_slip(key, number)).zip(key.unit().slip).zip(written);
    match slip {
        Some((((unit, _), (_, value)), written)) => {
            let corrected: Vec<f64> = written.iter().map(|number| four_digits(number * value)).collect();
            format!("if these are {unit}, write {} = {}", key.name, toml_vector(&corrected))
        }
        None => format!("write {}", key.example_line()),
    }
}

/// Returns the remedy for a number in a list of rows.
pub fn for_row(key: &Key, number: Option<f64>) -> String {
    match number.and_then(|number| without_slip(key, number)) {
        Some((unit, corrected)) => {
            let (corrected, line) = (toml_number(corrected), key.example_line());
            format!("if these are {unit}, write {corrected} and convert the others, as in {line}; write {line}")
        }
        None => format!("write {}", key.example_line()),
    }
}

/// Smallest number that is probably in a smaller unit than ours.
const SMALLEST_SLIP: f64 = 0.5;

/// Returns the unit in which a number was probably written, and the number in the unit of the key, if that makes an
/// unusual number a usual one.
fn without_slip(key: &Key, number: f64) -> Option<(&'static str, f64)> {
    let Limits { recommended, .. } = key.limits()?;
    let (unit, value) = key.unit().slip?;
    let corrected = four_digits(number * value);
    let is_slip = number.abs() >= SMALLEST_SLIP && !recommended.contains(number) && recommended.contains(corrected);
    is_slip.then_some((unit, corrected))
}

/// Returns a usual number: the smallest one for a positive number that is too small, otherwise the example.
fn suggestion(key: &Key, number: Option<f64>) -> String {
    let smallest = key.limits().map_or(0.0, |limits| limits.recommended.min);
    match number {
        Some(number) if 0.0 < number && number < smallest => toml_number(smallest),
        _ => key.example_text(),
    }
}

/// Rounds to four significant digits.
fn four_digits(number: f64) -> f64 {
    format!("{number:.3e}").parse().unwrap_or(number)
}

/// Returns the remedy for a text that is none of the choices: the nearest one if there is one, otherwise the default.
pub fn for_choice(key: &Key, word: &str, names: &[&str]) -> String {
    let is_near = |name: &&str| distance(word, name) <= allowed_slips(word);
    // A guess must not be less safe than what was meant.
    let guess = if std::ptr::eq(key, &PASSIVITY) { None } else { nearest(word, names).filter(is_near) };
    let example = key.example_text();
    let example = example.trim_matches('"');
    let name = guess.or(names.contains(&example).then_some(example)).or(names.first().copied()).unwrap_or_default();
    format!("write {} = \"{name}\"", key.name)
}

/// Returns the name with the smallest edit distance to `word`; `None` if there are no names.
pub fn nearest<'n>(word: &str, names: &[&'n str]) -> Option<&'n str> {
    names.iter().copied().min_by_key(|name| distance(word, name))
}

fn distance(word: &str, name: &str) -> usize {
    strsim::damerau_levenshtein(&normal(word), name)
}

/// Number of letters by which a misspelt word may differ from the one that was meant.
fn allowed_slips(word: &str) -> usize {
    (word.chars().count() / 3).clamp(1, 4)
}

/// Spells a key as the keys of files are spelt.
fn normal(word: &str) -> String {
    word.to_lowercase().replace(['-', ' '], "_")
}

/// How well a key fits what was written; the smallest is the best.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    /// The same quantity or another word for it, in the same section.
    Here,
    /// The same in a table of this section.
    Inside,
    /// The very name, in another section.
    Elsewhere,
    /// A similar spelling in the same section; the number of differing letters.
    Misspelt(usize),
    /// The same quantity or another word for it, in another section.
    MeantElsewhere,
    /// A similar spelling in another section; the number of differing letters.
    MisspeltElsewhere(usize),
}

/// Returns the remedy for a key that a section does not have. `written` is its value as TOML, `root` the top level of
/// the file.
pub fn for_unknown_key(name: &str, written: &str, section: &SectionSpec, root: &'static SectionSpec) -> String {
    let found = best(name, section, root).map(|found| (found, None));
    let Some(((key, home), file)) = found.or_else(|| in_another_file(name, root)) else {
        let file = keys::FILES.iter().find(|(_, spec)| std::ptr::eq(*spec, root)).map_or("scene", |(file, _)| file);
        let keys = section.names().join(", ");
        return format!("remove it; the keys here are {keys}; `hapticd schema {file}` prints all");
    };
    let line = match key.value {
        Value::Sections(inner) if inner.header.starts_with('[') => format!("[[{}]]", key.name),
        Value::Section(inner) if inner.header.starts_with('[') => inner.header.to_owned(),
        _ => format!("{} = {}", key.name, value_for(key, name, written)),
    };
    let question = if key.name == name { String::new() } else { format!("did you mean {}? ", key.name) };
    let place = match (file, home.header) {
        (Some(file), "") => format!("it belongs in a {file}: write "),
        (Some(file), header) => format!("it belongs in a {file}, in {header}: write "),
        (None, _) if std::ptr::eq(home, section) => "write ".to_owned(),
        (None, "") => "it belongs at the top of the file: write ".to_owned(),
        (None, header) if header.contains('…') => return format!("{question}write {}", header.replace('…', &line)),
        (None, header) => format!("it belongs in {header}: write "),
    };
    format!("{question}{place}{line}")
}

/// Returns the key of another kind of file that has the given name, its section, and the kind.
fn in_another_file(
    name: &str,
    root: &'static SectionSpec,
) -> Option<((&'static Key, &'static SectionSpec), Option<&'static str>)> {
    let others = keys::FILES.into_iter().filter(|(_, spec)| !std::ptr::eq(*spec, root));
    let homes = others.flat_map(|(file, spec)| spec.all().into_iter().map(move |home| (file, home)));
    let mut found = homes.filter_map(|(file, home)| Some(((home.key(name)?, home), Some(file))));
    found.next()
}

/// Returns the key of a section that was probably meant by an unknown name.
pub fn key_meant_by(name: &str, section: &'static SectionSpec) -> Option<&'static Key> {
    best(name, section, section).map(|(key, _)| key)
}

/// Returns the key that was probably meant, and its section.
fn best(name: &str, section: &SectionSpec, root: &'static SectionSpec) -> Option<(&'static Key, &'static SectionSpec)> {
    let mut homes = root.all();
    // Of several sections with the same key, the one that follows is the nearest.
    if let Some(place) = homes.iter().position(|home| std::ptr::eq(*home, section)) {
        homes.rotate_left(place);
    }
    // A list of tables in braces is not guessed from one of their keys.
    let is_guessed = |key: &&&Key| !(matches!(key.value, Value::Sections(inner) if inner.header.contains('…')));
    let inner = section.keys.iter().filter(is_guessed).filter_map(|key| key.section());
    let inside: Vec<&SectionSpec> = inner.flat_map(SectionSpec::all).collect();
    let fit = |key: &'static Key, home: &'static SectionSpec| {
        let (is_here, is_inside) = (std::ptr::eq(home, section), inside.iter().any(|spec| std::ptr::eq(*spec, home)));
        let (is_meant, slips) = (is_meant(name, key), slips(name, key));
        let is_near = slips <= allowed_slips(name);
        match () {
            () if is_here && is_meant => Some(Fit::Here),
            () if is_inside && (is_meant || key.name == name) => Some(Fit::Inside),
            () if key.name == name => Some(Fit::Elsewhere),
            () if is_here && is_near => Some(Fit::Misspelt(slips)),
            () if is_meant => Some(Fit::MeantElsewhere),
            () if is_near => Some(Fit::MisspeltElsewhere(slips)),
            () => None,
        }
    };
    let all = homes.into_iter().flat_map(|home| home.keys.iter().map(move |key| (*key, home)));
    let fitting = all.filter_map(|(key, home)| Some((fit(key, home)?, key, home)));
    fitting.min_by_key(|(fit, ..)| *fit).map(|(_, key, home)| (key, home))
}

/// Returns the number of letters by which a word differs from a key, or from the key without its unit.
fn slips(word: &str, key: &Key) -> usize {
    distance(word, key.name).min(distance(word, Unit::quantity(key.name)))
}

/// Whether a word names the quantity of a key: without its unit, with another unit, or by another word.
fn is_meant(word: &str, key: &Key) -> bool {
    let word = normal(word);
    let is_quantity = |quantity: &str| {
        word.strip_prefix(quantity).is_some_and(|rest| rest.is_empty() || rest.starts_with('_') && rest.len() <= 12)
    };
    let plural = word.strip_suffix('s').unwrap_or(&word);
    let is_word = |other: &&str| *other == word || *other == plural || *other == Unit::quantity(&word);
    let has_unit = !key.unit().symbol.is_empty();
    key.words.iter().any(is_word) || plural == key.name || has_unit && is_quantity(Unit::quantity(key.name))
}

/// Returns a value for a key, as TOML: what was written under another name, converted to the unit of the key, if that
/// is a valid value; otherwise the example.
fn value_for(key: &Key, name: &str, written: &str) -> String {
    let unit = key.unit().symbol;
    let other = OTHER_UNITS.iter().find(|(ending, of, _)| name.ends_with(ending) && *of == unit);
    let in_our_unit = |value: f64| {
        let numbers = written.trim().trim_matches(['[', ']']).split(',').map(|number| number.trim().parse::<f64>());
        let numbers: Option<Vec<f64>> = numbers.map(|number| Some(four_digits(number.ok()? * value))).collect();
        numbers.map(|numbers| if written.contains('[') { toml_vector(&numbers) } else { toml_number(numbers[0]) })
    };
    let converted = other.and_then(|(_, _, value)| in_our_unit(*value)).unwrap_or_else(|| written.to_owned());
    let is_short = converted.len() <= 60 && !converted.contains('\n');
    if is_short && is_valid(key, &converted) { converted } else { key.example_text() }
}

fn is_valid(key: &Key, text: &str) -> bool {
    let line = format!("{} = {text}", key.name);
    let Ok(table) = DeTable::parse(&line) else { return false };
    let Some(value) = table.get_ref().get(key.name) else { return false };
    let accepts = |value: &DeValue<'_>| {
        let limits = key.limits().zip(number_of(value));
        limits.is_some_and(|(limits, number)| limits.accepted.contains(number))
    };
    match (key.value, value.get_ref()) {
        (Value::Number(_) | Value::PerAxis(_), number) => accepts(number),
        (Value::Vector(_), DeValue::Array(list)) => {
            list.len() == 2 && list.iter().all(|number| accepts(number.get_ref()))
        }
        (Value::Flag, value) => value.is_bool(),
        (Value::Text, value) => value.is_str(),
        (Value::Whole(min, max), value) => whole_of(value).is_some_and(|number| (min..=max).contains(&number)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::{profile, scene};

    fn unknown(name: &str, written: &str, section: &SectionSpec, root: &'static SectionSpec) -> String {
        for_unknown_key(name, written, section, root)
    }

    #[test]
    fn an_unknown_key_finds_the_one_that_was_meant() {
        let (world, body) = (&scene::WORLD_SECTION, &scene::BODY_SECTION);
        for (name, written, section, remedy) in [
            ("gravity", "9.81", world, "did you mean gravity_m_per_s2? write gravity_m_per_s2 = [0.0, -9.81]"),
            ("g", "[0, -1]", world, "did you mean gravity_m_per_s2? write gravity_m_per_s2 = [0, -1]"),
            ("mass", "0.2", body, "did you mean mass_kg? write mass_kg = 0.2"),
            ("position_mm", "[0, 50]", body, "did you mean position_m? write position_m = [0.0, 0.05]"),
            ("max_force_n", "3", world, "it belongs in a profile, in [safety]: write max_force_n = 3"),
            ("mass_g", "20", body, "did you mean mass_kg? write mass_kg = 0.02"),
            ("radius", "0.02", body, "did you mean disc_radius_m? write shape = { disc_radius_m = 0.02 }"),
            ("color", "\"red\"", body, "did you mean colour? write colour = \"#8899aa\""),
            ("fricton", "0.4", body, "did you mean friction? write friction = 0.4"),
            ("masss", "0.2", body, "did you mean mass_kg? write mass_kg = 0.2"),
            ("Fixed", "true", body, "did you mean fixed? write fixed = true"),
            ("gravity_m_per_s2", "[0.0, 0.0]", body, "it belongs in [world]: write gravity_m_per_s2 = [0.0, 0.0]"),
            ("bodies", "3", &scene::SCENE, "did you mean body? write [[body]]"),
            ("wurld", "3", &scene::SCENE, "did you mean world? write [world]"),
        ] {
            assert_eq!(unknown(name, written, section, &scene::SCENE), remedy, "{name}");
        }
        let remedy = unknown("max_force_n", "3", &profile::COUPLING_SECTION, &profile::PROFILE);
        assert_eq!(remedy, "it belongs in [safety]: write max_force_n = 3");
        let remedy = unknown("stiffness", "3", &profile::COUPLING_SECTION, &profile::PROFILE);
        assert_eq!(remedy, "did you mean stiffness_n_per_m? write stiffness_n_per_m = 3");
        assert!(
            unknown("zzz", "1", world, &scene::SCENE).starts_with("remove it; the keys here are gravity_m_per_s2, ")
        );
    }

    #[test]
    fn a_slip_of_the_unit_is_corrected() {
        assert_eq!(for_number(&scene::ANGLE_RAD, Some(90.0)), "if these are degrees, write angle_rad = 1.571");
        assert_eq!(for_number(&scene::MASS, Some(50.0)), "if these are grams, write mass_kg = 0.05");
        let size = for_list(&scene::BOX, Some(&[20.0, 10.0]), Some(20.0));
        assert_eq!(size, "if these are millimetres, write box_m = [0.02, 0.01]");
        assert_eq!(for_number(&scene::FRICTION, Some(-1.0)), "write friction = 0.5");
        assert_eq!(for_number(&profile::STALE_AFTER, Some(1e-5)), "write stale_after_s = 0.001");
    }

    #[test]
    fn a_wrong_choice_is_never_answered_with_a_less_safe_one() {
        let names = ["tank", "observer", "off"];
        for word in ["on", "of", "offf", "observe", ""] {
            assert_eq!(for_choice(&PASSIVITY, word, &names), "write passivity = \"tank\"");
        }
        let states = scene::IMPACT_STATES.map(|(name, _)| name);
        assert_eq!(for_choice(&scene::IMPACT_STATE, "exat", &states), "write impact_state = \"exact\"");
        assert_eq!(for_choice(&scene::IMPACT_STATE, "fastest", &states), "write impact_state = \"inter-state\"");
    }
}
