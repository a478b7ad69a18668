//! Checks new gains from the viewer against the rules of profile files and the viewer's own limits.

use haptic_config::keys::profile::COUPLING_SECTION;
use haptic_config::remedy;
use haptic_coupling::coupling::{GAIN_KEYS, Gains};
use haptic_coupling::key::Key;
use haptic_loop::control::ControlError;
use serde_json::{Map, Value};

/// Example of a valid request: keys are at the top level, not inside a table as in a profile.
const EXAMPLE: &str = "{\"stiffness_n_per_m\":300.0}";

/// Returns the active gains with the given keys changed. No given value may exceed `max`.
///
/// # Errors
/// If a key is unknown, or if a value would be invalid in a profile or exceeds `max`.
pub fn retuned(gains: &Gains, keys: &Map<String, Value>, max: &Gains) -> Result<Gains, ControlError> {
    reject_unknown_keys(keys)?;
    let (mut retuned, mut problems) = (*gains, Vec::new());
    for key in &GAIN_KEYS {
        match keys.get(key.name()).map(|value| checked(key, value, max)) {
            Some(Ok(number)) => *(key.field)(&mut retuned) = number,
            Some(Err(problem)) => problems.push(format!("coupling.{}: {problem}", key.name())),
            None => {}
        }
    }
    if problems.is_empty() { Ok(retuned) } else { Err(ControlError::Invalid(problems.join("\n"))) }
}

/// Rejects an unknown key and suggests the nearest known one. Unknown keys are reported before invalid values.
fn reject_unknown_keys(keys: &Map<String, Value>) -> Result<(), ControlError> {
    let names = GAIN_KEYS.map(|key| key.name());
    let Some(unknown) = keys.keys().find(|key| !names.contains(&key.as_str())) else { return Ok(()) };
    let remedy = match unknown.as_str() {
        "coupling" => format!("send its keys themselves, e.g. {EXAMPLE}."),
        _ => remedy::key_meant_by(unknown, &COUPLING_SECTION)
            .map_or("remove it.".to_owned(), |key| format!("did you mean {}?", key.name)),
    };
    Err(ControlError::Invalid(format!(
        "coupling: {unknown:?} is an unknown key; {remedy} The keys are {}",
        names.join(", ")
    )))
}

/// Checks the value given for a key and returns it as a number. Keys that are not given are not checked, because their
/// values in the profile may exceed the limits.
fn checked(key: &Key<Gains>, value: &Value, max: &Gains) -> Result<f64, String> {
    let example = format!("send {{\"{}\":{:?}}}", key.name(), key.get(&Gains::default()));
    let number = value.as_f64().ok_or_else(|| format!("must be a number, got {value}; {example}"))?;
    if let Some(problem) = key.number.accepted.violation(number) {
        return Err(format!("{problem}; {example}"));
    }
    let max = key.get(max);
    if number > max {
        let max = format!("{max:.6}");
        let max = max.trim_end_matches('0').trim_end_matches('.');
        return Err(format!("must not be more than {max}, got {number}; higher values can be set in the profile"));
    }
    Ok(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const MAX: Gains = Gains {
        stiffness_n_per_m: 5000.0,
        damping_n_s_per_m: 20.0,
        angular_stiffness_n_m_per_rad: 10.0,
        angular_damping_n_m_s_per_rad: 0.1,
    };

    fn patch(value: Value) -> Result<Gains, ControlError> {
        retuned(&Gains::default(), value.as_object().unwrap(), &MAX)
    }

    #[test]
    fn what_is_given_changes_and_the_rest_stays() {
        let gains = patch(json!({ "stiffness_n_per_m": 300 })).unwrap();
        assert_eq!(gains, Gains { stiffness_n_per_m: 300.0, ..Gains::default() });
        assert_eq!(patch(json!({})).unwrap(), Gains::default());
    }

    #[test]
    fn what_a_profile_has_beyond_the_limits_does_not_stand_in_the_way_of_other_keys() {
        let stiff = Gains { stiffness_n_per_m: 9000.0, ..Gains::default() };
        let body = json!({ "damping_n_s_per_m": 2.0 });
        let gains = retuned(&stiff, body.as_object().unwrap(), &MAX).unwrap();
        assert_eq!((gains.stiffness_n_per_m, gains.damping_n_s_per_m), (9000.0, 2.0));
    }

    #[test]
    fn wrong_values_are_refused_with_their_key() {
        let cases = [
            (json!({ "stiffness_n_per_m": -1 }), "coupling.stiffness_n_per_m: must be from 0 to 1000000, got -1"),
            (json!({ "stiffness_n_per_m": 6000.0 }), "coupling.stiffness_n_per_m: must not be more than 5000"),
            (json!({ "stifness_n_per_m": 1.0 }), "did you mean stiffness_n_per_m?"),
            (json!({ "damping_n_s_per_m": "much" }), "coupling.damping_n_s_per_m: must be a number"),
            (json!({ "damping_n_s_per_m": null }), "coupling.damping_n_s_per_m: must be a number"),
            (json!({ "damping_n_s_per_m": [1] }), "coupling.damping_n_s_per_m: must be a number"),
            (json!({ "a\"\n]\u{0}": 1.0 }), "unknown key"),
            (
                json!({ "coupling": { "stiffness_n_per_m": 300 } }),
                "send its keys themselves, e.g. {\"stiffness_n_per_m\":",
            ),
            (json!({ "stiffness": null }), "did you mean stiffness_n_per_m?"),
        ];
        for (body, words) in cases {
            let Err(ControlError::Invalid(text)) = patch(body.clone()) else { panic!("{body} was taken") };
            assert!(text.contains(words), "{body}: {text}");
        }
    }
}
