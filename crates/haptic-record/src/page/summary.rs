//! Figures for a paper: mean, RMS, maximum and spread of each quantity, and dominant frequencies.

use super::gathered::TickColumns;
use crate::spectrum::{Line, dominant, spectrum};

/// Maximum number of dominant frequencies listed.
const FREQUENCIES_NAMED: usize = 3;
const RATE_HZ: f64 = 1000.0;
/// Normal force above which friction is evaluated, N; below it the ratio is too uncertain.
pub(super) const PRESSED_N: f64 = 0.05;

/// Mean, RMS, value of largest magnitude, and standard deviation of one quantity.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Moments {
    mean: f64,
    rms: f64,
    max: f64,
    deviation: f64,
}

pub(super) struct Summary {
    rows: Vec<(&'static str, &'static str, Moments)>,
    force: Moments,
    /// Spectrum of the force magnitude.
    pub(super) spectrum: Vec<Line>,
    pub(super) peaks: Vec<Line>,
    /// Fraction of ticks in which the tool is in contact with a body.
    contact_share: f64,
    /// Effective coefficient of friction: the 99th percentile of the ratio of tangential to normal force, over the
    /// ticks with a normal force above [`PRESSED_N`].
    pub(super) friction: Option<f64>,
}

impl Moments {
    fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let count = values.clone().count().max(1) as f64;
        let mean = values.clone().sum::<f64>() / count;
        let square = values.clone().map(|value| value * value).sum::<f64>() / count;
        let max = values.fold(0.0, |max: f64, value| if value.abs() > max.abs() { value } else { max });
        Self { mean, rms: square.sqrt(), max, deviation: (square - mean * mean).max(0.0).sqrt() }
    }
}

impl Summary {
    pub(super) fn of(gathered: &TickColumns) -> Self {
        let wide = |column: &'_ [f32]| column.iter().map(|value| f64::from(*value)).collect::<Vec<f64>>();
        let moments = |values: &[f64], scale: f64| Moments::of(values.iter().map(|value| value * scale));
        let size = gathered.force_size_n();
        let spectrum = spectrum(&size, RATE_HZ);
        let force = moments(&size, 1.0);
        let rows = vec![
            ("force on the hand, size", "N", force),
            ("force on the hand, x", "N", moments(&wide(&gathered.force_n[0]), 1.0)),
            ("force on the hand, y", "N", moments(&wide(&gathered.force_n[1]), 1.0)),
            ("normal force on the tool", "N", moments(&wide(&gathered.normal_n), 1.0)),
            ("friction on the tool", "N", moments(&wide(&gathered.tangent_n), 1.0)),
            ("speed of the hand", "mm/s", moments(&speeds_m_per_s(gathered), 1e3)),
            ("penetration of the tool", "µm", moments(&wide(&gathered.penetration_m), 1e6)),
            ("energy of world and coupling", "mJ", moments(&wide(&gathered.energy_j), 1e3)),
            ("energy on account", "mJ", moments(&wide(&gathered.tank_j), 1e3)),
        ];
        let pressed = gathered.normal_n.iter().filter(|normal| **normal > 0.0).count();
        Self {
            rows,
            force,
            peaks: dominant(&spectrum, FREQUENCIES_NAMED),
            spectrum,
            contact_share: pressed as f64 / gathered.len().max(1) as f64,
            friction: friction(gathered),
        }
    }

    pub(super) fn lead(&self, gathered: &TickColumns) -> String {
        let seconds = gathered.len() as f64 / RATE_HZ;
        let (first, last) = (gathered.tick.first().unwrap_or(&0), gathered.tick.last().unwrap_or(&0));
        format!("{seconds:.1} s of touch at 1 kHz, ticks {first} to {last}")
    }

