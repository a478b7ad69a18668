//! Products and inverses of 3×3 matrices, the blocks of the linear system.

/// A 3×3 matrix by rows: first normal, second normal, tangent.
pub(super) type Matrix = [[f64; 3]; 3];

// The functions below are written out entry by entry: with loops or closures over arrays, a step costs almost twice as
// much.

#[inline]
pub(super) fn subtract(from: &mut [f64; 3], change: &[f64; 3]) {
    from[0] -= change[0];
    from[1] -= change[1];
    from[2] -= change[2];
}

#[inline]
pub(super) fn subtract_multiple(from: &mut Matrix, factor: f64, change: &Matrix) {
    for (row, change) in from.iter_mut().zip(change) {
        subtract(row, &[factor * change[0], factor * change[1], factor * change[2]]);
    }
}

#[inline]
pub(super) fn times(a: &Matrix, v: &[f64; 3]) -> [f64; 3] {
    [dot(&a[0], v), dot(&a[1], v), dot(&a[2], v)]
}

#[inline]
fn dot(a: &[f64; 3], b: &[f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

#[inline]
pub(super) fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let columns = transposed(b);
    [times(&columns, &a[0]), times(&columns, &a[1]), times(&columns, &a[2])]
}

#[inline]
pub(super) fn transposed(a: &Matrix) -> Matrix {
    let [[a00, a01, a02], [a10, a11, a12], [a20, a21, a22]] = *a;
    [[a00, a10, a20], [a01, a11, a21], [a02, a12, a22]]
}

/// Returns the inverse by cofactors.
#[inline]
pub(super) fn inverse(a: &Matrix) -> Matrix {
    let [[a00, a01, a02], [a10, a11, a12], [a20, a21, a22]] = *a;
    let (c00, c01, c02) = (a11 * a22 - a12 * a21, a12 * a20 - a10 * a22, a10 * a21 - a11 * a20);
    let scale = 1.0 / (a00 * c00 + a01 * c01 + a02 * c02);
    [
        [scale * c00, scale * (a02 * a21 - a01 * a22), scale * (a01 * a12 - a02 * a11)],
        [scale * c01, scale * (a00 * a22 - a02 * a20), scale * (a02 * a10 - a00 * a12)],
        [scale * c02, scale * (a01 * a20 - a00 * a21), scale * (a00 * a11 - a01 * a10)],
    ]
}
