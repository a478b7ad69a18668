//! Work-preserving conversion between the device frame and the world frame.
//!
//! One 2×2 matrix M serves devices with one and two axes: x_world = offset + M·x_device and f_device = Mᵀ·f_world. With
//! two axes, M = scale·R; with one axis, its first column is scale·axis and its second is zero. Since
//! dx_world = M·dx_device, the work f_world·dx_world equals f_device·dx_device for every M.

use nalgebra::{Matrix2, Vector2};

/// Reason why a mapping is invalid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MappingError {
    /// The scale must be positive.
    Scale {
        /// Value given.
        scale: f64,
    },
    /// The rotation must be finite.
    Rotation {
        /// Value given.
        rotation_rad: f64,
    },
    /// The offset must be finite.
    Offset,
    /// The axis must be finite and not zero.
    Axis,
}

impl core::fmt::Display for MappingError {
    fn fmt(&self, out: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Scale { scale } => write!(out, "mapping scale is {scale}; it must be a number above zero"),
            Self::Rotation { rotation_rad } => {
                write!(out, "mapping rotation_rad is {rotation_rad}; it must be a finite number")
            }
            Self::Offset => write!(out, "mapping offset_m must be two finite numbers"),
            Self::Axis => write!(out, "mapping axis must be two finite numbers, not both zero"),
        }
    }
}

impl std::error::Error for MappingError {}

/// Pose and scale of the device frame in the world.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mapping {
    /// World position of the device's origin, m.
    offset_m: Vector2<f64>,
    /// M, which converts a displacement in the device frame to one in the world frame.
    world_from_device: Matrix2<f64>,
    /// World metres per device metre, above zero.
    scale: f64,
}

impl Mapping {
    /// Creates the mapping of a device with two axes: x_world = offset + scale·R(rotation)·x_device.
    pub fn planar(scale: f64, rotation_rad: f64, offset_m: Vector2<f64>) -> Result<Self, MappingError> {
        if !rotation_rad.is_finite() {
            return Err(MappingError::Rotation { rotation_rad });
        }
        let (sine, cosine) = libm::sincos(rotation_rad);
        Self::from_directions(scale, Matrix2::new(cosine, -sine, sine, cosine), offset_m)
    }

    /// Creates the mapping of a device with one axis: x_world = offset + scale·x·axis/|axis|. The axis may have any
    /// length.
    pub fn linear(scale: f64, axis: Vector2<f64>, offset_m: Vector2<f64>) -> Result<Self, MappingError> {
        let length = libm::hypot(axis.x, axis.y);
        if !length.is_finite() || length <= 0.0 {
            return Err(MappingError::Axis);
        }
        let direction = axis / length;
        Self::from_directions(scale, Matrix2::new(direction.x, 0.0, direction.y, 0.0), offset_m)
    }

    fn from_directions(scale: f64, directions: Matrix2<f64>, offset_m: Vector2<f64>) -> Result<Self, MappingError> {
        if !scale.is_finite() || scale <= 0.0 {
            return Err(MappingError::Scale { scale });
        }
        if !(offset_m.x.is_finite() && offset_m.y.is_finite()) {
            return Err(MappingError::Offset);
        }
        Ok(Self { offset_m, world_from_device: directions * scale, scale })
    }

    /// Converts a device position to the world frame, m.
    ///
    /// Real-time: four multiplications.
    pub fn position_to_world(&self, device_m: Vector2<f64>) -> Vector2<f64> {
        self.offset_m + self.world_from_device * device_m
    }

    /// Converts a device velocity to the world frame, m/s.
    ///
    /// Real-time: four multiplications.
    pub fn velocity_to_world(&self, device_m_per_s: Vector2<f64>) -> Vector2<f64> {
        self.world_from_device * device_m_per_s
    }

    /// Returns the device position whose world position is nearest to `world_m`, m. Its second component is zero for a
    /// device with one axis.
    ///
    /// Real-time: five multiplications and two divisions.
    pub fn position_to_device(&self, world_m: Vector2<f64>) -> Vector2<f64> {
        self.world_from_device.tr_mul(&(world_m - self.offset_m)) / (self.scale * self.scale)
    }

