//! Estimates the encoder step from recorded positions.
//!
//! Encoder positions are integer multiples of one length, up to rounding. The smallest observed change is the first
//! guess; dividing increasing distances by it refines the guess to the last digits. Positions that fit no grid, such as
//! those of a linkage with rotary encoders, have no step.

/// Distance below which two positions count as equal, m; far below any encoder step and far above rounding errors.
const SAME_M: f64 = 1e-10;
/// Maximum distance of a position from the grid, as a fraction of the step.
const OFF_GRID: f64 = 0.02;
/// Minimum number of distinct positions for an estimate.
const MIN_POSITIONS: usize = 8;

/// Result of the search for an encoder step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum EncoderStep {
    /// Positions are integer multiples of this step, m.
    Step(f64),
    /// Positions fit no grid.
    None {
        /// Smallest change between neighbouring positions, m.
        smallest_change_m: f64,
    },
    /// There are too few distinct positions for an estimate.
    Unknown,
}

/// Estimates the encoder step.
pub fn find_step(positions_m: impl Iterator<Item = f64>) -> EncoderStep {
    let mut distinct: Vec<f64> = positions_m.collect();
    distinct.sort_by(f64::total_cmp);
    distinct.dedup_by(|a, b| (*a - *b).abs() < SAME_M);
    if distinct.len() < MIN_POSITIONS {
        return EncoderStep::Unknown;
    }
    let gaps: Vec<f64> = distinct.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let smallest_change_m = gaps.iter().copied().fold(f64::INFINITY, f64::min);
    let step_m = sharpened(common_step(&gaps, smallest_change_m), &distinct);
    if is_on_grid(&distinct, step_m) { EncoderStep::Step(step_m) } else { EncoderStep::None { smallest_change_m } }
}

/// Returns the largest length that divides every gap, by Euclid's algorithm with a tolerance.
fn common_step(gaps: &[f64], smallest_m: f64) -> f64 {
    gaps.iter().fold(smallest_m, |step_m, &gap| {
        let (mut larger, mut smaller) = (gap, step_m);
        while smaller > OFF_GRID * smallest_m {
            let rest = larger - (larger / smaller).round() * smaller;
            (larger, smaller) = (smaller, rest.abs());
        }
        larger
    })
}

/// Refines the step using distances from the first position, nearest first, so that no count is off by one.
fn sharpened(rough_m: f64, distinct: &[f64]) -> f64 {
    let origin_m = distinct[0];
    let relative = distinct.iter().skip(1).fold(rough_m, |step_m, &position| {
        let counts = ((position - origin_m) / step_m).round();
        if counts >= 1.0 { (position - origin_m) / counts } else { step_m }
    });
    // Encoders count from zero: if zero is on the grid, the farthest position gives the most precise step.
    let farthest_m = distinct
        .iter()
        .copied()
        .fold(0.0, |far: f64, position| if position.abs() > far.abs() { position } else { far });
    let counts = (farthest_m / relative).round();
    let absolute = if counts == 0.0 { relative } else { farthest_m / counts };
    if is_on_grid(distinct, absolute) && (absolute / relative - 1.0).abs() < 1e-6 { absolute } else { relative }
}

fn is_on_grid(distinct: &[f64], step_m: f64) -> bool {
    let offset_m = distinct[0];
    distinct.iter().all(|&position| {
        let counts = (position - offset_m) / step_m;
        (counts - counts.round()).abs() < OFF_GRID
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid_of(step_m: f64, positions_m: impl Iterator<Item = f64>) -> EncoderStep {
        find_step(positions_m.map(|position| (position / step_m).floor() * step_m))
    }

    #[test]
    fn the_step_is_found_to_the_last_digits() {
        for step_m in [1e-6, 1.3717e-5, 3.00001e-5, 5e-5] {
            let EncoderStep::Step(found) = grid_of(step_m, (0..4000).map(|k| 0.02 * libm::sin(f64::from(k) * 0.011)))
            else {
                panic!("no grid for {step_m}");
            };
            assert!((found / step_m - 1.0).abs() < 1e-12, "{found} for {step_m}");
        }
    }

    #[test]
    fn a_step_that_never_occurs_alone_is_found_as_the_common_measure() {
        let counts = [0.0, 2.0, 5.0, 7.0, 10.0, 14.0, 16.0, 19.0, 21.0, 24.0];
        let EncoderStep::Step(found) = find_step(counts.iter().map(|count| count * 1e-5)) else { panic!("no grid") };
        assert!((found - 1e-5).abs() < 1e-15, "{found}");
    }

    #[test]
    fn positions_of_a_linkage_fit_no_grid() {
        let bent = (0..2000).map(|k| libm::sin((f64::from(k) * 1e-3 / 2e-5_f64.sqrt()).floor() * 1e-3) * 0.07);
        assert!(matches!(find_step(bent), EncoderStep::None { .. }));
    }

    #[test]
    fn an_encoder_that_does_not_move_has_an_unknown_step() {
        assert_eq!(find_step([0.1; 100].into_iter()), EncoderStep::Unknown);
    }
}
