//! Writes measured values into the text of a device file, leaving the rest unchanged.

use crate::failure::Failure;
use haptic_config::source::Source;
use haptic_device::config::Rotation;
use haptic_loop::motor_set::MotorSet;
use haptic_tuning::encoder::EncoderStep;
use haptic_tuning::estimate::{AxisEstimate, Interval};
use toml_edit::{Array, DocumentMut, Item, TableLike, Value, table};

/// Number of significant digits for measured values.
const DIGITS: usize = 4;
/// Number of significant digits for the encoder step, which is known far more precisely than the other values.
const STEP_DIGITS: usize = 12;

const HEADING: &str = "\n\
    # Measured by `hapticd identify`, in commanded newtons. Damping and dry friction are the lower ends of their\n\
    # intervals and the delay is the upper end of its, because the energy tank relies on them.\n";

/// Returns the text of the device file with the measured values filled in; `axes` has one estimate per axis.
///
/// # Errors
/// If the text is not TOML, which cannot happen once the file has been loaded.
pub fn with_measured(source: &Source, axes: &[AxisEstimate]) -> Result<String, Failure> {
    let mut document: DocumentMut =
        source.text.parse().map_err(|error| Failure::BadInput(format!("{}: {error}", source.name)))?;
    let has_heading = source.text.contains("# Measured by `hapticd identify`");
    let item = document.entry("model").or_insert_with(table);
    if let Some(model) = item.as_table_mut() {
        if !has_heading {
            let before = model.decor().prefix().and_then(|prefix| prefix.as_str()).unwrap_or("").trim_end().to_owned();
            model.decor_mut().set_prefix(format!("{before}{}{HEADING}", if before.is_empty() { "" } else { "\n" }));
        }
        fill(model, axes, true);
    } else if let Some(model) = item.as_table_like_mut() {
        fill(model, axes, false);
    }
    Ok(document.to_string())
}

/// Returns the text of a device file with the force of some axes reversed once more; `before` are the axes that it
/// reverses now.
///
/// # Errors
/// If the text is not TOML.
pub fn with_reversed_axes(text: &str, motors: MotorSet, before: [bool; 2]) -> Result<String, Failure> {
    let keys = ["reverse_force_x", "reverse_force_y"].into_iter().zip([motors.first, motors.second]).zip(before);
    let changed = keys.filter(|((_, is_reversed), _)| *is_reversed).map(|((key, _), before)| (key, (!before).into()));
    with_keys(text, changed)
}

/// Returns the text of a device file with the directions of the motors of some arms exchanged; `before` are the
/// directions now.
///
/// # Errors
/// If the text is not TOML.
pub fn with_reversed_arms(text: &str, motors: MotorSet, before: [Rotation; 2]) -> Result<String, Failure> {
    let arm = |is_reversed: bool, before: Rotation| if is_reversed { before.opposite() } else { before }.name();
    let directions = [arm(motors.first, before[0]), arm(motors.second, before[1])];
    with_keys(text, [("motor_directions", directions.into_iter().collect::<Array>().into())].into_iter())
}

/// Returns the text with top-level keys set.
fn with_keys<'k>(text: &str, keys: impl Iterator<Item = (&'k str, Value)>) -> Result<String, Failure> {
    let mut document: DocumentMut = text.parse().map_err(|error| Failure::BadInput(format!("{error}")))?;
    for (key, value) in keys {
        document.insert(key, Item::Value(value));
    }
    Ok(document.to_string())
}

fn fill(model: &mut dyn TableLike, axes: &[AxisEstimate], with_comments: bool) {
    let lower = |interval: Interval| Interval { value: (interval.value - interval.plus_minus).max(0.0), ..interval };
    let upper = |interval: Interval| Interval { value: interval.value + interval.plus_minus, ..interval };
    let mut put = |key: &str, value: &dyn Fn(&AxisEstimate) -> Interval, digits: usize| {
        let all: Vec<Interval> = axes.iter().map(value).collect();
        let comment = with_comments.then(|| margin(&all)).flatten();
        set(model, key, &all.iter().map(|interval| rounded(interval.value, digits)).collect::<Vec<_>>(), comment);
    };
    put("mass_kg", &|axis| axis.mass_kg, DIGITS);
    put("damping_n_s_per_m", &|axis| lower(axis.damping_n_s_per_m), DIGITS);
    put("coulomb_n", &|axis| lower(axis.coulomb_n), DIGITS);
    put("delay_s", &|axis| upper(axis.delay_s), DIGITS);
    if axes.iter().all(|axis| matches!(axis.grid, EncoderStep::Step(_))) {
        put("encoder_step_m", &|axis| Interval { value: step_m(axis.grid), plus_minus: 0.0 }, STEP_DIGITS);
    }
}

fn step_m(grid: EncoderStep) -> f64 {
    match grid {
        EncoderStep::Step(step_m) => step_m,
        EncoderStep::None { .. } | EncoderStep::Unknown => 0.0,
    }
}