    /// Returns the device force equivalent to a world force on the hand, N.
    ///
    /// Real-time: four multiplications.
    pub fn force_to_device(&self, world_n: Vector2<f64>) -> Vector2<f64> {
        self.world_from_device.tr_mul(&world_n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::xorshift::Xorshift;

    fn any_vector(random: &mut Xorshift) -> Vector2<f64> {
        Vector2::new(random.between(-1.0, 1.0), random.between(-1.0, 1.0))
    }

    #[test]
    fn virtual_work_is_balanced_with_two_axes() {
        let mut random = Xorshift::new(1);
        for _ in 0..1000 {
            let (scale, turn) = (random.between(0.1, 5.0), random.between(-4.0, 4.0));
            let mapping = Mapping::planar(scale, turn, any_vector(&mut random)).unwrap();
            let (from, to, force) = (any_vector(&mut random), any_vector(&mut random), any_vector(&mut random));
            let world_work = force.dot(&(mapping.position_to_world(to) - mapping.position_to_world(from)));
            let device_work = mapping.force_to_device(force).dot(&(to - from));
            assert!((world_work - device_work).abs() < 1e-13, "{world_work} and {device_work}");
        }
    }

    #[test]
    fn virtual_work_is_balanced_with_one_axis() {
        let mut random = Xorshift::new(2);
        for _ in 0..1000 {
            let scale = random.between(0.1, 5.0);
            let mapping = Mapping::linear(scale, any_vector(&mut random), any_vector(&mut random)).unwrap();
            let step = Vector2::new(random.between(-1.0, 1.0), 0.0);
            let force = any_vector(&mut random);
            let device = mapping.force_to_device(force);
            let world_work = force.dot(&mapping.velocity_to_world(step));
            assert!((world_work - device.dot(&step)).abs() < 1e-13);
            assert_eq!(device.y, 0.0, "a second axis that does not exist gets no force");
        }
    }

    #[test]
    fn a_quarter_turn_takes_the_first_axis_to_the_second() {
        let quarter = core::f64::consts::FRAC_PI_2;
        let mapping = Mapping::planar(2.0, quarter, Vector2::new(0.1, 0.2)).unwrap();
        let world = mapping.position_to_world(Vector2::new(0.01, 0.0));
        assert!((world - Vector2::new(0.1, 0.22)).norm() < 1e-15);
        assert!((mapping.force_to_device(Vector2::new(0.0, 3.0)) - Vector2::new(6.0, 0.0)).norm() < 1e-14);
    }

    #[test]
    fn an_axis_of_any_length_is_normalised() {
        let mapping = Mapping::linear(1.0, Vector2::new(3.0, 4.0), Vector2::zeros()).unwrap();
        let world = mapping.position_to_world(Vector2::new(1.0, 0.0));
        assert!((world - Vector2::new(0.6, 0.8)).norm() < 1e-15);
        assert!((mapping.force_to_device(Vector2::new(3.0, 4.0)).x - 5.0).abs() < 1e-15);
    }

    #[test]
    fn world_positions_come_back_to_the_device() {
        let mapping = Mapping::planar(2.5, 0.7, Vector2::new(0.3, -0.1)).unwrap();
        let device = Vector2::new(0.02, -0.03);
        assert!((mapping.position_to_device(mapping.position_to_world(device)) - device).norm() < 1e-16);
    }

    #[test]
    fn invalid_mappings_are_rejected() {
        let zero = Vector2::zeros();
        assert_eq!(Mapping::planar(0.0, 0.0, zero), Err(MappingError::Scale { scale: 0.0 }));
        assert_eq!(Mapping::linear(1.0, zero, zero), Err(MappingError::Axis));
        assert!(Mapping::planar(1.0, f64::INFINITY, zero).is_err());
        assert!(Mapping::planar(1.0, 0.0, Vector2::new(f64::NAN, 0.0)).is_err());
    }
}
