//! New gains through the viewer, judged by the very rules of a profile file, and by the limits on top.

use haptic_config::profile;
use haptic_config::section::nearest;
use haptic_config::source::Source;
use haptic_coupling::coupling::Gains;
use haptic_loop::control::ControlError;
use haptic_view::message::settings::LimitsMessage;
use serde_json::{Map, Value};
use std::fmt::Write;

/// The keys of `[coupling]`, and what they are now.
fn keys_of(gains: &Gains) -> [(&'static str, f64); 4] {
    [
        ("stiffness_n_per_m", gains.stiffness_n_per_m),
        ("damping_n_s_per_m", gains.damping_n_s_per_m),
        ("angular_stiffness_n_m_per_rad", gains.angular_stiffness_n_m_per_rad),
        ("angular_damping_n_m_s_per_rad", gains.angular_damping_n_m_s_per_rad),
    ]
}

/// The only form there is: the keys themselves, not in a table as a profile has them.
const EXAMPLE: &str = "{\"stiffness_n_per_m\":300.0}";

/// Keys come before values: what is said of a value must not propose a key that does not exist.
fn reject_unknown_keys(keys: &Map<String, Value>) -> Result<(), ControlError> {
    let names = keys_of(&Gains::default()).map(|(name, _)| name);
    let Some(unknown) = keys.keys().find(|key| !names.contains(&key.as_str())) else { return Ok(()) };
    let remedy = match unknown.as_str() {
        "coupling" => format!("send its keys themselves, e.g. {EXAMPLE}."),
        _ => format!("did you mean {}?", nearest(unknown, &names).unwrap_or_default()),
    };
    Err(ControlError::Invalid(format!(
        "coupling: {unknown:?} is an unknown key; {remedy} The keys are {}",
        names.join(", ")
    )))
}

/// The gains in force with some keys changed.
///
/// # Errors
/// When a key is unknown, or a value is not what a profile may have or is beyond the limits.
pub fn retuned(gains: &Gains, keys: &Map<String, Value>, limits: &LimitsMessage) -> Result<Gains, ControlError> {
    reject_unknown_keys(keys)?;
    let text = profile_with(gains, keys)?;
    let retuned = profile::load(&Source::in_memory("coupling", &text)).map_err(|errors| {
        let told = errors.0.iter().map(|problem| format!("{}: {}; {}", problem.key, problem.problem, problem.remedy));
        ControlError::Invalid(told.collect::<Vec<_>>().join("\n"))
    })?;
    within(limits, retuned.coupling, keys)
}

/// A profile that says nothing but the coupling.
fn profile_with(gains: &Gains, keys: &Map<String, Value>) -> Result<String, ControlError> {
    let mut text = String::from("[coupling]\n");
    for (key, value) in keys_of(gains).iter().filter(|(key, _)| !keys.contains_key(*key)) {
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{key} = {value:?}");
    }
    for (key, value) in keys {
        let value = match value {
            Value::Number(_) | Value::String(_) | Value::Bool(_) => value,
            _ => {
                return Err(ControlError::Invalid(format!(
                    "coupling.{key}: must be a number; send e.g. {{\"{key}\":1.0}}"
                )));
            }
        };
        // What JSON writes for a text is a text in TOML, too.
        let _ = writeln!(text, "{} = {value}", Value::from(key.as_str()));
    }
    Ok(text)
}

/// Only what is asked for is judged: a profile that was saved since may have gone farther in the rest, as profiles may.
fn within(limits: &LimitsMessage, gains: Gains, keys: &Map<String, Value>) -> Result<Gains, ControlError> {
    let ranges = [
        limits.stiffness_n_per_m,
        limits.damping_n_s_per_m,
        limits.angular_stiffness_n_m_per_rad,
        limits.angular_damping_n_m_s_per_rad,
    ];
    let is_beyond = |((key, value), [_, most]): &((&str, f64), [f64; 2])| keys.contains_key(*key) && value > most;
    let beyond = keys_of(&gains).into_iter().zip(ranges).find(is_beyond);
    match beyond {
        None => Ok(gains),
        Some(((key, value), [_, most])) => {
            let advice = "the profile may have more, if it is meant";
            let most = format!("{most:.6}");
            let most = most.trim_end_matches('0').trim_end_matches('.');
            Err(ControlError::Invalid(format!("coupling.{key}: must not be more than {most}, got {value}; {advice}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn limits() -> LimitsMessage {
        LimitsMessage {
            max_force_n: 4.0,
            stiffness_n_per_m: [0.0, 5000.0],
            damping_n_s_per_m: [0.0, 20.0],
            angular_stiffness_n_m_per_rad: [0.0, 10.0],
            angular_damping_n_m_s_per_rad: [0.0, 0.1],
        }
    }

    fn patch(value: Value) -> Result<Gains, ControlError> {
        retuned(&Gains::default(), value.as_object().unwrap(), &limits())
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
        let gains = retuned(&stiff, body.as_object().unwrap(), &limits()).unwrap();
        assert_eq!((gains.stiffness_n_per_m, gains.damping_n_s_per_m), (9000.0, 2.0));
    }

    #[test]
    fn wrong_values_are_refused_with_their_key() {
        let cases = [
            (json!({ "stiffness_n_per_m": -1 }), "coupling.stiffness_n_per_m: must be zero or more, got -1"),
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
