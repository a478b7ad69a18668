//! The contact law of one manifold, solved exactly by trying its modes.
//!
//! The law is 0 ≤ P_i ⟂ u_i + b_i ≥ 0 and |P_t| ≤ μ (P₁ + P₂), where P_t opposes the slip, u = u₀ + K P are the
//! velocities at the end of the tick and b_i is the bias. The unknowns are two normal impulses and only one tangential
//! impulse, because the points lie on one straight edge and share their slip. There are at most ten modes: open, and
//! {both, first, second} × {stick, slide forward, slide back}. The mode of the last solve is tried first.

use crate::collide::warm_start::{BlockImpulse, Loaded, Mode};

/// Inverse effective mass K = J M⁻¹ Jᵀ of a manifold, 1/kg: a symmetric matrix with the rows first normal, second
/// normal and tangent.
#[derive(Clone, Copy, Debug, Default)]
pub struct InverseEffectiveMass {
    /// Diagonal entry of the first normal.
    pub n11: f64,
    /// Entry between the two normals.
    pub n12: f64,
    /// Diagonal entry of the second normal.
    pub n22: f64,
    /// Entry between the first normal and the tangent.
    pub n1t: f64,
    /// Entry between the second normal and the tangent.
    pub n2t: f64,
    /// Diagonal entry of the tangent.
    pub tt: f64,
}

impl InverseEffectiveMass {
    /// Returns the inverse effective mass with the two points in the other order.
    pub fn swapped(&self) -> Self {
        Self { n11: self.n22, n22: self.n11, n1t: self.n2t, n2t: self.n1t, ..*self }
    }

    /// Returns the two normal impulses p ≥ 0 that are complementary to f + K p ≥ 0, where `free` is f, the second entry
    /// +∞ for a missing second point.
    pub fn frictionless_impulses(&self, free: [f64; 2]) -> [f64; 2] {
        let [f1, f2] = free;
        let (k11, k12, k22) = (self.n11, self.n12, self.n22);
        if f1 >= 0.0 && f2 >= 0.0 {
            return [0.0; 2];
        }
        if f2 < f64::INFINITY {
            let scale = 1.0 / (k11 * k22 - k12 * k12);
            let (p1, p2) = ((k12 * f2 - k22 * f1) * scale, (k12 * f1 - k11 * f2) * scale);
            if p1 >= 0.0 && p2 >= 0.0 {
                return [p1, p2];
            }
        }
        let first = (-f1 / k11).max(0.0);
        if f2 == f64::INFINITY || f2 + k12 * first >= 0.0 {
            return [first, 0.0];
        }
        [0.0, (-f2 / k22).max(0.0)]
    }
}

/// Tolerance for accepting a mode, so that rounding errors do not reject all modes: relative for impulses, m/s for
/// velocities.
const SLACK: f64 = 1e-12;

/// All modes in which a point carries load, in the order in which they are tried after the mode of the last solve.
const LOADED_MODES: [Mode; 9] = [
    Mode::Stick(Loaded::Both),
    Mode::SlideForward(Loaded::Both),
    Mode::SlideBack(Loaded::Both),
    Mode::Stick(Loaded::First),
    Mode::Stick(Loaded::Second),
    Mode::SlideForward(Loaded::First),
    Mode::SlideBack(Loaded::First),
    Mode::SlideForward(Loaded::Second),
    Mode::SlideBack(Loaded::Second),
];

/// Inverse of the equations of a mode with two loaded points, reused from sweep to sweep.
#[derive(Clone, Copy, Debug, Default)]
pub struct Factor {
    mode: Mode,
    /// Rows of the 2×2 inverse that gives the normal impulses.
    inverse: [f64; 4],
    /// Coefficients of the two normal impulses and of the slip in the formula for the tangential impulse; used only for
    /// sticking.
    tangent_row: [f64; 3],
}

impl Factor {
    /// Computes the inverse for a mode with two loaded points.
    fn new(mode: Mode, mass: &InverseEffectiveMass, friction: f64) -> Self {
        match mode {
            Mode::Stick(_) => Self::stick(mode, mass),
            Mode::SlideForward(_) => Self::slide(mode, mass, friction),
            _ => Self::slide(mode, mass, -friction),
        }
    }

    fn stick(mode: Mode, m: &InverseEffectiveMass) -> Self {
        let soft = 1.0 / m.tt;
        let (r1, r2) = (m.n1t * soft, m.n2t * soft);
        let (s11, s12, s22) = (m.n11 - m.n1t * r1, m.n12 - m.n1t * r2, m.n22 - m.n2t * r2);
        let scale = 1.0 / (s11 * s22 - s12 * s12);
        let inverse = [s22 * scale, -s12 * scale, -s12 * scale, s11 * scale];
        Self { mode, inverse, tangent_row: [r1, r2, soft] }
    }

