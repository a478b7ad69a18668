//! Reading a corrupted file returns a value or errors; it never panics.

use haptic_config::builtin::{DEVICES, Library, PROFILES, SCENES};
use haptic_config::source::Source;
use haptic_config::{device, hand, kind::FileKind, profile, scene};
use proptest::prelude::*;

const HAND: &str = "t_s,x_m,y_m\n0.0,0.0,0.03\n1.0,0.0,-0.01\n2.5,0.01,0.03\n";

const SPLICES: [&str; 16] = [
    "nan",
    "-inf",
    "1e400",
    "-1",
    "0",
    "[",
    "]",
    "{}",
    "\"",
    "é",
    "\n[[body]]\n",
    "\n[tool]\n",
    ",",
    "99999999999999999999",
    "1e11",
    "\u{feff}",
];

/// A mutation of a text: a deletion and an insertion at one position, given as a fraction of the text length.
#[derive(Clone, Debug)]
struct Slip {
    at: f64,
    cut: usize,
    splice: usize,
}

fn slip() -> impl Strategy<Value = Slip> {
    (0.0..1.0, 0_usize..12, 0..SPLICES.len() * 2).prop_map(|(at, cut, splice)| Slip { at, cut, splice })
}

fn mangle(text: &str, slips: &[Slip]) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for Slip { at, cut, splice } in slips {
        let start = (at * characters.len() as f64) as usize;
        let end = (start + cut).min(characters.len());
        let insert = SPLICES.get(*splice).copied().unwrap_or_default();
        characters.splice(start..end, insert.chars());
    }
    characters.into_iter().collect()
}

fn any_of(library: &'static Library) -> impl Strategy<Value = &'static str> {
    (0..library.entries.len()).prop_map(|index| library.entries[index].1)
}

fn mangled(original: impl Strategy<Value = &'static str>) -> impl Strategy<Value = Source> {
    (original, proptest::collection::vec(slip(), 1..5))
        .prop_map(|(text, slips)| Source::in_memory("mangled.toml", &mangle(text, &slips)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_mangled_scene_never_panics(source in mangled(any_of(&SCENES))) {
        if let Err(errors) = scene::load(&source) {
            prop_assert!(!errors.to_string().is_empty());
        }
        let _ = FileKind::detect(&source);
    }

    #[test]
    fn a_mangled_profile_never_panics(source in mangled(any_of(&PROFILES))) {
        if let Err(errors) = profile::load(&source) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn a_mangled_device_never_panics(source in mangled(any_of(&DEVICES))) {
        if let Err(errors) = device::load(&source, haptic_backends::KINDS) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }

    #[test]
    fn a_mangled_hand_never_panics(source in mangled(Just(HAND))) {
        if let Err(errors) = hand::load(&source) {
            prop_assert!(!errors.to_string().is_empty());
        }
    }
}
