//! Symmetric 3×3 matrices over the velocities (x, y, angle) of a body.

use nalgebra::Vector3;

/// A symmetric 3×3 matrix: six numbers, written out entry by entry because the tool's mass is computed in every tick.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Symmetric3 {
    pub xx: f64,
    pub xy: f64,
    pub xz: f64,
    pub yy: f64,
    pub yz: f64,
    pub zz: f64,
}

impl Symmetric3 {
    /// Returns the diagonal matrix with these entries.
    #[inline]
    pub fn diagonal(entries: Vector3<f64>) -> Self {
        Self { xx: entries.x, yy: entries.y, zz: entries.z, ..Self::default() }
    }

    /// Subtracts the outer product of a vector with itself.
    #[inline]
    pub fn subtract_square(&mut self, v: Vector3<f64>) {
        self.xx -= v.x * v.x;
        self.xy -= v.x * v.y;
        self.xz -= v.x * v.z;
        self.yy -= v.y * v.y;
        self.yz -= v.y * v.z;
        self.zz -= v.z * v.z;
    }

    /// Adds a multiple of another matrix.
    #[inline]
    pub fn add_scaled(&mut self, other: &Self, factor: f64) {
        self.xx += other.xx * factor;
        self.xy += other.xy * factor;
        self.xz += other.xz * factor;
        self.yy += other.yy * factor;
        self.yz += other.yz * factor;
        self.zz += other.zz * factor;
    }

    /// Returns the product with a vector.
    #[inline]
    pub fn times(&self, v: Vector3<f64>) -> Vector3<f64> {
        Vector3::new(
            self.xx * v.x + self.xy * v.y + self.xz * v.z,
            self.xy * v.x + self.yy * v.y + self.yz * v.z,
            self.xz * v.x + self.yz * v.y + self.zz * v.z,
        )
    }

    /// Returns the inverse of a positive definite matrix; zero for any other.
    #[inline]
    pub fn inverse(&self) -> Self {
        let (cxx, cxy, cxz) = (
            self.yy * self.zz - self.yz * self.yz,
            self.xz * self.yz - self.xy * self.zz,
            self.xy * self.yz - self.xz * self.yy,
        );
        let determinant = self.xx * cxx + self.xy * cxy + self.xz * cxz;
        let scale = if determinant > 0.0 { 1.0 / determinant } else { 0.0 };
        Self {
            xx: cxx * scale,
            xy: cxy * scale,
            xz: cxz * scale,
            yy: (self.xx * self.zz - self.xz * self.xz) * scale,
            yz: (self.xy * self.xz - self.xx * self.yz) * scale,
            zz: (self.xx * self.yy - self.xy * self.xy) * scale,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_inverse_undoes_the_product() {
        let mut matrix = Symmetric3::diagonal(Vector3::new(0.2, 0.2, 3e-5));
        matrix.subtract_square(Vector3::new(0.3, 0.1, 2e-3));
        let v = Vector3::new(1.0, -2.0, 30.0);
        assert!((matrix.inverse().times(matrix.times(v)) - v).norm() < 1e-11);
        assert_eq!(Symmetric3::default().inverse(), Symmetric3::default());
    }
}
