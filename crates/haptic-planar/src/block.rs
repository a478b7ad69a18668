//! The contact law of one manifold, solved exactly by trying its few modes.
//!
//! Unknowns are two normal impulses and one tangential impulse (points of one straight edge share their slip). The law,
//! on end-of-step velocities: 0 ≤ P_i ⟂ u_i + bias_i ≥ 0 and |P_t| ≤ μ ΣP_i opposing slip. A manifold has at most ten
//! modes: open, and {both, first, second} × {stick, slide forward, slide back}; the last one is tried first.

/// Inverse inertia seen by a manifold: symmetric, rows first normal, second normal, tangent.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockMass {
    /// First normal.
    pub n11: f64,
    /// Between the normals.
    pub n12: f64,
    /// Second normal.
    pub n22: f64,
    /// First normal with tangent.
    pub n1t: f64,
    /// Second normal with tangent.
    pub n2t: f64,
    /// Tangent.
    pub tt: f64,
}

/// The impulses of one manifold, N·s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BlockImpulse {
    /// Normal impulses of the two points; the second is zero for a single point.
    pub normal: [f64; 2],
    /// Shared tangential impulse.
    pub tangent: f64,
}

/// How a manifold carries its load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// No load.
    #[default]
    Open,
    /// These points load, no slip.
    Stick(Loaded),
    /// These points load, slip along +t.
    SlideForward(Loaded),
    /// These points load, slip along −t.
    SlideBack(Loaded),
}

/// Which points carry load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loaded {
    /// Both.
    Both,
    /// The first.
    First,
    /// The second.
    Second,
}

/// Relative slack in accepting a mode, so that rounding never rejects every one.
const SLACK: f64 = 1e-12;

/// All modes that load something, in the order in which they are tried after the last one.
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

/// One manifold's problem: velocities it would have without its own impulses.
#[derive(Clone, Copy, Debug)]
pub struct Block<'a> {
    /// Inverse inertia.
    pub mass: &'a BlockMass,
    /// Coulomb coefficient.
    pub friction: f64,
    /// Normal velocities plus bias, m/s; positive is open. A missing second point is +∞.
    pub normal: [f64; 2],
    /// Slip velocity, m/s.
    pub tangent: f64,
}