    pub(super) fn cards(&self, gathered: &TickColumns) -> String {
        let card = |value: String, unit: &str, what: &str, warns: bool| {
            let class = if warns { "card warn" } else { "card" };
            format!("<div class=\"{class}\"><b>{value} <small>{unit}</small></b><span>{what}</span></div>")
        };
        let friction = self.friction.map_or_else(|| "–".to_owned(), |friction| format!("{friction:.2}"));
        let peak = self.peaks.first().map_or_else(|| "–".to_owned(), |peak| format!("{:.1}", peak.frequency_hz));
        let overruns = gathered.compute_ns.iter().filter(|compute| **compute > 1_000_000).count();
        [
            "<div class=\"cards\">".to_owned(),
            card(format!("{:.2}", self.force.max), "N", "largest force", false),
            card(format!("{:.2}", self.force.rms), "N", "RMS force", false),
            card(format!("{:.0}", self.contact_share * 100.0), "%", "of the time in contact", false),
            card(friction, "", "friction coefficient felt", false),
            card(peak, "Hz", "dominant frequency", false),
            card(format!("{}", gathered.faults), "", "faults", gathered.faults > 0),
            card(format!("{}", overruns as u64 + gathered.skipped), "", "late ticks and skipped periods", overruns > 0),
            "</div>".to_owned(),
        ]
        .concat()
    }

    pub(super) fn table(&self) -> String {
        let row = |(what, unit, moments): &(&str, &str, Moments)| {
            let Moments { mean, rms, max, deviation } = moments;
            format!(
                "<tr><td>{what} / {unit}</td><td>{mean:.4}</td><td>{deviation:.4}</td><td>{rms:.4}</td><td>{max:.4}</td></tr>"
            )
        };
        let rows: String = self.rows.iter().map(row).collect();
        format!(
            "<table><thead><tr><th>quantity</th><th>mean</th><th>standard deviation</th><th>RMS</th><th>largest \
             size</th></tr></thead><tbody>{rows}</tbody></table>"
        )
    }

    /// Returns sentences to paste into a paper.
    pub(super) fn paper(&self, gathered: &TickColumns) -> String {
        let seconds = gathered.len() as f64 / RATE_HZ;
        let Moments { mean, rms, max, .. } = self.force;
        let friction = self.friction.map_or(String::new(), |friction| {
            format!(" The ratio of tangential to normal contact force stayed below {friction:.2} in 99 % of the loaded ticks.")
        });
        let peaks: Vec<String> = self.peaks.iter().map(|peak| format!("{:.1} Hz", peak.frequency_hz)).collect();
        let peaks = match peaks.is_empty() {
            true => " The force had no dominant frequency above 0.5 Hz.".to_owned(),
            false => format!(" Dominant frequencies of the force were {}.", peaks.join(", ")),
        };
        let text = format!(
            "Over {seconds:.1} s at 1 kHz the force on the hand had a mean of {mean:.3} N, an RMS of {rms:.3} N and a maximum \
             of {max:.3} N; the tool was in contact for {:.1} % of the time.{friction}{peaks} {} ticks were stale and {} faults \
             occurred.",
            self.contact_share * 100.0,
            gathered.stale,
            gathered.faults,
        );
        format!("<div class=\"paper\"><button id=\"copy\">copy</button><p id=\"paper\">{text}</p></div>")
    }
}

/// Returns the speed of the hand, m/s, as a backward difference over ten ticks. Over a single tick, encoder steps would
/// dominate.
fn speeds_m_per_s(gathered: &TickColumns) -> Vec<f64> {
    const APART: usize = 10;
    let moved = |axis: usize, k: usize| f64::from(gathered.hand_m[axis][k] - gathered.hand_m[axis][k - APART]);
    (APART..gathered.len()).map(|k| moved(0, k).hypot(moved(1, k)) * RATE_HZ / APART as f64).collect()
}

fn friction(gathered: &TickColumns) -> Option<f64> {
    let pressed =
        gathered.normal_n.iter().zip(&gathered.tangent_n).filter(|(normal, _)| f64::from(**normal) > PRESSED_N);
    let mut ratios: Vec<f64> = pressed.map(|(normal, tangent)| f64::from((tangent / normal).abs())).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len().checked_sub(1)? * 99 / 100).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_those_of_the_textbook() {
        let moments = Moments::of([1.0, -3.0, 2.0].into_iter());
        assert!(moments.mean.abs() < 1e-15);
        assert_eq!(moments.max, -3.0);
        assert!((moments.rms - (14.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        assert!((moments.deviation - moments.rms).abs() < 1e-12);
    }

    #[test]
    fn friction_counts_only_what_is_pressed() {
        let gathered =
            TickColumns { normal_n: vec![1.0, 0.01, 2.0], tangent_n: vec![0.3, 5.0, -0.8], ..TickColumns::default() };
        assert!((friction(&gathered).unwrap() - 0.3).abs() < 0.11);
        assert_eq!(friction(&TickColumns::default()), None);
    }
}
