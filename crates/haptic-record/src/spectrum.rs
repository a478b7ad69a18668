//! Frequency spectrum of a signal: Welch's method with four-second windows and a small built-in FFT.

use std::f64::consts::{PI, TAU};

/// Number of samples in a window; a power of two. A longer window resolves frequencies better but averages less.
const WINDOW: usize = 4096;
/// Lowest frequency of a peak, Hz. Lower frequencies are due to the motion of the hand itself.
const LOWEST_HZ: f64 = 0.5;
/// Minimum ratio of a peak's amplitude to the median amplitude around it.
const STANDS_OUT: f64 = 4.0;

/// Amplitude at one frequency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Frequency, Hz.
    pub frequency_hz: f64,
    /// Amplitude of a sine wave of this frequency, in the unit of the signal.
    pub amplitude: f64,
}

/// Returns the spectrum of a signal after removing its mean; `rate_hz` is the sampling rate. The result is empty if the
/// signal is shorter than a quarter of a window.
pub fn spectrum(signal: &[f64], rate_hz: f64) -> Vec<Line> {
    let window = window_for(signal.len());
    if window < WINDOW / 4 {
        return Vec::new();
    }
    let mean = signal.iter().sum::<f64>() / signal.len() as f64;
    let hann: Vec<f64> = (0..window).map(|k| 0.5 - 0.5 * (TAU * k as f64 / window as f64).cos()).collect();
    let starts: Vec<usize> = (0..=signal.len() - window).step_by(window / 2).collect();
    let mut power = vec![0.0; window / 2];
    for &start in &starts {
        let (mut real, mut imaginary) = (vec![0.0; window], vec![0.0; window]);
        for (k, value) in real.iter_mut().enumerate() {
            *value = (signal[start + k] - mean) * hann[k];
        }
        transform(&mut real, &mut imaginary);
        for (k, sum) in power.iter_mut().enumerate() {
            *sum += real[k] * real[k] + imaginary[k] * imaginary[k];
        }
    }
    // Under a Hann window, a sine of amplitude one has a peak of a quarter of the window's length.
    let unit = window as f64 / 4.0;
    let line = |(k, sum): (usize, &f64)| Line {
        frequency_hz: k as f64 * rate_hz / window as f64,
        amplitude: (sum / starts.len() as f64).sqrt() / unit,
    };
    power.iter().enumerate().skip(1).map(line).collect()
}

fn window_for(samples: usize) -> usize {
    if samples >= WINDOW { WINDOW } else { (samples + 1).next_power_of_two() / 2 }
}

/// Returns up to `count` frequencies that stand out from their neighbours, strongest first.
pub fn dominant(spectrum: &[Line], count: usize) -> Vec<Line> {
    let is_peak = |index: usize| {
        let line = spectrum[index];
        let beside = |other: usize| spectrum.get(other).is_none_or(|other| other.amplitude <= line.amplitude);
        line.frequency_hz >= LOWEST_HZ
            && beside(index.wrapping_sub(1))
            && beside(index + 1)
            && stands_out(spectrum, index)
    };
    let mut peaks: Vec<Line> =
        (0..spectrum.len()).filter(|&index| is_peak(index)).map(|index| spectrum[index]).collect();
    peaks.sort_by(|a, b| b.amplitude.total_cmp(&a.amplitude));
    peaks.truncate(count);
    peaks
}

fn stands_out(spectrum: &[Line], index: usize) -> bool {
    let reach = (index / 2).max(8);
    let around = &spectrum[index.saturating_sub(reach)..(index + reach + 1).min(spectrum.len())];
    let mut amplitudes: Vec<f64> = around.iter().map(|line| line.amplitude).collect();
    amplitudes.sort_by(f64::total_cmp);
    let usual = amplitudes[amplitudes.len() / 2];
    spectrum[index].amplitude > STANDS_OUT * usual && spectrum[index].amplitude > 0.0
}

/// Computes the FFT in place (Cooley–Tukey). The length must be a power of two.
fn transform(real: &mut [f64], imaginary: &mut [f64]) {
    let length = real.len();
    let bits = length.trailing_zeros();
    for index in 0..length {
        let reversed = index.reverse_bits() >> (usize::BITS - bits);
        if reversed > index {
            real.swap(index, reversed);
            imaginary.swap(index, reversed);
        }
    }
    let mut half = 1;
    while half < length {
        for block in (0..length).step_by(2 * half) {
            for k in 0..half {
                let (sine, cosine) = (-PI * k as f64 / half as f64).sin_cos();
                let (upper, lower) = (block + k, block + k + half);
                let turned_real = real[lower] * cosine - imaginary[lower] * sine;
                let turned_imaginary = real[lower] * sine + imaginary[lower] * cosine;
                (real[lower], imaginary[lower]) = (real[upper] - turned_real, imaginary[upper] - turned_imaginary);
                real[upper] += turned_real;
                imaginary[upper] += turned_imaginary;
            }
        }
        half *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sines(parts: &[(f64, f64)], samples: usize) -> Vec<f64> {
        let value = |k: usize| parts.iter().map(|(hz, size)| size * (TAU * hz * k as f64 / 1000.0).sin()).sum::<f64>();
        (0..samples).map(|k| 3.0 + value(k)).collect()
    }

    #[test]
    fn two_sines_are_found_with_their_frequencies_and_amplitudes_and_the_mean_is_not() {
        let found = dominant(&spectrum(&sines(&[(40.0, 0.5), (120.0, 2.0)], 20_000), 1000.0), 3);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!((found[0].frequency_hz - 120.0).abs() < 0.25 && (found[0].amplitude - 2.0).abs() < 0.4, "{found:?}");
        assert!((found[1].frequency_hz - 40.0).abs() < 0.25 && (found[1].amplitude - 0.5).abs() < 0.1, "{found:?}");
    }

    #[test]
    fn a_still_or_short_signal_has_no_dominant_frequency() {
        assert!(dominant(&spectrum(&[1.0; 10_000], 1000.0), 3).is_empty());
        assert!(spectrum(&[1.0; 100], 1000.0).is_empty());
    }

    #[test]
    fn a_shorter_signal_has_a_shorter_window() {
        assert_eq!((window_for(4096), window_for(4095), window_for(2048)), (4096, 2048, 2048));
    }
}