fn margin(intervals: &[Interval]) -> Option<String> {
    let widest = intervals.iter().map(|interval| interval.plus_minus).fold(0.0, f64::max);
    (widest > 0.0).then(|| format!(" # ± {}", rounded(widest, 2)))
}

/// Sets a key to a number for one axis, or to a list for several. The old value is removed together with its comment.
fn set(model: &mut dyn TableLike, key: &str, values: &[f64], comment: Option<String>) {
    let mut value = match values {
        [one] => Value::from(*one),
        many => Value::from(many.iter().copied().collect::<Array>()),
    };
    if let Some(comment) = comment {
        value.decor_mut().set_suffix(comment);
    }
    model.insert(key, Item::Value(value));
}

/// Rounds a number to `digits` significant digits.
pub fn rounded(value: f64, digits: usize) -> f64 {
    format!("{value:.*e}", digits.saturating_sub(1)).parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_config::device;

    fn estimate(mass_kg: f64) -> AxisEstimate {
        let about = |value: f64| Interval { value, plus_minus: 0.01 * value };
        AxisEstimate {
            mass_kg: about(mass_kg),
            damping_n_s_per_m: about(0.5),
            coulomb_n: about(0.05),
            delay_s: about(0.0003),
            bias_n: about(0.0),
            grid: EncoderStep::Step(1.371_700_000_000_000_2e-5),
            residual_m: 4e-6,
            max_force_n: 4.0,
            extent_m: 0.02,
            doubts: Vec::new(),
        }
    }

    fn written(text: &str, axes: &[AxisEstimate]) -> (String, haptic_device::DeviceConfig) {
        let text = with_measured(&Source::in_memory("a device", text), axes).unwrap();
        let file = device::load(&Source::in_memory("a device", &text), haptic_backends::KINDS)
            .unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        (text, file)
    }

    #[test]
    fn what_was_measured_is_in_and_what_the_owner_wrote_stays() {
        let before = "# my knob\nkind = \"simulated\"\naxes = 1 # one\n\n[model]\n\
                      mass_kg = 0.2 # guessed\nmax_force_n = 3.0\n\n[hand]\nmass_kg = 0.1\n";
        let (text, file) = written(before, &[estimate(0.12341)]);
        assert_eq!((file.model.mass_kg[0], file.model.max_force_n[0]), (0.1234, 3.0), "{text}");
        assert_eq!((file.model.damping_n_s_per_m[0], file.model.encoder_step_m[0]), (0.495, 1.3717e-5));
        assert!(text.contains("# my knob") && text.contains("axes = 1 # one") && !text.contains("# guessed"), "{text}");
        assert!(text.contains("Measured by") && text.contains("coulomb_n = 0.0495 # ± 0.0005"), "{text}");
        assert!(text.contains("delay_s = 0.000303 # ± "), "{text}");
        assert!(file.hand.is_some());
    }

    #[test]
    fn two_axes_get_a_value_each_and_a_missing_table_is_made() {
        let (text, file) = written("kind = \"simulated\"\n", &[estimate(0.1), estimate(0.2)]);
        assert_eq!(file.model.mass_kg, [0.1, 0.2], "{text}");
    }

    #[test]
    fn measuring_again_replaces_what_was_measured_before() {
        let (once, _) = written("axes = 1\n", &[estimate(0.1)]);
        let (twice, file) = written(&once, &[estimate(0.3)]);
        assert_eq!(file.model.mass_kg[0], 0.3);
        assert_eq!(twice.matches("Measured by").count(), 1, "{twice}");
        assert!(twice.contains("mass_kg = 0.3 # ± 0.003"), "{twice}");
    }

    #[test]
    fn reversed_axes_are_written_above_the_tables_and_reversed_again_if_they_were() {
        let before = "kind = \"serial\"\nreverse_force_y = true # wired so\n\n[model]\nmass_kg = 0.2\n";
        let both = MotorSet { first: true, second: true, are_arms: false };
        let text = with_reversed_axes(before, both, [false, true]).unwrap();
        let file = device::load(&Source::in_memory("a device", &text), haptic_backends::KINDS).unwrap();
        assert_eq!(file.reversed.force, [true, false], "{text}");
    }

    #[test]
    fn the_direction_of_a_reversed_arm_is_exchanged() {
        let arm_2 = MotorSet { first: false, second: true, are_arms: true };
        let text = with_reversed_arms("kind = \"haply-2diy\"\n", arm_2, [Rotation::Clockwise; 2]).unwrap();
        let file = device::load(&Source::in_memory("a device", &text), haptic_backends::KINDS).unwrap();
        let expected = [Rotation::Clockwise, Rotation::Anticlockwise];
        assert_eq!(file.arms.motor_directions, Some(expected), "{text}");
    }

    #[test]
    fn a_table_in_one_line_stays_in_one_line() {
        let (text, file) = written("model = { mass_kg = 0.2 }\naxes = 1\n", &[estimate(0.1)]);
        assert_eq!(file.model.mass_kg[0], 0.1, "{text}");
    }
}
