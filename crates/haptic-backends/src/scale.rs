//! Converts the counts and efforts of device axes to metres and newtons at the handle, and back.

use haptic_device::Limits;
use haptic_wire::{AxisInfo, AxisKind, FULL_SCALE_Q15};
use nalgebra::Vector2;

/// Conversion from the counts and efforts of one axis to metres and newtons at the handle, and back.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AxisScale {
    /// Handle displacement per count, m; negative if counts decrease along the axis of the device frame.
    pub m_per_count: f64,
    /// Count at the origin of the device frame.
    pub centre_counts: f64,
    /// Ends of travel, device frame, m: minimum, maximum.
    pub travel_m: (f64, f64),
    /// Force at full effort, N.
    pub full_scale_n: f64,
}

impl AxisScale {
    /// Returns the scale of an axis of a native board. A rotary axis moves the handle by `lever_m` per radian.
    pub fn from_axis_info(info: &AxisInfo, lever_m: f64) -> Self {
        let lever_m = match info.kind {
            AxisKind::Linear => 1.0,
            AxisKind::Rotary => lever_m,
        };
        let end_m = |counts| info.units_from_counts(counts) * lever_m;
        Self {
            m_per_count: info.units_from_counts(1) * lever_m,
            centre_counts: 0.0,
            travel_m: (end_m(info.range.0), end_m(info.range.1)),
            full_scale_n: info.full_scale() / lever_m,
        }
    }

    /// Returns the scale of an axis whose range of counts spans `span_m`. A negative span means that counts decrease
    /// along the axis of the device frame.
    pub fn from_range(range_counts: (f64, f64), centre_counts: f64, span_m: f64, full_scale_n: f64) -> Self {
        let m_per_count = span_m / (range_counts.1 - range_counts.0);
        let scale = Self { m_per_count, centre_counts, travel_m: (0.0, 0.0), full_scale_n };
        let ends_m = (scale.position_m(range_counts.0), scale.position_m(range_counts.1));
        Self { travel_m: (ends_m.0.min(ends_m.1), ends_m.0.max(ends_m.1)), ..scale }
    }

    /// Returns the handle position for the given counts, device frame, m.
    pub fn position_m(&self, counts: f64) -> f64 {
        (counts - self.centre_counts) * self.m_per_count
    }

    /// Returns the effort for a force, Q15, clamped to full scale; zero if the force is NaN.
    ///
    /// Real-time: one division.
    pub fn effort_q15(&self, force_n: f64) -> i16 {
        let full = f64::from(FULL_SCALE_Q15);
        // The cast converts a NaN to zero.
        libm::round(force_n / self.full_scale_n * full).clamp(-full, full) as i16
    }

    /// Returns the largest effort whose force does not exceed `max_force_n`, Q15.
    pub fn limit_q15(&self, max_force_n: f64) -> u16 {
        let full = f64::from(FULL_SCALE_Q15);
        (max_force_n / self.full_scale_n * full).clamp(0.0, full) as u16
    }
}

/// Returns the limits of a device with these axes. The weakest axis limits the force; the travel of a missing axis is
/// unlimited.
pub fn limits(scales: &[AxisScale], rate_hz: f64) -> Limits {
    let end_m =
        |end: fn(&AxisScale) -> f64, missing: f64| Vector2::from_fn(|axis, _| scales.get(axis).map_or(missing, end));
    Limits {
        max_force_n: scales.iter().map(|scale| scale.full_scale_n).fold(f64::INFINITY, f64::min),
        travel_min_m: end_m(|scale| scale.travel_m.0, f64::NEG_INFINITY),
        travel_max_m: end_m(|scale| scale.travel_m.1, f64::INFINITY),
        rate_hz,
    }
}

/// Returns the largest handle displacement per count of all axes, m.
pub fn encoder_step_m(scales: &[AxisScale]) -> f64 {
    scales.iter().map(|scale| scale.m_per_count.abs()).fold(0.0, f64::max)
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
        let scale = AxisScale::from_axis_info(&info(AxisKind::Linear), 0.05);
        assert_eq!((scale.m_per_count, scale.full_scale_n), (1e-5, 4.0));
        assert_eq!(scale.travel_m, (-0.1, 0.1));
    }

    #[test]
    fn a_rotary_axis_balances_virtual_work_over_its_lever() {
        let scale = AxisScale::from_axis_info(&info(AxisKind::Rotary), 0.05);
        let (force_n, counts) = (3.0, 40);
        let torque_n_m = f64::from(scale.effort_q15(force_n)) / 32767.0 * 4.0;
        let rotation_rad = f64::from(counts) * 1e-5;
        let work_j = force_n * f64::from(counts) * scale.m_per_count;
        assert!((torque_n_m * rotation_rad / work_j - 1.0).abs() < 1e-3);
    }

    #[test]
    fn efforts_are_limited_to_full_scale_and_zero_for_a_force_that_is_not_a_number() {
        let scale = AxisScale::from_axis_info(&info(AxisKind::Linear), 1.0);
        assert_eq!([4.0, 9.0, -9.0, f64::NAN].map(|force| scale.effort_q15(force)), [32767, 32767, -32767, 0]);
        assert_eq!((scale.limit_q15(2.0), scale.limit_q15(f64::INFINITY)), (16383, 32767));
    }

    #[test]
    fn an_axis_against_the_device_frame_keeps_the_lower_end_of_its_travel_first() {
        let scale = AxisScale::from_range((0.0, 200.0), 50.0, -0.2, 3.0);
        assert_eq!((scale.position_m(0.0), scale.position_m(200.0)), (0.05, -0.15));
        assert_eq!(scale.travel_m, (-0.15, 0.05));
    }

    #[test]
    fn a_missing_axis_has_no_limit_and_the_weaker_axis_bounds_the_force() {
        let axis = AxisScale::from_range((-1.0, 1.0), 0.0, 0.1, 3.0);
        let one = limits(&[axis], 500.0);
        assert_eq!((one.max_force_n, one.travel_max_m), (3.0, Vector2::new(0.05, f64::INFINITY)));
        let two = limits(&[axis, AxisScale { full_scale_n: 2.0, ..axis }], 500.0);
        assert_eq!((two.max_force_n, two.travel_min_m), (2.0, Vector2::new(-0.05, -0.05)));
    }
}
