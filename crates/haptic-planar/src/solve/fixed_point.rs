//! Fixed point x = φ(x) of a continuous, bounded scalar function: secant steps, and bisection when a secant step leaves
//! the interval that is known to contain a solution.

/// Iteration for one fixed point.
#[derive(Clone, Copy, Debug)]
pub struct FixedPoint {
    /// Present estimate.
    pub x: f64,
    /// Last estimate and its residual φ(x) − x.
    last: Option<(f64, f64)>,
    /// Latest estimate with a positive residual.
    above: Option<f64>,
    /// Latest estimate with a negative residual.
    below: Option<f64>,
}

impl FixedPoint {
    /// Starts at an estimate.
    pub fn from(x: f64) -> Self {
        Self { x, last: None, above: None, below: None }
    }

    /// Sets the next estimate, given the value of φ at the present one.
    pub fn improve(&mut self, value: f64) {
        let (x, residual) = (self.x, value - self.x);
        *(if residual > 0.0 { &mut self.above } else { &mut self.below }) = Some(x);
        let (secant, last_step) = match self.last {
            Some((last_x, last_residual)) => {
                (x - residual * (x - last_x) / (residual - last_residual), (x - last_x).abs())
            }
            None => (value, 0.0),
        };
        self.last = Some((x, residual));
        self.x = match (self.above, self.below) {
            (Some(a), Some(b)) if (secant - a) * (secant - b) < 0.0 => secant,
            (Some(a), Some(b)) => 0.5 * (a + b),
            // A solution lies in the direction of the residual, because φ is bounded.
            _ if (secant - x) * residual > 0.0 && secant.is_finite() => secant,
            // The residual grows: past a minimum that is hardly above zero, steps of the residual alone would be tiny.
            _ => x + residual.abs().max(2.0 * last_step).copysign(residual),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(from: f64, phi: impl Fn(f64) -> f64) -> usize {
        let mut point = FixedPoint::from(from);
        for count in 1..=40 {
            let value = phi(point.x);
            if (value - point.x).abs() < 1e-14 {
                return count;
            }
            point.improve(value);
        }
        panic!("no fixed point after 40 steps, at {}", point.x)
    }

    #[test]
    fn a_fixed_point_that_attracts_is_found_in_a_few_steps() {
        assert!(solve(0.0, libm::cos) < 9);
    }

    #[test]
    fn a_fixed_point_behind_a_point_that_is_nearly_fixed_is_found_too() {
        assert!(solve(0.01, |x| x + 1e-3 + x * x - 0.5 * x * x * x) < 25);
    }

    #[test]
    fn a_fixed_point_that_repels_is_found_too() {
        assert!(solve(0.3, |x| 3.0 * libm::cos(5.0 * x)) < 30);
        assert!(solve(-2.0, |x| 2.0 - 30.0 * libm::atan(x)) < 30);
        assert!(solve(0.1, |x| 10.0 * libm::atan(3.0 * x) + 1.0) < 30);
    }
}
