//! Compares the motor forces with the forces that the host permitted.
//!
//! The log of a device and the trace of a host are written by two programs, each with one row per millisecond and its
//! own start time. The two are aligned in time for the best match. Every motor force must then match a force that the
//! host permitted within a few milliseconds of it.
//!
//! If a device encodes directions coarsely, the effect for one axis also leaks some force into the other axis, and the
//! host compensates for the leak. The host sets the two effects in two reports, so a motor force can be wrong briefly,
//! by the leaked fraction of the change on the other axis.

use serde::Serialize;
use std::ops::RangeInclusive;

/// Result of the comparison for one axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct AxisMatch {
    /// Number of milliseconds with a non-zero motor force.
    pub forces: usize,
    /// Number of milliseconds with a motor force, possibly zero, that the host did not permit within `WINDOW_MS` of
    /// that time.
    pub unmatched: usize,
    /// Time of the first unmatched force on the device's clock, µs, with the force, N.
    pub first_unmatched: Option<(f64, f64)>,
    /// Difference between the longest and the shortest delay from the permission of a force to the same force at the
    /// motor, ms.
    pub lag_spread_ms: i64,
}

/// Tolerance of a match, as a multiple of the force resolution. It covers rounding in the log and in the magnitudes of
/// the two effects, whose directions differ slightly from the axes.
const STEPS_OFF: f64 = 1.5;
/// Maximum time between a motor force and the matching permitted force, after alignment, ms.
const WINDOW_MS: i64 = 12;
/// Start times of the trace relative to the log to try during alignment, ms.
const STARTS_MS: RangeInclusive<i64> = -100..=5000;
/// Stride of the alignment, which uses only every `STRIDE`th row of the log.
const STRIDE: usize = 37;

/// Compares both axes of a device's log with a host's trace, both as CSV. `step_n` is the resolution of the motor
/// force, N. `leak` is the fraction of one axis's force that leaks into the other.
///
/// # Errors
/// If a column is missing or a number is invalid.
pub fn compare(log: &str, trace: &str, step_n: f64, leak: f64) -> Result<[AxisMatch; 2], String> {
    let [times_us, motor_x_n, motor_y_n] = columns(log, ["t_us", "force_x_n", "force_y_n"])?;
    let admitted_n = columns(trace, ["force_x_n", "force_y_n"])?;
    let began_us = times_us.first().copied().unwrap_or(0.0);
    let at_ms: Vec<i64> = times_us.iter().map(|time_us| libm::round((time_us - began_us) / 1000.0) as i64).collect();
    let motors_n = [motor_x_n, motor_y_n];
    let start_ms = best_start(&at_ms, &motors_n, &admitted_n);
    let matched = |axis: usize| {
        let pairs = Laid {
            at_ms: &at_ms,
            motor_n: &motors_n[axis],
            admitted_n: &admitted_n[axis],
            other_n: &admitted_n[1 - axis],
            start_ms,
        };
        pairs.judge(&times_us, STEPS_OFF * step_n, leak)
    };
    Ok([matched(0), matched(1)])
}

/// Reads the named columns of a CSV table, whose first line contains the names of all columns.
fn columns<const N: usize>(csv: &str, names: [&str; N]) -> Result<[Vec<f64>; N], String> {
    let mut lines = csv.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(names) {
        *place = header.iter().position(|column| *column == name).ok_or(format!("there is no column {name}"))?;
    }
    let mut columns = names.map(|_| Vec::new());
    for line in lines {
        for (index, text) in line.split(',').enumerate() {
            let Some(wanted) = places.iter().position(|place| *place == index) else { continue };
            columns[wanted].push(text.parse().map_err(|_| format!("no number in column {}: {line}", names[wanted]))?);
        }
    }
    Ok(columns)
}

/// Permitted force at `moment_ms` after the start of the trace, N; zero before its first row and after its last.
fn at(admitted_n: &[f64], moment_ms: i64) -> f64 {
    usize::try_from(moment_ms).ok().and_then(|row| admitted_n.get(row)).copied().unwrap_or(0.0)
}

/// Start of the trace relative to the log, ms, for which the sum of the force differences is smallest.
fn best_start(at_ms: &[i64], motors_n: &[Vec<f64>; 2], admitted_n: &[Vec<f64>; 2]) -> i64 {
    let difference_n = |start_ms: i64| -> f64 {
        let rows = (0..at_ms.len()).step_by(STRIDE);
        let of_row = |row: usize| -> f64 {
            let off = |axis: usize| (motors_n[axis][row] - at(&admitted_n[axis], at_ms[row] - start_ms)).abs();
            off(0) + off(1)
        };
        rows.map(of_row).sum()
    };
    let sums = STARTS_MS.map(|start_ms| (difference_n(start_ms), start_ms));
    sums.min_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |(_, start_ms)| start_ms)
}

/// Forces of one axis in a log, aligned with a trace.
struct Laid<'a> {
    at_ms: &'a [i64],
    motor_n: &'a [f64],
    admitted_n: &'a [f64],
    other_n: &'a [f64],
    start_ms: i64,
}