impl Block<'_> {
    /// The impulses that fulfil the law, and their mode. Real-time: at most ten modes of a 2×2 solve.
    #[inline]
    pub fn solve(&self, last: Mode) -> (BlockImpulse, Mode) {
        if self.normal[0] >= 0.0 && self.normal[1] >= 0.0 {
            return (BlockImpulse::default(), Mode::Open);
        }
        if last != Mode::Open
            && let Some(impulse) = self.attempt(last)
        {
            return (impulse, last);
        }
        self.search()
    }

    #[cold]
    #[inline(never)]
    fn search(&self) -> (BlockImpulse, Mode) {
        for mode in LOADED_MODES {
            if let Some(impulse) = self.attempt(mode) {
                return (impulse, mode);
            }
        }
        self.frictionless()
    }

    #[inline]
    fn attempt(&self, mode: Mode) -> Option<BlockImpulse> {
        match mode {
            Mode::Open => None,
            Mode::Stick(Loaded::Both) => self.stick_both(),
            Mode::SlideForward(Loaded::Both) => self.slide_both(1.0),
            Mode::SlideBack(Loaded::Both) => self.slide_both(-1.0),
            Mode::Stick(Loaded::First) => self.stick_one(0),
            Mode::Stick(Loaded::Second) => self.stick_one(1),
            Mode::SlideForward(Loaded::First) => self.slide_one(0, 1.0),
            Mode::SlideBack(Loaded::First) => self.slide_one(0, -1.0),
            Mode::SlideForward(Loaded::Second) => self.slide_one(1, 1.0),
            Mode::SlideBack(Loaded::Second) => self.slide_one(1, -1.0),
        }
    }

    #[inline]
    fn stick_both(&self) -> Option<BlockImpulse> {
        if self.normal[1] == f64::INFINITY {
            return None;
        }
        let m = self.mass;
        let (r1, r2) = (m.n1t / m.tt, m.n2t / m.tt);
        let (s11, s12, s22) = (m.n11 - m.n1t * r1, m.n12 - m.n1t * r2, m.n22 - m.n2t * r2);
        let (w1, w2) = (self.normal[0] - r1 * self.tangent, self.normal[1] - r2 * self.tangent);
        let scale = 1.0 / (s11 * s22 - s12 * s12);
        let p1 = (s12 * w2 - s22 * w1) * scale;
        let p2 = (s12 * w1 - s11 * w2) * scale;
        let tangent = -(self.tangent + m.n1t * p1 + m.n2t * p2) / m.tt;
        let inside = p1 >= 0.0 && p2 >= 0.0 && tangent.abs() <= self.friction * (p1 + p2) * (1.0 + SLACK);
        inside.then_some(BlockImpulse { normal: [p1, p2], tangent })
    }

    #[inline]
    fn slide_both(&self, slip: f64) -> Option<BlockImpulse> {
        if self.normal[1] == f64::INFINITY {
            return None;
        }
        let m = self.mass;
        let grip = slip * self.friction;
        let (a11, a12) = (m.n11 - grip * m.n1t, m.n12 - grip * m.n1t);
        let (a21, a22) = (m.n12 - grip * m.n2t, m.n22 - grip * m.n2t);
        let scale = 1.0 / (a11 * a22 - a12 * a21);
        let p1 = (a12 * self.normal[1] - a22 * self.normal[0]) * scale;
        let p2 = (a21 * self.normal[0] - a11 * self.normal[1]) * scale;
        if !(p1 >= 0.0 && p2 >= 0.0) {
            return None;
        }
        let tangent = -grip * (p1 + p2);
        let slips = self.slip_after(p1, p2, tangent) * slip >= -SLACK;
        slips.then_some(BlockImpulse { normal: [p1, p2], tangent })
    }

    #[inline]
    fn stick_one(&self, point: usize) -> Option<BlockImpulse> {
        let (nn, nt) = self.of_point(point);
        let m = self.mass;
        let ratio = nt / m.tt;
        let p = (ratio * self.tangent - self.normal[point]) / (nn - nt * ratio);
        let tangent = -(self.tangent + nt * p) / m.tt;
        let impulse = single(point, p, tangent);
        let inside = p >= 0.0 && tangent.abs() <= self.friction * p * (1.0 + SLACK);
        (inside && self.other_stays_open(point, &impulse)).then_some(impulse)
    }

    #[inline]
    fn slide_one(&self, point: usize, slip: f64) -> Option<BlockImpulse> {
        let (nn, nt) = self.of_point(point);
        let grip = slip * self.friction;
        let p = -self.normal[point] / (nn - grip * nt);
        let tangent = -grip * p;
        if !(p >= 0.0) {
            return None;
        }
        let impulse = single(point, p, tangent);
        let slips = self.slip_after(impulse.normal[0], impulse.normal[1], tangent) * slip >= -SLACK;
        (slips && self.other_stays_open(point, &impulse)).then_some(impulse)
    }

    /// Normals alone: the answer of last resort when rounding leaves no mode. It never adds energy.
    fn frictionless(&self) -> (BlockImpulse, Mode) {
        let bare = Block { friction: 0.0, ..*self };
        for mode in LOADED_MODES {
            if !matches!(mode, Mode::Stick(_))
                && let Some(impulse) = bare.attempt(mode)
            {
                return (impulse, mode);
            }
        }
        let point = usize::from(self.normal[1] < self.normal[0]);
        (single(point, (-self.normal[point] / self.of_point(point).0).max(0.0), 0.0), Mode::Open)
    }

    #[inline]
    fn of_point(&self, point: usize) -> (f64, f64) {
        if point == 0 { (self.mass.n11, self.mass.n1t) } else { (self.mass.n22, self.mass.n2t) }
    }

    #[inline]
    fn slip_after(&self, p1: f64, p2: f64, tangent: f64) -> f64 {
        self.tangent + self.mass.n1t * p1 + self.mass.n2t * p2 + self.mass.tt * tangent
    }

    #[inline]
    fn other_stays_open(&self, point: usize, impulse: &BlockImpulse) -> bool {
        let other = 1 - point;
        let (_, nt) = self.of_point(other);
        self.normal[other] + self.mass.n12 * impulse.normal[point] + nt * impulse.tangent >= -SLACK
    }
}

#[inline]
fn single(point: usize, normal: f64, tangent: f64) -> BlockImpulse {
    let mut impulse = BlockImpulse { normal: [0.0; 2], tangent };
    impulse.normal[point] = normal;
    impulse
}