    /// Computes the inverse for sliding. `signed_friction` is the friction coefficient, negative for slip along −t.
    fn slide(mode: Mode, m: &InverseEffectiveMass, signed_friction: f64) -> Self {
        let (a11, a12) = (m.n11 - signed_friction * m.n1t, m.n12 - signed_friction * m.n1t);
        let (a21, a22) = (m.n12 - signed_friction * m.n2t, m.n22 - signed_friction * m.n2t);
        let scale = 1.0 / (a11 * a22 - a12 * a21);
        Self { mode, inverse: [a22 * scale, -a12 * scale, -a21 * scale, a11 * scale], tangent_row: [0.0; 3] }
    }
}

/// The contact problem of one manifold, relative to its present impulses.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Inverse effective mass of the manifold.
    pub mass: &'a InverseEffectiveMass,
    /// Coulomb coefficient.
    pub friction: f64,
    /// Present impulses, N·s.
    pub impulse: BlockImpulse,
    /// Present normal velocities plus bias, m/s; positive when opening, +∞ for a missing second point.
    pub normal: [f64; 2],
    /// Present slip velocity, m/s.
    pub tangent: f64,
}

impl Block<'_> {
    /// Returns the impulses that satisfy the contact law, and their mode. The mode `last` is tried first. Real-time: at
    /// most 16 attempts, each with a 2×2 solve.
    #[inline(always)]
    pub fn solve(&self, last: Mode, factor: &mut Factor) -> (BlockImpulse, Mode) {
        let attempt = match last {
            Mode::Open => None,
            Mode::Stick(Loaded::Both) => self.stick_both(self.factored(last, factor)),
            Mode::SlideForward(Loaded::Both) => self.slide_both(1.0, self.factored(last, factor)),
            Mode::SlideBack(Loaded::Both) => self.slide_both(-1.0, self.factored(last, factor)),
            _ => self.attempt_one(last),
        };
        match attempt {
            Some(impulse) => (impulse, last),
            None => self.search(),
        }
    }

    #[inline(always)]
    fn factored<'f>(&self, mode: Mode, factor: &'f mut Factor) -> &'f Factor {
        if factor.mode != mode {
            *factor = Factor::new(mode, self.mass, self.friction);
        }
        factor
    }

    #[inline(never)]
    fn search(&self) -> (BlockImpulse, Mode) {
        if self.opens() {
            return (BlockImpulse::default(), Mode::Open);
        }
        for mode in LOADED_MODES {
            if let Some(impulse) = self.attempt(mode) {
                return (impulse, mode);
            }
        }
        self.frictionless()
    }

    /// Whether both points would separate without any impulse.
    fn opens(&self) -> bool {
        let ([p1, p2], pt, m) = (self.impulse.normal, self.impulse.tangent, self.mass);
        self.normal[0] >= m.n11 * p1 + m.n12 * p2 + m.n1t * pt && self.normal[1] >= m.n12 * p1 + m.n22 * p2 + m.n2t * pt
    }

    fn attempt(&self, mode: Mode) -> Option<BlockImpulse> {
        let two = self.normal[1] < f64::INFINITY;
        match mode {
            Mode::Stick(Loaded::Both) if two => self.stick_both(&Factor::stick(mode, self.mass)),
            Mode::SlideForward(Loaded::Both) if two => {
                self.slide_both(1.0, &Factor::slide(mode, self.mass, self.friction))
            }
            Mode::SlideBack(Loaded::Both) if two => {
                self.slide_both(-1.0, &Factor::slide(mode, self.mass, -self.friction))
            }
            Mode::Open => None,
            _ => self.attempt_one(mode),
        }
    }

    /// Attempts a mode in which a single point carries the load.
    #[inline(always)]
    fn attempt_one(&self, mode: Mode) -> Option<BlockImpulse> {
        match mode {
            Mode::Stick(Loaded::First) => self.stick_one::<0>(),
            Mode::Stick(Loaded::Second) => self.stick_one::<1>(),
            Mode::SlideForward(Loaded::First) => self.slide_one::<0>(1.0),
            Mode::SlideBack(Loaded::First) => self.slide_one::<0>(-1.0),
            Mode::SlideForward(Loaded::Second) => self.slide_one::<1>(1.0),
            Mode::SlideBack(Loaded::Second) => self.slide_one::<1>(-1.0),
            _ => None,
        }
    }

    #[inline(always)]
    fn stick_both(&self, factor: &Factor) -> Option<BlockImpulse> {
        let ([p1, p2], [r1, r2, soft], inverse) = (self.impulse.normal, factor.tangent_row, &factor.inverse);
        let (w1, w2) = (self.normal[0] - r1 * self.tangent, self.normal[1] - r2 * self.tangent);
        let (d1, d2) = (-(inverse[0] * w1 + inverse[1] * w2), -(inverse[2] * w1 + inverse[3] * w2));
        let (p1, p2) = (p1 + d1, p2 + d2);
        let tangent = self.impulse.tangent - (soft * self.tangent + r1 * d1 + r2 * d2);
        let inside = p1 >= 0.0 && p2 >= 0.0 && tangent.abs() <= self.friction * (p1 + p2) * (1.0 + SLACK);
        inside.then_some(BlockImpulse { normal: [p1, p2], tangent })
    }

    #[inline(always)]
    fn slide_both(&self, slip: f64, factor: &Factor) -> Option<BlockImpulse> {
        let ([p1, p2], m, inverse) = (self.impulse.normal, self.mass, &factor.inverse);
        let signed_friction = slip * self.friction;
        // Difference between the present tangential impulse and that of sliding with the present normal impulses.
        let off = self.impulse.tangent + signed_friction * (p1 + p2);
        let (w1, w2) = (m.n1t * off - self.normal[0], m.n2t * off - self.normal[1]);
        let (d1, d2) = (inverse[0] * w1 + inverse[1] * w2, inverse[2] * w1 + inverse[3] * w2);
        let (p1, p2) = (p1 + d1, p2 + d2);
        let tangent = -signed_friction * (p1 + p2);
        let after = self.tangent + m.n1t * d1 + m.n2t * d2 + m.tt * (tangent - self.impulse.tangent);
        (p1 >= 0.0 && p2 >= 0.0 && after * slip >= -SLACK).then_some(BlockImpulse { normal: [p1, p2], tangent })
    }

    #[inline(always)]
    fn stick_one<const POINT: usize>(&self) -> Option<BlockImpulse> {
        let (point, seen) = (POINT, self.one_point::<POINT>());
        let ratio = seen.nt / self.mass.tt;
        let change = (ratio * seen.tangent - seen.normal) / (seen.nn - seen.nt * ratio);
        let p = self.impulse.normal[point] + change;
        let tangent = self.impulse.tangent - (seen.tangent + seen.nt * change) / self.mass.tt;
        let inside = p >= 0.0 && tangent.abs() <= self.friction * p * (1.0 + SLACK);
        let impulse = single(point, p, tangent);
        (inside && self.other_stays_open::<POINT>(&impulse)).then_some(impulse)
    }

    #[inline(always)]
    fn slide_one<const POINT: usize>(&self, slip: f64) -> Option<BlockImpulse> {
        let (point, seen) = (POINT, self.one_point::<POINT>());
        let signed_friction = slip * self.friction;
        let off = self.impulse.tangent + signed_friction * self.impulse.normal[point];
        let change = (seen.nt * off - seen.normal) / (seen.nn - signed_friction * seen.nt);
        let p = self.impulse.normal[point] + change;
        let tangent = -signed_friction * p;
        let after = seen.tangent + seen.nt * change + self.mass.tt * (tangent - self.impulse.tangent);
        let impulse = single(point, p, tangent);
        (p >= 0.0 && after * slip >= -SLACK && self.other_stays_open::<POINT>(&impulse)).then_some(impulse)
    }

    /// Returns the velocities and inverse effective mass at one point if the other point carries no load.
    #[inline(always)]
    fn one_point<const POINT: usize>(&self) -> OnePoint {
        let (point, m) = (POINT, self.mass);
        let (nn, nt, other_t) = if point == 0 { (m.n11, m.n1t, m.n2t) } else { (m.n22, m.n2t, m.n1t) };
        let other = self.impulse.normal[1 - point];
        let (normal, tangent) = (self.normal[point] - m.n12 * other, self.tangent - other_t * other);
        OnePoint { nn, nt, normal, tangent }
    }

    #[inline(always)]
    fn other_stays_open<const POINT: usize>(&self, impulse: &BlockImpulse) -> bool {
        let (point, other, m) = (POINT, 1 - POINT, self.mass);
        let (own, slip) = if other == 0 { (m.n11, m.n1t) } else { (m.n22, m.n2t) };
        let after = self.normal[other] - own * self.impulse.normal[other]
            + m.n12 * (impulse.normal[point] - self.impulse.normal[point])
            + slip * (impulse.tangent - self.impulse.tangent);
        after >= -SLACK
    }

    /// Returns normal impulses without friction, as a fallback if rounding errors reject every mode. Never adds energy.
    #[cold]
    fn frictionless(&self) -> (BlockImpulse, Mode) {
        let bare = Block { friction: 0.0, ..*self };
        for mode in LOADED_MODES {
            if !matches!(mode, Mode::Stick(_))
                && let Some(impulse) = bare.attempt(mode)
            {
                return (impulse, mode);
            }
        }
        (BlockImpulse::default(), Mode::Open)
    }
}

/// Inverse effective mass and velocities of the only point that carries load.
struct OnePoint {
    nn: f64,
    nt: f64,
    normal: f64,
    tangent: f64,
}

#[inline(always)]
fn single(point: usize, normal: f64, tangent: f64) -> BlockImpulse {
    let mut impulse = BlockImpulse { normal: [0.0; 2], tangent };
    impulse.normal[point] = normal;
    impulse
}