impl Laid<'_> {
    fn judge(&self, times_us: &[f64], steps_n: f64, leak: f64) -> AxisMatch {
        let mut result = AxisMatch::default();
        let (mut earliest_ms, mut latest_ms) = (i64::MAX, i64::MIN);
        for ((at_ms, force_n), time_us) in self.at_ms.iter().zip(self.motor_n).zip(times_us) {
            let tolerance_n = steps_n + leak * self.change_of_other_n(*at_ms);
            let fits = |lag_ms: &i64| {
                let admitted_n = at(self.admitted_n, at_ms - self.start_ms - lag_ms);
                (admitted_n - force_n).abs() <= tolerance_n
            };
            // Nearest time first: 0, 1, −1, 2, −2, …
            let nearest = (0..=WINDOW_MS).flat_map(|lag_ms| [lag_ms, -lag_ms]).find(fits);
            let is_force = *force_n != 0.0;
            result.forces += usize::from(is_force);
            match nearest {
                Some(lag_ms) if is_force => {
                    (earliest_ms, latest_ms) = (earliest_ms.min(lag_ms), latest_ms.max(lag_ms));
                }
                Some(_) => {}
                None => {
                    result.unmatched += 1;
                    result.first_unmatched.get_or_insert((*time_us, *force_n));
                }
            }
        }
        result.lag_spread_ms = latest_ms.saturating_sub(earliest_ms).max(0);
        result
    }

    /// Difference between the largest and the smallest permitted force of the other axis within `WINDOW_MS` of `at_ms`,
    /// N.
    fn change_of_other_n(&self, at_ms: i64) -> f64 {
        let forces_n = (-WINDOW_MS..=WINDOW_MS).map(|lag_ms| at(self.other_n, at_ms - self.start_ms - lag_ms));
        let (least, most) = forces_n
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), force| (least.min(force), most.max(force)));
        most - least
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Permitted force of each axis at a tick, N. It rises, stays constant and falls, and differs between the axes.
    fn let_through(tick: i64) -> [f64; 2] {
        let force_n = 0.01 * tick.min(400 - tick).clamp(0, 100) as f64;
        [force_n, -0.5 * force_n]
    }

    fn table(name: &str, rows: impl Iterator<Item = (i64, [f64; 2])>) -> String {
        let lines = rows.map(|(time, [x, y])| format!("{time},{x},{y}\n"));
        format!("{name},force_x_n,force_y_n\n{}", lines.collect::<String>())
    }

    /// Compares a host with a device that started 70 ms earlier and applies every other force 3 ms late. `spoil`
    /// changes the forces at the motors.
    fn compared(spoil: impl Fn(i64, [f64; 2]) -> [f64; 2]) -> [AxisMatch; 2] {
        compared_with_leak(0.0, spoil)
    }

    fn compared_with_leak(leak: f64, spoil: impl Fn(i64, [f64; 2]) -> [f64; 2]) -> [AxisMatch; 2] {
        let trace = table("t_s", (1..=400).map(|tick| (tick, let_through(tick))));
        let given = |ms: i64| spoil(ms, let_through((ms - 70 - 3) / 2 * 2));
        let log = table("t_us", (0..600).map(|ms| (9_000_000 + 1000 * ms, given(ms))));
        compare(&log, &trace, 0.0001, leak).unwrap()
    }

    #[test]
    fn a_device_that_takes_every_other_force_a_little_later_matches() {
        let [x, y] = compared(|_, force_n| force_n);
        assert_eq!((x.unmatched, y.unmatched), (0, 0));
        assert!(x.forces > 300 && x.lag_spread_ms <= 4, "{x:?}");
    }

    #[test]
    fn a_force_that_was_never_admitted_is_reported() {
        let [x, y] = compared(|ms, [x, y]| if ms == 300 { [-x, y] } else { [x, y] });
        assert_eq!((x.unmatched, y.unmatched), (1, 0));
        assert_eq!(x.first_unmatched, Some((9_300_000.0, -1.0)));
    }

    #[test]
    fn axes_that_are_exchanged_or_reversed_do_not_match() {
        assert!(compared(|_, [x, y]| [y, x])[0].unmatched > 100);
        assert!(compared(|_, [x, y]| [x, -y])[1].unmatched > 100);
    }

    #[test]
    fn a_motor_may_be_off_by_the_known_part_of_what_the_other_axis_has_just_changed() {
        let leaking = |ms: i64, [x, y]: [f64; 2]| [x + 0.02 * (let_through((ms - 70 - 5) / 2 * 2)[1] - y), y];
        assert!(compared(leaking)[0].unmatched > 100);
        assert_eq!(compared_with_leak(0.02, leaking)[0].unmatched, 0);
        // While the other axis is constant, nothing leaks.
        let steady = |ms: i64, [x, y]: [f64; 2]| if ms == 300 { [x + 0.001, y] } else { [x, y] };
        assert_eq!(compared_with_leak(0.02, steady)[0].unmatched, 1);
    }

    #[test]
    fn a_force_that_stays_too_long_does_not_match() {
        let [x, _] = compared(|ms, force_n| if (460..500).contains(&ms) { let_through(380) } else { force_n });
        assert!(x.unmatched > 20, "{x:?}");
    }

    #[test]
    fn a_missing_column_is_an_error() {
        assert!(compare("t_us\n", "t_s\n", 0.001, 0.0).is_err());
    }
}
