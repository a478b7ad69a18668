//! Between an axis's counts and Q15 efforts, and metres and newtons at the handle.

use haptic_wire::{AxisInfo, AxisKind, FULL_SCALE_Q15};

/// What one axis's numbers mean.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisScale {
    /// Handle metres per count.
    pub m_per_count: f64,
    /// Handle force at full effort, N; zero for an axis that does not exist.
    pub full_scale_n: f64,
    /// Ends of the travel, m.
    pub travel_m: (f64, f64),
}

impl AxisScale {
    /// The scale of an axis; a rotary one moves the handle by `lever_m` a radian.
    pub fn of(info: &AxisInfo, lever_m: f64) -> Self {
        let lever_m = match info.kind {
            AxisKind::Linear => 1.0,
            AxisKind::Rotary => lever_m,
        };
        let place_m = |counts| info.units_from_counts(counts) * lever_m;
        Self {
            m_per_count: f64::from(info.counts_per_unit.1) / f64::from(info.counts_per_unit.0) * lever_m,
            full_scale_n: info.full_scale() / lever_m,
            travel_m: (place_m(info.range.0), place_m(info.range.1)),
        }
    }

    /// The effort that gives a force, cut at full scale; zero for what is not a number.
    ///
    /// Real-time: one division.
    pub fn effort_q15(&self, force_n: f64) -> i16 {
        if self.full_scale_n <= 0.0 {
            return 0;
        }
        let full = f64::from(FULL_SCALE_Q15);
        // The cast takes a NaN to zero.
        libm::round(force_n / self.full_scale_n * full).clamp(-full, full) as i16
    }

    /// The limit that keeps an axis within a force.
    pub fn limit_q15(&self, max_force_n: f64) -> u16 {
        let full = f64::from(FULL_SCALE_Q15);
        (max_force_n / self.full_scale_n * full).clamp(0.0, full) as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use haptic_wire::HomeFlags;

    fn info(kind: AxisKind) -> AxisInfo {
        let (counts_per_unit, range, full_scale_micro) = ((100_000, 1), (-10_000, 10_000), 4_000_000);
        AxisInfo { index: 0, kind, counts_per_unit, range, full_scale_micro, home_flags: HomeFlags(0) }
    }

    #[test]
    fn a_linear_axis_ignores_the_lever() {
        let scale = AxisScale::of(&info(AxisKind::Linear), 0.05);
        assert_eq!((scale.m_per_count, scale.full_scale_n), (1e-5, 4.0));
        assert_eq!(scale.travel_m, (-0.1, 0.1));
    }

    #[test]
    fn a_rotary_axis_balances_virtual_work_over_its_lever() {
        let scale = AxisScale::of(&info(AxisKind::Rotary), 0.05);
        let (force_n, counts) = (3.0, 40);
        let torque_n_m = f64::from(scale.effort_q15(force_n)) / 32767.0 * 4.0;
        let turn_rad = f64::from(counts) * 1e-5;
        let work_j = force_n * f64::from(counts) * scale.m_per_count;
        assert!((torque_n_m * turn_rad / work_j - 1.0).abs() < 1e-3);
    }

    #[test]
    fn efforts_are_cut_at_full_scale_and_senseless_ones_are_zero() {
        let scale = AxisScale::of(&info(AxisKind::Linear), 1.0);
        assert_eq!([4.0, 9.0, -9.0, f64::NAN].map(|force| scale.effort_q15(force)), [32767, 32767, -32767, 0]);
        assert_eq!(AxisScale::default().effort_q15(1.0), 0);
        assert_eq!((scale.limit_q15(2.0), scale.limit_q15(f64::INFINITY)), (16383, 32767));
    }
}
